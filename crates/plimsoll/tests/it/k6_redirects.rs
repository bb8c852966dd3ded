//! Redirects of k6 scripts to an origin that the script did not name: what that origin gets, by its own log.

use testbed::{Behaviour, CannedResponse, Served, Site, Target};

use crate::command::{CommandOutput, TestFolder};

const CHALLENGE: &str = "Digest realm=\"r\", nonce=\"abc\", qop=\"auth\", algorithm=MD5";

const SCRIPT: &str = "import http from 'k6/http';
    const B = __ENV.BASE;
    const headers = { Authorization: 'Bearer SECRET-1', 'X-Api-Key': 'SECRET-2', 'x-auth-token': 'SECRET-3',
        'Private-Token': 'SECRET-4', 'X-Vault-Token': 'SECRET-5', 'Cookie': 'sid=SECRET-6', 'X-Harmless': 'kept' };
    export default function () {
        http.get(`${B}/away?token=SECRET-7`, { headers, cookies: { own: 'SECRET-8' } });
        const kept = http.post(`${B}/away-307`, JSON.stringify({ password: 'SECRET-9' }), { headers });
        http.post(`${B}/away-302`, 'password=SECRET-9', { headers });
        http.get(B.replace('://', '://user:SECRET-10@') + '/digest', { auth: 'digest' });
        console.log(kept.status, kept.url.replace(B, ''));
    }";

/// A script's target that redirects to another one.
fn run(flags: &[&str]) -> (CommandOutput, Target) {
    let other = testbed::http(Behaviour::ok()).unwrap();
    let away = format!("http://localhost:{}", other.addr().port());
    let to = |status: u16, path: &str| {
        CannedResponse::new(status).body("").header("location", &format!("{away}{path}"))
    };
    let asks = CannedResponse::new(401).header("www-authenticate", CHALLENGE);
    let site = Site::new()
        .at("/away", to(302, "/get").into())
        .at("/away-307", to(307, "/post").into())
        .at("/away-302", to(302, "/posted").into())
        .at("/digest", Behaviour::Sequence(vec![asks.into(), to(302, "/digested").into()]));
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new("");
    folder.write("script.js", SCRIPT);
    let base = format!("BASE=http://{}", target.addr());
    let fixed = ["run", "script.js", "-i", "2", "-e", &base, "--evidence", "run.plimsoll", "--quiet"];
    let ran = folder.plimsoll(&[&fixed[..], flags].concat());
    assert_eq!(target.log().iter().filter(|served| served.path == "/digest").count(), 4, "{}", ran.stderr);
    (ran, other)
}

/// Everything that a request contains, as text.
fn text(served: &Served) -> String {
    format!("{served:?} {}", String::from_utf8_lossy(&served.body))
}

fn of<'a>(log: &'a [Served], path: &str) -> Vec<&'a Served> {
    log.iter().filter(|served| served.path == path).collect()
}

#[test]
fn another_origin_gets_no_secret_header_no_answer_to_a_challenge_and_no_body() {
    let (ran, other) = run(&[]);
    let log = other.log();
    ran.stderr_contains(&["INFO 307 /away-307"]);
    let said = ran.stderr.matches("a redirect to another origin is followed without secret headers").count();
    assert_eq!(said, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("authorization") && ran.stderr.contains("--k6-redirects"), "{}", ran.stderr);
    for (path, method) in [("/get", "GET"), ("/posted", "GET"), ("/digested", "GET")] {
        let followed = of(&log, path);
        assert_eq!(followed.len(), 2, "{path}");
        for served in followed {
            assert_eq!(served.method, method);
            assert!(!text(served).contains("SECRET"), "{}", text(served));
            assert_eq!((served.header("authorization"), served.header("referer")), (None, None));
            assert_eq!(served.header("x-harmless"), (path != "/digested").then_some("kept"));
        }
    }
    assert!(of(&log, "/post").is_empty(), "a request without its body is another one");
}

#[test]
fn redirects_as_k6_has_them_are_asked_for_and_still_answer_no_challenge_elsewhere() {
    let (ran, other) = run(&["--k6-redirects"]);
    let log = other.log();
    assert!(!ran.stderr.contains("a redirect to another origin"), "{}", ran.stderr);
    for served in of(&log, "/get") {
        assert_eq!(served.header("x-api-key"), Some("SECRET-2"));
        assert_eq!((served.header("authorization"), served.header("cookie")), (None, None));
        assert!(served.header("referer").is_some());
    }
    let posted = of(&log, "/post");
    assert_eq!((posted.len(), &posted[0].body[..]), (2, &b"{\"password\":\"SECRET-9\"}"[..]));
    let digested = of(&log, "/digested");
    assert_eq!((digested.len(), digested[0].header("authorization")), (2, None));
}
