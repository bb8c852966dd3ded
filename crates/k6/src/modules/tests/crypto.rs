//! `k6/crypto` and `k6/encoding`.

use super::expect;

#[test]
fn digests_have_the_forms_that_scripts_ask_for() {
    expect(
        "import crypto from 'k6/crypto';",
        &[
            ("crypto.md5('hello', 'hex')", r#""5d41402abc4b2a76b9719d911017c592""#),
            ("crypto.sha1('hello', 'hex')", r#""aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d""#),
            ("crypto.sha1('hello1', 'base64')", r#""iP3VhRIaTMs9FUBSeu5Tp3x3q7g=""#),
            ("crypto.sha1('', 'base64url')", r#""2jmj7l5rSw0yVb_vlWAYkK_YBwk=""#),
            ("crypto.sha1('', 'base64rawurl')", r#""2jmj7l5rSw0yVb_vlWAYkK_YBwk""#),
            (
                "crypto.sha1('hello1', 'binary')",
                "bytes 136,253,213,133,18,26,76,203,61,21,64,82,122,238,83,167,124,119,171,184",
            ),
            ("crypto.sha256('hello', 'base64')", r#""LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=""#),
            (
                "crypto.sha384('hello', 'base64')",
                r#""WeF0h3dEjGnea4ANejO7+5/xtGPkQ1TDVTvNucZm+pASWjx5+QOXvfX2oT3oKGhP""#,
            ),
            (
                "crypto.sha512('hello', 'base64')",
                r#""m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==""#,
            ),
            ("crypto.sha512_224('hello', 'base64')", r#""/oUJ7R+33O/CfmrBqA7dvsTLPSxv5WUkQ3QGHA==""#),
            ("crypto.sha512_256('hello', 'base64')", r#""4w2Hz6KnXbVF6sTWG6+XA2aoNXx/cvqVtS0KzLaY8To=""#),
            (
                "crypto.md5(new Uint8Array([251, 255, 254, 0, 1]), 'hex')",
                r#""1df5f2f25138ca1d4536591b1d9932ef""#,
            ),
            ("crypto.hexEncode(new Uint8Array([251, 255, 254, 0, 1]).buffer)", r#""fbfffe0001""#),
            ("crypto.sha1('x', 'nope')", "!Error: invalid output encoding: nope"),
            ("crypto.sha1('x')", "!Error: invalid output encoding: "),
            (
                "crypto.md5(12, 'hex')",
                "!Error: invalid type, expected a string, a typed array or an ArrayBuffer",
            ),
            ("crypto.md4('a', 'hex')", "\"bde52cb31de33e46245e05fbdbd6fb24\""),
            ("crypto.hmac('md4', 'k', 'd', 'hex')", "\"de693e9b565099e8fe8129b3833a702d\""),
            ("crypto.ripemd160('a', 'hex')", "\"0bdc9d2d256b3ee9daae347be6f4dc835a467ffe\""),
            (
                "crypto.createHMAC('ripemd160', 'k').digest('hex')",
                "\"1c4760c49feb2f7bb5a8390950a48521d6557be5\"",
            ),
        ],
    );
}

#[test]
fn a_key_shorter_or_longer_than_a_block_authenticates_data() {
    expect(
        "import { hmac } from 'k6/crypto';",
        &[
            ("hmac('md5', 'key', 'hello', 'hex')", r#""04130747afca4d79e32e87cf2104f087""#),
            ("hmac('sha1', 'key', 'hello', 'hex')", r#""b34ceac4516ff23a143e61d79d0fa7a4fbe5f266""#),
            (
                "hmac('sha256', 'key', 'hello', 'hex')",
                r#""9307b3b915efb5171ff14d8cb55fbcc798c6c0ef1456d66ded1a6aa723a58b7b""#,
            ),
            (
                "hmac('sha512_224', 'key', 'hello', 'hex')",
                r#""65f0de09201bada199441610a81e6fa6e805bc96684444139a7fc3aa""#,
            ),
            (
                "hmac('sha256', new Uint8Array(100).fill(7), 'hello', 'base64rawurl')",
                r#""xqtCzKP1jHZrUKr_ArdtPgkmG4HTVAEuUHhVOSiLUf0""#,
            ),
            (
                "hmac('sha512', 'k'.repeat(200), 'hello', 'base64')",
                r#""md6B11bq8RJGpVouNYk5WBBLX8oOOPTXhSTlS4c82bzpxojx56CwzwL6WsdhwF+gBYvp6IY/9sD6aGr8Rv1oEw==""#,
            ),
            ("hmac('nope', 'k', 'd', 'hex')", "!Error: invalid algorithm: nope"),
        ],
    );
}

#[test]
fn a_hasher_digests_what_it_was_given_so_far() {
    let imports = "import { createHash, createHMAC } from 'k6/crypto';
        const hash = createHash('md5'); const keyed = createHMAC('sha256', 'key');";
    expect(
        imports,
        &[
            ("hash.update('hel')", "undefined"),
            ("hash.update(new Uint8Array([108, 111]))", "undefined"),
            ("hash.digest('hex')", r#""5d41402abc4b2a76b9719d911017c592""#),
            ("hash.digest('base64')", r#""XUFAKrxLKna5cZ2REBfFkg==""#),
            (
                "(keyed.update('hello'), keyed.digest('hex'))",
                r#""9307b3b915efb5171ff14d8cb55fbcc798c6c0ef1456d66ded1a6aa723a58b7b""#,
            ),
            ("hash.update({})", "!Error: invalid type, expected a string, a typed array or an ArrayBuffer"),
            (
                "hash.digest.call({}, 'hex')",
                "!TypeError: update() and digest() are called on what createHash() returned",
            ),
        ],
    );
}

#[test]
fn random_bytes_are_as_many_as_asked_for() {
    expect(
        "import { randomBytes } from 'k6/crypto'; const bytes = new Uint8Array(randomBytes(64));",
        &[
            ("bytes.length", "64"),
            ("new Set(bytes).size > 16", "true"),
            ("randomBytes('3').byteLength", "3"),
            ("randomBytes(1.5).byteLength", "1"),
            ("randomBytes(0)", "!Error: invalid size"),
            ("randomBytes(1e12)", "!Error: invalid size"),
            ("randomBytes()", "!Error: invalid size"),
        ],
    );
}

#[test]
fn base64_is_encoded_and_decoded() {
    expect(
        "import { b64encode, b64decode } from 'k6/encoding'; const bytes = new Uint8Array([251, 255, 254, 0, 1]);",
        &[
            ("b64encode(bytes.buffer)", r#""+//+AAE=""#),
            ("b64encode(bytes, 'rawstd')", r#""+//+AAE""#),
            ("b64encode(bytes, 'url')", r#""-__-AAE=""#),
            ("b64encode(bytes, 'rawurl')", r#""-__-AAE""#),
            ("b64encode(bytes.subarray(1, 3), 'other')", r#""//4=""#),
            ("b64encode('héllo ☃')", r#""aMOpbGxvIOKYgw==""#),
            ("b64encode(12)", "!Error: invalid type, expected a string, a typed array or an ArrayBuffer"),
            ("b64decode('aGk=')", "bytes 104,105"),
            ("b64decode('aGk=', 'std', 's')", r#""hi""#),
            ("b64decode('-__-AAE=', 'url')", "bytes 251,255,254,0,1"),
            ("b64decode('aGl', 'rawurl', 's')", r#""hi""#),
            ("b64decode('aG\\nk=', 'std', 's')", r#""hi""#),
            ("b64decode('+//+AAE=', 'std', 's')", r#""���\u0000\u0001""#),
            ("b64decode(1234)", "bytes 215,109,248"),
            ("b64decode()", "bytes "),
            ("b64decode('a*b=')", "!Error: illegal base64 data: Invalid symbol 42, offset 1."),
            ("b64decode('aGk=', 'rawstd')", "!Error: illegal base64 data: Invalid padding"),
            ("b64decode('aGk', 'std')", "!Error: illegal base64 data: Invalid padding"),
        ],
    );
}
