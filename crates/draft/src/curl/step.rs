//! The step that a command is.

use std::path::Path;

use super::command::{Command, Connection};
use crate::address::basic_auth;
use crate::body;
use crate::multipart::{self, BOUNDARY};
use crate::plan::{BodyDraft, StepDraft};
use crate::secrets::{Variables, is_secret_name};
use crate::text::Text;
use crate::toml_text::quoted;
use crate::url::{SplitUrl, as_sent, encoded, without_dots};

/// What curl asks for with `--compressed`.
const ENCODINGS: &str = "deflate, gzip, br, zstd";

impl Command {
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
        if self.cookie_jar.is_some() || !self.cookie_files.is_empty() {
            keys.push(("cookies", "\"iteration\"   # as `-c` and `-b FILE` keep them".to_owned()));
        }
        keys
    }

    pub(super) fn step(&self, url: &SplitUrl, target: usize, variables: &mut Variables) -> StepDraft {
        let data = self.data.text.as_deref().filter(|_| !self.flags.is_get);
        let mut step = StepDraft::new(&self.method(data.is_some()), target, variables.path(&self.path(url)));
        for (name, value) in &self.headers {
            let value =
                if is_secret_name(name) { variables.header(name, value) } else { Text::literal(value) };
            step.add_header(name, &value);
        }
        if self.flags.compressed && !step.has_header("accept-encoding") {
            step.add_header("accept-encoding", &Text::literal(ENCODINGS));
        }
        if !self.cookies.is_empty() {
            let pairs = self.cookies.iter().flat_map(|line| line.split(';'));
            let names: Vec<&str> =
                pairs.map(|pair| pair.split('=').next().unwrap_or_default().trim()).collect();
            let meaning = format!("the header `cookie`, as `NAME=VALUE; …`, of {}", names.join(", "));
            step.add_header("cookie", &variables.text("COOKIE", &self.cookies.join("; "), &meaning));
        }
        let user = self.user.as_ref().or(url.user.as_ref());
        step.auth =
            user.filter(|_| !step.has_header("authorization")).map(|user| basic_auth(user, variables));
        step.redirects = self.redirects.filter(|most| *most > 0);
        step.timeout = self.timeout.filter(|timeout| !timeout.is_zero());
        self.add_body(data, &mut step, variables);
        step
    }

    /// With `-G` the data is part of the query.
    fn path(&self, url: &SplitUrl) -> String {
        let mut path = if self.flags.path_as_is { url.path.clone() } else { without_dots(&url.path) };
        if let Some((file, _)) = self.upload.as_ref().filter(|_| path.ends_with('/')) {
            let name = Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned());
            path.push_str(&encoded(&name.unwrap_or_default()));
        }
        let data = self.data.text.as_deref().filter(|data| self.flags.is_get && !data.is_empty());
        for piece in data.into_iter().chain(self.query.iter().map(String::as_str)) {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&as_sent(piece).replace('#', "%23"));
        }
        path
    }

    fn method(&self, has_data: bool) -> String {
        match &self.method {
            Some(method) => method.clone(),
            None if self.flags.is_head => "HEAD".to_owned(),
            None if self.upload.is_some() => "PUT".to_owned(),
            None if has_data || !self.form.is_empty() => "POST".to_owned(),
            None => "GET".to_owned(),
        }
    }

    fn add_body(&self, data: Option<&str>, step: &mut StepDraft, variables: &mut Variables) {
        if !self.form.is_empty() {
            let content_type = multipart::content_type(BOUNDARY);
            // A content type of the command's own is sent without the boundary, as curl adds it.
            if !step.has_header("content-type") {
                step.add_header("content-type", &Text::literal(&content_type));
            }
            let form = format!("{}{}", self.form, multipart::end(BOUNDARY));
            step.body = body::recorded(&form, Some(&content_type), variables);
            return;
        }
        let given =
            self.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
        if let Some((_, text)) = &self.upload {
            step.body = body::recorded(text, given, variables);
            return;
        }
        let Some(data) = data else { return };
        let content_type = given.unwrap_or(self.data.content_type());
        step.body = body::recorded(data, Some(content_type), variables);
        match (&step.body, content_type) {
            // `json` sends it.
            (BodyDraft::Json(_), "application/json") => {
                step.headers.retain(|(name, _)| name != "content-type");
            }
            (_, kind) if !step.has_header("content-type") => {
                step.add_header("content-type", &Text::literal(kind));
            }
            _ => {}
        }
        if self.data.is_json && !step.has_header("accept") {
            step.add_header("accept", &Text::literal("application/json"));
        }
    }
}
