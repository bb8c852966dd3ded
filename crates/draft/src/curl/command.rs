//! One curl command: its options, and the step that it is.

use std::time::Duration;

use workload::{Files, units};

use super::multipart;
use super::options::{OptionKind, kind, long_name};
use crate::address::basic_auth;
use crate::body;
use crate::plan::{BodyDraft, StepDraft};
use crate::secrets::{Variables, is_secret_name};
use crate::toml_text::quoted;
use crate::url::{SplitUrl, as_sent, encoded, literal, path_template};

/// How many redirects `-L` follows: as many as a plan's step may.
const MOST_REDIRECTS: u32 = 50;

/// A command, read but not judged.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Pieces of the body, joined by `&`; none if there is no body.
    data: Option<String>,
    /// The content type of the body where no header names one.
    content_type: Option<String>,
    form: String,
    user: Option<String>,
    cookies: Vec<String>,
    redirects: Option<u32>,
    timeout: Option<Duration>,
    is_get: bool,
    is_head: bool,
    is_upload: bool,
    connection: Connection,
}

/// Options about connections.
#[derive(Debug, Default)]
struct Connection {
    is_insecure: bool,
    http: Option<&'static str>,
    ip: Option<&'static str>,
    ca: Option<String>,
    cert: Option<String>,
    key: Option<String>,
    proxy: Option<String>,
    unix: Option<String>,
    local_address: Option<String>,
}

/// Read a command, whose first word is `curl`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(words: &[String], files: &dyn Files) -> Result<Command, String> {
    let mut command = Command::default();
    let mut rest = words.iter().skip(1);
    let mut only_urls = false;
    while let Some(word) = rest.next() {
        if only_urls || word == "-" || !word.starts_with('-') {
            command.urls.push(word.clone());
        } else if word == "--" {
            only_urls = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let kind = kind(long).ok_or_else(|| unknown(word))?;
            let value = match kind {
                OptionKind::Value | OptionKind::IgnoredValue => Some(value_of(word, rest.next())?),
                _ => None,
            };
            command.apply(long, kind, value.as_deref(), files)?;
        } else {
            for (at, letter) in word[1..].char_indices() {
                let option = format!("-{letter}");
                let long = long_name(letter).ok_or_else(|| unknown(&option))?;
                let kind = kind(long).ok_or_else(|| unknown(&option))?;
                if !matches!(kind, OptionKind::Value | OptionKind::IgnoredValue) {
                    command.apply(long, kind, None, files)?;
                    continue;
                }
                let attached = &word[1 + at + letter.len_utf8()..];
                let value = match attached {
                    "" => value_of(&option, rest.next())?,
                    attached => attached.to_owned(),
                };
                command.apply(long, kind, Some(&value), files)?;
                break;
            }
        }
    }
    match command.urls.is_empty() {
        true => Err("has no URL".to_owned()),
        false => Ok(command),
    }
}

fn unknown(option: &str) -> String {
    let shown: String = option.chars().take(40).collect();
    format!("the option `{shown}` of curl is not known here: leave it out, or write the step by hand")
}

fn value_of(option: &str, next: Option<&String>) -> Result<String, String> {
    next.cloned().ok_or_else(|| format!("the option `{option}` has no value"))
}

impl Command {
    fn apply(
        &mut self,
        name: &str,
        kind: OptionKind,
        value: Option<&str>,
        files: &dyn Files,
    ) -> Result<(), String> {
        let value = value.unwrap_or_default();
        match kind {
            OptionKind::Ignored | OptionKind::IgnoredValue => Ok(()),
            OptionKind::Refused => {
                Err(format!("the option `--{name}` has nothing like it in a plan: leave it out"))
            }
            OptionKind::Flag => {
                self.set_flag(name);
                Ok(())
            }
            OptionKind::Value => match name {
                "data" | "data-ascii" | "data-raw" | "data-binary" | "data-urlencode" | "json"
                | "url-query" => self.add_data(name, value, files),
                "form" | "form-string" => {
                    self.form.push_str(&multipart::part(value, name == "form-string", files)?);
                    Ok(())
                }
                "upload-file" => {
                    self.is_upload = true;
                    self.data = Some(multipart::read(value, files)?);
                    Ok(())
                }
                _ => self.set(name, value),
            },
        }
    }

    fn set_flag(&mut self, name: &str) {
        match name {
            "get" => self.is_get = true,
            "head" => self.is_head = true,
            "insecure" => self.connection.is_insecure = true,
            "location" => self.redirects = Some(self.redirects.unwrap_or(MOST_REDIRECTS)),
            "http2-prior-knowledge" => self.connection.http = Some("2"),
            "ipv4" => self.connection.ip = Some("4"),
            "ipv6" => self.connection.ip = Some("6"),
            // `--http2` is what ALPN chooses anyway.
            _ => {}
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = value.to_owned();
        match name {
            "request" => self.method = Some(text.to_ascii_uppercase()),
            "header" => return self.add_header(value),
            "user" => self.user = Some(text),
            "cookie" if value.contains('=') => self.cookies.push(text),
            "cookie" => return Err(format!("the cookies are in the file {value}: write `-b 'NAME=VALUE'`")),
            "user-agent" => self.headers.push(("user-agent".to_owned(), text)),
            "referer" => self.headers.push(("referer".to_owned(), text)),
            "range" => self.headers.push(("range".to_owned(), format!("bytes={text}"))),
            "oauth2-bearer" => self.headers.push(("authorization".to_owned(), format!("Bearer {text}"))),
            "url" => self.urls.push(text),
            "max-time" => self.timeout = Some(units::duration(&format!("{value}s"))?),
            "max-redirs" => {
                let most = value.parse::<i64>().map_err(|_| "`--max-redirs` takes a number".to_owned())?;
                self.redirects = Some(u32::try_from(most).unwrap_or(MOST_REDIRECTS).min(MOST_REDIRECTS));
            }
            "proxy" => self.connection.proxy = Some(text),
            "cert" => self.connection.cert = Some(text),
            "key" => self.connection.key = Some(text),
            "cacert" => self.connection.ca = Some(text),
            "unix-socket" => self.connection.unix = Some(text),
            "interface" => self.connection.local_address = Some(text),
            _ => {}
        }
        Ok(())
    }

    /// `name: value`; `name:` takes a header away that curl would send, `name;` sends an empty one.
    fn add_header(&mut self, text: &str) -> Result<(), String> {
        if let Some(file) = text.strip_prefix('@') {
            return Err(format!("the headers are in the file {file}: write them with `-H`"));
        }
        let (name, value) = match (text.split_once(':'), text.strip_suffix(';')) {
            (Some((_, value)), _) if value.trim().is_empty() => return Ok(()),
            (Some((name, value)), _) => (name, value),
            (None, Some(name)) => (name, ""),
            (None, None) => return Err("a header is written as `-H 'name: value'`".to_owned()),
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_sound = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:".contains(&b);
        if name.is_empty() || !name.bytes().all(is_sound) {
            return Err(format!("`{name}` is no header name"));
        }
        if name == "cookie" {
            self.cookies.push(value.to_owned());
        } else if name != "content-length" && name != "accept-encoding" && !name.starts_with(':') {
            self.headers.push((name, value.to_owned()));
        }
        Ok(())
    }

    fn add_data(&mut self, name: &str, value: &str, files: &dyn Files) -> Result<(), String> {
        let file = value.strip_prefix('@').filter(|_| name != "data-raw");
        let piece = match (name, file) {
            ("data-urlencode", _) => encoded_piece(value, files)?,
            ("url-query", _) => {
                let add = |url: &mut String| {
                    let separator = if url.contains('?') { '&' } else { '?' };
                    url.push_str(&format!("{separator}{value}"));
                };
                self.urls.iter_mut().for_each(add);
                return Ok(());
            }
            // Without its line breaks.
            ("data" | "data-ascii", Some(path)) => multipart::read(path, files)?.replace(['\r', '\n'], ""),
            (_, Some(path)) => multipart::read(path, files)?,
            (_, None) => value.to_owned(),
        };
        let is_json = name == "json";
        self.data = Some(match self.data.take() {
            Some(before) if is_json => before + &piece,
            Some(before) => format!("{before}&{piece}"),
            None => piece,
        });
        let kind = if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
        self.content_type.get_or_insert_with(|| kind.to_owned());
        Ok(())
    }

    /// The keys of its target that say how connections are made.
    pub(super) fn target_keys(&self) -> Vec<(&'static str, String)> {
        let Connection { is_insecure, http, ip, ca, cert, key, proxy, unix, local_address } =
            &self.connection;
        let mut tls: Vec<String> = Vec::new();
        for (name, value) in [("ca", ca), ("cert", cert), ("key", key)] {
            tls.extend(value.as_ref().map(|value| format!("{name} = {}", quoted(value))));
        }
        if *is_insecure {
            tls.push("insecure = true".to_owned());
        }
        let mut keys = Vec::new();
        if !tls.is_empty() {
            keys.push(("tls", format!("{{ {} }}", tls.join(", "))));
        }
        let text = |name, value: Option<&str>| value.map(|value| (name, quoted(value)));
        keys.extend(text("http", *http));
        keys.extend(text("ip", *ip));
        keys.extend(text("proxy", proxy.as_deref()));
        keys.extend(text("unix", unix.as_deref()));
        keys.extend(text("local_address", local_address.as_deref()));
        keys
    }

    pub(super) fn step(&self, url: &SplitUrl, target: usize, variables: &mut Variables) -> StepDraft {
        let (path, data) = self.path_and_data(url);
        let mut step = StepDraft::new(&self.method(data.is_some()), target, path_template(&path, variables));
        for (name, value) in &self.headers {
            let value = if is_secret_name(name) { variables.header(name, value) } else { literal(value) };
            step.add_header(name, value);
        }
        if !self.cookies.is_empty() {
            let names: Vec<&str> = self
                .cookies
                .iter()
                .flat_map(|c| c.split(';'))
                .map(|pair| pair.split('=').next().unwrap_or("").trim())
                .collect();
            let meaning = format!("the header `cookie`, as `NAME=VALUE; …`, of {}", names.join(", "));
            step.add_header("cookie", variables.template("COOKIE", &self.cookies.join("; "), &meaning));
        }
        let user = self.user.as_ref().or(url.user.as_ref());
        step.auth =
            user.filter(|_| !step.has_header("authorization")).map(|user| basic_auth(user, variables));
        step.redirects = self.redirects.filter(|most| *most > 0);
        step.timeout = self.timeout.filter(|timeout| !timeout.is_zero());
        self.add_body(data, &mut step, variables);
        step
    }

    /// With `-G` the data is the query.
    fn path_and_data(&self, url: &SplitUrl) -> (String, Option<String>) {
        match &self.data {
            Some(data) if self.is_get => {
                let separator = if url.path.contains('?') { '&' } else { '?' };
                (format!("{}{separator}{}", url.path, as_sent(data)), None)
            }
            data => (url.path.clone(), data.clone()),
        }
    }

    fn method(&self, has_data: bool) -> String {
        match &self.method {
            Some(method) => method.clone(),
            None if self.is_head => "HEAD".to_owned(),
            None if self.is_upload => "PUT".to_owned(),
            None if has_data || !self.form.is_empty() => "POST".to_owned(),
            None => "GET".to_owned(),
        }
    }

    fn add_body(&self, data: Option<String>, step: &mut StepDraft, variables: &mut Variables) {
        if !self.form.is_empty() {
            if !step.has_header("content-type") {
                step.add_header("content-type", multipart::content_type());
            }
            step.body = BodyDraft::Text(literal(&format!("{}{}", self.form, multipart::end())));
            return;
        }
        let Some(data) = data else { return };
        let given =
            self.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone());
        let content_type = given.or_else(|| self.content_type.clone());
        step.body = body::recorded(&data, content_type.as_deref(), variables);
        let is_json = matches!(step.body, BodyDraft::Json(_));
        match content_type.as_deref() {
            // `json` sends it.
            Some("application/json") if is_json => step.headers.retain(|(name, _)| name != "content-type"),
            Some(kind) if !step.has_header("content-type") => step.add_header("content-type", literal(kind)),
            _ => {}
        }
        if is_json && self.content_type.as_deref() == Some("application/json") && !step.has_header("accept") {
            step.add_header("accept", "application/json".to_owned());
        }
    }
}

/// A piece of `--data-urlencode`: `text`, `=text`, `name=text`, `@file` or `name@file`.
fn encoded_piece(value: &str, files: &dyn Files) -> Result<String, String> {
    match value.split_once(['=', '@']) {
        None => Ok(encoded(value)),
        Some((name, rest)) => {
            let is_file = value[name.len()..].starts_with('@');
            let text = if is_file { multipart::read(rest, files)? } else { rest.to_owned() };
            let name = if name.is_empty() { String::new() } else { format!("{name}=") };
            Ok(name + &encoded(&text))
        }
    }
}
