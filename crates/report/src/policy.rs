//! The Content-Security-Policy of a page: it may use its own style sheets and scripts, and nothing else.
//!
//! Every text on a page is escaped. The policy is there for the day on which one is not: a browser then neither runs
//! nor loads what got in. Source: Content Security Policy Level 3, hash sources.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// The style sheet of reports and comparisons.
pub(crate) const STYLE: &str = include_str!("../templates/style.css");
pub(crate) const SCRIPT: &str = include_str!("../templates/script.js");

/// The style sheet of what a live page adds to a report.
pub(crate) const LIVE_STYLE: &str = include_str!("../templates/live.css");
/// Its script, which keeps the page up to date.
pub(crate) const LIVE_SCRIPT: &str = include_str!("../templates/live.js");

/// The policy that allows exactly these inline style sheets and scripts.
pub(crate) fn content_security_policy(styles: &[&str], scripts: &[&str]) -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        sources(styles),
        sources(scripts)
    )
}

/// The same policy for a live page, which may also ask its own server.
pub(crate) fn live_content_security_policy(styles: &[&str], scripts: &[&str]) -> String {
    format!("{}; connect-src 'self'", content_security_policy(styles, scripts))
}

fn sources(texts: &[&str]) -> String {
    let hashes: Vec<String> =
        texts.iter().map(|text| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))).collect();
    hashes.join(" ")
}
