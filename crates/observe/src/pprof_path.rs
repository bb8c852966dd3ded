//! Whether a target serves profiles where the plan says, asked before a run.

use std::time::Duration;

use evidence::ProfileKind;

use crate::fetch::Fetcher;

/// How long an answer may take; a CPU profile takes one second of it.
const PATIENCE: Duration = Duration::from_secs(5);
/// The beginning of an answer is enough.
const HEAD_BYTES: u64 = 64;
/// Where Go's `net/http/pprof` is by default.
const USUAL_PATH: &str = "/debug/pprof";

/// Profiles are not where they were looked for.
#[derive(Debug, PartialEq, Eq)]
pub struct WrongPprofPath {
    /// What was asked below the URL, each with why its answer is not a profile.
    pub asked: Vec<(String, String)>,
    /// A path at the same address below which there are profiles.
    pub elsewhere: Option<&'static str>,
}

/// Ask for a profile of each of these kinds below `url`, in the form that costs the target least.
///
/// # Errors
/// [`WrongPprofPath`] when one is missing.
pub fn ask_pprof(url: &str, kinds: &[ProfileKind]) -> Result<(), WrongPprofPath> {
    let place = PprofPlace { fetcher: Fetcher::new(PATIENCE), url };
    let asked: Vec<(String, String)> = kinds.iter().flat_map(|kind| place.wrong_answers(*kind)).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let root = root_of(url).filter(|root| *url != format!("{root}{USUAL_PATH}"));
    let is_there = |root: &str| place.fetcher.beginning(&format!("{root}{USUAL_PATH}/"), HEAD_BYTES).is_ok();
    Err(WrongPprofPath { asked, elsewhere: root.filter(|root| is_there(root)).map(|_| USUAL_PATH) })
}

/// Where profiles should be.
struct PprofPlace<'u> {
    fetcher: Fetcher,
    url: &'u str,
}

impl PprofPlace<'_> {
    /// What was asked for a kind, and the answers; empty where there are profiles of it. A CPU profile lasts: where the
    /// goroutines are listed, as Go does beside it, none is taken.
    fn wrong_answers(&self, kind: ProfileKind) -> Vec<(String, String)> {
        let paths = match kind {
            ProfileKind::Cpu => vec!["/goroutine?debug=1".to_owned(), "/profile?seconds=1".to_owned()],
            kind => vec![format!("/{kind}?debug=1")],
        };
        let mut wrong = Vec::new();
        for path in paths {
            match self.fetcher.beginning(&format!("{}{path}", self.url), HEAD_BYTES) {
                Ok(head) if !is_page(&head) => return Vec::new(),
                Ok(_) => wrong.push((path, "it answers with a page".to_owned())),
                Err(why) => wrong.push((path, why)),
            }
        }
        wrong
    }
}

/// Whether it is the beginning of a page: some services answer every path with their front page.
fn is_page(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"<")
}

/// Scheme and authority of a URL.
fn root_of(url: &str) -> Option<&str> {
    let authority = url.find("://")? + "://".len();
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    Some(&url[..end])
}
