//! Finds functions and their parameter lists.

use std::ops::Range;

use super::lexer::is_word;

/// A function that has a name, with a body or declared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Where its `fn` is.
    pub(super) offset: usize,
    /// What is between its parentheses.
    pub(super) parameters: Range<usize>,
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
        let rest = masked[offset + 2..].trim_start();
        let name: String =
            rest.chars().take_while(|&c| c == '_' || c == '#' || c == '$' || c.is_alphanumeric()).collect();
        if name.is_empty() {
            continue;
        }
        let after_name = masked.len() - rest.len() + name.len();
        if let Some(parameters) = parameters(bytes, after_name) {
            found.push(Function { name, offset, parameters });
        }
    }
    found
}

/// What is between the parentheses that follow a name and perhaps its generic parameters.
fn parameters(bytes: &[u8], after_name: usize) -> Option<Range<usize>> {
    let mut angles = 0usize;
    let mut open = None;
    let mut depth = 0usize;
    for at in after_name..bytes.len() {
        match bytes[at] {
            // The arrow of `Fn(u8) -> u8` closes nothing.
            b'>' if bytes[at - 1] == b'-' => {}
            b'<' if open.is_none() => angles += 1,
            b'>' if open.is_none() => angles = angles.saturating_sub(1),
            b'(' | b'[' | b'{' if angles == 0 => {
                depth += 1;
                open = open.or(Some(at + 1));
            }
            b')' | b']' | b'}' if angles == 0 => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return open.map(|open| open..at);
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

    fn check(text: &str, expect: &[(&str, &str)]) {
        let found = functions(text);
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), &text[f.parameters.clone()])).collect();
        assert_eq!(found, expect, "of {text}");
    }

    #[test]
    fn every_parameter_list_is_found() {
        check("fn one() {}", &[("one", "")]);
        check(
            "pub const unsafe fn two<const N: usize, F: Fn(u8) -> u8>(f: F, a: [u8; 3]) -> [u8; 2] { fn inner(x: X) {} }",
            &[("two", "f: F, a: [u8; 3]"), ("inner", "x: X")],
        );
        check(
            "trait T { fn declared(&self, f: fn(u8) -> u8) -> [u8; 2]; fn default(&self) {} }",
            &[("declared", "&self, f: fn(u8) -> u8"), ("default", "&self")],
        );
        check("type F = fn(u8);\nlet fn_like = r#fn;", &[]);
    }

    #[test]
    fn broken_source_is_no_reason_to_fail() {
        for text in ["fn", "fn a", "fn a( {", "fn a)", "fn a<b("] {
            check(text, &[]);
        }
    }
}
