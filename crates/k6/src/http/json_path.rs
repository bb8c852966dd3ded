//! Paths of `response.json("a.b.0.c")`, which is the language of the Go package `gjson`: names with wildcards, numbers and queries of
//! elements, several paths in one, and modifiers. A path is followed in the text, and what it selects is a part of that where it can be:
//! as a document it could take many times as much memory.

mod modifiers;
mod parts;
mod raw;

use std::borrow::Cow;

use Begun::{Followed, Made};
use parts::{ArrayPart, Comparison, ObjectPart, Query, split_pipe, sub_paths};
use raw::{Kind, Members, lines, members, unescaped};

/// What a path selects of a JSON text, as JSON; none where there is no such value, or the text is not JSON.
pub(crate) fn select<'j>(json: &'j str, path: &str) -> Option<Cow<'j, str>> {
    let path = match modifiers::applied(json, path)
        .map_or_else(|| combined(json, path), |(value, rest)| Made(value, rest))
    {
        Made(value, rest) => {
            return match rest.strip_prefix(['.', '|']) {
                Some(rest) => owned(value.as_deref().unwrap_or_default(), rest),
                None => value.map(Cow::Owned),
            };
        }
        Followed(path) => path,
    };
    let mut found = Found { value: None, pipe: None };
    match path.strip_prefix("..") {
        Some(path) => found.array(lines(json), path),
        None => found.within(json, path),
    };
    match found.pipe {
        Some(pipe) => owned(found.value.as_deref().unwrap_or_default(), pipe),
        None => found.value,
    }
}

/// What the beginning of a path comes to.
enum Begun<'p> {
    /// A value, from which the rest is followed.
    Made(Option<String>, &'p str),
    /// Nothing: this is the path.
    Followed(&'p str),
}

/// Whether a text is JSON.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The same as [`select`] of a text that does not outlive the call.
fn owned(json: &str, path: &str) -> Option<Cow<'static, str>> {
    select(json, path).map(|value| Cow::Owned(value.into_owned()))
}

/// What `[path,path]` or `{"name":path}` at the beginning of a path makes.
fn combined<'p>(json: &str, path: &'p str) -> Begun<'p> {
    let Some(open) = path.chars().next().filter(|first| path.len() > 1 && matches!(first, '[' | '{')) else {
        return Followed(path);
    };
    // What does not end is an empty path, as in k6.
    let Some((paths, rest)) = sub_paths(path) else { return Followed("") };
    if !(rest.is_empty() || rest.starts_with(['.', '|'])) {
        return Followed(rest);
    }
    let mut values = paths.iter().filter_map(|part| Some((part, select(json, part.path)?)));
    let value = match open {
        '[' => format!("[{}]", values.map(|(_, value)| value).collect::<Vec<_>>().join(",")),
        _ => {
            // Of several with one name the first counts.
            let mut pairs: Vec<(String, Cow<'_, str>)> = Vec::new();
            for (part, value) in values.by_ref() {
                let name = part.json_name();
                if pairs.iter().all(|(known, _)| *known != name) {
                    pairs.push((name, value));
                }
            }
            modifiers::object(pairs.iter().map(|(name, value)| (name.as_str(), &**value)))
        }
    };
    Made(Some(value), rest)
}

/// What was found so far, and a path that is followed from there.
struct Found<'j, 'p> {
    value: Option<Cow<'j, str>>,
    pipe: Option<&'p str>,
}

impl<'j, 'p> Found<'j, 'p> {
    /// Look for a path in an object or an array; whether the search ends with it.
    fn within(&mut self, json: &'j str, path: &'p str) -> bool {
        match Kind::of(json) {
            Kind::Object => self.object(json, path),
            Kind::Array => self.array(members(json), path),
            _ => false,
        }
    }

    fn object(&mut self, json: &'j str, path: &'p str) -> bool {
        let part = ObjectPart::parse(path);
        if part.rest.is_none() && part.pipe.is_some() {
            self.pipe = part.pipe;
        }
        members(json).filter(|(name, _)| part.matches(&unescaped(name))).any(|(_, value)| match part.rest {
            Some(rest) => self.within(value, rest),
            None => {
                self.value = Some(Cow::Borrowed(value));
                true
            }
        })
    }

    fn array(&mut self, mut elements: Members<'j>, path: &'p str) -> bool {
        let part = ArrayPart::parse(path);
        let (rest, pipe) = part.after();
        if rest.is_none() && pipe.is_some() {
            self.pipe = pipe;
        }
        match part {
            ArrayPart::Index { index, .. } => {
                let element = index.and_then(|index| elements.nth(index));
                element.is_some_and(|(_, value)| match rest {
                    Some(rest) => self.within(value, rest),
                    None => {
                        self.value = Some(Cow::Borrowed(value));
                        true
                    }
                })
            }
            ArrayPart::Count { .. } => {
                self.value = Some(Cow::Owned(elements.count().to_string()));
                true
            }
            ArrayPart::Each { path } => {
                let path = self.piped(path);
                let values = elements.filter_map(|(_, value)| select(value, path));
                self.value = Some(Cow::Owned(format!("[{}]", values.collect::<Vec<_>>().join(","))));
                true
            }
            ArrayPart::Query { query, .. } => self.query(elements, &query, rest),
        }
    }

    /// The part of a path before a `|`, what is behind which is followed from what is found.
    fn piped(&mut self, path: &'p str) -> &'p str {
        let Some((path, pipe)) = split_pipe(path) else { return path };
        self.pipe = Some(pipe);
        path
    }

    fn query(&mut self, elements: Members<'j>, query: &Query<'_>, rest: Option<&'p str>) -> bool {
        let mut all = Vec::new();
        for (_, value) in elements.filter(|(_, value)| query.matches(value)) {
            let selected = match rest {
                Some(rest) => select(value, self.piped(rest)),
                None => Some(Cow::Borrowed(value)),
            };
            if !query.is_for_all {
                self.value = selected;
                return true;
            }
            all.extend(selected);
        }
        if query.is_for_all && self.value.is_none() {
            self.value = Some(Cow::Owned(format!("[{}]", all.join(","))));
        }
        false
    }
}

impl Query<'_> {
    /// Whether an element is one that is looked for.
    fn matches(&self, element: &str) -> bool {
        let is_compound = matches!(Kind::of(element), Kind::Object | Kind::Array);
        let value = match (is_compound, self.path) {
            (true, path) => select(element, path),
            (false, "") => Some(Cow::Borrowed(element)),
            (false, _) => return false,
        };
        let kind = value.as_deref().map(Kind::of);
        let (value, expected) = match self.value.strip_prefix('~') {
            None => (value, self.value.as_ref()),
            Some(loose) => {
                let text = value.as_deref().unwrap_or_default();
                let is_it = match loose {
                    "*" => kind.is_some(),
                    "null" => kind.is_none_or(|kind| kind == Kind::Null),
                    "true" => raw::is_true(text),
                    "false" => value.is_none() || raw::is_false(text),
                    _ => return false,
                };
                (Some(Cow::Borrowed(if is_it { "true" } else { "false" })), "true")
            }
        };
        let Some(value) = value else { return false };
        let Some(comparison) = self.comparison else { return true };
        let ordered = match Kind::of(&value) {
            Kind::String => {
                let text = unescaped(&value);
                match comparison {
                    Comparison::Like => return raw::is_like(&text, expected),
                    Comparison::Unlike => return !raw::is_like(&text, expected),
                    _ => text.as_ref().cmp(expected),
                }
            }
            Kind::Number => {
                let (number, expected) = (value.parse().unwrap_or(0.0), expected.parse().unwrap_or(0.0));
                match f64::partial_cmp(&number, &expected) {
                    Some(ordered) => ordered,
                    None => return comparison == Comparison::Unequal,
                }
            }
            kind @ (Kind::True | Kind::False) => match (kind == Kind::True, expected) {
                (own, "true" | "false") => own.cmp(&(expected == "true")),
                (true, _) => return matches!(comparison, Comparison::Unequal | Comparison::GreaterOrEqual),
                (false, _) => return matches!(comparison, Comparison::Unequal | Comparison::LessOrEqual),
            },
            _ => return false,
        };
        comparison.holds(ordered)
    }
}

#[cfg(test)]
mod tests;
