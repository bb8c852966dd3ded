//! What k6 has since its second version.

use super::expect;

#[test]
fn texts_are_encoded_and_decoded() {
    expect(
        "",
        &[
            ("typeof TextEncoder + typeof TextDecoder", "\"functionfunction\""),
            ("new TextEncoder().encode('h\u{e9}').buffer", "bytes 104,195,169"),
            ("new TextEncoder().encode().length", "0"),
            ("new TextEncoder().encodeInto('a\u{e9}', new Uint8Array(2))", "{\"read\":1,\"written\":1}"),
            ("new TextDecoder().decode(new TextEncoder().encode('\u{feff}h\u{e9}'))", "\"h\u{e9}\""),
            (
                "new TextDecoder('UTF-8', { ignoreBOM: true }).decode(new TextEncoder().encode('\u{feff}')).length",
                "1",
            ),
            ("new TextDecoder().decode(new Uint8Array([97, 255]))", "\"a\u{fffd}\""),
            (
                "new TextDecoder('utf8', { fatal: true }).decode(new Uint8Array([97, 255]))",
                "!TypeError: the bytes are not valid UTF-8",
            ),
            (
                "new TextDecoder('latin1')",
                "!RangeError: the encoding \"latin1\" is not supported: only utf-8 is",
            ),
            (
                "new TextDecoder().decode(new Uint8Array(1), { stream: true })",
                "!TypeError: decode() with stream is not supported",
            ),
            (
                "new TextDecoder().decode('text')",
                "!TypeError: decode() takes an ArrayBuffer or a typed array",
            ),
        ],
    );
}

#[test]
fn single_selects_at_most_one_node() {
    expect(
        "import { parseHTML } from 'k6/html';",
        &[
            ("parseHTML('<p>a<p>b').single('p').text()", "\"a\""),
            ("parseHTML('<p>a<p>b').single('b').size()", "0"),
        ],
    );
}
