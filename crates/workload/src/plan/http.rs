//! Reads how an HTTP step is sent and followed; a target says it for all steps that go there.

use super::call::read_compress;
use super::section::{Item, Section, Span};
use super::steps::StepReader;
use crate::http::HttpOptions;
use crate::template::Template;

/// The most redirects that a request may follow.
pub const MAX_REDIRECTS: u64 = 50;

/// What a target says of all steps that go there.
#[derive(Default)]
pub(super) struct HttpDefaults {
    redirects: Option<u32>,
    auth: Option<(Template, Span)>,
}

/// Read it; `user` is what the target's URL says of one.
pub(super) fn read_target(section: &Section<'_>, user: Option<(String, Span)>) -> HttpDefaults {
    let auth = section.get("auth").and_then(|item| Some((read_auth(&item)?, item.span())));
    if let (Some((_, span)), true) = (&user, auth.is_some()) {
        section.issues.add(span, "the user stands in the url and in `auth`; leave one out");
    }
    let user = user.map(|(text, span)| (Template::literal(&text), span));
    HttpDefaults { redirects: read_redirects(section), auth: auth.or(user) }
}

/// Read what a step says; what it does not say its target does.
pub(super) fn read_step(reader: &mut StepReader<'_, '_>, target: Option<&HttpDefaults>) -> HttpOptions {
    let section = reader.section;
    let own = section.get("auth").and_then(|item| Some((read_auth(&item)?, item.span())));
    let auth = own.or_else(|| target?.auth.clone());
    if let Some((auth, span)) = &auth {
        reader.uses(auth, span);
    }
    let redirects = read_redirects(section).or_else(|| target?.redirects);
    HttpOptions {
        redirects: redirects.unwrap_or(0),
        basic_auth: auth.map(|(auth, _)| auth),
        compress: section.get("compress").is_some_and(|item| read_compress(&item)),
    }
}

fn read_redirects(section: &Section<'_>) -> Option<u32> {
    section.get("redirects").and_then(|item| item.whole(0..=MAX_REDIRECTS)).map(|most| most as u32)
}

/// `basic:USER:PASSWORD`.
fn read_auth(item: &Item<'_>) -> Option<Template> {
    let text = item.text()?;
    let Some(pair) = text.strip_prefix("basic:").filter(|pair| pair.contains(':')) else {
        item.wrong(
            "authorization is written `\"basic:USER:PASSWORD\"`; other kinds are a header of their own",
        );
        return None;
    };
    item.issues.check(&item.span(), Template::parse(pair))
}

/// A URL without its user, and the user with its password, percent-decoded.
pub(super) fn split_user(url: &str) -> (String, Option<String>) {
    let whole = || (url.to_owned(), None);
    let Some((scheme, rest)) = url.split_once("://") else { return whole() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some((user, host)) = authority.rsplit_once('@') else { return whole() };
    let user = percent_decoded(user);
    let user = if user.contains(':') { user } else { user + ":" };
    (format!("{scheme}://{host}{path}"), Some(user))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => {
                digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low) as u8)
            }
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
