//! `/proc/PID/status` and `/proc/PID/task/TID/status`.

use std::collections::BTreeSet;

/// Linux has fewer on any platform (`CONFIG_NR_CPUS`).
const MOST_PROCESSORS: u32 = 1 << 16;

/// Resident memory by whose it is, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// `RssAnon`: the process's own. What a fork has not written yet counts for both.
    pub(crate) own: u64,
    /// `RssFile` and `RssShmem`: of files and of memory that processes share.
    pub(crate) shared: u64,
}

/// What is taken from a `status`. Absent lines are absent values: a process that has ended has no memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// Resident memory.
    pub(crate) memory: Option<Memory>,
    /// `voluntary_ctxt_switches`, of one thread: the file of a process has those of its first thread only.
    pub(crate) voluntary: Option<u64>,
    /// `nonvoluntary_ctxt_switches`, likewise.
    pub(crate) involuntary: Option<u64>,
}

/// Reads `status`; lines of no interest or no sense are passed over.
pub(crate) fn parse_status(text: &str) -> Status {
    let mut status = Status::default();
    let mut memory = [None; 3];
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let bytes = || value.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024);
        let number = || value.split_ascii_whitespace().next()?.parse::<u64>().ok();
        match name {
            "RssAnon" => memory[0] = bytes(),
            "RssFile" => memory[1] = bytes(),
            "RssShmem" => memory[2] = bytes(),
            "voluntary_ctxt_switches" => status.voluntary = number(),
            "nonvoluntary_ctxt_switches" => status.involuntary = number(),
            _ => {}
        }
    }
    if let [Some(own), Some(file), Some(shmem)] = memory {
        status.memory = Some(Memory { own, shared: file.saturating_add(shmem) });
    }
    status
}

/// The processors that a process may run on, of its `status`: `Cpus_allowed_list`, such as `0-3,8`. None where the line is
/// absent or makes no sense.
pub(crate) fn parse_processors(text: &str) -> Option<BTreeSet<u32>> {
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let [first, last] = [first, last].map(|end| end.parse().ok().filter(|end| *end < MOST_PROCESSORS));
        Some(first?..=last?)
    };
    let ranges: Option<Vec<_>> = list.trim().split(',').map(range).collect();
    Some(ranges?.into_iter().flatten().collect()).filter(|processors: &BTreeSet<u32>| !processors.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn takes_memory_and_switches() {
        let text = "Name:\tRssAnon: 1\nVmHWM:\t   9000 kB\nVmRSS:\t    5120 kB\nRssAnon:\t    4000 kB\n\
                    RssFile:\t    1100 kB\nRssShmem:\t      20 kB\nThreads:\t9\n\
                    voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t7\n";
        let memory = Some(Memory { own: 4000 * 1024, shared: 1120 * 1024 });
        let expect = Status { memory, voluntary: Some(150), involuntary: Some(7) };
        assert_eq!(parse_status(text), expect);
    }

    #[test]
    fn what_is_not_there_is_absent() {
        assert_eq!(parse_status("Name:\tx\nState:\tZ (zombie)\n"), Status::default());
        assert_eq!(
            parse_status("RssAnon:\t99999999999999999999 kB\nvoluntary_ctxt_switches:\n"),
            Status::default()
        );
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        let of =
            |list: &str| parse_processors(&format!("Name:\tx\nCpus_allowed_list:\t{list}\nThreads:\t1\n"));
        assert_eq!(of("0-3,8"), Some([0, 1, 2, 3, 8].into()));
        assert_eq!(of("5"), Some([5].into()));
        assert_eq!(
            [of(""), of("3-1"), of("0-99999999"), of("1,x"), parse_processors("Name:\tx\n")],
            [const { None }; 5]
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,200}", number in any::<u64>()) {
            let _ = parse_processors(&format!("Cpus_allowed_list:{text}"));
            let _ = parse_status(&text);
            let _ = parse_status(&format!("RssAnon:{number} kB\nRssFile:{number} kB\nRssShmem:{number} kB\n{text}"));
        }
    }
}
