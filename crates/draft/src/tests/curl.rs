//! Commands as people and browsers write them.

use super::{OneFile, header, plan, sent, steps};
use crate::{Draft, of_curl, of_curl_words};

#[track_caller]
fn draft(text: &str) -> Draft {
    of_curl("commands", text, &OneFile("body.json", b"{\"a\":\n 1}")).unwrap()
}

#[track_caller]
fn problem(text: &str) -> String {
    of_curl("commands", text, &OneFile("body.json", b"{}")).unwrap_err().to_string()
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
    expect("curl h:80 --data-urlencode 'q=a b&c'", "POST", "/", "q=a%20b%26c");
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
        body.contains("name=\"doc\"; filename=\"body.json\"\r\ncontent-type: application/json\r\n\r\n{"),
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
    let draft = of_curl_words(&words, &OneFile("", b"")).unwrap();
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
        ("curl --digest -u a:b h:80", ["commands:1", "--digest"]),
        ("curl h:80\nls", ["commands:2", "`ls`"]),
        ("# nothing", ["commands", "no curl command"]),
    ] {
        let problem = problem(text);
        assert!(parts.iter().all(|part| problem.contains(part)), "{text}: {problem}");
    }
}
