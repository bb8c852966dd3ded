//! Values in the syntax of other tools, which a plan sends as they are: said before a run, with how a plan has them.

use evidence::visible;
use workload::Workload;
use workload::model::{Request, Step};
use workload::template::{Part, Template};

const URL: &str = "the url";

/// Which steps send `{{token}}` or `$token`, and where.
pub(crate) fn warnings(workload: &Workload) -> Vec<String> {
    let mut said = Vec::new();
    for step in workload.steps() {
        for (place, template) in places(step) {
            // Bodies may be JSON, and headers anything.
            let of_url = |text| in_single_braces(text).filter(|_| place == URL);
            let foreign = literals(template).find_map(|text| foreign_value(text).or_else(|| of_url(text)));
            let Some((text, name)) = foreign else { continue };
            let warning = format!(
                "warning: {place} of `{}` has `{text}`, which is sent as it is: a value that a step extracted is `${{{name}}}`, one of \
                 data `${{DATA.{name}}}`, of the environment `${{env.{name}}}`",
                visible(&step.name)
            );
            if !said.contains(&warning) {
                said.push(warning);
            }
        }
    }
    said
}

/// What a step sends, with what it is called.
pub(crate) fn places(step: &Step) -> Vec<(String, &Template)> {
    let headers = step.request.headers().iter();
    let mut places: Vec<_> =
        headers.map(|(name, value)| (format!("the header `{}`", visible(name)), value)).collect();
    if let Request::Http { path, body, .. } = &step.request {
        places.push((URL.to_owned(), path));
        // Variables of GraphQL are written so.
        if !literals(body).any(|text| text.contains("query") || text.contains("mutation")) {
            places.push(("the body".to_owned(), body));
        }
    }
    places
}

fn literals(template: &Template) -> impl Iterator<Item = &str> {
    template.parts().iter().filter_map(|part| match part {
        Part::Literal(text) => Some(text.as_str()),
        Part::Value(_) | Part::JsonValue(_) | Part::UrlValue(_) => None,
    })
}

/// A value as other tools write it, and its name.
fn foreign_value(text: &str) -> Option<(String, String)> {
    in_braces(text).or_else(|| behind_dollar(text))
}

/// `{{name}}`
fn in_braces(text: &str) -> Option<(String, String)> {
    text.match_indices("{{").find_map(|(at, _)| {
        let (inside, _) = text[at + 2..].split_once("}}")?;
        let name = inside.trim();
        is_name(name).then(|| (format!("{{{{{inside}}}}}"), name.to_owned()))
    })
}

/// `{name}`, as in the paths of OpenAPI.
fn in_single_braces(text: &str) -> Option<(String, String)> {
    text.match_indices('{').find_map(|(at, _)| {
        let (name, _) = text[at + 1..].split_once('}')?;
        is_name(name).then(|| (format!("{{{name}}}"), name.to_owned()))
    })
}

/// `$name`, at the beginning of a word.
fn behind_dollar(text: &str) -> Option<(String, String)> {
    text.match_indices('$').find_map(|(at, _)| {
        let is_start = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '$');
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..end];
        (is_start && is_name(name)).then(|| (format!("${name}"), name.to_owned()))
    })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_tools_are_found_and_prices_are_not() {
        let found = |text| foreign_value(text).map(|(text, _)| text);
        assert_eq!(found("Bearer {{token}}").as_deref(), Some("{{token}}"));
        assert_eq!(found("/users/{{ id }}/x").as_deref(), Some("{{ id }}"));
        assert_eq!(found("Bearer $TOKEN").as_deref(), Some("$TOKEN"));
        for kept in ["costs $5", "a$b", "{\"a\":{\"b\":1}}", "$$name", "{{}}", "100$"] {
            assert_eq!(found(kept), None, "{kept}");
        }
        let in_path = |text| in_single_braces(text).map(|(text, _)| text);
        assert_eq!(in_path("/users/{id}/x").as_deref(), Some("{id}"));
        assert_eq!([in_path("/users/{}"), in_path("/{a b}/{1}")], [None, None]);
    }
}
