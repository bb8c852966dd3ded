//! Reads what a step sends.

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
        (None, None, Some(grpc)) => read_grpc(reader, &grpc),
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
    not_here(reader, "message", "goes with `grpc`; use `json` or `body` here");
    let (target, path) = place?;
    Some(Request::Http { target, method, path, headers, body: body? })
}

/// Note that a key makes no sense in this kind of step.
fn not_here(reader: &StepReader<'_, '_>, key: &'static str, why: &str) {
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

fn read_grpc<'a>(reader: &mut StepReader<'a, '_>, grpc: &Item<'a>) -> Option<Request> {
    let metadata = reader.headers("headers");
    for key in ["json", "body"] {
        not_here(reader, key, "goes with HTTP; use `message` here");
    }
    let item = reader.section.get("message");
    let sound = item.as_ref().is_none_or(|item| reader.inner_templates(item).is_some());
    let message = item.as_ref().map_or_else(|| serde_json::json!({}), Item::json);
    let text = grpc.text()?;
    let Some((target, method)) = text.split_once('/') else {
        grpc.wrong("a call names target, service and method: `grpc = \"NAME/package.Service/Method\"`");
        return None;
    };
    match reader.targets.named.get(target) {
        None => grpc.wrong(unknown_target(target, reader.targets.names())),
        Some(known) if known.grpc.is_none() => {
            grpc.wrong(format!("target `{target}` has no `grpc`; add `grpc = \"host:port\"` to it"));
        }
        Some(_) if reader.targets.undescribed.contains(target) => {}
        Some(_) => {
            let method = grpc.issues.check(&grpc.span(), reader.targets.schemas.method(target, method));
            let span = item.as_ref().map_or(grpc.span(), Item::span);
            if let Some(method) = method.filter(|_| sound) {
                grpc.issues.check(&span, method.compile(&message));
            }
        }
    }
    let (target, method) = (target.to_owned(), method.trim_start_matches('/').to_owned());
    Some(Request::Grpc { target, method, metadata, message })
}
