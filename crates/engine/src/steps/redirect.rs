//! Redirects: where they lead, and what is sent there (RFC 9110, section 15.4). All hops are one operation.

use evidence::Outcome;
use wire::Scheme;

use super::PlanIteration;
use crate::iteration::{Context, Progress};
use crate::operation::{Draft, Response};
use crate::program::{Content, Kind, Program};

/// The longest `location` that is followed.
const MAX_LOCATION_BYTES: usize = 8 * 1024;

impl PlanIteration {
    /// Follow a redirect, if the step says so and the response is one. None when it is not.
    pub(super) fn redirected(&mut self, response: &Response, context: &mut Context<'_>) -> Option<Progress> {
        let Content::Http(request) = &self.current().content else { return None };
        let most = request.redirects;
        if most == 0 || !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = response.header(b"location")?;
        let followed = if self.hops == most {
            Err(format!("more than {most} redirects"))
        } else {
            let now = context.now;
            context.again(|draft| {
                follow(&self.program, draft, (response.status, location))?;
                self.jar_out(draft, now);
                Ok(())
            })
        };
        match followed {
            Ok(()) => {
                self.hops += 1;
                Some(Progress::Waiting)
            }
            Err(why) => {
                context.set_outcome(Outcome::Check);
                context.set_detail(&why);
                Some(Progress::Done)
            }
        }
    }
}

/// Make of a request the one that a redirect asks for.
fn follow(program: &Program, draft: &mut Draft, (status, location): (u16, &[u8])) -> Result<(), String> {
    let shown = || String::from_utf8_lossy(&location[..location.len().min(200)]).into_owned();
    if location.len() > MAX_LOCATION_BYTES || !location.iter().all(u8::is_ascii_graphic) {
        return Err(format!("a redirect to `{}`, which is no address", shown()));
    }
    let location = str::from_utf8(location).map_err(|error| error.to_string())?;
    let from = &program.origins[draft.origin];
    let base = String::from_utf8_lossy(&draft.path).into_owned();
    let place = resolve((from.scheme, &from.authority, &base), location);
    let is_there = |o: &crate::program::Origin| {
        o.kind == Kind::Http
            && o.scheme == place.scheme
            && without_default(o.scheme, &o.authority)
                .eq_ignore_ascii_case(without_default(place.scheme, &place.authority))
    };
    let Some(origin) = program.origins.iter().position(is_there) else {
        return Err(format!(
            "a redirect to `{}`, where no target is; only what the plan calls is sent load",
            shown()
        ));
    };
    let keeps_method = matches!(status, 307 | 308)
        || (status != 303 && draft.method != b"POST")
        || matches!(&draft.method[..], b"GET" | b"HEAD");
    if !keeps_method {
        draft.method.clear();
        draft.method.extend_from_slice(b"GET");
        draft.body.clear();
        draft.headers.retain(|name| !name.starts_with(b"content-"));
    }
    let is_elsewhere = origin != draft.origin;
    draft.headers.retain(|name| name != b"cookie" && !(is_elsewhere && name == b"authorization"));
    draft.origin = origin;
    draft.path.clear();
    draft.path.extend_from_slice(place.path.as_bytes());
    Ok(())
}

/// Where a reference leads.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    scheme: Scheme,
    authority: String,
    /// Path and query.
    path: String,
}

/// Resolve a reference against the address it was met at (RFC 3986, section 5.2).
fn resolve((scheme, authority, base): (Scheme, &str, &str), reference: &str) -> Place {
    let reference = reference.split('#').next().unwrap_or_default();
    let lower =
        |text: &str, prefix: &str| text.get(..prefix.len()).is_some_and(|t| t.eq_ignore_ascii_case(prefix));
    let absolute = if lower(reference, "https://") {
        Some((Scheme::Https, &reference[8..]))
    } else if lower(reference, "http://") {
        Some((Scheme::Http, &reference[7..]))
    } else {
        reference.strip_prefix("//").map(|rest| (scheme, rest))
    };
    if let Some((scheme, rest)) = absolute {
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let authority = authority.rsplit('@').next().unwrap_or_default().to_owned();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        return Place { scheme, authority, path: without_dots(&path) };
    }
    let base_path = base.split('?').next().unwrap_or_default();
    let path = if reference.starts_with('/') {
        reference.to_owned()
    } else if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('?') {
        format!("{base_path}{reference}")
    } else {
        let folder = base_path.rfind('/').map_or("/", |slash| &base_path[..=slash]);
        format!("{folder}{reference}")
    };
    Place { scheme, authority: authority.to_owned(), path: without_dots(&path) }
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

    fn resolved(reference: &str) -> String {
        let place = resolve((Scheme::Http, "h:1", "/a/b?q=1"), reference);
        let scheme = if place.scheme == Scheme::Https { "https" } else { "http" };
        format!("{scheme}://{}{}", place.authority, place.path)
    }

    #[test]
    fn references_lead_where_browsers_go() {
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
        /// Wherever a reference leads, it is a path from the root, without steps upwards.
        #[test]
        fn references_lead_to_paths(
            reference in prop_oneof![
                "[!-~]{0,40}",
                "(http:|HTTPS:|//|/|\\.|\\.\\.|\\?|#|@|:|a|é){0,30}",
            ],
            base in "/[a-z./?]{0,20}",
        ) {
            let place = resolve((Scheme::Http, "h:1", &base), &reference);
            let path = place.path.split('?').next().unwrap_or_default();
            prop_assert!(path.starts_with('/') && !place.path.contains('#'), "{place:?}");
            prop_assert!(!path.split('/').any(|part| matches!(part, "." | "..")), "{place:?}");
            prop_assert!(!place.authority.contains(['/', '?', '@']), "{place:?}");
        }
    }

    #[test]
    fn default_ports_need_not_be_named() {
        assert_eq!(without_default(Scheme::Http, "h:80"), "h");
        assert_eq!(without_default(Scheme::Https, "h:443"), "h");
        assert_eq!(without_default(Scheme::Https, "h:80"), "h:80");
    }
}
