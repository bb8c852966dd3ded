//! As much of Rust's grammar as separates code from comments, strings and characters, and tests from other code.
//!
//! It never fails: what it cannot classify counts as code, so that a rule complains rather than overlooks.

use std::ops::Range;

/// A Rust source with everything but code blanked out, byte for byte at its old place.
pub(crate) struct Code {
    pub(crate) masked: String,
    tests: Vec<Range<usize>>,
}

impl Code {
    pub(crate) fn of(path: &str, text: &str) -> Self {
        let masked = mask(text);
        let tests =
            if is_test_path(path) { std::iter::once(0..masked.len()).collect() } else { test_items(&masked) };
        Self { masked, tests }
    }

    /// Whether the byte at `offset` is compiled for tests only.
    pub(crate) fn in_tests(&self, offset: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&offset))
    }

    /// The code with what is compiled for tests only blanked out too.
    pub(crate) fn without_tests(&self) -> String {
        let mut bytes = self.masked.clone().into_bytes();
        for byte in self.tests.iter().flat_map(|range| range.clone()) {
            if bytes[byte] != b'\n' {
                bytes[byte] = b' ';
            }
        }
        String::from_utf8(bytes).expect("items begin and end at ASCII bytes, so whole characters are blanked")
    }

    /// Where `token` occurs in code as a whole word.
    pub(crate) fn find<'a>(&'a self, token: &'a str) -> impl Iterator<Item = usize> + 'a {
        let bytes = self.masked.as_bytes();
        self.masked.match_indices(token).map(|(at, _)| at).filter(move |&at| {
            let end = at + token.len();
            let opens = at == 0 || !is_word(bytes[at - 1]) || !is_word(token.as_bytes()[0]);
            let closes = end == bytes.len() || !is_word(bytes[end]) || !is_word(bytes[end - 1]);
            opens && closes
        })
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn is_test_path(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs" | "benches" | "examples"))
}

fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        for byte in &mut masked[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(masked).expect("literals begin and end at ASCII bytes, so whole characters are blanked")
}

/// Where the comment or literal that starts at `at` ends; `at` itself if none starts there.
pub(super) fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment_end(bytes, at),
        [b'"', ..] => quoted_end(bytes, at + 1, b'"'),
        [b'\'', b'\\', ..] => quoted_end(bytes, at + 1, b'\''),
        [b'\'', first, ..] => {
            // A lifetime has no closing quote right after its first character.
            let close = at + 1 + character_len(*first);
            if bytes.get(close) == Some(&b'\'') { close + 1 } else { at }
        }
        [b'r' | b'b' | b'c', ..] if at == 0 || !is_word(bytes[at - 1]) => raw_string_end(bytes, at),
        _ => at,
    }
}

fn character_len(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

fn quoted_end(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn block_comment_end(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`; anything else, raw identifiers too, is not a literal.
fn raw_string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    if matches!(bytes[at], b'b' | b'c') {
        at += 1;
    }
    if bytes.get(at) != Some(&b'r') {
        return start;
    }
    at += 1;
    let hashes = bytes[at..].iter().take_while(|&&byte| byte == b'#').count();
    at += hashes;
    if bytes.get(at) != Some(&b'"') {
        return start;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &bytes[at + 1..];
    let length = body.windows(close.len()).position(|window| window == close);
    length.map_or(bytes.len(), |length| at + 1 + length + close.len())
}

fn test_items(masked: &str) -> Vec<Range<usize>> {
    let starts = masked.match_indices("#[cfg(test)]").map(|(at, _)| at);
    starts.map(|start| start..item_end(masked.as_bytes(), start)).collect()
}

/// The end of the item that the attribute at `start` belongs to: its closing brace, or its semicolon.
fn item_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(mask(text).split_whitespace().collect::<Vec<_>>().join(" "), expect, "of {text}");
        assert_eq!(mask(text).len(), text.len());
    }

    #[test]
    fn everything_but_code_is_blanked() {
        check("let a = 1; // {", "let a = 1;");
        check("a /* { /* } */ { */ b", "a b");
        check(r#"f("{ \" }", 'x')"#, "f( , )");
        check(r##"f(r#"{ " \"#, br"\", cr#"{"#)"##, "f( , , )");
        check(r"f('\'', '{', b'\\', 'é', '\u{7b}')", "f( , , b , , )");
        check(
            "fn f<'a>(x: &'a str, r#type: &'static str) {}",
            "fn f<'a>(x: &'a str, r#type: &'static str) {}",
        );
        check("'outer: loop { break 'outer; }", "'outer: loop { break 'outer; }");
        check("for\"unclosed", "for");
        check("/* unclosed", "");
        check("let x = '", "let x = '");
        check("br", "br");
    }

    #[test]
    fn tests_are_separated_from_other_code() {
        let text = "fn a() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests { fn b() { {} } }\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}";
        let code = Code::of("src/lib.rs", text);
        let inside = |name: &str| code.in_tests(text.find(name).expect("it is there"));
        assert_eq!(
            [inside("fn a"), inside("fn b"), inside("fn c"), inside("use x"), inside("fn d")],
            [false, true, false, true, false]
        );
        assert!(Code::of("crates/wire/tests/it/main.rs", text).in_tests(0));
        assert!(Code::of("crates/wire/src/h2/tests.rs", text).in_tests(0));
        assert!(!Code::of("crates/testbed/src/lib.rs", text).in_tests(0));
    }

    #[test]
    fn words_are_found_whole() {
        let code =
            Code::of("src/a.rs", "strand::x(); rand::y(); \"rand::z\"; Instant::nowish(); a::Instant::now()");
        assert_eq!(code.find("rand::").collect::<Vec<_>>(), [13]);
        assert_eq!(code.find("Instant::now").count(), 1);
    }
}
