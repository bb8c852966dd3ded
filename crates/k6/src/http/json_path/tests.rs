use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn selected(json: &str, path: &str) -> Option<Value> {
    assert!(is_json(json), "{json}");
    select(json, path)
        .map(|text| serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {text}: {error}")))
}

/// What the conformance script `json-selectors.js` has from k6 is more; these are the forms.
#[test]
fn paths_select_values() {
    let json = json!({
        "a": { "b": [1, { "c": "x\"\n\u{1}" }, { "c": { "d": [], "f": [1.5, -2, true] } }, 7] },
        "d.e": true,
        "n": null,
        "empty": [],
    });
    let json = json.to_string();
    for (path, expected) in [
        ("a.b.0", Some(json!(1))),
        ("a.b.1.c", Some(json!("x\"\n\u{1}"))),
        ("a.b.#", Some(json!(4))),
        ("a.b.#.c", Some(json!(["x\"\n\u{1}", { "d": [], "f": [1.5, -2, true] }]))),
        ("a.b.#.x", Some(json!([]))),
        ("a.b.#(>1)", Some(json!(7))),
        ("a.b.#(c.f.1<0).c.f.@reverse", Some(json!([true, -2, 1.5]))),
        ("a.b.#(c)#|#", Some(json!(2))),
        ("*.?.[0,3]", Some(json!([1, 7]))),
        ("{n,\"e\":empty.#}", Some(json!({ "n": null, "e": 0 }))),
        ("d\\.e", Some(json!(true))),
        ("n", Some(json!(null))),
        ("n.x", None),
        ("a.b.7", None),
        ("a.b.0.c", None),
        ("d.e", None),
    ] {
        assert_eq!(selected(&json, path), expected, "{path}");
    }
}

#[test]
fn what_is_selected_is_a_part_of_the_text() {
    let json = format!("{{\"a\": [{}0]}}", "0,".repeat(1 << 20));
    assert!(matches!(select(&json, "a"), Some(Cow::Borrowed(part)) if part.len() == (2 << 20) + 3));
    assert_eq!(select(&json, "a.#").as_deref(), Some("1048577"));
}

#[test]
fn arrays_that_are_nested_deep_take_no_stack() {
    let json = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(is_json(&json));
    assert_eq!(select(&json, "@flatten:{\"deep\":true}").as_deref(), Some("[1]"));
    assert_eq!(select(&json, "@reverse.#").as_deref(), Some("1"));
}

proptest! {
    #[test]
    fn what_is_selected_is_what_a_document_has(json in document(), path in "[ab#012]{1,2}(\\.[ab#012]{1,2}){0,2}") {
        let text = json.to_string();
        let parts: Vec<&str> = path.split('.').collect();
        prop_assume!(!parts.iter().any(|part| part.len() > 1 && part.contains('#')));
        prop_assert_eq!(selected(&text, &path), of_document(&json, &parts), "{} {}", text, path);
    }

    #[test]
    fn any_path_is_followed(json in document(), path in "[ab#012@!*?.|:()\\[\\]{}\"\\\\=<>%~é,]{0,12}|@(this|reverse|flatten|keys|join|group|dig:a|tostr)[.|#(\\[a0]{0,4}") {
        let text = json.to_string();
        let _ = select(&text, &path);
    }
}

fn document() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        any::<i32>().prop_map(|value| json!(f64::from(value) / 2.0)),
        "\\PC{0,4}".prop_map(|value| json!(value)),
    ];
    scalar.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[ab#012]{1,2}", inner, 0..4).prop_map(|fields| json!(fields)),
        ]
    })
}

fn of_document(json: &Value, parts: &[&str]) -> Option<Value> {
    let Some((first, rest)) = parts.split_first() else { return Some(json.clone()) };
    match json {
        Value::Object(fields) => of_document(fields.get(*first)?, rest),
        Value::Array(elements) if *first == "#" && rest.is_empty() => Some(elements.len().into()),
        Value::Array(elements) if *first == "#" => {
            Some(elements.iter().filter_map(|element| of_document(element, rest)).collect())
        }
        Value::Array(elements) => of_document(elements.get(first.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}
