use proptest::prelude::*;

use super::*;
use crate::h2::hpack::{Decoder, Fit};
use crate::headers::Headers;

fn block(encoder: &mut Encoder, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for (name, value) in fields {
        encoder.field(&mut out, name.as_bytes(), value.as_bytes(), Secrecy::Open);
    }
    out
}

const CALL: [(&str, &str); 4] = [
    (":authority", "127.0.0.1:6566"),
    (":path", "/package.Service/Method"),
    ("te", "trailers"),
    ("content-type", "application/grpc+proto"),
];

#[test]
fn a_repeated_head_becomes_a_byte_a_field() {
    let mut encoder = Encoder::new();
    assert!(block(&mut encoder, &CALL).len() > 60);
    assert!(block(&mut encoder, &CALL).len() > 60);
    assert_eq!(block(&mut encoder, &CALL), [0xc1, 0xc0, 0xbf, 0xbe]);
}

#[test]
fn values_that_vary_do_not_push_out_those_that_stay() {
    let mut encoder = Encoder::new();
    let mut longest = 0;
    for n in 0..20_000 {
        let user = format!("user-{n:05}");
        let mut fields = CALL.to_vec();
        fields.push(("x-user", &user));
        let length = block(&mut encoder, &fields).len();
        if n > 2 {
            longest = longest.max(length);
        }
    }
    assert_eq!(longest, 4 + 1 + 7 + 11);
}

#[test]
fn secrets_are_never_indexed() {
    let mut encoder = Encoder::new();
    for _ in 0..3 {
        let out = block(&mut encoder, &[("authorization", "Bearer x"), ("cookie", "a=b")]);
        assert_eq!(&out[..2], [0x1f, 23 - 15]);
        assert_eq!(&out[11..13], [0x1f, 32 - 15]);
        let mut out = Vec::new();
        encoder.field(&mut out, b"x-key", b"s3cret", Secrecy::Secret);
        assert_eq!(out[0], 0x10);
    }
}

#[test]
fn table_sizes_are_announced_smallest_first() {
    let mut encoder = Encoder::new();
    encoder.allow_table(100_000);
    assert!(block(&mut encoder, &[]).is_empty());
    encoder.allow_table(0);
    encoder.allow_table(4096);
    assert_eq!(block(&mut encoder, &[]), [0x20, 0x3f, 0xe1, 0x1f]);
    encoder.allow_table(0);
    assert_eq!(block(&mut encoder, &[]), [0x20]);
    for _ in 0..3 {
        assert_eq!(block(&mut encoder, &[("a", "b")]), [0, 1, b'a', 1, b'b']);
    }
}

/// A few names and values, so that they repeat; now and then one of any length.
fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let name = prop_oneof![
        4 => (0..8u8).prop_map(|n| vec![b'n', b'a' + n]),
        2 => Just(b"content-type".to_vec()),
        1 => Just(b"authorization".to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..200),
    ];
    let value = prop_oneof![
        4 => (0..20u8).prop_map(|n| vec![b'v'; usize::from(n)]),
        1 => proptest::collection::vec(any::<u8>(), 0..1500),
    ];
    (name, value)
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        blocks in proptest::collection::vec(proptest::collection::vec(field(), 0..12), 1..40),
        sizes in proptest::collection::vec(proptest::option::weighted(0.2, 0..5000usize), 40),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        for (fields, size) in blocks.iter().zip(sizes) {
            if let Some(size) = size {
                encoder.allow_table(size);
            }
            let mut out = Vec::new();
            encoder.begin(&mut out);
            for (name, value) in fields {
                encoder.field(&mut out, name, value, Secrecy::Open);
            }
            let mut headers = Headers::new();
            prop_assert_eq!(decoder.decode(&out, &mut headers), Ok(Fit::Whole));
            let seen: Vec<_> = headers.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
            prop_assert_eq!(&seen, fields);
        }
    }
}
