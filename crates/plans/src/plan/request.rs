//! Reads the request of a step.

use super::call;
use super::http_defaults::{HttpDefaults, read_auth, read_redirects};
use super::section::Item;
use super::step_reader::StepReader;
use super::targets::unknown_target;
use workload::address::{Scheme, is_visible_ascii, scheme_of, wrong_address};
use workload::http::HttpOptions;
use workload::model::{HttpOrigin, Request, Target};
use workload::template::{Part, Template, Value, json_template};

/// Keys that give the method, and whose value is the URL.
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
        let named = item.is_text().then(|| item.text()).flatten();
        let ours =
            METHODS.iter().find(|(_, method)| named.is_some_and(|named| named.eq_ignore_ascii_case(method)));
        let is_other = ours.filter(|ours| short.iter().any(|(_, method)| method != ours.1));
        let next = match (is_other, short.first()) {
            (Some((ours, _)), Some((item, _))) => {
                format!("write `{ours} = \"…\"` for `{}`, without it", item.key)
            }
            _ => "leave it out here".to_owned(),
        };
        item.issues.add(&item.key_span, format!("`method` goes with `url`; {next}"));
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
    let url = read_url(reader, url);
    let mut headers = reader.headers("headers");
    if let Some(url) = &url {
        reader.add_default_headers(&mut headers, &url.target);
    }
    let body = read_body(reader, &mut headers);
    for key in ["message", "messages"] {
        reader.refuse_key(key, "goes with `grpc`; use `json` or `body` here");
    }
    for key in ["repeat", "every", "cancel_after", "deadline"] {
        reader.refuse_key(key, "goes with `grpc`");
    }
    let defaults = url.as_ref().and_then(|url| reader.targets.http.get(&url.target));
    let has_authorization = headers.iter().any(|(name, _)| name == "authorization");
    let options = read_options(reader, defaults, has_authorization);
    let StepUrl { target, path } = url?;
    Some(Request::Http { target, method, path, headers, body: body?, options })
}

/// Read a step's own options; the others are its target's. A step that has the header `authorization` does not use its
/// target's credentials.
fn read_options(
    reader: &mut StepReader<'_, '_>,
    target: Option<&HttpDefaults>,
    has_authorization: bool,
) -> HttpOptions {
    let section = reader.section;
    let auth = read_auth(section).or_else(|| target?.auth.clone().filter(|_| !has_authorization));
    if let Some(auth) = &auth {
        reader.add_uses(&auth.template, &auth.span);
    }
    let redirects = read_redirects(section).or_else(|| target?.redirects);
    HttpOptions {
        redirects: redirects.unwrap_or(0),
        basic_auth: auth.map(|auth| auth.template),
        compress: reader.compress(),
    }
}

fn read_body(reader: &mut StepReader<'_, '_>, headers: &mut Vec<(String, Template)>) -> Option<Template> {
    match (reader.section.get("json"), reader.section.get("body")) {
        (Some(json), None) => {
            reader.inner_templates(&json)?;
            if json.is_text() && json.text().is_some_and(|text| text.trim_start().starts_with(['{', '['])) {
                json.wrong("`json` is a value of TOML: write `json = { id = 7 }`, or `body = '{\"id\": 7}'` for a text that is JSON");
                return None;
            }
            if !headers.iter().any(|(name, _)| name == "content-type") {
                headers.push(("content-type".to_owned(), Template::literal("application/json")));
            }
            json.issues.check(&json.span(), json_template(&json.json()))
        }
        (None, Some(body)) if body.is_table() => {
            body.wrong("`body` is a text in quotes; a table is sent as JSON: write `json` for `body`");
            None
        }
        (None, Some(body)) => reader.template(&body),
        (None, None) => Some(Template::default()),
        (Some(json), Some(_)) => {
            json.issues.add(&json.key_span, "a step has one body: leave out `json` or `body`");
            None
        }
    }
}

struct StepUrl {
    target: String,
    /// Path and query, the target's base path included.
    path: Template,
}

fn read_url<'a>(reader: &mut StepReader<'a, '_>, url: &Item<'a>) -> Option<StepUrl> {
    let template = url.template()?;
    let UrlParts { target, origin, rest } = split_url(reader, url, &template)?;
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
        |part: &Part| !matches!(part, Part::Literal(text) if !is_visible_ascii(text) || text.contains('#'));
    if !path.parts().iter().all(is_sound) {
        url.wrong("a url has no blanks, no `#` and visible ASCII only; percent-encode the rest");
    }
    reader.add_uses(&path, &url.span());
    Some(StepUrl { target, path })
}

/// The target that a URL begins with, and the rest of the URL.
struct UrlParts {
    target: String,
    origin: HttpOrigin,
    /// The source of the template after the target.
    rest: String,
}

fn split_url(reader: &StepReader<'_, '_>, url: &Item<'_>, template: &Template) -> Option<UrlParts> {
    let named = &reader.targets.named;
    match template.parts().first() {
        Some(Part::Value(Value::Data { set, column })) if column == "url" => {
            let rest = template.source().split_once('}').map_or("", |(_, rest)| rest).to_owned();
            let Some(target) = named.get(set) else {
                url.wrong(unknown_target(set, reader.targets.names()));
                return None;
            };
            let Some(origin) = &target.http else {
                // An invalid `url` is reported where the target is read; a gRPC target has none.
                if target.grpc.is_some() {
                    url.wrong(format!("target `{set}` has no `url`; call it with `grpc = \"{set}/…\"`"));
                }
                return None;
            };
            Some(UrlParts { target: set.clone(), origin: origin.clone(), rest })
        }
        Some(Part::Literal(text)) if text.starts_with("http://") || text.starts_with("https://") => {
            let (scheme, after) = scheme_of(template.source())?;
            let (authority, rest) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
            let whole = format!("{}://{authority}", scheme.name());
            // The part up to a `/` may be the beginning of a password.
            let wrong = |why| match after.contains('@') {
                true => wrong_address(template.source(), "has no host and port"),
                false => why,
            };
            let origin = url.issues.check(&url.span(), HttpOrigin::parse(&whole).map_err(wrong))?;
            let target = Target { http: Some(origin.clone()), ..Target::default() };
            let name = if scheme == Scheme::Http { authority.to_owned() } else { whole };
            reader.targets.implied.borrow_mut().insert(name.clone(), target);
            Some(UrlParts { target: name, origin, rest: rest.to_owned() })
        }
        _ => {
            url.wrong("a url begins with a target, `${NAME.url}/path`, or is `http://host:port/path`");
            None
        }
    }
}
