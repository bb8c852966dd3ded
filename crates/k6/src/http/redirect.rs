//! Redirects: which request follows from a response, and what of it other origins do not get.

use std::borrow::Cow;
use std::rc::Rc;

use workload::redact::is_secret_header_name;

use super::{Failure, HttpRequest, Url};
use crate::script::RedirectSecrets;

/// What of a request was not sent to another origin that a redirect leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// The names of headers, in lower case.
    pub(super) headers: Vec<String>,
    /// The body, and with it the whole request: without its body it would be another one.
    pub(super) has_body: bool,
}

impl Withheld {
    /// What is said of it; none where nothing was there to be sent.
    pub(crate) fn text(&self) -> Option<String> {
        let what = match (self.has_body, self.headers.join(", ")) {
            (true, _) => "is not followed with the body of a request".to_owned(),
            (false, names) if names.is_empty() => return None,
            (false, names) => format!("is followed without secret headers ({names})"),
        };
        Some(format!("a redirect to another origin {what}; --k6-redirects sends them, as k6 does"))
    }
}

/// Where a redirect leads to.
pub(crate) struct Redirect {
    url: Url,
    is_absolute: bool,
    keeps_method: bool,
    /// Whether it leads to another origin, which gets no secrets.
    leaves: bool,
}

impl Redirect {
    /// What a response of this status to `request` asks for.
    pub(crate) fn follow(request: &HttpRequest, status: u16, location: &str) -> Result<Redirect, Failure> {
        let url = request.url.join(location).map_err(|error| {
            Failure::new(1000, format!("failed to parse Location header {location:?}: {error}"))
        })?;
        let removes_secrets = request.redirect_secrets == RedirectSecrets::Removed;
        Ok(Redirect {
            leaves: removes_secrets && !receives_as_much(&request.url, &url),
            is_absolute: Url::is_absolute(location),
            keeps_method: matches!(status, 307 | 308) || matches!(&*request.method, "GET" | "HEAD"),
            url,
        })
    }

    /// Whether the request would have a body that it must not have.
    pub(super) fn hands_on_body(&self, request: &HttpRequest) -> bool {
        self.leaves && self.keeps_method && !request.body.is_empty()
    }

    /// Whether the cookies are sent that the script gave with its request for `first`.
    pub(super) fn keeps_given_cookies(&self, first: &Url) -> bool {
        !self.leaves && is_below(first.host(), self.url.host())
    }

    /// Make `request` the one that follows it, after a script has asked for `first`. Returns the names of the headers that it
    /// loses because they are secret.
    pub(crate) fn apply(self, request: &mut HttpRequest, first: &HttpRequest) -> Vec<String> {
        let mut withheld = Vec::new();
        request.redirects -= 1;
        if self.leaves {
            withheld = without_secrets(request);
        } else if !is_below(first.url.host(), self.url.host()) {
            request.remove_header("authorization");
            request.remove_header("www-authenticate");
        }
        if self.leaves || self.is_absolute {
            request.remove_header("host");
        }
        if first.header("referer").is_none() {
            request.remove_header("referer");
            // Path and query may be secret as well.
            if !self.leaves && (self.url.is_https() || !request.url.is_https()) {
                request.set_header("Referer", request.url.to_string());
            }
        }
        if !self.keeps_method {
            request.method = Cow::Borrowed("GET");
            (request.body, request.coded_body) = (Vec::new(), None);
            request.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
        }
        request.url = Rc::new(self.url.into());
        withheld
    }
}

/// Whether what is sent to `to` was received with the request for `from` already: it is the same origin, or the same host
/// under TLS instead of cleartext, both on the usual port.
fn receives_as_much(from: &Url, to: &Url) -> bool {
    let (server, other) = (from.server().to_ascii_lowercase(), to.server().to_ascii_lowercase());
    let is_upgrade = to.is_https()
        && !from.is_https()
        && server.strip_suffix(":80").is_some_and(|host| other.strip_suffix(":443") == Some(host));
    from.is_https() == to.is_https() && server == other || is_upgrade
}

/// Whether `host` is `above` or a name below it, as far as k6 looks.
fn is_below(above: &str, host: &str) -> bool {
    host.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Remove the headers with a secret name; returns their names.
fn without_secrets(request: &mut HttpRequest) -> Vec<String> {
    request.replaced_cookies.clear();
    let is_secret = |(name, _): &mut (String, String)| is_secret_header_name(name);
    request.headers.extract_if(.., is_secret).map(|(name, _)| name.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_scheme_host_or_port_receives_more_but_for_tls_on_the_usual_port() {
        let receives =
            |from: &str, to: &str| receives_as_much(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
        for (from, to) in [
            ("http://h/a", "http://H:80/b"),
            ("https://h:443/a", "https://u:p@h/b"),
            ("http://h/a", "https://h/a"),
            ("http://[::1]:80/", "https://[::1]/"),
        ] {
            assert!(receives(from, to), "{from} {to}");
        }
        for (from, to) in [
            ("http://h/", "http://h:81/"),
            ("http://h/", "http://sub.h/"),
            ("http://h:8080/", "https://h/"),
            ("http://h/", "https://h:8443/"),
            ("http://h/", "https://other/"),
            ("http://h]/", "https://h/"),
            ("https://h/", "http://h/"),
            ("https://h/", "http://h:443/"),
            ("http://h:180/", "https://h/"),
        ] {
            assert!(!receives(from, to), "{from} {to}");
        }
    }
}
