//! The header block of a request; one that is the same as before is not encoded again.
//!
//! Users of one step send the same head over and over. The block of a head is kept with the head, and is good for an
//! equal one as long as the dynamic table is the same.

use super::hpack::Encoder;
use crate::decimal::Digits;
use crate::error::StartError;
use crate::event::{Request, Scheme};
use crate::headers::{Headers, Secrecy};
use crate::request_rules;

/// Indices of the static table (RFC 7541, appendix A).
const METHOD_GET: u8 = 2;
const METHOD_POST: u8 = 3;
const SCHEME_HTTP: u8 = 6;
const SCHEME_HTTPS: u8 = 7;
/// So many other heads come before the kept one is replaced, so that heads that take turns do not replace each other
/// every time.
const MISSES_TO_REPLACE: u8 = 8;

/// The block of the request that is started, and the head that is kept.
#[derive(Debug)]
pub(super) struct RequestBlock {
    kept: KeptHead,
    /// How many requests had another head since it was kept.
    misses: u8,
    /// The block of the request that was encoded last.
    bytes: Vec<u8>,
}

/// A head that was checked, and its block without a content-length.
#[derive(Debug)]
struct KeptHead {
    method: Vec<u8>,
    path: Vec<u8>,
    authority: Vec<u8>,
    scheme: Scheme,
    headers: Headers,
    kind: BodyKind,
    block: Vec<u8>,
    /// The state of the encoder's table that the block refers to; none before a head is kept.
    state: Option<u64>,
}

/// What a request's body consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    /// gRPC frames its messages itself, and its clients send no length.
    Grpc,
    Other,
}

impl KeptHead {
    fn is_of(&self, request: &Request<'_>, encoder: &Encoder) -> bool {
        self.state == Some(encoder.state())
            && self.path == request.path
            && self.headers == *request.headers
            && self.method == request.method
            && self.authority == request.authority
            && self.scheme == request.scheme
    }
}

impl RequestBlock {
    pub(super) fn new() -> Self {
        let kept = KeptHead {
            method: Vec::new(),
            path: Vec::new(),
            authority: Vec::new(),
            scheme: Scheme::Http,
            headers: Headers::new(),
            kind: BodyKind::Other,
            block: Vec::new(),
            state: None,
        };
        RequestBlock { kept, misses: 0, bytes: Vec::new() }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Check the request and encode its head.
    pub(super) fn encode(&mut self, request: &Request<'_>, encoder: &mut Encoder) -> Result<(), StartError> {
        self.bytes.clear();
        let kind = if self.kept.is_of(request, encoder) {
            self.bytes.extend_from_slice(&self.kept.block);
            self.kept.kind
        } else {
            request_rules::check(request)?;
            let before = encoder.lessons();
            encoder.begin(&mut self.bytes);
            let kind = encode_head(encoder, &mut self.bytes, request);
            // A block from which the encoder learns is another one the next time.
            if encoder.lessons() == before {
                self.keep(request, kind, encoder.state());
            }
            kind
        };
        if !request.body.is_empty() && kind == BodyKind::Other {
            let length = Digits::new(request.body.len() as u64);
            // In the table, bodies of varying length would push out what all requests share.
            Encoder::unindexed(&mut self.bytes, b"content-length", length.as_bytes());
        }
        Ok(())
    }

    fn keep(&mut self, request: &Request<'_>, kind: BodyKind, state: u64) {
        self.misses += 1;
        if self.kept.state == Some(state) && self.misses < MISSES_TO_REPLACE {
            return;
        }
        self.misses = 0;
        let kept = &mut self.kept;
        let Request { method, path, authority, .. } = request;
        let parts = [(&mut kept.method, *method), (&mut kept.path, *path), (&mut kept.authority, *authority)];
        for (buffer, part) in parts.into_iter().chain([(&mut kept.block, &self.bytes[..])]) {
            buffer.clear();
            buffer.extend_from_slice(part);
        }
        kept.headers.clear();
        kept.headers.extend(request.headers.view(), usize::MAX);
        (kept.scheme, kept.kind, kept.state) = (request.scheme, kind, Some(state));
    }
}

fn encode_head(encoder: &mut Encoder, out: &mut Vec<u8>, request: &Request<'_>) -> BodyKind {
    match request.method {
        b"GET" => Encoder::static_pair(out, METHOD_GET),
        b"POST" => Encoder::static_pair(out, METHOD_POST),
        other => encoder.field(out, b":method", other, Secrecy::Open),
    }
    let scheme = match request.scheme {
        Scheme::Http => SCHEME_HTTP,
        Scheme::Https => SCHEME_HTTPS,
    };
    Encoder::static_pair(out, scheme);
    encoder.field(out, b":authority", request.authority, Secrecy::Open);
    encoder.field(out, b":path", request.path, Secrecy::Open);
    let mut kind = BodyKind::Other;
    for (name, value, secrecy) in request.headers.iter_with_secrecy() {
        encoder.field(out, name, value, secrecy);
        if name.len() == 12 && name == b"content-type" && value.starts_with(b"application/grpc") {
            kind = BodyKind::Grpc;
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::h2::hpack::{Decoder, Fit};

    /// Heads by turns, with several of each part, so that many are the same as one before.
    #[derive(Debug, Clone, Copy)]
    struct Head {
        path: usize,
        value: usize,
        secrecy: Secrecy,
        body: usize,
        /// The table that the peer allows from now on.
        table_bytes: Option<usize>,
    }

    fn heads() -> impl Strategy<Value = Head> {
        let secrecy = prop_oneof![Just(Secrecy::Open), Just(Secrecy::Secret)];
        let table_bytes = prop::option::weighted(0.05, prop_oneof![Just(0), Just(100), Just(4096)]);
        (0..2usize, 0..3usize, secrecy, 0..3usize, table_bytes).prop_map(
            |(path, value, secrecy, body, table_bytes)| Head { path, value, secrecy, body, table_bytes },
        )
    }

    proptest! {
        #[test]
        fn every_block_means_its_request(heads in prop::collection::vec(heads(), 1..200)) {
            let (mut block, mut encoder, mut decoder) = (RequestBlock::new(), Encoder::new(), Decoder::new());
            for head in heads {
                if let Some(bytes) = head.table_bytes {
                    encoder.allow_table(bytes);
                }
                let (path, value) = (["/a", "/longer"][head.path], ["1", "2", "three"][head.value]);
                let mut headers = Headers::new();
                match head.secrecy {
                    Secrecy::Open => headers.push(b"x", value.as_bytes()),
                    Secrecy::Secret => headers.push_secret(b"x", value.as_bytes()),
                }
                let body = &b"body"[..head.body];
                let (path, scheme) = (path.as_bytes(), Scheme::Https);
                let request = Request { method: b"PUT", path, authority: b"h", scheme, headers: &headers, body };
                block.encode(&request, &mut encoder).unwrap();
                let mut fields = Headers::new();
                prop_assert_eq!(decoder.decode(block.bytes(), &mut fields).unwrap(), Fit::Whole);
                let view = fields.view();
                prop_assert_eq!(view.get(b":path"), Some(path));
                prop_assert_eq!(view.get(b"x"), Some(value.as_bytes()));
                prop_assert_eq!(view.get(b"content-length").is_some(), !body.is_empty());
                prop_assert_eq!(view.len(), 5 + usize::from(!body.is_empty()));
                if head.secrecy == Secrecy::Secret {
                    // A literal that is never indexed, with a new name.
                    let literal = [&b"\x10\x01x"[..], &[value.len() as u8], value.as_bytes()].concat();
                    prop_assert!(block.bytes().windows(literal.len()).any(|at| at == literal));
                }
            }
        }
    }

    #[test]
    fn bodies_of_other_lengths_have_the_same_head() {
        let (mut block, mut encoder) = (RequestBlock::new(), Encoder::new());
        let (method, path, authority, scheme) = (&b"PUT"[..], &b"/a"[..], &b"h"[..], Scheme::Http);
        let body = [b'x'; 300];
        let mut states = Vec::new();
        for length in (0..3).flat_map(|_| 1..300) {
            let (headers, body) = (&Headers::new(), &body[..length]);
            let request = Request { method, path, authority, scheme, headers, body };
            block.encode(&request, &mut encoder).unwrap();
            states.push(encoder.state());
        }
        states.dedup();
        assert!(states.len() <= 4, "the table has changed {} times", states.len());
    }

    #[test]
    fn a_head_is_kept_and_checked_again_when_it_changes() {
        let (mut block, mut encoder) = (RequestBlock::new(), Encoder::new());
        let headers = Headers::new();
        let mut encode = |path: &[u8]| {
            let (method, authority, scheme) = (&b"GET"[..], &b"h"[..], Scheme::Http);
            let request = Request { method, path, authority, scheme, headers: &headers, body: b"" };
            let encoded = block.encode(&request, &mut encoder).is_ok();
            (encoded, block.bytes().len(), block.kept.path == path)
        };
        // Seen, put into the table, an index, kept.
        assert_eq!((encode(b"/a"), encode(b"/a")), ((true, 9, false), (true, 9, false)));
        assert_eq!((encode(b"/a"), encode(b"/a")), ((true, 4, true), (true, 4, true)));
        assert!(!encode(b"/ a").0);
        assert_eq!(encode(b"/a"), (true, 4, true));
    }
}
