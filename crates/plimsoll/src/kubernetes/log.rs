//! What the first pod prints: progress, then one line about the run file, then the report. Written and read here.

/// Begins the line about the run file.
const RUN_FILE: &str = "plimsoll-run-file ";

/// What is known of a run file that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunFileLine {
    /// Its SHA-256 in hexadecimal digits.
    pub(super) digest: String,
    pub(super) bytes: u64,
    /// The exit code of the run.
    pub(super) exit: u8,
}

impl RunFileLine {
    pub(super) fn text(&self) -> String {
        format!("{RUN_FILE}sha256={} bytes={} exit={}", self.digest, self.bytes, self.exit)
    }

    fn read(line: &str) -> Option<RunFileLine> {
        let mut words = line.strip_prefix(RUN_FILE)?.split(' ');
        let mut value = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        let digest = value("sha256")?.to_owned();
        let (bytes, exit) = (value("bytes")?.parse().ok()?, value("exit")?.parse().ok()?);
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digest.then_some(RunFileLine { digest, bytes, exit })
    }
}

/// The lines of progress, and what is said of the run file after them.
pub(super) fn read(log: &str) -> (Vec<&str>, Option<RunFileLine>) {
    let mut progress = Vec::new();
    for line in log.lines() {
        match RunFileLine::read(line) {
            Some(file) => return (progress, Some(file)),
            None => progress.push(line),
        }
    }
    (progress, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_ends_with_the_line_about_the_file() {
        let file = RunFileLine { digest: "0f".repeat(32), bytes: 12, exit: 3 };
        let log = format!("a\nb\n{}\nFAIL\n", file.text());
        assert_eq!(read(&log), (vec!["a", "b"], Some(file)));
        let half = "plimsoll-run-file sha256=00 bytes=1 exit=0\nplimsoll-run-file sha";
        assert_eq!(read(half), (half.lines().collect(), None));
    }
}
