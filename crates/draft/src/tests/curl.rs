//! Commands as people and browsers write them.

use super::{FilesInMemory, header, plan, sent, steps};
use crate::{Draft, of_curl, of_curl_words};

#[track_caller]
fn draft(text: &str) -> Draft {
    of_curl("commands", text, &FilesInMemory::one("body.json", *b"{\"a\":\n 1}")).unwrap()
}

#[track_caller]
fn problem(text: &str) -> String {
    of_curl("commands", text, &FilesInMemory::one("body.json", *b"{}")).unwrap_err().to_string()
}

/// As Chrome's "copy as cURL (bash)" gives it.
const CHROME: &str = r#"curl 'https://shop.example.com/api/cart?lang=de' \
  -H 'accept: application/json, text/plain, */*' \
  -H 'accept-language: de-DE,de;q=0.9' \
  -H 'authorization: Bearer eyJhbGciOi.geheim' \
  -b 'sid=geheim2; theme=dark' \
  -H 'content-type: application/json' \
  -H 'origin: https://shop.example.com' \
  --data-raw $'{"item":7,"note":"it\'s \u00e4","password":"geheim3"}' \
  --compressed ;
curl 'https://shop.example.com/api/cart' -H 'authorization: Bearer eyJhbGciOi.geheim'"#;

#[test]
fn a_copied_command_becomes_a_step_without_its_secrets() {
    let draft = draft(CHROME);
    let steps = steps(&draft);
    assert_eq!(steps.len(), 2);
    let (method, path, body) = sent(&steps[0]);
    assert_eq!((method.as_str(), path.as_str()), ("POST", "/api/cart?lang=de"));
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body, serde_json::json!({"item": 7, "note": "it's ä", "password": "${env.PASSWORD | json}"}));
    for step in &steps {
        assert_eq!(header(step, "authorization").as_deref(), Some("Bearer ${env.TOKEN}"));
    }
    assert_eq!(header(&steps[0], "cookie").as_deref(), Some("${env.COOKIE}"));
    assert!(!draft.text.contains("geheim"), "{}", draft.text);
    let names: Vec<&str> = draft.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["TOKEN", "COOKIE", "PASSWORD"]);
    insta::assert_snapshot!(draft.text);
}

#[test]
fn options_say_what_is_sent() {
    let one = |text: &str| {
        let all = steps(&draft(text));
        assert_eq!(all.len(), 1, "{text}");
        sent(&all[0])
    };
    let expect = |text: &str, method: &str, path: &str, body: &str| {
        assert_eq!(one(text), (method.to_owned(), path.to_owned(), body.to_owned()), "{text}");
    };
    expect("curl localhost:8000", "GET", "/", "");
    expect("curl -sSL -XPUT http://h/x -d a=1 -d b=2", "PUT", "/x", "a=1&b=2");
    expect("curl -G h:80/x?q=1 -d 'a=b c'", "GET", "/x?q=1&a=b%20c", "");
    expect("curl -I h:80", "HEAD", "/", "");
    expect("curl h:80 --data-urlencode 'q=a b&c'", "POST", "/", "q=a+b%26c");
    expect("curl h:80 -d @body.json -H 'content-type: text/plain'", "POST", "/", "{\"a\": 1}");
    expect("curl h:80 --data-binary @body.json -H 'Content-Type: text/plain'", "POST", "/", "{\"a\":\n 1}");
    expect("curl h:80 --json '{\"a\":1}'", "POST", "/", "{\"a\":1}");
    expect("curl -T body.json h:80/up", "PUT", "/up", "{\"a\":\n 1}");
}

#[test]
fn a_form_with_files_is_a_body_with_parts() {
    let steps = steps(&draft("curl h:80 -F name=me -F 'doc=@body.json;type=application/json'"));
    let (method, _, body) = sent(&steps[0]);
    assert_eq!(method, "POST");
    let boundary = header(&steps[0], "content-type").unwrap();
    let boundary = boundary.strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
    assert_eq!(body.matches(&boundary).count(), 3);
    assert!(
        body.contains("name=\"doc\"; filename=\"body.json\"\r\nContent-Type: application/json\r\n\r\n{"),
        "{body}"
    );
    assert!(body.ends_with(&format!("--{boundary}--\r\n")), "{body}");
}

#[test]
fn options_about_connections_are_the_targets() {
    let text = "curl -k -u me:geheim1 -m 2.5 -L --http2-prior-knowledge --unix-socket /run/x.sock http://h/a";
    let draft = draft(text);
    let workload = plan(&draft).workload;
    let target = workload.targets.values().next().unwrap();
    assert!(target.connecting.tls.insecure);
    assert_eq!(target.connecting.unix.as_deref(), Some("/run/x.sock"));
    assert!(draft.text.contains("auth = \"basic:me:${env.PASSWORD}\"") && !draft.text.contains("geheim1"));
    let step = workload.steps().next().unwrap();
    assert_eq!(step.timeout.as_millis(), 2_500);
}

#[test]
fn a_command_that_a_shell_has_split_is_read_too() {
    let words = ["curl", "-H", "x-id: a b", "http://h:1/x"].map(str::to_owned);
    let draft = of_curl_words(&words, &FilesInMemory::default()).unwrap();
    assert_eq!(header(&steps(&draft)[0], "x-id").as_deref(), Some("a b"));
}

#[test]
fn what_cannot_be_a_step_is_an_error_with_its_line() {
    for (text, parts) in [
        ("curl http://h/ --frobnicate", ["commands:1", "--frobnicate"]),
        ("\ncurl http://h/ -H", ["commands:2", "no value"]),
        ("curl", ["commands:1", "no URL"]),
        ("curl ftp://h/", ["commands:1", "ftp"]),
        ("curl h:80 -d @nope", ["commands:1", "nope"]),
        ("curl h:80 -d @-", ["commands:1", "standard input"]),
        ("curl h:80 -b cookies.txt", ["commands:1", "cookies.txt"]),
        ("curl h:80 -X get", ["commands:1", "`get`"]),
        ("curl h:80 -F a=b -d c", ["commands:1", "more than one"]),
        ("curl h:80/[1-9]", ["commands:1", "[1-9]"]),
        ("curl h:80 -F 'a=b;headers=x'", ["commands:1", ";headers"]),
        ("curl h:80 -H $'a: b\\nc: d'", ["commands:1", "U+000A"]),
        ("curl ^\"h:80^\" --nope", ["commands:1", "--nope"]),
        ("curl --digest -u a:b h:80", ["commands:1", "--digest"]),
        ("curl h:80\nls", ["commands:2", "`ls`"]),
        ("# nothing", ["commands", "no curl command"]),
    ] {
        let problem = problem(text);
        assert!(parts.iter().all(|part| problem.contains(part)), "{text}: {problem}");
    }
}

#[test]
fn commands_of_other_systems_are_the_same_command() {
    let body = "{\"a\":\"b c\",\"n\":50}";
    for text in [
        // Chrome and Firefox on Linux and macOS.
        "curl 'http://h:80/x?q=1&r=%20' \\\n  -H 'content-type: application/json' \\\n  --data-raw '{\"a\":\"b c\",\"n\":50}'",
        // Safari.
        "curl 'http://h:80/x?q=1&r=%20' \\\n-X 'POST' \\\n-H 'Content-Type: application/json' \\\n--data-binary '{\"a\":\"b c\",\"n\":50}'",
        // Chrome, Edge and Firefox on Windows.
        "curl ^\"http://h:80/x?q=1^&r=^%^20^\" ^\r\n  -H ^\"content-type: application/json^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"b c^\\^\",^\\^\"n^\\^\":50^}^\"",
        // Firefox on Windows, up to 2023.
        "curl \"http://h:80/x?q=1&r=\"%\"20\" -X POST -H \"Content-Type: application/json\" --data-raw \"{\"\"a\"\":\"\"b c\"\",\"\"n\"\":50}\"",
    ] {
        let all = steps(&draft(text));
        assert_eq!(all.len(), 1, "{text}");
        assert_eq!(sent(&all[0]), ("POST".to_owned(), "/x?q=1&r=%20".to_owned(), body.to_owned()), "{text}");
        assert_eq!(header(&all[0], "content-type").as_deref(), Some("application/json"), "{text}");
    }
}

#[test]
fn cookies_of_a_jar_are_kept_by_the_plan() {
    let draft = draft("curl -c jar h:80/login -d a=b\ncurl -b jar -c jar h:80/cart\ncurl -b '' h:80/other\n");
    let workload = plan(&draft).workload;
    assert_eq!(workload.targets.len(), 1);
    assert!(workload.targets.values().all(|target| target.cookies && target.fresh_cookies));
    assert!(problem("curl -b jar h:80/\ncurl -c jar h:80").contains("commands:1"));
}
