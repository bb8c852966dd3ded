//! Secrets in addresses, on command lines and in the environment: none is stored or printed, in any notation.

use std::fs;
use std::path::Path;

use testbed::{Behaviour, CannedResponse, Site, Target};

use crate::command::{CommandOutput, TestFolder};
use crate::secrets::every_value;

/// Secret values, with the characters that end parts of a URL.
const SECRETS: [(&str, &str); 8] = [
    ("URL_PW", "url/pw@1:one"),
    ("SCRAPE_PW", "scrape@pw/2:two"),
    ("PAGE_KEY", "page-key:3@x/y"),
    ("PG_PW", "pg/pw@4:four"),
    ("REDIS_PW", "redis:pw/5@five"),
    ("PPROF_PW", "pprof@pw:6/six"),
    ("HEADER", "header/value@7:seven"),
    ("BODY", "body@value/8:eight"),
];

/// Shell commands that set the environment.
fn exports() -> String {
    SECRETS.iter().map(|(name, value)| format!("export {name}='{value}'; ")).collect::<String>() + ":"
}

/// Every notation in which a secret may be found: itself, percent-encoded, and as basic authorization.
fn notations(value: &str) -> Vec<String> {
    let encoded = |keep: &str| {
        let encode = |byte: u8| match byte {
            byte if byte.is_ascii_alphanumeric() || keep.as_bytes().contains(&byte) => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        };
        value.bytes().map(encode).collect::<String>()
    };
    let mut all = vec![value.to_owned(), encoded("-._~"), encoded("-._~:"), encoded("-._~").to_lowercase()];
    all.extend(["me", "scraper", "p", ""].map(|user| base64(&format!("{user}:{value}"))));
    all
}

/// Without the `=` at its end.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        let digits = (0..=chunk.len()).map(|at| char::from(DIGITS[(bits >> (18 - 6 * at)) as usize & 63]));
        out.extend(digits);
    }
    out
}

#[track_caller]
fn assert_without(secrets: &[&str], what: &str, text: &str) {
    for secret in secrets {
        for notation in notations(secret) {
            assert!(!text.contains(&notation), "{notation} is in {what}: {text}");
        }
    }
}

/// No secret is in what the command printed, nor in any file of the folder but the plan.
#[track_caller]
fn assert_clean(secrets: &[&str], ran: &CommandOutput, folder: &TestFolder) {
    assert_without(secrets, "standard output", &ran.stdout);
    assert_without(secrets, "standard error", &ran.stderr);
    for name in folder.files("") {
        assert_without(secrets, "a file's name", &name);
        if name != "plan.toml" {
            assert_without(secrets, &name, &text_of(&folder.path(&name)));
        }
    }
    for name in folder.files(".plimsoll") {
        assert_without(secrets, "a table", &every_value(&folder.path(&name)));
    }
}

fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

/// Everything that is watched shows what it was asked with; nothing is listening at the databases' port.
fn plan(target: &Target) -> String {
    format!(
        r#"version = 1
precheck = false
[targets.api]
url = "http://me:${{env.URL_PW}}@{at}/base"
wait_ready = {{ url = "${{api.url}}/ready?key=${{env.PAGE_KEY}}" }}
[targets.api.observe]
prometheus = "http://scraper:${{env.SCRAPE_PW}}@{at}/metrics?key=${{env.PAGE_KEY}}"
postgres = "postgresql://me:${{env.PG_PW}}@127.0.0.1:1/shop"
redis = "redis://:${{env.REDIS_PW}}@127.0.0.1:1"
pprof = "http://p:${{env.PPROF_PW}}@127.0.0.1:1/debug/pprof"
[[profiles]]
at = "0s"
length = "1s"
kinds = ["heap"]
[[scenarios]]
name = "load"
executor = "constant-vus"
vus = 1
duration = "2s"
[[scenarios.steps]]
name = "echo"
post = "${{api.url}}/echo?q=${{env.BODY}}"
headers = {{ x-any = "${{env.HEADER}}" }}
json = {{ any = "${{env.BODY}}" }}
think = "50ms"
expect = {{ status = 201 }}
[objectives]
few_errors = "error_rate(all) < 1%"
"#,
        at = target.addr()
    )
}

/// Its metrics have a secret as a label and a line that is none, its responses repeat what was sent.
fn hostile() -> Target {
    let (scrape, key, body) = (SECRETS[1].1, SECRETS[2].1, SECRETS[7].1);
    let page = format!("process_open_fds{{dsn=\"http://scraper:{scrape}@x\"}} 1\n{key} {{{{ {body}\n");
    let ready = Site::new().at("/base/ready", Behaviour::ok());
    let site = ready.at("/metrics", CannedResponse::new(200).body(page).into()).otherwise(Behaviour::Echo);
    testbed::http(site).unwrap()
}

#[test]
fn no_secret_of_an_address_is_stored_or_printed() {
    let target = hostile();
    let folder = TestFolder::new(&plan(&target));
    let outputs = ["--html", "r.html", "--md", "r.md", "--json", "r.json", "--junit", "r.xml"];
    let ran = folder
        .plimsoll_after(&exports(), &[&["run", "plan.toml", "-o", "run.plimsoll"][..], &outputs].concat());
    ran.exits_with(3);
    let log = target.log();
    let header = |path: &str, name: &str| {
        let served = log.iter().find(|served| served.path == path).unwrap_or_else(|| panic!("{path}"));
        served.header(name).unwrap_or_default().trim_end_matches('=').to_owned()
    };
    let basic = |user: &str, password: &str| format!("Basic {}", base64(&format!("{user}:{password}")));
    assert_eq!(header("/base/echo", "authorization"), basic("me", SECRETS[0].1));
    assert_eq!(header("/base/echo", "x-any"), SECRETS[6].1);
    assert_eq!(header("/metrics", "authorization"), basic("scraper", SECRETS[1].1));
    let query = |path: &str| log.iter().find(|served| served.path == path).unwrap().query.clone();
    assert_eq!(query("/base/ready"), format!("key={}", SECRETS[2].1));
    assert_clean(&SECRETS.map(|(_, value)| value), &ran, &folder);
    let values = every_value(&folder.path("run.plimsoll"));
    for kept in ["process_open_fds", "${env.PG_PW}", "${env.URL_PW}", "[redacted]", "connection refused"] {
        assert!(values.to_lowercase().contains(&kept.to_lowercase()), "{kept} in {values}");
    }
    for arguments in [&["check", "plan.toml"][..], &["run", "plan.toml", "--once"]] {
        let ran = folder.plimsoll_after(&exports(), arguments);
        assert_clean(&SECRETS.map(|(_, value)| value), &ran, &folder);
    }
}

#[test]
fn no_secret_of_a_watched_address_is_stored_or_printed() {
    let secrets = ["pg/lit@11:x", "redis:lit/12@x", "page@lit/13:x", "page-key-14", "key/lit 15"];
    let folder = TestFolder::new("");
    let subjects = [
        "postgresql://me:pg/lit@11:x@127.0.0.1:1/shop?password=page-key-14",
        "rediss://:redis:lit/12@x@127.0.0.1:1",
        "http://scraper:page@lit/13:x@127.0.0.1:1/metrics?key=page-key-14",
    ];
    let ran = folder.plimsoll(&[&["monitor", "--for", "2s"][..], &subjects].concat());
    // None of them can be watched.
    ran.exits_with(2);
    assert_clean(&secrets, &ran, &folder);
    let unknown = ["host=127.0.0.1 user=me password='key/lit 15' dbname=shop", "mysql://me:pg/lit@11:x@h/db"];
    for subject in unknown {
        let ran = folder.plimsoll(&["monitor", "--for", "1s", subject]);
        ran.exits_with(2).stderr_contains(&["cannot be watched", "[redacted]"]);
        assert_clean(&secrets, &ran, &folder);
    }
}

#[test]
fn no_error_of_a_plan_shows_a_secret_of_its_addresses() {
    let secrets = ["pl/ain@21:x", "pl ain/22", "pl%2Fain23"];
    let wrong = [
        ("url = \"http://me:pl/ain@21:x@127.0.0.1:1\"", "[redacted]"),
        ("grpc = \"me:pl/ain@21:x@127.0.0.1:1\"", "[redacted]"),
        ("url = \"http://127.0.0.1:1\"\nwait_ready = { url = \"http://me:pl/ain@21:x@h:1/\" }", "[redacted]"),
        ("observe = { postgres = \"host=db password='pl ain/22'\" }", "[redacted]"),
        ("observe = { postgres = \"postgresql://me:pl/ain@21:x@h/db\" }", "holds no passwords"),
        ("observe = { redis = \"redis://:pl%2Fain23@h\" }", "holds no passwords"),
        ("observe = { prometheus = \"ftp://me:pl/ain@21:x@h\" }", "[redacted]"),
    ];
    for (target, why) in wrong {
        let steps = "[[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = 1\nduration = \"1s\"\n\
                     [[scenarios.steps]]\nname = \"a\"\nget = \"http://me:pl/ain@21:x@127.0.0.1:1/x\"\n";
        let folder =
            TestFolder::new(&format!("version = 1\nprecheck = false\n[targets.t]\n{target}\n{steps}"));
        let ran = folder.plimsoll(&["check", "plan.toml"]);
        ran.exits_with(2).stderr_contains(&[why]);
        assert_clean(&secrets, &ran, &folder);
        let moved = folder.plimsoll(&["check", "plan.toml", "--target", "t=http://me:pl/ain@21:x@h:1"]);
        assert_clean(&secrets, &moved, &folder);
    }
}

#[test]
fn no_error_of_a_command_line_shows_a_secret() {
    let folder = TestFolder::new("");
    let secrets = ["pl/ain@31:x", "pl/ain", "ain@31"];
    let lines: [&[&str]; 6] = [
        &["http", "http://me:pl/ain@31:x@127.0.0.1:1/"],
        &["http", "http://127.0.0.1:1/", "-x", "socks5://me:pl/ain@31:x@h:1"],
        &["http", "http://127.0.0.1:1/", "-H", "authorization pl/ain@31:x"],
        &["http", "http://127.0.0.1:1/", "-a", "pl/ain@31"],
        &["grpc", "me:pl/ain@31:x@127.0.0.1:1", "a.B/C"],
        &["http", "http://127.0.0.1:1/", "http://me:pl/ain@31:x@127.0.0.1:1/"],
    ];
    for line in lines {
        let ran = folder.plimsoll(line);
        ran.exits_with(2);
        assert_clean(&secrets, &ran, &folder);
    }
}

#[test]
fn an_ad_hoc_run_takes_its_secrets_from_the_environment() {
    let target = testbed::http(Site::new().otherwise(Behaviour::Echo)).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x/${{env.PAGE_KEY}}?token=${{env.BODY}}", target.addr());
    let line = ["http", &url, "-a", "me:${env.URL_PW}", "-H", "x-any: ${env.HEADER}", "-n", "2", "-c", "1"];
    let kept = ["-o", "run.plimsoll", "--json", "r.json", "--html", "r.html"];
    let ran = folder.plimsoll_after(&exports(), &[&line[..], &kept].concat());
    ran.exits_with(0);
    let served = &target.log()[0];
    let basic = format!("Basic {}", base64(&format!("me:{}", SECRETS[0].1)));
    assert_eq!(served.header("authorization").map(|value| value.trim_end_matches('=')), Some(basic.as_str()));
    assert_eq!(served.query, format!("token={}", SECRETS[7].1));
    assert_clean(&SECRETS.map(|(_, value)| value), &ran, &folder);
    let values = every_value(&folder.path("run.plimsoll"));
    for name in ["me:${env.URL_PW}", "${env.HEADER}", "${env.PAGE_KEY}"] {
        assert!(values.contains(name), "{name} in {values}");
    }
    folder.plimsoll(&line).exits_with(2).stderr_contains(&["`PAGE_KEY` is not set"]);
    let auth = ["http", "127.0.0.1:1", "-a", "me:${env.NO_SUCH_PW}"];
    folder.plimsoll(&auth).exits_with(2).stderr_contains(&["--basic-auth", "`NO_SUCH_PW` is not set"]);
}

#[test]
fn a_proxy_takes_its_password_from_the_environment() {
    let proxy = testbed::http(Site::new().otherwise(Behaviour::Echo)).unwrap();
    let folder = TestFolder::new("");
    let through = format!("http://me:${{env.PG_PW}}@{}", proxy.addr());
    let line = ["http", "http://shop.invalid/x", "-x", &through, "-n", "2", "-c", "1", "-o", "run.plimsoll"];
    let ran = folder.plimsoll_after(&exports(), &line);
    ran.exits_with(0);
    let basic = format!("Basic {}", base64(&format!("me:{}", SECRETS[3].1)));
    let sent = proxy.log()[0].header("proxy-authorization").unwrap_or_default().to_owned();
    assert_eq!(sent.trim_end_matches('='), basic);
    assert_clean(&[SECRETS[3].1], &ran, &folder);
    let place = ["http", "http://shop.invalid/x", "-x", "http://${env.PG_PW}:1"];
    let ran = folder.plimsoll_after(&exports(), &place);
    ran.exits_with(2).stderr_contains(&["not the place"]);
}

#[test]
fn a_value_that_is_too_short_to_be_hidden_is_refused() {
    let folder = TestFolder::new("");
    let line = ["http", "http://127.0.0.1:1/", "-H", "x-pin: ${env.PIN}"];
    let ran = folder.plimsoll_after("export PIN=7q3", &line);
    ran.exits_with(2).stderr_contains(&["`PIN`", "too short to be hidden", "at least 4"]);
    assert_without(&["7q3"], "standard error", &ran.stderr);
    let steps = "[[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = 1\nduration = \"1s\"\n\
                 [[scenarios.steps]]\nname = \"a\"\nget = \"http://127.0.0.1:1/x?pin=${env.PIN}\"\n";
    folder.write("plan.toml", format!("version = 1\n{steps}"));
    let ran = folder.plimsoll_after("export PIN=7q3", &["check", "plan.toml"]);
    ran.exits_with(2).stderr_contains(&["plan.toml:9:", "`PIN`", "too short to be hidden"]);
    folder.plimsoll_after("export PIN=7q3x", &["check", "plan.toml"]).exits_with(0);
}
