//! What k6 scripts say, and what servers send them.

use std::collections::BTreeMap;

use k6::options::thresholds::{built_in_kind, compile};
use k6::options::{Layer, consolidate};
use k6::received;

use crate::Target;

/// Options with durations, stages, scenarios and thresholds.
pub(crate) const OPTIONS: Target = Target {
    name: "k6-options",
    seeds: &[
        br#"{"vus":10,"duration":"1m30s","thresholds":{"http_req_duration{status:200,name:a b}":["p(95)<500","avg<=1.5",{"threshold":"max<1e3","abortOnFail":true,"delayAbortEval":"10s"}],"checks":["rate>0.99"]}}"#,
        br#"{"stages":[{"duration":"10s","target":20},{"duration":1000,"target":0}],"tags":{"a":"b"},"summaryTrendStats":["avg","p(99.9)"]}"#,
        br#"{"scenarios":{"a":{"executor":"ramping-arrival-rate","startRate":1,"timeUnit":"1m","preAllocatedVUs":2,"maxVUs":5,"stages":[{"target":3,"duration":"1h1.5m"}],"env":{"A":"b"},"startTime":"1d"},"b":{"executor":"shared-iterations","vus":2,"iterations":9}}}"#,
        br#"{"hosts":{"a.test":"127.0.0.1:80","*.b.test":"::1"},"blockHostnames":["*.c.test"],"blacklistIPs":["10.0.0.0/8"],"dns":{"ttl":"1m","select":"first","policy":"any"},"tlsVersion":{"min":"tls1.2","max":"tls1.3"},"executionSegment":"1/3:1/2","executionSegmentSequence":"0,1/3,1/2,1"}"#,
    ],
    words: &[b"9999999999999h", b"-1s", b"p(100.1)", b"{", b"::", b"1/0", b"1e308", b"ns", b"\xc2\xb5s", b"constant-vus", b"null"],
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let Ok(layer) = Layer::of_config_file(&text) else { return false };
        let environment = BTreeMap::from([("K6_DURATION".to_owned(), text.chars().take(20).collect())]);
        // An environment of any text is read or refused.
        let _ = Layer::of_environment(&environment);
        let Ok(options) = consolidate(vec![layer]) else { return false };
        let thresholds = options.options.thresholds.clone().unwrap_or_default();
        compile(&thresholds, built_in_kind).is_ok()
    },
    ..Target::BASE
};

/// A URL, a line feed, and a location.
pub(crate) const URL: Target = Target {
    name: "k6-url",
    seeds: &[
        b"http://user:p%40ss@host:8080/a/b?q=1#f\n../c?d",
        b"https://[::1]:1/\n//other/x",
        b"http://h\nhttp://other/\xc3\xa4 b",
        b"http://h/\nHTTPS://u:p@H:443/x",
    ],
    words: &[b"://", b"%zz", b"%2F", b"..", b"//", b"@", b"[", b"]", b":99999", b"\\"],
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let Some((base, location)) = text.split_once('\n') else { return false };
        let Some((url, path)) = received::redirect(base, location) else { return false };
        let is_sendable = |byte: u8| byte > b' ' && byte != 0x7f;
        assert!(path.starts_with('/') && path.bytes().all(is_sendable), "a path that no request can have");
        let again = received::redirect(&url, "").expect("a URL that was shown is a URL");
        assert_eq!(again.1, path, "shown and read again, a URL has another path");
        let (next, names) = received::redirected(base, location).expect("both are URLs");
        let (from, to) = (server_of(base), server_of(&next));
        let clear = from.strip_prefix("http://").and_then(|server| server.strip_suffix(":80"));
        let is_upgrade = clear.is_some_and(|server| to == format!("https://{server}:443"));
        if from != to && !is_upgrade {
            assert_eq!(names, ["X-Harmless"], "a secret goes from {from} to {to}");
        }
        true
    },
    ..Target::BASE
};

/// Scheme, host and port of a URL with a server.
fn server_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").expect("a URL has a scheme");
    let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let server = server.rsplit('@').next().unwrap_or_default().trim_end_matches(':');
    let has_port = server.rfind(':') > server.rfind(']');
    let usual = if scheme.eq_ignore_ascii_case("https") { "443" } else { "80" };
    let port = if has_port { String::new() } else { format!(":{usual}") };
    format!("{scheme}://{server}{port}").to_ascii_lowercase()
}

/// A line `Set-Cookie`.
pub(crate) const COOKIE: Target = Target {
    name: "k6-cookie",
    seeds: &[
        b"a=1; Path=/; Domain=example.com; Secure; HttpOnly; Max-Age=100",
        b"b=\"q z\"; Expires=Wed, 21-Oct-2037 07:28:00 GMT; SameSite=Lax",
        b"c=; path=/sub; domain=.sub.example.com",
    ],
    words: &[b"; ", b"Max-Age=", b"Expires=", b"Domain=", b"9223372036854775807", b"\"", b"GMT", b"..", b"="],
    run: |input| {
        let from = "http://sub.example.com/sub/a";
        let header = received::cookie(from, input, from);
        assert!(header.bytes().all(|byte| (b' '..0x7f).contains(&byte)), "a header that no request can have");
        assert_eq!(
            received::cookie(from, input, "http://example.org/sub/a"),
            "",
            "a cookie of another server"
        );
        !header.is_empty()
    },
    ..Target::BASE
};

/// A header `WWW-Authenticate`.
pub(crate) const CHALLENGE: Target = Target {
    name: "k6-challenge",
    seeds: &[
        b"Digest realm=\"r, s\", nonce=\"abc\", qop=\"auth,auth-int\", opaque=\"o\", algorithm=SHA-256-sess",
        b"digest realm=x,nonce=y",
    ],
    words: &[b"qop=", b"\"", b",", b"algorithm=", b"-sess", b"Basic "],
    run: |input| {
        let challenge = String::from_utf8_lossy(input);
        received::authorization("http://u:p@h/", &challenge).is_some()
    },
    ..Target::BASE
};

/// A selector, a line feed, and JSON.
pub(crate) const SELECTOR: Target = Target {
    name: "k6-selector",
    seeds: &[
        b"a.b.#.c\n{\"a\":{\"b\":[{\"c\":1},{\"c\":\"x\"}]}}",
        b"d\\.e\n{\"d.e\":null}",
        b"2\n[1,2,3]",
        b"#\n[[],[]]",
    ],
    words: &[b".", b"#", b"\\", b"18446744073709551616", b"[[[[", b"-1"],
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let Some((selector, json)) = text.split_once('\n') else { return false };
        received::selected(json, selector).is_some()
    },
    ..Target::BASE
};

/// A selector, a line feed, and an HTML document.
pub(crate) const HTML: Target = Target {
    name: "k6-html",
    seeds: &[
        b"ul > li:nth-child(2n+1):not(.off) a[href^='/x' i], #id ~ b:has(> i):contains('t')\n<ul id=id><li class='a off'><a href=/x>t</a><li><b><i>t</b></ul>",
        b"td:last-of-type, svg path, *:root, p:empty\n<table><tr><td>1<td>2<svg><path/></svg><template><p></template></table>",
        b"form :input:checked + p:matchesOwn(a.c)\n<form><input type=checkbox checked><p>abc<p><b><p><b><p></form>&amp;&#xD800;",
    ],
    words: &[b":not(", b":has(", b":nth-last-child(", b"2147483648n", b"\\", b"]", b"'", b"<b>", b"<table>", b"</", b"<!--", b"&#", b","],
    run: |input| {
        let text = String::from_utf8_lossy(input);
        let Some((selector, html)) = text.split_once('\n') else { return false };
        received::found_in_html(html, selector).is_some()
    },
    ..Target::BASE
};

/// A CSV file.
pub(crate) const CSV: Target = Target {
    name: "k6-csv",
    seeds: &[b"a,b\n1,\"x \"\"y\"\"\"\r\n\n2,\"two\r\nlines\"", b"\"a\""],
    words: &[b"\"\"", b"\",\"", b"\r\n", b",", b"\r"],
    run: |input| {
        let Some(records) = received::csv_records(input) else { return false };
        let quoted = |field: &Vec<u8>| {
            let inner = field.iter().flat_map(|byte| if *byte == b'"' { vec![b'"'; 2] } else { vec![*byte] });
            [b"\"".to_vec(), inner.collect(), b"\"".to_vec()].concat()
        };
        let line = |record: &Vec<Vec<u8>>| record.iter().map(quoted).collect::<Vec<_>>().join(&b',');
        let written = records.iter().map(line).collect::<Vec<_>>().join(&b'\n');
        // A line end within a field is a line feed once it was read; what is one only then becomes one when it is read again.
        if written.windows(2).any(|pair| pair == b"\r\n") {
            return true;
        }
        assert_eq!(received::csv_records(&written), Some(records), "written and read again, records differ");
        true
    },
    ..Target::BASE
};

/// Steps in a heap that virtual users share: its size, and then a letter and a byte each.
pub(crate) const SHARED_HEAP: Target = Target {
    name: "k6-heap",
    seeds: &[
        b"\x40n0i0d0a1n0i0e0k0d0",
        b"\x40n0i3d0a1n0i3i0e0e1k0",
        b"\x40n0a1n0a2n1a0f2ra1f2rra0ra2f9rcg0a1ra0ra1cd0a0d0",
        b"\xffn0e1e2e3e4d0g0n0e8k1g0a1n1e\x0de\x0dd0a0d0g0",
        b"\x20n0e5e6a1n0i\x0af5rf6rd0g0",
        b"\x60n0i1i4i5i4d0a1n0e\x10k0e\x11i9g0d0",
        b"\x60n0i8i7i6e\x12k1k0f\x0brrrd0g0a1n0f\x0crk0cd0",
    ],
    words: &[
        b"n0", b"d0", b"g0", b"a1", b"i1", b"i4", b"e1", b"f2", b"r0", b"c0", b"k1", b"e\x10", b"e\x11",
        b"f\x0b",
    ],
    run: k6::shared_heap::exercise,
    one_of: 40,
    ..Target::BASE
};
