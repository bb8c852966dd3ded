//! Recognises files of the wrong kind: one sentence says what the file is and which command takes it.

mod of_others;
mod unusable;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::anyhow;

use crate::failure::{CommandResult, Failure};
use of_others::OtherTool;

/// A kind of file that the tool knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// What is offered, and what must hold.
    Plan,
    /// Of `plimsoll ab`.
    Experiment,
    /// An experiment of `plimsoll capacity`.
    Search,
    /// A description of an API.
    OpenApi,
    /// What a browser recorded: HAR.
    Recording,
    CurlCommands,
    /// A k6 script.
    Script,
    /// The evidence of a run.
    RunFile,
    /// A report of a run, which is made of its file.
    Report,
    /// Results of another tool.
    Results,
    /// A table.
    Csv,
    /// A list of requests, in vegeta's format.
    TargetList,
    /// What another tool runs.
    OfOthers(&'static OtherTool),
}

impl FileKind {
    /// What a file is, by its beginning; none if it may be anything.
    pub fn detect(head: &[u8]) -> Option<FileKind> {
        if head.starts_with(b"SQLite format 3\0") {
            return Some(FileKind::RunFile);
        }
        if is_report(head) {
            return Some(FileKind::Report);
        }
        if has_results(head) {
            return Some(FileKind::Results);
        }
        let text = String::from_utf8_lossy(head);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let has_line = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
        let has_all = |words: &[&str]| words.iter().all(|word| text.contains(word));
        if is_curl(text) {
            Some(FileKind::CurlCommands)
        } else if let Some(tool) = OtherTool::detect(text) {
            Some(FileKind::OfOthers(tool))
        } else if text.starts_with('{') && has_all(&["\"openapi\"", "\"paths\""]) {
            Some(FileKind::OpenApi)
        } else if text.starts_with('{') && has_all(&["\"log\"", "\"entries\""]) {
            Some(FileKind::Recording)
        } else if is_target_list(text) {
            Some(FileKind::TargetList)
        } else if text.starts_with('{') {
            None
        } else if has_line("openapi:") {
            Some(FileKind::OpenApi)
        } else if has_line("export default ") || has_line("import http from ") || text.contains("from 'k6") {
            Some(FileKind::Script)
        } else if has_line("[slo]") || has_line("[search]") {
            Some(FileKind::Search)
        } else if has_line("[arms.") || has_line("[arms]") {
            Some(FileKind::Experiment)
        } else if has_line("[[scenarios]]") {
            Some(FileKind::Plan)
        } else {
            is_table(text).then_some(FileKind::Csv)
        }
    }

    /// What it is, as the rest of a sentence about the file.
    pub fn what(self, path: &str) -> String {
        let advice = self.advice(path);
        advice.split(':').next().unwrap_or(&advice).to_owned()
    }

    /// The message of a command that cannot use it.
    fn refused(self, path: &Path) -> Failure {
        let path = path.display().to_string();
        Failure::usage(anyhow!("{path} {}", self.advice(&path)))
    }

    /// What it is and what to do with it.
    fn advice(self, path: &str) -> String {
        match self {
            FileKind::Plan => format!("is a plan: `plimsoll run {path}`"),
            FileKind::Experiment => format!("is an experiment: `plimsoll ab {path}`"),
            FileKind::Search => format!("is a search for capacity: `plimsoll capacity {path}`"),
            FileKind::OpenApi => {
                format!("is an OpenAPI description: `plimsoll new {path}` makes a plan of it")
            }
            FileKind::Recording => {
                format!("is a recording of a browser (HAR): `plimsoll new {path}` makes a plan of it")
            }
            FileKind::CurlCommands => {
                format!("has curl commands: `plimsoll new {path}` makes a plan of them")
            }
            FileKind::Script if path.ends_with(".js") || path.ends_with(".ts") => {
                format!("is a k6 script: `plimsoll run {path}`")
            }
            FileKind::Script => {
                format!("is a k6 script: `plimsoll run {path}`, with a name that ends in `.js` or `.ts`")
            }
            FileKind::RunFile => format!("is a run file: `plimsoll report {path}`"),
            FileKind::Report => {
                let file = Path::new(path).with_extension("plimsoll");
                format!(
                    "is a report that Plimsoll wrote: give the run file, such as {}, which `plimsoll run -o FILE.plimsoll` writes",
                    file.display()
                )
            }
            FileKind::Results => format!("has results of another tool: `plimsoll import {path}`"),
            FileKind::Csv => {
                "is a table (CSV): a plan reads it as data, `[data.NAME]` with `file = \"…\"`".to_owned()
            }
            FileKind::TargetList => {
                format!("is a list of requests (vegeta's format): `plimsoll http --targets {path}`")
            }
            FileKind::OfOthers(tool) => tool.advice(),
        }
    }
}

/// Whether these bytes begin a report as HTML, JSON or JUnit.
fn is_report(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(REPORT_HEAD_BYTES)]);
    let signs = [
        "<meta name=\"generator\" content=\"Plimsoll\">",
        "\"schema\": \"plimsoll.",
        "<testsuites name=\"plimsoll\"",
    ];
    signs.iter().any(|sign| text.contains(sign))
}

/// Whether the first lines have the same number of columns, two or more, and nothing of a program or of TOML.
fn is_table(text: &str) -> bool {
    let columns = |line: &str| line.split([',', ';', '\t']).count();
    let mut lines = text.lines().take(5).filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next() else { return false };
    let has_syntax = |line: &str| line.contains(['=', '{', '[', '(']);
    columns(first) > 1 && !has_syntax(first) && lines.all(|line| columns(line) == columns(first))
}

/// Whether the first line is a request of vegeta: a method and an absolute URL, as text or as JSON.
fn is_target_list(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let is_json = line.starts_with('{') && ["\"method\"", "\"url\""].iter().all(|key| line.contains(key));
    let is_method = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_address = |word: &str| word.starts_with("http://") || word.starts_with("https://");
    is_json || line.split_once(' ').is_some_and(|(method, url)| is_method(method) && is_address(url))
}

/// How much of a file is read to recognise it.
const HEAD_BYTES: u64 = 64 << 10;
/// A report names its maker within so many bytes.
const REPORT_HEAD_BYTES: usize = 4 << 10;

/// Refuse the file at `path` if it is missing, cannot be read as text, or is clearly of another kind than these.
pub fn refuse_others(path: &Path, accepted: &[FileKind]) -> CommandResult<()> {
    let refused = |why: Option<String>| why.map_or(Ok(()), |why| Err(Failure::usage(anyhow!(why))));
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        // A pipe or a device is read by the code that needs it.
        found => return refused(unusable::without_content(path, found, accepted)),
    }
    let head = match head_of(path) {
        Ok(head) => head,
        Err(error) => return refused(unusable::without_content(path, Err(error), accepted)),
    };
    match FileKind::detect(&head) {
        Some(kind) if accepted.contains(&kind) => Ok(()),
        Some(kind) => Err(kind.refused(path)),
        None => refused(unusable::by_content(path, &head, accepted)),
    }
}

/// What a file begins with.
fn head_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// The kind of the file at `path`, if it is one and it is known.
pub fn at(path: &Path) -> Option<FileKind> {
    FileKind::detect(
        &std::fs::metadata(path).is_ok_and(|found| found.is_file()).then(|| head_of(path).ok())??,
    )
}

/// The files of this folder that are of a kind, as a list; none if there are none.
pub fn here(kind: FileKind) -> Option<String> {
    unusable::here(kind)
}

/// The refusal of the file at `path` that begins with `head`; none if it may be anything.
pub fn named(path: &Path, head: &[u8]) -> Option<Failure> {
    let head = &head[..head.len().min(HEAD_BYTES as usize)];
    FileKind::detect(head).map(|kind| kind.refused(path))
}

/// Whether an importer reads it.
#[cfg(feature = "full")]
fn has_results(head: &[u8]) -> bool {
    import::recognise(&head[..head.len().min(import::HEAD_BYTES)]).is_ok()
}

#[cfg(feature = "full")]
fn is_curl(text: &str) -> bool {
    draft::is_curl(text)
}

/// Without imports there is no verb to send it to.
#[cfg(not(feature = "full"))]
fn has_results(_: &[u8]) -> bool {
    false
}

/// Without drafts there is no verb to send it to.
#[cfg(not(feature = "full"))]
fn is_curl(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_beginning() {
        for (text, expected) in [
            ("version = 1\n[[scenarios]]\nname = \"a\"\n", Some(FileKind::Plan)),
            ("plan = \"a.toml\"\n[arms.a]\nstart = \"x\"\n", Some(FileKind::Experiment)),
            ("plan = \"a.toml\"\n[arms.a]\n[slo]\n", Some(FileKind::Search)),
            ("# API\nopenapi: 3.1.0\npaths: {}\n", Some(FileKind::OpenApi)),
            ("{\"openapi\": \"3.0.0\", \"paths\": {}}", Some(FileKind::OpenApi)),
            ("{\"log\": {\"entries\": []}}", Some(FileKind::Recording)),
            ("curl http://h/\n", Some(FileKind::CurlCommands)),
            ("import http from 'k6/http';\nexport default function () {}\n", Some(FileKind::Script)),
            ("id,name\n1,a\n2,b\n", Some(FileKind::Csv)),
            ("timeStamp,elapsed,label\n1,2,a\n", Some(FileKind::Results)),
            ("GET http://h/\nx-id: 1\n", Some(FileKind::TargetList)),
            ("{\"method\":\"GET\",\"url\":\"http://h/\"}\n", Some(FileKind::TargetList)),
            ("{\n  \"schema\": \"plimsoll.report/2\",\n", Some(FileKind::Report)),
            (
                "<!doctype html>\n<head>\n<meta name=\"generator\" content=\"Plimsoll\">",
                Some(FileKind::Report),
            ),
            ("GET /relative\n", None),
            ("name = \"a, b\"\n", None),
            ("hello\n", None),
            ("", None),
        ] {
            assert_eq!(FileKind::detect(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(FileKind::detect(b"SQLite format 3\0..."), Some(FileKind::RunFile));
    }
}
