//! What the first pod prints: progress, then one line about the run file, then the report. Written and read here.
//!
//! For a script, k6's summary precedes the report, and a line separates them: the summary is shown as it was printed, while
//! the report is rendered again from the run file that was fetched.

/// The line between a script's summary and its report, for who reads both from a pod.
pub const REPORT_BEGINS: &str = "plimsoll-report";
/// Begins the line about the run file.
const RUN_FILE: &str = "plimsoll-run-file ";

/// What is known of a run file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFileLine {
    /// Its SHA-256 in hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) bytes: u64,
    /// The exit code of the run.
    pub(crate) exit: u8,
    pub(crate) of: RunOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunOf {
    Plan,
    /// Its exit codes are k6's.
    Script,
}

/// Follows the rest of the line, where it is of a script.
const OF_SCRIPT: &str = " of=script";

impl RunFileLine {
    pub(crate) fn text(&self) -> String {
        let of = if self.of == RunOf::Script { OF_SCRIPT } else { "" };
        format!("{RUN_FILE}sha256={} bytes={} exit={}{of}", self.digest, self.bytes, self.exit)
    }

    fn read(line: &str) -> Option<RunFileLine> {
        let line = line.strip_prefix(RUN_FILE)?;
        let (line, of) = match line.strip_suffix(OF_SCRIPT) {
            Some(line) => (line, RunOf::Script),
            None => (line, RunOf::Plan),
        };
        let mut words = line.split(' ');
        let mut value = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        let digest = value("sha256")?.to_owned();
        let (bytes, exit) = (value("bytes")?.parse().ok()?, value("exit")?.parse().ok()?);
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then_some(RunFileLine { digest, bytes, exit, of })
    }
}

/// The lines of progress, and what is said of the run file after them.
pub(crate) fn read(log: &str) -> (Vec<&str>, Option<RunFileLine>) {
    let mut progress = Vec::new();
    for line in log.lines() {
        match RunFileLine::read(line) {
            Some(file) => return (progress, Some(file)),
            None => progress.push(line),
        }
    }
    (progress, None)
}

/// What a script has printed of its run: what is between the line about the run file and the report.
pub(crate) fn script_summary(log: &str) -> &str {
    let after_file = at_line(log, |line| RunFileLine::read(line).is_some()).map_or("", |(_, after)| after);
    at_line(after_file, |line| line == REPORT_BEGINS).map_or(after_file, |(before, _)| before)
}

/// What is before the first such line, and what is after it.
fn at_line(text: &str, is_it: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let end = begin + line.len();
        if line.strip_suffix('\n').is_some_and(&is_it) {
            return Some((&text[..begin], &text[end..]));
        }
        begin = end;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_script_ends_where_the_report_begins() {
        let file = RunFileLine { digest: "0f".repeat(32), bytes: 12, exit: 0, of: RunOf::Script }.text();
        let of = |printed: &str| script_summary(&format!("0:01\n{file}\n{printed}")).to_owned();
        assert_eq!(of("iterations: 3\n\nplimsoll-report\nPASS\n"), "iterations: 3\n\n");
        assert_eq!(of("plimsoll-report\nPASS\n"), "");
        assert_eq!(of("no plimsoll-report\n"), "no plimsoll-report\n");
        assert_eq!(script_summary("0:01\nplimsoll-report\n"), "");
    }

    #[test]
    fn progress_ends_with_the_line_about_the_file() {
        for of in [RunOf::Plan, RunOf::Script] {
            let file = RunFileLine { digest: "0f".repeat(32), bytes: 12, exit: 3, of };
            let log = format!("a\nb\n{}\nFAIL\nmore\n", file.text());
            assert_eq!(read(&log), (vec!["a", "b"], Some(file)));
        }
        let half = "plimsoll-run-file sha256=00 bytes=1 exit=0\nplimsoll-run-file sha";
        assert_eq!(read(half), (half.lines().collect(), None));
    }
}
