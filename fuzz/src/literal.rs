//! Texts of others in drafts of plans: wherever they are in a source, a plan sends them as they are, and none is a
//! template.

use std::path::Path;

use ::draft::{Draft, OpenApiOptions, Selection, of_curl_words, of_har, of_openapi};
use plans::{Overrides, load};
use serde_json::{Value, json};
use workload::template::{Part, Template};
use workload::{FilesInMemory, Request, Step, Workload};

use crate::Target;

/// Lines of an input are the texts of one request in each kind of source.
pub(crate) const LITERAL: Target = Target {
    name: "draft-literal",
    seeds: &[
        b"lang\nblue\nx ${env.HOME}\ntext/plain\n{\"a\": \"${b}\"}",
        b"a=${env.PATH}; b\n$${c}$\n$\n${uuid()}\nplain $",
        b"[x]\n'''\n\"\\\"\n\xe2\x82\xac%20\n'\\",
    ],
    words: &[
        b"${env.HOME}",
        b"$${",
        b"${",
        b"}",
        b"$",
        b"'''",
        b"\"",
        b"\\",
        b"%",
        b"; ",
        b"&",
        b"=",
        b"\x1b",
        b"\xc3\xa4",
    ],
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        let mut lines = text.split('\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        let texts = Texts { name: next(), value: next(), header: next(), media_type: next(), body: next() };
        let checked = [texts.in_curl(), texts.in_har(), texts.in_openapi()];
        checked.contains(&true)
    },
    ..Target::BASE
};

/// Texts that a source may have.
struct Texts {
    name: String,
    value: String,
    header: String,
    media_type: String,
    body: String,
}

impl Texts {
    /// Whether a draft of a command was made and sends them.
    fn in_curl(&self) -> bool {
        let header = format!("x-a: {}", self.header);
        let words =
            ["curl", "http://h/x", "-H", &header, "-H", "content-type: text/css", "--data-raw", &self.body];
        let draft = of_curl_words(&words.map(str::to_owned), &FilesInMemory::default());
        let Some(step) = only_step(draft.ok()) else { return false };
        assert_eq!(header_of(&step, "x-a").unwrap_or_default(), self.header.trim(), "the header");
        is_body(&step, &self.body);
        true
    }

    fn in_har(&self) -> bool {
        // What a URL contains as it is.
        let path: String =
            self.value.chars().filter(|c| c.is_ascii_alphanumeric() || "${}._~-".contains(*c)).collect();
        let value = json!({"log": {"entries": [{
            "startedDateTime": "2026-01-31T12:00:00Z", "time": 1.0,
            "request": {"method": "POST", "url": format!("http://h/{path}"),
                "headers": [{"name": "x-a", "value": self.header}],
                "postData": {"mimeType": "text/css", "text": self.body}},
            "response": {"status": 200}
        }]}});
        let Some(step) = only_step(of_har("a.har", &value, Selection::All).ok()) else { return false };
        let Request::Http { path: sent, .. } = &step.request else { panic!("it is HTTP") };
        // Dots may be resolved; a part of it may be a value that the recording's response gave.
        assert_eq!(literal(sent), format!("/{path}"), "the path");
        assert_eq!(header_of(&step, "x-a").unwrap_or_default(), printable(&self.header), "the header");
        is_body(&step, &self.body);
        true
    }

    fn in_openapi(&self) -> bool {
        let value = json!({"openapi": "3.1.0", "info": {"title": self.body}, "servers": [{"url": "http://h/"}],
        "paths": {"/x": {"post": {
            "operationId": self.name, "summary": self.body,
            "parameters": [
                {"name": self.name, "in": "query", "example": self.value},
                {"name": "x-a", "in": "header", "example": self.header},
                {"name": self.name, "in": "cookie", "example": self.value}],
            "requestBody": {"content": {format!("json;{}", self.media_type): {
                "example": {self.name.clone(): [self.value.clone(), {"x": self.body}]}}}}
        }}}});
        let options = OpenApiOptions { server: None, selection: Selection::All };
        let Some(step) = only_step(of_openapi("a.json", &value.into(), &options).ok()) else { return false };
        let Request::Http { path, body, .. } = &step.request else { panic!("it is HTTP") };
        let pair = format!("{}={}", percent_encoded(&self.name), percent_encoded(&self.value));
        assert_eq!(literal(path), format!("/x?{pair}"), "the query");
        assert_eq!(header_of(&step, "cookie").as_deref(), Some(pair.as_str()), "the cookie");
        assert_eq!(header_of(&step, "x-a").unwrap_or_default(), printable(&self.header), "the header");
        let content_type = format!("json;{}", printable(&self.media_type));
        assert_eq!(header_of(&step, "content-type"), Some(content_type), "the content type");
        let sent: Value = serde_json::from_str(&literal(body)).expect("the body is JSON");
        assert_eq!(sent, json!({self.name.clone(): [self.value.clone(), {"x": self.body}]}), "the body");
        true
    }
}

/// The only step of the plan that a draft is, if the plan's reader accepts it.
fn only_step(draft: Option<Draft>) -> Option<Step> {
    let draft = draft?;
    let plan = FilesInMemory::one("plan.toml", draft.text.as_str());
    let env = |_: &str| Some("value".to_owned());
    let workload: Workload = load(Path::new("plan.toml"), &plan, &env, &Overrides::default()).ok()?.workload;
    draft.check(&workload).expect("the plan sends what was drafted");
    assert_eq!(workload.steps().count(), 1, "a step was lost or added");
    workload.steps().next().cloned()
}

/// The text of a template without values.
#[track_caller]
fn literal(template: &Template) -> String {
    let text = |part: &Part| match part {
        Part::Literal(text) => text.clone(),
        other => panic!("a text is a template: {other:?}"),
    };
    template.parts().iter().map(text).collect()
}

#[track_caller]
fn header_of(step: &Step, name: &str) -> Option<String> {
    let found = step.request.headers().iter().find(|(known, _)| known == name);
    found.map(|(_, value)| literal(value))
}

/// Check the body; one that is JSON with a secret has a variable in it, which the draft names.
#[track_caller]
fn is_body(step: &Step, expected: &str) {
    let Request::Http { body, .. } = &step.request else { panic!("it is HTTP") };
    if !body.parts().iter().any(|part| matches!(part, Part::JsonValue(_))) {
        assert_eq!(literal(body), expected, "the body");
    }
}

fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// RFC 3986, section 2.1, of all but the unreserved characters.
fn percent_encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
