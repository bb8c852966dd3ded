//! Parameters have names: none of them is a tuple that is taken apart in the parameter list.

use super::complaint::Complaint;
use super::functions::{Function, functions};
use super::tree::{Source, Tree};

/// Every function whose parameter list contains the pattern of a tuple.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    tree.sources.iter().flat_map(of_source).collect()
}

fn of_source(source: &Source) -> Vec<Complaint> {
    let Some(code) = &source.code else { return Vec::new() };
    let takes_a_tuple = |function: &Function| {
        split(&code.masked[function.parameters.clone()]).any(|one| is_tuple(pattern(one)))
    };
    functions(&code.masked)
        .into_iter()
        .filter(takes_a_tuple)
        .map(|function| Complaint {
            path: source.path.clone(),
            line: source.line_at(function.offset),
            wrong: format!("`{}` takes a tuple apart in its parameter list", function.name),
            instead: "give the group a struct whose name says what its fields are together".to_owned(),
        })
        .collect()
}

/// The parameters of a list: its parts between commas that no bracket encloses.
fn split(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0isize;
    let mut previous = ' ';
    list.split(move |c: char| {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if previous == '-' || previous == '=' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        previous = c;
        c == ',' && depth == 0
    })
}

/// What comes before the type of a parameter.
fn pattern(parameter: &str) -> &str {
    let bytes = parameter.as_bytes();
    let of_type = |&at: &usize| bytes.get(at + 1) != Some(&b':') && (at == 0 || bytes[at - 1] != b':');
    let colon = parameter.match_indices(':').map(|(at, _)| at).find(of_type);
    parameter[..colon.unwrap_or(0)].rsplit(']').next().unwrap_or_default()
}

/// Whether a parenthesis in the pattern is not that of a named struct, as in `State(store)`, nor empty.
fn is_tuple(pattern: &str) -> bool {
    pattern.match_indices('(').any(|(at, _)| {
        let is_named =
            pattern[..at].trim_end().ends_with(|c: char| c == '_' || c == '>' || c.is_alphanumeric());
        !is_named && !pattern[at + 1..].trim_start().starts_with(')')
    })
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_one(text: &str, expect: &str) {
        let path = "crates/wire/src/a.rs";
        assert_eq!(printed(&check(&Tree::of(&[(path, text)]))), expect, "of {text}");
    }

    #[test]
    fn a_tuple_in_a_parameter_list_is_named() {
        let message = "takes a tuple apart in its parameter list; give the group a struct whose name says what its \
                       fields are together\n";
        for (text, name) in [
            ("fn a((b, c): (B, C)) {}", "a"),
            ("fn a(x: X<'_, Y>, &(b, _): &(B, C)) {}", "a"),
            ("trait T { fn a<F: Fn(u8) -> u8>(&self, (b, c): (B, C)); }", "a"),
            ("fn a(Json((b, c)): Json<(B, C)>) {}", "a"),
            ("fn outer(x: X) { fn a(#[cfg(x)] (b, c): (B, C)) {} }", "a"),
        ] {
            check_one(text, &format!("crates/wire/src/a.rs:1: `{name}` {message}"));
        }
    }

    #[test]
    fn other_patterns_pass() {
        check_one(
            "fn a(b: (B, C), f: impl Fn((B, C)) -> D, d: fn(B, C)) { |(b, c): (B, C)| b; let (e, f) = g; }",
            "",
        );
        check_one("fn a(State(store): State<Store>, Query(one::Two(q)): Query<Two>) {}", "");
        check_one("fn a(&mut self, mut b: B, [c, d]: [C; 2], Pair { e, f }: Pair, (): ()) {}", "");
        check_one("#[cfg(test)]\nfn a(b: crate::B, _: (C, D)) {}\n// fn a((b, c): (B, C)) {}", "");
    }
}
