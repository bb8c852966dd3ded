//! What becomes of texts that servers send, without a script: for tests with hostile ones.

use std::rc::Rc;

use crate::html;
use crate::http::{CookieJar, HttpRequest, Redirect, Sending, Url, answer_challenge, is_json, select};
use crate::modules;

/// What a document may take.
const HTML_BYTES: usize = 16 << 20;

/// The URL that a response to a request for `base` leads to by its `location`, and the path of the request that follows; none
/// where one of them is not a URL.
pub fn redirect(base: &str, location: &str) -> Option<(String, String)> {
    let is_usable = |url: &Url| url.refusal().is_none();
    let base = Url::parse(base).ok().filter(is_usable)?;
    let url = base.join(location).ok().filter(is_usable)?;
    Some((url.to_string(), url.path))
}

/// The URL and the names of the headers of the request that follows a redirect of one for `base`, which has headers with and
/// without secret names; none where one of the URLs is none.
pub fn redirected(base: &str, location: &str) -> Option<(String, Vec<String>)> {
    let url = Url::parse(base).ok().filter(|url| url.refusal().is_none())?;
    let mut first = HttpRequest::new("GET".into(), Rc::new(url.into()));
    first.redirects = 1;
    for name in ["Authorization", "X-Api-Key", "Cookie", "X-Harmless"] {
        first.set_header(name, "value".to_owned());
    }
    let redirect = Redirect::follow(&first, 302, location).ok()?;
    let mut next = first.clone();
    redirect.apply(&mut next, &first);
    Some((next.url.to_string(), next.headers.into_iter().map(|(name, _)| name).collect()))
}

/// The header `Cookie` of a request for `url` after a response for `from` with this `Set-Cookie`, at the start of 1970; empty
/// where there is none.
pub fn cookie(from: &str, set_cookie: &[u8], url: &str) -> String {
    let (Ok(from), Ok(url)) = (Url::parse(from), Url::parse(url)) else { return String::new() };
    let jar = CookieJar::default();
    jar.set_lines(&from, [set_cookie].into_iter(), 0.0);
    jar.pairs(&url, Sending::ByScript, 0.0).join("; ")
}

/// The header `Authorization` that answers a challenge to a request for `url`; none where it is not a challenge by digest, or the
/// URL has no user.
pub fn authorization(url: &str, challenge: &str) -> Option<String> {
    answer_challenge("GET", &Url::parse(url).ok()?, challenge)
}

/// What a selector selects of a JSON text, as JSON; none where there is no such value, or the text is not JSON.
pub fn selected(json: &str, selector: &str) -> Option<String> {
    if is_json(json) { select(json, selector).map(String::from) } else { None }
}

/// What is within each element of an HTML document that a selector of `k6/html` finds, as HTML; none where the selector is not one, the document is
/// too deep or too large, or the search takes too long.
pub fn found_in_html(html: &str, selector: &str) -> Option<Vec<String>> {
    let group = html::parse_selector(selector)?;
    let mut left = HTML_BYTES;
    let document = html::parse(html, &mut |by| {
        left = left.saturating_sub(by);
        left > 0
    });
    let document = document.ok()?;
    let found = document.find(&[html::NodeId::ROOT], &group).ok()?;
    Some(found.into_iter().filter_map(|node| document.inner_html(node)).collect())
}

/// The records of a CSV file as `k6/experimental/csv` reads them; none where one of them is not a record.
pub fn csv_records(bytes: &[u8]) -> Option<Vec<Vec<Vec<u8>>>> {
    let mut records = modules::Records::new(bytes.into(), b',');
    std::iter::from_fn(|| records.next_record().transpose()).collect::<Result<_, _>>().ok()
}
