//! `/proc/PID/status` and `/proc/PID/task/TID/status`.

/// What is taken from a `status`. Absent lines are absent values: a process that has ended has no memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// `VmRSS`: resident memory, in bytes.
    pub(crate) rss_bytes: Option<u64>,
    /// `voluntary_ctxt_switches`, of one thread: the file of a process has those of its first thread only.
    pub(crate) voluntary: Option<u64>,
    /// `nonvoluntary_ctxt_switches`, likewise.
    pub(crate) involuntary: Option<u64>,
}

/// Reads `status`; lines of no interest or no sense are passed over.
pub(crate) fn parse_status(text: &str) -> Status {
    let mut status = Status::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let number = || value.split_ascii_whitespace().next()?.parse::<u64>().ok();
        match name {
            "VmRSS" => status.rss_bytes = number().and_then(|kib| kib.checked_mul(1024)),
            "voluntary_ctxt_switches" => status.voluntary = number(),
            "nonvoluntary_ctxt_switches" => status.involuntary = number(),
            _ => {}
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn takes_memory_and_switches() {
        let text = "Name:\tVmRSS: 1\nVmHWM:\t   9000 kB\nVmRSS:\t    5120 kB\nThreads:\t9\n\
                    voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
        let expect = Status { rss_bytes: Some(5120 * 1024), voluntary: Some(150), involuntary: Some(7) };
        assert_eq!(parse_status(text), expect);
    }

    #[test]
    fn what_is_not_there_is_absent() {
        assert_eq!(parse_status("Name:\tx\nState:\tZ (zombie)\n"), Status::default());
        assert_eq!(
            parse_status("VmRSS:\t99999999999999999999 kB\nvoluntary_ctxt_switches:\n"),
            Status::default()
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}", number in any::<u64>()) {
            let _ = parse_status(&text);
            let _ = parse_status(&format!("VmRSS:{number} kB\n{text}"));
        }
    }
}
