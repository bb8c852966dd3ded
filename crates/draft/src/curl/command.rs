//! One curl command, read but not judged.

use std::time::Duration;

use workload::units;

use super::data::{self, Data};
use super::files::Sources;
use super::multipart;
use super::options::{OptionKind, kind, long_name};

/// How many redirects `-L` follows: as many as a plan's step may.
const MOST_REDIRECTS: u32 = 50;

/// A command, read but not judged.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) urls: Vec<String>,
    pub(super) method: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) data: Data,
    /// The parts of a form; empty if there is none.
    pub(super) form: String,
    /// The file of `-T`: its name and its text.
    pub(super) upload: Option<(String, String)>,
    /// Pieces that `--url-query` adds to the query.
    pub(super) query: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) cookies: Vec<String>,
    /// The files of `-b` that are read for cookies.
    pub(super) cookie_files: Vec<String>,
    /// The file of `-c`.
    pub(super) cookie_jar: Option<String>,
    pub(super) redirects: Option<u32>,
    pub(super) timeout: Option<Duration>,
    pub(super) flags: Flags,
    pub(super) connection: Connection,
}

#[derive(Debug, Default)]
pub(super) struct Flags {
    pub(super) is_get: bool,
    pub(super) is_head: bool,
    pub(super) globoff: bool,
    pub(super) path_as_is: bool,
    pub(super) compressed: bool,
}

/// Options about connections.
#[derive(Debug, Default)]
pub(super) struct Connection {
    pub(super) is_insecure: bool,
    pub(super) http: Option<&'static str>,
    pub(super) ip: Option<&'static str>,
    pub(super) ca: Option<String>,
    pub(super) cert: Option<String>,
    pub(super) key: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) unix: Option<String>,
    pub(super) local_address: Option<String>,
}

/// Read a command, whose first word is `curl`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(words: &[String], sources: &mut Sources<'_>) -> Result<Command, String> {
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
            command.apply(long, kind, value.as_deref(), sources)?;
        } else {
            command.short_options(word, &mut rest, sources)?;
        }
    }
    match command.urls.is_empty() {
        true => Err("has no URL".to_owned()),
        false => command.consistent(),
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
    /// `-sSXPOST`: several in one word, the last perhaps with its value.
    fn short_options<'w>(
        &mut self,
        word: &str,
        rest: &mut impl Iterator<Item = &'w String>,
        sources: &mut Sources<'_>,
    ) -> Result<(), String> {
        for (at, letter) in word[1..].char_indices() {
            let option = format!("-{letter}");
            let long = long_name(letter).ok_or_else(|| unknown(&option))?;
            let kind = kind(long).ok_or_else(|| unknown(&option))?;
            if !matches!(kind, OptionKind::Value | OptionKind::IgnoredValue) {
                self.apply(long, kind, None, sources)?;
                continue;
            }
            let attached = &word[1 + at + letter.len_utf8()..];
            let value = match attached {
                "" => value_of(&option, rest.next())?,
                attached => attached.to_owned(),
            };
            return self.apply(long, kind, Some(&value), sources);
        }
        Ok(())
    }

    fn apply(
        &mut self,
        name: &str,
        kind: OptionKind,
        value: Option<&str>,
        sources: &mut Sources<'_>,
    ) -> Result<(), String> {
        let value = value.unwrap_or_default();
        match (kind, name) {
            (OptionKind::Ignored | OptionKind::IgnoredValue, _) => Ok(()),
            (OptionKind::Refused, _) => {
                Err(format!("the option `--{name}` has nothing like it in a plan: leave it out"))
            }
            (OptionKind::Flag, _) => {
                self.set_flag(name);
                Ok(())
            }
            (
                OptionKind::Value,
                "data" | "data-ascii" | "data-raw" | "data-binary" | "data-urlencode" | "json",
            ) => self.data.add(name, value, sources),
            (OptionKind::Value, "url-query") => {
                // After `+` it is not encoded.
                let piece = match value.strip_prefix('+') {
                    Some(plain) => plain.to_owned(),
                    None => data::url_encoded(value, sources)?,
                };
                self.query.push(piece);
                Ok(())
            }
            (OptionKind::Value, "form" | "form-string") => {
                self.form.push_str(&multipart::part(value, name == "form-string", sources)?);
                Ok(())
            }
            (OptionKind::Value, "upload-file") => {
                self.upload = Some((value.to_owned(), sources.read(value)?));
                Ok(())
            }
            (OptionKind::Value, _) => self.set(name, value),
        }
    }

    fn set_flag(&mut self, name: &str) {
        match name {
            "get" => self.flags.is_get = true,
            "head" => self.flags.is_head = true,
            "globoff" => self.flags.globoff = true,
            "path-as-is" => self.flags.path_as_is = true,
            "compressed" => self.flags.compressed = true,
            "insecure" => self.connection.is_insecure = true,
            "location" => self.redirects = Some(self.redirects.unwrap_or(MOST_REDIRECTS)),
            "http1.1" => self.connection.http = Some("1.1"),
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
            "request" if value.is_empty() || !value.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') => {
                return Err(format!("the method `{value}` is not in capitals, and curl sends it as it is"));
            }
            "request" => self.method = Some(text),
            "header" => return self.add_header(value),
            "user" => self.user = Some(text),
            "cookie" if value.contains('=') => self.cookies.push(text),
            "cookie" => self.cookie_files.push(text),
            "cookie-jar" => self.cookie_jar = Some(text),
            "user-agent" => self.headers.push(("user-agent".to_owned(), text)),
            "referer" => {
                let referer = value.strip_suffix(";auto").unwrap_or(value);
                self.headers.push(("referer".to_owned(), referer.to_owned()));
            }
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
        let (name, value) =
            match (text.split_once(':').filter(|_| !text.starts_with(':')), text.strip_suffix(';')) {
                (Some((_, value)), _) if value.trim().is_empty() => return Ok(()),
                (Some((name, value)), _) => (name, value),
                (None, Some(name)) => (name, ""),
                // A pseudo-header of HTTP/2, as browsers show them.
                (None, None) if text.starts_with(':') => return Ok(()),
                (None, None) => return Err("a header is written as `-H 'name: value'`".to_owned()),
            };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let is_sound = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(is_sound) {
            return Err(format!("`{name}` is not a valid header name"));
        }
        if let Some(c) = value.chars().find(|c| c.is_control()) {
            return Err(format!("the header `{name}` contains the control character U+{:04X}", u32::from(c)));
        }
        if name == "cookie" {
            self.cookies.push(value.to_owned());
        } else if name != "content-length" {
            self.headers.push((name, value.to_owned()));
        }
        Ok(())
    }

    /// What curl itself refuses.
    fn consistent(self) -> Result<Command, String> {
        let has_data = self.data.text.is_some() && !self.flags.is_get;
        let bodies = [has_data, !self.form.is_empty(), self.upload.is_some(), self.flags.is_head];
        if bodies.iter().filter(|is_there| **is_there).count() > 1 {
            return Err(
                "has more than one of `-d`, `-F`, `-T` and `-I`, of which curl accepts one".to_owned()
            );
        }
        if !self.flags.globoff {
            let brackets = |url: &&String| {
                let after = url.find("://").map_or(0, |at| at + 3);
                let path = url[after..].find(['/', '?']).map_or("", |at| &url[after + at..]);
                path.contains(['[', ']', '{', '}'])
            };
            if let Some(url) = self.urls.iter().find(brackets) {
                return Err(format!(
                    "curl makes several URLs of the brackets in `{url}`: add `-g`, or write each URL"
                ));
            }
        }
        Ok(self)
    }
}
