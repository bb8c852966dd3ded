//! Reads the paths out of Rust code: what `use` declarations bring in, and what is written out in full.

use super::lexer::is_word;

/// One name that a `use` declaration brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    alias: Option<String>,
}

impl Import {
    /// What it is called where it is imported; `*` for all names of a module.
    pub(super) fn name(&self) -> Option<&str> {
        self.alias.as_deref().or(self.path.last().map(String::as_str))
    }
}

/// The paths of one file.
#[derive(Debug, Default)]
pub(super) struct Paths {
    pub(super) imports: Vec<Import>,
    /// Paths of at least two segments outside `use` declarations.
    pub(super) inline: Vec<Vec<String>>,
}

/// Every path in code whose comments and literals are blanked out.
pub(super) fn paths(code: &str) -> Paths {
    let bytes = code.as_bytes();
    let mut paths = Paths::default();
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            at += 1;
            continue;
        }
        let end = word_end(bytes, at);
        let is_use = &code[at..end] == "use" && bytes.get(end).is_some_and(u8::is_ascii_whitespace);
        if is_use {
            let length = code[end..].find(';').unwrap_or(code.len() - end);
            expand(&code[end..end + length], &[], &mut paths.imports);
            at = end + length;
        } else {
            let (path, end) = inline_path(code, at);
            // What follows a qualified type, as in `<T as Trait>::name`, begins no path.
            if path.len() > 1 && !code[..at].ends_with("::") {
                paths.inline.push(path);
            }
            at = end;
        }
    }
    paths
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|&byte| !is_word(byte)).map_or(bytes.len(), |length| start + length)
}

/// The path that begins with the word at `start`, and where it ends.
fn inline_path(code: &str, start: usize) -> (Vec<String>, usize) {
    let bytes = code.as_bytes();
    let mut end = word_end(bytes, start);
    let mut path = vec![code[start..end].to_owned()];
    while code[end..].starts_with("::") && bytes.get(end + 2).is_some_and(|&byte| is_word(byte)) {
        let next = word_end(bytes, end + 2);
        path.push(code[end + 2..next].to_owned());
        end = next;
    }
    (path, end)
}

/// Adds the imports of one tree, such as `a::{b as c, d::{self, *}}`, below `prefix`.
fn expand(tree: &str, prefix: &[String], imports: &mut Vec<Import>) {
    let tree = tree.trim();
    let (before, group) = match tree.split_once('{') {
        Some((before, group)) => (before, group.rsplit_once('}').map(|(group, _)| group)),
        None => (tree, None),
    };
    let (before, alias) = match before.split_once(" as ") {
        Some((before, alias)) => (before, Some(alias.trim().to_owned())),
        None => (before, None),
    };
    let mut path = prefix.to_vec();
    path.extend(
        before.split("::").map(|segment| segment.trim().to_owned()).filter(|segment| !segment.is_empty()),
    );
    let Some(group) = group else {
        // `a::{self}` brings in `a`.
        if path.len() > 1 {
            path.pop_if(|last| last == "self");
        }
        if !path.is_empty() {
            imports.push(Import { path, alias });
        }
        return;
    };
    let mut depth = 0isize;
    let parts = group.split(|c: char| {
        depth += isize::from(c == '{') - isize::from(c == '}');
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).for_each(|part| expand(part, &path, imports));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, expect_imports: &[&str], expect_inline: &[&str]) {
        let paths = paths(code);
        let imports: Vec<String> = paths
            .imports
            .iter()
            .map(|import| format!("{} = {}", import.name().unwrap_or_default(), import.path.join("::")))
            .collect();
        let inline: Vec<String> = paths.inline.iter().map(|path| path.join("::")).collect();
        assert_eq!(imports, expect_imports, "of {code}");
        assert_eq!(inline, expect_inline, "of {code}");
    }

    #[test]
    fn use_trees_are_expanded() {
        check("use a;\npub(crate) use super::b::c as d;", &["a = a", "d = super::b::c"], &[]);
        check(
            "use crate::{\n    a::{self, B as _, c::*},\n    d,\n};",
            &["a = crate::a", "_ = crate::a::B", "* = crate::a::c::*", "d = crate::d"],
            &[],
        );
        check("use self::a;\nuse ::b::c;", &["a = self::a", "c = b::c"], &[]);
    }

    #[test]
    fn paths_in_code_are_found_whole() {
        check(
            "fn f(a: super::A, b: b::c::D<e::F>) -> impl G + use<'_> { h::<I>::j(); <K as l::M>::n::o() }",
            &[],
            &["super::A", "b::c::D", "e::F", "l::M"],
        );
        check("let used = user_of(x);", &[], &[]);
    }
}
