//! A request as a script asks for it.

use std::borrow::Cow;
use std::rc::Rc;
use std::time::Duration;

use super::{BodyForm, CookieJar, DEFAULT_TIMEOUT, Expected, Failure, KnownUrl};
use crate::script::{Failures, RedirectSecrets};

/// How a request names its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Authentication {
    /// By the user and the password of its URL, where there are some.
    #[default]
    Basic,
    /// The same, and by a digest where the server asks for one.
    Digest,
}

/// A request as a script asks for it.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: Cow<'static, str>,
    pub(crate) url: Rc<KnownUrl>,
    /// As the script names them; without those that the connection writes, and without the run's `User-Agent`.
    pub(crate) headers: Vec<(String, String)>,
    /// Cookies that the script gives with it.
    pub(crate) cookies: Vec<(String, String)>,
    /// The names of those that take the place of the jar's.
    pub(crate) replaced_cookies: Vec<String>,
    /// Where further cookies come from, and where those that are set go.
    pub(crate) jar: Rc<CookieJar>,
    pub(crate) authentication: Authentication,
    /// As the script gives it.
    pub(crate) body: Vec<u8>,
    /// As it is sent, where that is compressed.
    pub(crate) coded_body: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
    pub(crate) redirects: u32,
    /// What becomes of secrets when a redirect leads to another origin.
    pub(crate) redirect_secrets: RedirectSecrets,
    /// What it is called instead of its URL.
    pub(crate) name: Option<String>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) expected: Expected,
    pub(crate) form: BodyForm,
    /// What it does where it fails.
    pub(crate) failures: Failures,
}

impl HttpRequest {
    /// Without anything else.
    pub(crate) fn new(method: Cow<'static, str>, url: Rc<KnownUrl>) -> HttpRequest {
        HttpRequest {
            method,
            url,
            headers: Vec::new(),
            cookies: Vec::new(),
            replaced_cookies: Vec::new(),
            jar: Rc::default(),
            authentication: Authentication::default(),
            body: Vec::new(),
            coded_body: None,
            timeout: DEFAULT_TIMEOUT,
            redirects: 0,
            redirect_secrets: RedirectSecrets::default(),
            name: None,
            tags: Vec::new(),
            expected: Expected::default(),
            form: BodyForm::default(),
            failures: Failures::Returned,
        }
    }

    /// What it is called: its `name`, else its URL.
    pub(crate) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(self.url.as_str())
    }

    /// Its header of this name, in whatever case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Set a header, in place of one of the same name.
    pub(crate) fn set_header(&mut self, name: &str, value: String) {
        self.remove_header(name);
        self.headers.push((name.to_owned(), value));
    }

    pub(crate) fn remove_header(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    /// What the log calls it: `Get "http://h/"`.
    pub(crate) fn log_name(&self) -> String {
        let mut method = self.method.to_ascii_lowercase();
        if let Some(first) = method.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        format!("{method} \"{}\"", self.url.as_str())
    }

    /// Whether a response of this status may ask it for a digest.
    pub(crate) fn awaits_challenge(&self, status: u16) -> bool {
        status == 401 && self.authentication == Authentication::Digest
    }

    /// Why it cannot be sent.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        let invalid = |what: String| Some(Failure::new(1000, format!("net/http: invalid {what}")));
        if !is_token(&self.method) {
            return invalid(format!("method {:?}", self.method));
        }
        for (name, value) in &self.headers {
            if !is_token(name) {
                return invalid(format!("header field name {name:?}"));
            }
            if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
                return invalid(format!("header field value for {:?}", shown_name(name.as_bytes())));
            }
        }
        if !self.header("host").is_none_or(is_authority) {
            return Some(Failure::new(1000, "http: invalid Host header".to_owned()));
        }
        if self.timeout.is_zero() {
            return Some(Failure::new(1050, "request timeout".to_owned()));
        }
        self.url.refusal()
    }
}

/// Whether it has only the bytes that a host, its port and the brackets of an address may have.
fn is_authority(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!$%&'()*+,-.:;=[]_~".contains(&byte))
}

fn is_token(name: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_valid)
}

/// The name of a header as k6 shows it: `Content-Type`.
pub(crate) fn shown_name(name: &[u8]) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut is_first = true;
    for byte in name {
        let byte = if is_first { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
        shown.push(byte.into());
        is_first = byte == b'-';
    }
    shown
}
