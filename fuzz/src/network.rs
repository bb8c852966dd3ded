//! Connection settings and encodings from users and targets: proxies, content codings, server reflection.

use wire::coding::decode;
use workload::address::{Origin, Scheme, authority_of};
use workload::message::Schemas;
use workload::message::reflection::ReflectionSession;
use workload::proxy::{Proxy, from_environment};

use crate::Target;

/// A password in the seeds, which no message may show.
const SECRET: &str = "5ecret";

pub(crate) const PROXY: Target = Target {
    name: "proxy",
    seeds: &[
        b"http://ann:5ecret@proxy.example:3128/\nx.example",
        b"[::1]:8080\n.corp.example,10.0.0.0/8,fd00::/8,only.example:8080,*",
        b"proxy\n10.1.2.3,192.0.2.0/24",
    ],
    words: &[
        b"http://",
        b"socks5://",
        b"5ecret",
        b"@",
        b"%40",
        b"%0d%0a",
        b":65535",
        b"[::1]",
        b"/128",
        b"\n",
    ],
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        let (proxy, exempt) = text.split_once('\n').unwrap_or((text, ""));
        let (host, port) = authority_of(exempt, Some(80)).unwrap_or(("10.1.2.3".to_owned(), 80));
        let env = |name: &str| match name {
            "http_proxy" => Some(proxy.to_owned()),
            "no_proxy" => Some(exempt.to_owned()),
            _ => None,
        };
        let named = from_environment(&Origin { scheme: Scheme::Http, host, port }, &env);
        match (Proxy::parse(proxy), named) {
            (Ok(parsed), named) => {
                assert!(named.is_ok_and(|named| named.is_none_or(|named| named == parsed)));
                // The user's name and password are encoded in base64 and must not be shown in any other form.
                let request = parsed.tunnel_request("h", 1);
                let lines = 3 + usize::from(parsed.user.is_some());
                assert_eq!(request.matches("\r\n").count(), lines, "a proxy URL adds lines to the request");
                assert!(request.is_ascii() && !format!("{:?}", parsed.user).contains(SECRET));
                true
            }
            (Err(error), named) => {
                let url = proxy.strip_prefix("http://").unwrap_or(proxy);
                let is_hidden = !url.contains("://")
                    && url.rsplit_once('@').is_some_and(|(_, authority)| !authority.contains(SECRET));
                assert!(
                    !(error.is_empty() || is_hidden && error.contains(SECRET)),
                    "a password is shown: {error}"
                );
                assert!(!matches!(named, Ok(Some(_))), "a proxy from the environment is parsed differently");
                false
            }
        }
    },
    ..Target::BASE
};

pub(crate) const CODING: Target = Target {
    name: "coding",
    seeds: &[
        b"gzip\n\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0",
        b"deflate\n\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15",
        b"deflate\n\xcb\x48\xcd\xc9\xc9\x07\x00",
        b"br, identity\n\x0b\x02\x80hello\x03",
        b"zstd\n\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00hello\xa3\x6d\x9f\x88",
        // Twice 128 KiB of one byte.
        b"zstd\n\x28\xb5\x2f\xfd\x00\x38\x02\0\x10x\x03\0\x10x",
    ],
    words: &[
        b"gzip",
        b"br",
        b"zstd",
        b"deflate",
        b", ",
        b"\x28\xb5\x2f\xfd",
        b"\x02\0\x10x",
        b"\xed\xc1\x01\x01",
    ],
    run: |input| {
        const LIMIT: usize = 1 << 16;
        let split = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let (codings, body) = (&input[..split], input.get(split + 1..).unwrap_or_default());
        match decode(codings, body, LIMIT) {
            Ok(decoded) => {
                assert!(decoded.len() <= LIMIT.max(body.len()), "the output is longer than its limit");
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty() && error.to_string().len() < 1_000);
                false
            }
        }
    },
    ..Target::BASE
};

pub(crate) const REFLECTION: Target = Target {
    name: "reflection",
    // Answers behind their lengths (two bytes): a list of services; a file with a message and a service; one with an
    // import, and a refusal.
    seeds: &[
        b"\0\x09\x32\x07\x0a\x05\x0a\x03a.S\0\x33\x22\x31\x0a\x2f\x0a\x07a.proto\x12\x01a\x22\x03\x0a\x01M\x32\x14\
          \x0a\x01S\x12\x0f\x0a\x01G\x12\x04.a.M\x1a\x04.a.M\x62\x06proto3",
        b"\0\x16\x22\x14\x0a\x12\x0a\x07b.proto\x1a\x07a.proto\0\x08\x3a\x06\x08\x05\x12\x02no",
    ],
    words: &[b"\0\x02\x22\0", b"\x0a\x07a.proto", b"\x1a\x07b.proto", b".a.M", b"\xff\xff\xff\xff\x0f", b"\x3a\0"],
    run: |input| {
        let mut session = ReflectionSession::new(["a.S".to_owned()]);
        let mut rest = input;
        while let [high, low, tail @ ..] = rest {
            let (message, after) = tail.split_at(tail.len().min(usize::from(u16::from_be_bytes([*high, *low]))));
            assert_eq!(session.requests().len(), session.unanswered());
            if session.receive(message).is_err() {
                return false;
            }
            rest = after;
        }
        let Ok(set) = session.finish() else { return false };
        let mut schemas = Schemas::default();
        if plans::descriptions::add_set(&mut schemas, "t", &set).is_err() {
            return false;
        }
        let Ok(method) = schemas.method("t", "a.S/G") else { return false };
        let shown = method.decode_to_json(input);
        assert!(shown.is_ok() || shown.is_err_and(|error| !error.to_string().is_empty()));
        true
    },
    ..Target::BASE
};
