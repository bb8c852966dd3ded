//! Redirects: their targets, and the requests that follow them (RFC 9110, section 15.4). A request and the redirects
//! that follow it are one operation.

use evidence::Outcome;
use wire::Scheme;
use workload::model::HttpOrigin;

use super::PlanIteration;
use super::shown::shown;
use crate::exchange::{RequestDraft, Response};
use crate::index::OriginIndex;
use crate::iteration::{Context, Progress, Rejection, Verdict};
use crate::program::{Origin, OriginKind, Program, StepContent, StepProgram};

/// The longest `location` that is followed.
const MAX_LOCATION_BYTES: usize = 8 * 1024;

impl PlanIteration {
    /// Follow a redirect, if the step asks for that and the response is one; none otherwise.
    pub(super) fn follow_redirect(
        &mut self,
        response: &Response,
        context: &mut Context<'_>,
    ) -> Option<Progress> {
        let StepContent::Http(request) = &self.current().content else { return None };
        let most = request.redirects;
        if most == 0 || !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = response.header(b"location")?;
        let followed = if self.redirects == most {
            Err(format!("more than {most} redirects"))
        } else {
            let now = context.now;
            let redirect =
                Redirect { program: &self.program, step: self.current(), status: response.status, location };
            match context.completed_draft_mut() {
                Some(draft) => {
                    if let Some(own) = &self.joined_cookies {
                        draft.headers.pop();
                        if !own.is_empty() {
                            draft.headers.push(b"cookie", own);
                        }
                    }
                    redirect.apply(draft).map(|()| self.add_cookies(draft, now))
                }
                None => return None,
            }
        };
        match followed {
            Ok(joined_cookies) => {
                self.joined_cookies = joined_cookies;
                self.redirects += 1;
                Some(Progress::Continuing)
            }
            Err(reason) => {
                let rejection = Rejection { outcome: Outcome::Check, reason };
                Some(Progress::Done(Verdict::Rejected(rejection)))
            }
        }
    }
}

/// A response that redirects.
struct Redirect<'a> {
    program: &'a Program,
    step: &'a StepProgram,
    status: u16,
    location: &'a [u8],
}

impl Redirect<'_> {
    /// Change a request into the one that this redirect asks for.
    fn apply(&self, draft: &mut RequestDraft) -> Result<(), String> {
        let from = self.program.origin(draft.origin);
        let base = RequestUrl {
            scheme: from.scheme,
            authority: from.authority.clone(),
            path: String::from_utf8_lossy(&draft.path).into_owned(),
        };
        let url = resolve(&base, self.location()?);
        let is_same_origin = url.is_of(from);
        if !is_same_origin {
            draft.origin = self.target_of(&url)?;
        }
        self.change_method(draft);
        draft.headers.retain(|name| is_same_origin || !self.is_secret(name));
        draft.path.clear();
        draft.path.extend_from_slice(url.path.as_bytes());
        Ok(())
    }

    fn shown(&self) -> String {
        shown(&self.program.redactor, &String::from_utf8_lossy(self.location))
    }

    fn location(&self) -> Result<&str, String> {
        let is_url =
            self.location.len() <= MAX_LOCATION_BYTES && self.location.iter().all(u8::is_ascii_graphic);
        match str::from_utf8(self.location) {
            Ok(location) if is_url => Ok(location),
            _ => Err(format!("a redirect to `{}`, which is not a URL", self.shown())),
        }
    }

    /// The origin of the target of the plan that has this URL.
    fn target_of(&self, url: &RequestUrl) -> Result<OriginIndex, String> {
        let scheme = if url.scheme == Scheme::Https { "https" } else { "http" };
        let parsed = HttpOrigin::parse(&format!("{scheme}://{}", url.authority)).ok();
        let target = parsed.and_then(|url| self.program.directory.target_at(&url, OriginKind::Http));
        let target = target.ok_or_else(|| {
            format!(
                "a redirect to `{}`, which is not a target of the plan; load is sent to targets of the plan only",
                self.shown()
            )
        })?;
        target.map_err(|why| format!("a redirect to `{}`, which cannot be followed: {why}", self.shown()))
    }

    fn change_method(&self, draft: &mut RequestDraft) {
        let keeps_method = matches!(self.status, 307 | 308)
            || (self.status != 303 && draft.method != b"POST")
            || matches!(&draft.method[..], b"GET" | b"HEAD");
        if !keeps_method {
            draft.method.clear();
            draft.method.extend_from_slice(b"GET");
            draft.body.clear();
            draft.headers.retain(|name| !name.starts_with(b"content-"));
        }
    }

    /// Whether this header is a secret between the user and the origin that it was sent to.
    fn is_secret(&self, name: &[u8]) -> bool {
        let by_value = self.step.secret_headers.iter().any(|secret| secret.eq_ignore_ascii_case(name));
        by_value || self.program.redactor.is_secret_header(name)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct RequestUrl {
    scheme: Scheme,
    authority: String,
    /// Path and query.
    path: String,
}

impl RequestUrl {
    /// Whether its scheme, host and port are those of `origin` (RFC 6454).
    fn is_of(&self, origin: &Origin) -> bool {
        let authority = without_default(origin.scheme, &origin.authority);
        origin.scheme == self.scheme
            && authority.eq_ignore_ascii_case(without_default(self.scheme, &self.authority))
    }
}

/// Resolve a reference against the URL of the request that was answered with it (RFC 3986, section 5.2).
fn resolve(base: &RequestUrl, reference: &str) -> RequestUrl {
    let reference = reference.split('#').next().unwrap_or_default();
    let lower =
        |text: &str, prefix: &str| text.get(..prefix.len()).is_some_and(|t| t.eq_ignore_ascii_case(prefix));
    let absolute = if lower(reference, "https://") {
        Some((Scheme::Https, &reference[8..]))
    } else if lower(reference, "http://") {
        Some((Scheme::Http, &reference[7..]))
    } else {
        reference.strip_prefix("//").map(|rest| (base.scheme, rest))
    };
    if let Some((scheme, rest)) = absolute {
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let authority = authority.rsplit('@').next().unwrap_or_default().to_owned();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        return RequestUrl { scheme, authority, path: without_dots(&path) };
    }
    let base_path = base.path.split('?').next().unwrap_or_default();
    let path = if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.is_empty() {
        base.path.clone()
    } else if reference.starts_with('?') {
        format!("{base_path}{reference}")
    } else {
        let folder = base_path.rfind('/').map_or("/", |slash| &base_path[..=slash]);
        format!("{folder}{reference}")
    };
    RequestUrl { scheme: base.scheme, authority: base.authority.clone(), path: without_dots(&path) }
}

/// A path without `.` and `..` (RFC 3986, section 5.2.4); the query stays as it is.
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut parts: Vec<&str> = Vec::new();
    let mut ends_in_folder = false;
    for part in path.split('/').skip(1) {
        ends_in_folder = matches!(part, "." | "..");
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let end = if ends_in_folder && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}{query}", parts.join("/"))
}

fn without_default(scheme: Scheme, authority: &str) -> &str {
    let default = if scheme == Scheme::Https { ":443" } else { ":80" };
    authority.strip_suffix(default).unwrap_or(authority)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn base(path: &str) -> RequestUrl {
        RequestUrl { scheme: Scheme::Http, authority: "h:1".to_owned(), path: path.to_owned() }
    }

    fn resolved(reference: &str) -> String {
        let url = resolve(&base("/a/b?q=1"), reference);
        let scheme = if url.scheme == Scheme::Https { "https" } else { "http" };
        format!("{scheme}://{}{}", url.authority, url.path)
    }

    #[test]
    fn references_are_resolved_as_browsers_do() {
        let cases = [
            ("/x?y#z", "http://h:1/x?y"),
            ("c", "http://h:1/a/c"),
            ("./c/", "http://h:1/a/c/"),
            ("../../c", "http://h:1/c"),
            ("..", "http://h:1/"),
            ("c/..", "http://h:1/a/"),
            ("?q=2", "http://h:1/a/b?q=2"),
            ("", "http://h:1/a/b?q=1"),
            ("//other/x", "http://other/x"),
            ("HTTPS://u:p@other:8443", "https://other:8443/"),
            ("http://other?x=/../y", "http://other/?x=/../y"),
        ];
        for (reference, expected) in cases {
            assert_eq!(resolved(reference), expected, "{reference}");
        }
    }

    proptest! {
        #[test]
        fn every_reference_resolves_to_an_absolute_path_without_dot_segments(
            reference in prop_oneof![
                "[!-~]{0,40}",
                "(http:|HTTPS:|//|/|\\.|\\.\\.|\\?|#|@|:|a|é){0,30}",
            ],
            base_path in "/[a-z./?]{0,20}",
        ) {
            let url = resolve(&base(&base_path), &reference);
            let path = url.path.split('?').next().unwrap_or_default();
            prop_assert!(path.starts_with('/') && !url.path.contains('#'), "{url:?}");
            prop_assert!(!path.split('/').any(|part| matches!(part, "." | "..")), "{url:?}");
            prop_assert!(!url.authority.contains(['/', '?', '@']), "{url:?}");
        }
    }

    #[test]
    fn a_default_port_is_equal_to_none() {
        assert_eq!(without_default(Scheme::Http, "h:80"), "h");
        assert_eq!(without_default(Scheme::Https, "h:443"), "h");
        assert_eq!(without_default(Scheme::Https, "h:80"), "h:80");
    }
}
