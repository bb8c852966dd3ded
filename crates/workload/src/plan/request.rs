//! Reads what a step sends.

use super::call;
use super::http;
use super::section::Item;
use super::steps::StepReader;
use super::targets::{authority_of, http_origin, is_target_text, scheme_of};
use crate::connection::Scheme;
use crate::model::{HttpOrigin, Request, Target};
use crate::nearest::nearest;
use crate::template::{Part, Template, Value, json_template};

/// Keys that are a method and a URL at once.
const METHODS: [(&str, &str); 6] = [
    ("get", "GET"),
    ("post", "POST"),
    ("put", "PUT"),
    ("patch", "PATCH"),
    ("delete", "DELETE"),
    ("head", "HEAD"),
];

/// Read the request of a step.
pub(super) fn read(reader: &mut StepReader<'_, '_>) -> Option<Request> {
    let section = reader.section;
    let short: Vec<_> =
        METHODS.iter().filter_map(|(key, method)| Some((section.get(key)?, (*method).to_owned()))).collect();
    let long = section.get("url");
    let grpc = section.get("grpc");
    let method = section.get("method").and_then(|item| read_method(&item));
    if short.len() + usize::from(long.is_some()) + usize::from(grpc.is_some()) != 1 {
        let example = "`get = \"${NAME.url}/path\"`, `method` and `url`, or `grpc`";
        section.issues.add(&section.span, format!("a step sends one request: {example}"));
        return None;
    }
    if let Some(item) = section.get("method").filter(|_| long.is_none()) {
        item.issues.add(&item.key_span, "`method` goes with `url`; leave it out here");
    }
    match (short.into_iter().next(), long, grpc) {
        (Some((url, method)), _, _) => read_http(reader, &url, method),
        (None, Some(url), _) => read_http(reader, &url, method.unwrap_or_else(|| "GET".to_owned())),
        (None, None, Some(grpc)) => call::read(reader, &grpc),
        (None, None, None) => None,
    }
}

fn read_method(item: &Item<'_>) -> Option<String> {
    let method = item.text()?;
    if method.is_empty() || !method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
        item.wrong("a method is written in capitals: `\"GET\"`");
        return None;
    }
    Some(method.to_owned())
}

fn read_http<'a>(reader: &mut StepReader<'a, '_>, url: &Item<'a>, method: String) -> Option<Request> {
    let place = read_url(reader, url);
    let mut headers = reader.headers("headers");
    let body = read_body(reader, &mut headers);
    for key in ["message", "messages"] {
        not_here(reader, key, "goes with `grpc`; use `json` or `body` here");
    }
    for key in ["repeat", "every", "cancel_after", "deadline"] {
        not_here(reader, key, "goes with `grpc`");
    }
    let defaults = place.as_ref().and_then(|(target, _)| reader.targets.http.get(target));
    let options = http::read_step(reader, defaults);
    let (target, path) = place?;
    Some(Request::Http { target, method, path, headers, body: body?, options })
}

/// Note that a key makes no sense in this kind of step.
pub(super) fn not_here(reader: &StepReader<'_, '_>, key: &'static str, why: &str) {
    if let Some(item) = reader.section.get(key) {
        item.issues.add(&item.key_span, format!("`{key}` {why}"));
    }
}

fn read_body(reader: &mut StepReader<'_, '_>, headers: &mut Vec<(String, Template)>) -> Option<Template> {
    match (reader.section.get("json"), reader.section.get("body")) {
        (Some(json), None) => {
            reader.inner_templates(&json)?;
            if !headers.iter().any(|(name, _)| name == "content-type") {
                headers.push(("content-type".to_owned(), Template::literal("application/json")));
            }
            json.issues.check(&json.span(), json_template(&json.json()))
        }
        (None, Some(body)) => reader.template(&body),
        (None, None) => Some(Template::default()),
        (Some(json), Some(_)) => {
            json.issues.add(&json.key_span, "a step has one body: leave out `json` or `body`");
            None
        }
    }
}

/// The target's name, and path and query with the target's base path in front.
fn read_url<'a>(reader: &mut StepReader<'a, '_>, url: &Item<'a>) -> Option<(String, Template)> {
    let template = url.template()?;
    let (target, origin, rest) = split_url(reader, url, &template)?;
    let path = match rest.chars().next() {
        Some('/') => format!("{}{rest}", origin.base_path),
        Some('?') if !origin.base_path.is_empty() => format!("{}{rest}", origin.base_path),
        Some('?') => format!("/{rest}"),
        None if origin.base_path.is_empty() => "/".to_owned(),
        None => origin.base_path.clone(),
        Some(_) => {
            url.wrong(format!("after the target's url a path begins with `/`: `/{rest}`"));
            return None;
        }
    };
    let path = url.issues.check(&url.span(), Template::parse(&path))?;
    let is_sound =
        |part: &Part| !matches!(part, Part::Literal(text) if !is_target_text(text) || text.contains('#'));
    if !path.parts().iter().all(is_sound) {
        url.wrong("a url has no blanks, no `#` and visible ASCII only; percent-encode the rest");
    }
    reader.uses(&path, &url.span());
    Some((target, path))
}

/// The target a URL begins with, and the source of what follows it.
fn split_url(
    reader: &StepReader<'_, '_>,
    url: &Item<'_>,
    template: &Template,
) -> Option<(String, HttpOrigin, String)> {
    let named = &reader.targets.named;
    match template.parts().first() {
        Some(Part::Value(Value::Data { set, column })) if column == "url" => {
            let rest = template.source().split_once('}').map_or("", |(_, rest)| rest).to_owned();
            let Some(target) = named.get(set) else {
                url.wrong(unknown_target(set, reader.targets.names()));
                return None;
            };
            let Some(origin) = &target.http else {
                // That it has no good `url` may have been said already; a gRPC target is another matter.
                if target.grpc.is_some() {
                    url.wrong(format!("target `{set}` has no `url`; call it with `grpc = \"{set}/…\"`"));
                }
                return None;
            };
            Some((set.clone(), origin.clone(), rest))
        }
        Some(Part::Literal(text)) if text.starts_with("http://") || text.starts_with("https://") => {
            let (scheme, authority, rest) = implied_target(url, template.source())?;
            let whole = format!("{}://{authority}", scheme.name());
            let origin = url.issues.check(&url.span(), http_origin(&whole))?;
            let target = Target { http: Some(origin.clone()), ..Target::default() };
            let name = if scheme == Scheme::Http { authority } else { whole };
            reader.targets.implied.borrow_mut().insert(name.clone(), target);
            Some((name, origin, rest))
        }
        _ => {
            url.wrong("a url begins with a target, `${NAME.url}/path`, or is `http://host:port/path`");
            None
        }
    }
}

/// Scheme, authority and rest of a URL that names its host itself.
fn implied_target(url: &Item<'_>, source: &str) -> Option<(Scheme, String, String)> {
    let (scheme, after) = scheme_of(source)?;
    let (authority, rest) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
    url.issues.check(&url.span(), authority_of(authority, Some(scheme.default_port())))?;
    Some((scheme, authority.to_owned(), rest.to_owned()))
}

pub(super) fn unknown_target<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("there is no target `{name}`; did you mean `{near}`?"),
        None => format!("there is no target `{name}`; add `[targets.{name}]`"),
    }
}
