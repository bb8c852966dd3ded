//! Commands compared with what curl itself sends to a server of this machine.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use workload::template::{Part, Value};
use workload::{Files, Request, Template};

use super::plan;
use crate::of_curl;

/// A request as it came.
#[derive(Debug, Default)]
struct Received {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Received {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Read one request and answer it.
fn serve(mut stream: TcpStream) -> Received {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        read_more(&mut stream, &mut bytes);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap().split(' ');
    let mut received = Received {
        method: first.next().unwrap().to_owned(),
        path: first.next().unwrap().to_owned(),
        ..Received::default()
    };
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        received.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if received.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
    }
    let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        read_more(&mut stream, &mut bytes);
    }
    received.body = String::from_utf8(bytes[end..].to_vec()).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    received
}

fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    let count = stream.read(&mut buffer).unwrap();
    assert!(count > 0, "the request is cut off");
    bytes.extend_from_slice(&buffer[..count]);
}

/// What curl sends when a shell runs `command`; `HOST` in it is the server.
fn sent_by_curl(command: &str, folder: &Path) -> Received {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = thread::spawn(move || serve(listener.accept().unwrap().0));
    // `-q` ignores the configuration of the account that runs the test.
    let command = command.replacen("curl ", "curl -q ", 1).replace("HOST", &address);
    let status = Command::new("bash")
        .args(["-c", &command])
        .current_dir(folder)
        .env_remove("http_proxy")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{command}");
    server.join().unwrap()
}

struct Folder<'a>(&'a Path);

impl Files for Folder<'_> {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.0.join(path))
    }
}

/// The text that a template gives, with `value` in place of every environment variable.
fn rendered(template: &Template, value: &str) -> String {
    let of = |inner: &Value| match inner {
        Value::Env(_) => value.to_owned(),
        Value::Choice(texts) => texts.concat(),
        other => panic!("a command has no ${{{other}}}"),
    };
    let part = |part: &Part| match part {
        Part::Literal(text) => text.clone(),
        Part::Value(inner) => of(inner),
        Part::JsonValue(inner) => crate::text::json_escaped(&of(inner)),
        Part::UrlValue(inner) => crate::url::encoded(&of(inner)),
    };
    template.parts().iter().map(part).collect()
}

/// Boundaries of forms differ from run to run.
fn without_boundary(text: &str, content_type: &str) -> String {
    match content_type.split_once("boundary=") {
        Some((_, boundary)) => text.replace(boundary, "BOUNDARY"),
        None => text.to_owned(),
    }
}

/// Compare a draft of the command with what curl sends; `secret` is the value that became a variable.
#[track_caller]
fn is_sent_as_curl_sends_it(command: &str, secret: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("body.json"), "{\"a\":\r\n 1, \"b\": \"ä\"}\n").unwrap();
    std::fs::write(folder.path().join("note.txt"), "a note\n").unwrap();
    let expected = sent_by_curl(command, folder.path());
    let draft =
        of_curl("commands", &command.replace("HOST", "127.0.0.1:8000"), &Folder(folder.path())).unwrap();
    let workload = plan(&draft).workload;
    let step = workload.steps().next().unwrap();
    let Request::Http { method, path, headers, body, options, .. } = &step.request else {
        panic!("it is HTTP")
    };
    assert_eq!(
        (method.as_str(), rendered(path, secret)),
        (expected.method.as_str(), expected.path.clone()),
        "{command}"
    );
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| rendered(value, secret))
    };
    let kind = [
        header("content-type").unwrap_or_default(),
        expected.header("content-type").unwrap_or_default().to_owned(),
    ];
    assert_eq!(without_boundary(&kind[0], &kind[0]), without_boundary(&kind[1], &kind[1]), "{command}");
    let bodies = (rendered(body, secret), expected.body.clone());
    assert_eq!(without_boundary(&bodies.0, &kind[0]), without_boundary(&bodies.1, &kind[1]), "{command}");
    for name in ["cookie", "range", "referer", "x-id", "x-empty", "accept-encoding"] {
        assert_eq!(header(name).as_deref(), expected.header(name), "{command}: {name}");
    }
    if let Some(auth) = &options.basic_auth {
        use base64::Engine as _;
        let credentials = base64::engine::general_purpose::STANDARD.encode(rendered(auth, secret));
        assert_eq!(
            expected.header("authorization"),
            Some(format!("Basic {credentials}").as_str()),
            "{command}"
        );
    } else {
        assert_eq!(header("authorization").as_deref(), expected.header("authorization"), "{command}");
    }
}

#[test]
fn commands_send_what_curl_sends() {
    for command in [
        "curl HOST",
        "curl 'http://HOST/a/../b/./c?x=/../1#top'",
        "curl --path-as-is 'http://HOST/a/../b'",
        "curl -I http://HOST/x",
        "curl http://HOST/x -d a=1 -d 'b=${c}' -d ''",
        "curl http://HOST/x -d @body.json --data-raw @body.json",
        "curl http://HOST/x --data-binary @body.json -H 'Content-Type: text/plain'",
        "curl http://HOST/x --data-urlencode 'q=a b&c+d/ä~_-.' --data-urlencode '=x y' --data-urlencode 'plain text'",
        "curl http://HOST/x --data-urlencode 'note@note.txt' --data-urlencode '@note.txt'",
        "curl -G http://HOST/x?q=1 -d a=b%20c -d d=e --data-urlencode 'f=g h'",
        "curl http://HOST/x --json '{\"a\":' --json '1.50}'",
        "curl http://HOST/x --json @body.json -X PUT -H 'accept: text/x'",
        "curl http://HOST/x -F 'name=me' -F 'doc=@body.json;type=application/json' -F 'note=<note.txt'",
        "curl http://HOST/x -F 'f=@note.txt' -F 'g=@body.json;filename=\"a b.bin\"' -F 'q=\"a;b\"' --form-string 's=@x;y'",
        "curl http://HOST/x -F 'j={\"a\":1};type=application/json'",
        "curl -T note.txt http://HOST/up/",
        "curl -T note.txt http://HOST/up/name -X POST",
        "curl http://HOST/x -r 0-99 -e 'http://a/;auto' -H 'X-Id: a: b' -H 'X-Empty;' -H 'Accept:'",
        "curl http://HOST/x --compressed",
        "curl -g 'http://HOST/x?a[]=1&b={c}'",
        "curl -sXDELETE http://HOST/x $'-d{\"a\":\"it\\'s \\u00e4\\\\n\"}' -H 'content-type: application/json'",
    ] {
        is_sent_as_curl_sends_it(command, "");
    }
}

#[test]
fn secrets_are_sent_as_curl_sends_them_where_their_variables_have_their_values() {
    for (command, secret) in [
        ("curl http://HOST/x -u 'me:p@ss:word'", "p@ss:word"),
        ("curl http://HOST/x --oauth2-bearer abcdefg", "abcdefg"),
        ("curl http://HOST/x -b 'sid=1; b=2' -b 'c=3'", "sid=1; b=2;c=3"),
        ("curl http://HOST/x --data-urlencode 'password=a&b/c'", "a&b/c"),
        ("curl http://HOST/x --json '{\"password\":\"a\\\"b\"}'", "a\"b"),
        ("curl http://HOST/x -F 'password=a b'", "a b"),
        ("curl 'http://HOST/x?token=a%2Fb'", "a/b"),
    ] {
        is_sent_as_curl_sends_it(command, secret);
    }
}

/// Each command is one that curl refuses, too.
#[test]
fn what_curl_refuses_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "curl http://127.0.0.1:1/ -d a -F b=c",
        "curl http://127.0.0.1:1/ -I -d a",
        "curl http://127.0.0.1:1/ -T x -d a",
        "curl http://127.0.0.1:1/a[b]c",
        "curl http://127.0.0.1:1/ -d",
        "curl -H 'a: b'",
    ] {
        let status = Command::new("bash")
            .args(["-c", command])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        // 7: it could not connect, so it would have sent the command.
        assert!(!matches!(status.code(), Some(0 | 7)), "{command}: {status}");
        std::fs::write(folder.path().join("x"), "1").unwrap();
        assert!(of_curl("commands", command, &Folder(folder.path())).is_err(), "{command}");
    }
}
