//! Modifiers: `@name` or `@name:argument`, and `!value`, which is a value itself.

use super::raw::{Kind, is_true, lines, members, unescaped, value_bytes};
use super::{is_json, select};

/// What makes one JSON text of another; none where it makes no value.
type Modifier = fn(&str, &str) -> Option<String>;

const MODIFIERS: [(&str, Modifier); 13] = [
    ("dig", |json, argument| Some(array(dug(json, argument)))),
    ("flatten", |json, argument| Some(flattened(json, argument))),
    ("fromstr", |json, _| {
        Some(unescaped(json.trim()).into_owned()).filter(|text| is_json(json) && is_json(text))
    }),
    ("group", |json, _| grouped(json)),
    ("join", |json, argument| Some(joined(json, argument))),
    ("keys", |json, _| {
        let is_object = Kind::of(json) == Kind::Object;
        Some(array(values(json).map(|(name, _)| if is_object { name } else { "null" })))
    }),
    ("pretty", |json, _| Some(json.to_owned())),
    ("reverse", |json, _| Some(reversed(json))),
    ("this", |json, _| Some(json.to_owned())),
    ("tostr", |json, _| Some(serde_json::Value::from(json).to_string())),
    ("ugly", |json, _| Some(without_spaces(json))),
    ("valid", |json, _| Some(json.to_owned()).filter(|json| is_json(json))),
    ("values", |json, _| {
        let is_array = Kind::of(json) == Kind::Array;
        Some(if is_array { json.to_owned() } else { array(values(json).map(|(_, value)| value)) })
    }),
];

fn modifier(path: &str) -> Option<(Modifier, &str)> {
    let path = path.strip_prefix('@')?;
    let end = path.find(['.', '|', ':']).unwrap_or(path.len());
    let (_, modifier) = MODIFIERS.iter().find(|(name, _)| *name == &path[..end])?;
    Some((*modifier, &path[end..]))
}

/// Whether a path begins with a modifier.
pub(super) fn is_modifier(path: &str) -> bool {
    modifier(path).is_some()
}

/// What the modifier at the beginning of a path makes of a text, and the rest of the path; none where there is no modifier.
pub(super) fn applied<'p>(json: &str, path: &'p str) -> Option<(Option<String>, &'p str)> {
    if let Some(value) = path.strip_prefix('!') {
        return literal(value);
    }
    let (modifier, after) = modifier(path)?;
    let (argument, rest) = after.strip_prefix(':').map_or(("", after), argument);
    Some((modifier(json, argument).filter(|made| Kind::of(made) != Kind::Nothing), rest))
}

/// The argument of a modifier, and what follows it.
fn argument(text: &str) -> (&str, &str) {
    if text.starts_with(['{', '[', '"']) {
        return text.split_at(value_bytes(text));
    }
    let mut end = 0;
    while let Some(next) = text[end..].chars().next().filter(|next| *next != '|') {
        end += match next {
            '{' | '[' | '"' | '(' => value_bytes(&text[end..]),
            next => next.len_utf8(),
        };
    }
    text.split_at(end)
}

fn literal(text: &str) -> Option<(Option<String>, &str)> {
    let is_compound = text.starts_with(['{', '[', '"']);
    let end = if is_compound { value_bytes(text) } else { text.find(['.', '|']).unwrap_or(text.len()) };
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-'));
    let end = if is_number { text.find('|').unwrap_or(text.len()) } else { end };
    let (value, rest) = text.split_at(end);
    let is_value =
        is_compound || is_number || matches!(value.to_lowercase().as_str(), "true" | "false" | "null");
    is_value.then(|| (Some(value.to_owned()), rest))
}

/// The members of an object or an array.
fn compound(json: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_compound = matches!(Kind::of(json), Kind::Object | Kind::Array);
    members(if is_compound { json } else { "" })
}

/// The same, or the value itself where it is of another kind.
fn values(json: &str) -> impl Iterator<Item = (&str, &str)> {
    match Kind::of(json) {
        Kind::Object | Kind::Array => members(json),
        _ => lines(json),
    }
}

fn array<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> String {
    let mut text = String::from("[");
    for value in values {
        text.push_str(if text.len() > 1 { "," } else { "" });
        text.push_str(value.as_ref());
    }
    text + "]"
}

pub(super) fn object<T: AsRef<str>>(pairs: impl IntoIterator<Item = (T, T)>) -> String {
    let mut text = String::from("{");
    for (name, value) in pairs {
        text.push_str(if text.len() > 1 { "," } else { "" });
        text.extend([name.as_ref(), ":", value.as_ref()]);
    }
    text + "}"
}

fn reversed(json: &str) -> String {
    let mut all: Vec<(&str, &str)> = compound(json).collect();
    all.reverse();
    match Kind::of(json) {
        Kind::Object => object(all),
        Kind::Array => array(all.into_iter().map(|(_, value)| value)),
        _ => json.to_owned(),
    }
}

/// Whether an argument such as `{"deep":true}` has this.
fn asks_for(argument: &str, name: &str) -> bool {
    compound(argument).any(|(known, value)| unescaped(known) == name && is_true(value))
}

fn flattened(json: &str, argument: &str) -> String {
    if Kind::of(json) != Kind::Array {
        return json.to_owned();
    }
    if asks_for(argument, "deep") {
        return array(innermost(json));
    }
    let within = |value| if Kind::of(value) == Kind::Array { value } else { "" };
    let parts = members(json).flat_map(|(_, value)| {
        let own = Some(value).filter(|value| Kind::of(value) != Kind::Array);
        own.into_iter().chain(members(within(value)).map(|(_, value)| value))
    });
    array(parts)
}

/// The values of an array that are not arrays, however deep they are.
fn innermost(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|character: char| " \t\r\n,[]".contains(character));
        let (value, after) = rest.split_at_checked(value_bytes(rest))?;
        rest = after;
        (!value.is_empty()).then_some(value)
    })
}

fn joined(json: &str, argument: &str) -> String {
    if Kind::of(json) != Kind::Array {
        return json.to_owned();
    }
    let objects = members(json).map(|(_, value)| value).filter(|value| Kind::of(value) == Kind::Object);
    let pairs = objects.flat_map(members);
    // All members are kept then, of which the first of a name counts.
    let is_preserved = asks_for(argument, "preserve");
    let mut kept: Vec<(&str, &str)> = Vec::new();
    let mut places = std::collections::HashMap::<_, usize>::new();
    for (name, value) in pairs {
        match places.entry(unescaped(name)) {
            std::collections::hash_map::Entry::Occupied(_) if is_preserved => {}
            std::collections::hash_map::Entry::Occupied(place) => kept[*place.get()].1 = value,
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push((name, value));
            }
        }
    }
    object(kept)
}

/// Of an object of arrays, an array of objects.
fn grouped(json: &str) -> Option<String> {
    if Kind::of(json) != Kind::Object {
        return None;
    }
    let mut groups: Vec<Vec<(&str, &str)>> = Vec::new();
    for (name, values) in members(json).filter(|(_, value)| Kind::of(value) == Kind::Array) {
        for (index, (_, value)) in members(values).enumerate() {
            if index == groups.len() {
                groups.push(Vec::new());
            }
            groups[index].push((name, value));
        }
    }
    Some(array(groups.into_iter().map(object)))
}

/// What a path selects of a value and of everything within it.
fn dug(json: &str, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![vec![json]];
    while let Some(last) = open.last_mut() {
        let Some(value) = last.pop() else {
            open.pop();
            continue;
        };
        found.extend(select(value, path).map(|selected| selected.into_owned()));
        let mut within: Vec<&str> = compound(value).map(|(_, value)| value).collect();
        within.reverse();
        open.push(within);
    }
    found
}

fn without_spaces(json: &str) -> String {
    let (mut is_escaped, mut is_in_string) = (false, false);
    let kept = json.chars().filter(|character| {
        let is_quote = *character == '"' && !is_escaped;
        is_escaped = *character == '\\' && !is_escaped;
        is_in_string ^= is_quote;
        is_in_string || !matches!(character, ' ' | '\t' | '\r' | '\n')
    });
    kept.collect()
}
