//! Reads the options of HTTP steps that a target may set for all of its steps: redirects and authorization.

use super::section::{Item, Section, Span};
use workload::address::percent_decoded;
use workload::http::MAX_REDIRECTS;
use workload::template::{Part, Template, TemplateError};

/// Credentials for basic authorization, `USER:PASSWORD`.
#[derive(Clone)]
pub(super) struct BasicAuth {
    pub(super) template: Template,
    /// Where in the plan they are.
    pub(super) span: Span,
}

/// The options that a target sets for all of its HTTP steps.
#[derive(Default)]
pub(super) struct HttpDefaults {
    pub(super) redirects: Option<u32>,
    pub(super) auth: Option<BasicAuth>,
}

/// The user in a target's URL.
pub(super) struct UrlUser {
    /// `USER:PASSWORD`, a template.
    pub(super) credentials: Template,
    pub(super) span: Span,
}

/// Read a target's options; `user` is that of its URL.
pub(super) fn read(section: &Section<'_>, user: Option<UrlUser>) -> HttpDefaults {
    let auth = read_auth(section);
    if let (Some(user), true) = (&user, auth.is_some()) {
        section.issues.add(&user.span, "the user is given in the url and in `auth`; leave one out");
    }
    let of_url = |user: UrlUser| BasicAuth { template: user.credentials, span: user.span };
    HttpDefaults { redirects: read_redirects(section), auth: auth.or(user.map(of_url)) }
}

/// The key `redirects` of a target or a step.
pub(super) fn read_redirects(section: &Section<'_>) -> Option<u32> {
    section.get("redirects").and_then(|item| item.whole(0..=MAX_REDIRECTS)).map(|most| most as u32)
}

/// The key `auth` of a target or a step.
pub(super) fn read_auth(section: &Section<'_>) -> Option<BasicAuth> {
    let item = section.get("auth")?;
    Some(BasicAuth { template: parse_auth(&item)?, span: item.span() })
}

/// `basic:USER:PASSWORD`.
fn parse_auth(item: &Item<'_>) -> Option<Template> {
    let text = item.text()?;
    let Some(pair) = text.strip_prefix("basic:").filter(|pair| pair.contains(':')) else {
        item.wrong(
            "authorization is written `\"basic:USER:PASSWORD\"`; other kinds are a header of their own",
        );
        return None;
    };
    item.issues.check(&item.span(), Template::parse(pair))
}

/// A URL without its user, and the user with its password, a template whose text is percent-decoded.
///
/// # Errors
/// [`TemplateError`] if the user is not a template.
pub(super) fn split_user(url: &str) -> Result<(String, Option<Template>), TemplateError> {
    let without_user = || Ok((url.to_owned(), None));
    let Some((scheme, rest)) = url.split_once("://") else { return without_user() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let Some((user, host)) = authority.rsplit_once('@') else { return without_user() };
    let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
    let user = Template::parse(&user)?;
    let source = user.parts().iter().map(|part| match part {
        Part::Literal(text) => Template::literal(&percent_decoded(text)).source().to_owned(),
        value => value.source(),
    });
    let credentials = Template::parse(&source.collect::<String>())?;
    Ok((format!("{scheme}://{host}{path}"), Some(credentials)))
}
