//! Finds functions and how many lines each takes, from `fn` to its closing brace.

use super::lexer::is_word;

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Byte offset of its `fn`.
    pub(super) offset: usize,
    pub(super) lines: usize,
}

/// Every function in source whose comments and literals are blanked out, nested ones too.
pub(super) fn functions(masked: &str) -> Vec<Function> {
    let bytes = masked.as_bytes();
    let mut found = Vec::new();
    for (offset, _) in masked.match_indices("fn") {
        let before = offset.checked_sub(1).map(|at| bytes[at]);
        let after = bytes.get(offset + 2);
        // Neither part of a longer word, nor a raw identifier, nor a function type, which has no name.
        let keyword = !before.is_some_and(|byte| is_word(byte) || byte == b'#')
            && after.is_some_and(u8::is_ascii_whitespace);
        if !keyword {
            continue;
        }
        let name: String = masked[offset + 2..]
            .trim_start()
            .chars()
            .take_while(|&c| c == '_' || c == '#' || c == '$' || c.is_alphanumeric())
            .collect();
        if name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(bytes, offset) {
            let lines = 1 + bytes[offset..end].iter().filter(|&&byte| byte == b'\n').count();
            found.push(Function { name, offset, lines });
        }
    }
    found
}

/// The closing brace of the body, or nothing for a declaration.
fn body_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut groups = 0usize;
    let mut braces = 0usize;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'(' | b'[' if braces == 0 => groups += 1,
            b')' | b']' if braces == 0 => groups = groups.saturating_sub(1),
            b';' if braces == 0 && groups == 0 => return None,
            b'{' if groups == 0 => braces += 1,
            b'}' if braces > 0 => {
                braces -= 1;
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_measured() {
        let text = "fn one() {}\n\
                    pub const unsafe fn two<const N: usize>(f: fn(u8) -> u8, a: [u8; 3]) -> [u8; 2]\n\
                    where\n    T: X,\n{\n    fn inner() {\n    }\n}\n\
                    trait T { fn declared(&self) -> [u8; 2]; fn default(&self) {} }\n\
                    type F = fn(u8);\nlet fn_like = r#fn;";
        let found: Vec<_> = functions(text).into_iter().map(|f| (f.name, f.lines)).collect();
        let expect = [("one", 1), ("two", 7), ("inner", 2), ("default", 1)];
        assert_eq!(found, expect.map(|(name, lines)| (name.to_owned(), lines)));
    }

    #[test]
    fn broken_source_is_no_reason_to_fail() {
        assert_eq!(functions("fn"), []);
        assert_eq!(functions("fn a( {"), []);
        assert_eq!(functions("fn a() { {"), []);
    }
}
