//! Selectors of `response.json("a.b.0.c")`: the paths that scripts use, not the whole of the language that k6 takes.

use serde_json::Value;

/// What a path selects: names, numbers of elements, `#` for the length of an array, or `#.name` for one field of all
/// elements. A `\` makes the next character part of a name. None where there is no such value.
pub(crate) fn select(json: &Value, path: &str) -> Option<Value> {
    let parts = parts(path);
    select_parts(json, &parts)
}

/// Whether a path has what only k6's language knows: wildcards, queries, modifiers, several paths in one.
pub(crate) fn is_unknown(path: &str) -> bool {
    let mut before = '.';
    path.chars().any(|character| {
        let found = match character {
            '*' | '?' | '|' => before != '\\',
            '@' | '{' | '[' => before == '.',
            '(' => before == '#',
            _ => false,
        };
        before = if before == '\\' { ' ' } else { character };
        found
    })
}

fn select_parts(json: &Value, parts: &[String]) -> Option<Value> {
    let Some((first, rest)) = parts.split_first() else { return Some(json.clone()) };
    match json {
        Value::Object(fields) => select_parts(fields.get(first)?, rest),
        Value::Array(elements) if first == "#" && rest.is_empty() => Some(elements.len().into()),
        Value::Array(elements) if first == "#" => {
            Some(elements.iter().filter_map(|element| select_parts(element, rest)).collect())
        }
        Value::Array(elements) => select_parts(elements.get(first.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}

fn parts(path: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_escaped = false;
    for character in path.chars() {
        match character {
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            '.' if !is_escaped => parts.push(String::new()),
            character => {
                if let Some(last) = parts.last_mut() {
                    last.push(character);
                }
            }
        }
        is_escaped = false;
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_k6_can_select_is_known() {
        for path in ["a.*", "a?", "a.#(b==2).c", "a|0", "@this", "a.@reverse", "{a,b}", "a.[b,c]"] {
            assert!(is_unknown(path), "{path}");
        }
        for path in ["", "a.b.0", "a.#.b", r"a\*", r"a\?.b", "a@b", "a[0]", "a(b)"] {
            assert!(!is_unknown(path), "{path}");
        }
    }

    #[test]
    fn paths_select_values() {
        let json = json!({ "a": { "b": [1, { "c": "x" }, { "c": "y" }] }, "d.e": true, "n": null });
        for (path, expected) in [
            ("a.b.0", Some(json!(1))),
            ("a.b.1.c", Some(json!("x"))),
            ("a.b.#", Some(json!(3))),
            ("a.b.#.c", Some(json!(["x", "y"]))),
            ("d\\.e", Some(json!(true))),
            ("n", Some(json!(null))),
            ("a.b.7", None),
            ("a.x", None),
            ("d.e", None),
        ] {
            assert_eq!(select(&json, path), expected, "{path}");
        }
    }
}
