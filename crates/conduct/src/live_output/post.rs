//! Sends batches over HTTP, within a bound of time.

use std::time::Duration;

use ureq::Agent;

use crate::web_agent::{configured, why_unanswered};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends batches to one URL.
pub(super) struct Poster {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
}

impl Poster {
    pub(super) fn new(url: String, headers: Vec<(String, String)>) -> Poster {
        let config = configured(PATIENCE).max_redirects(0).build();
        Poster { agent: config.new_agent(), url, headers }
    }

    /// Send one batch. Errors are in words, without the URL, which may contain a password.
    pub(super) fn send(&self, body: &[u8]) -> Result<(), String> {
        let mut request = self.agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = request.send(body).map_err(|error| why_unanswered(&error, PATIENCE))?;
        match response.status().as_u16() {
            200..=299 => Ok(()),
            status => {
                let text =
                    response.body_mut().with_config().limit(4_096).read_to_string().unwrap_or_default();
                let line: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
                Err(format!("it answers with status {status}: {line}"))
            }
        }
    }
}
