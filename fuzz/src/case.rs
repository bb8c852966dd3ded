//! One input of one parser, within its bounds.

use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Target;
use crate::meter::metered;

/// The most CPU time that a case may take. A case of 1.3 s took 11 s under AddressSanitizer.
pub const MOST_CPU: Duration = Duration::from_secs(if cfg!(feature = "sanitizer") { 100 } else { 10 });

/// A case without a finding.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Whether the input was valid.
    pub is_understood: bool,
    /// The most memory that it held at once.
    pub peak_bytes: usize,
    /// The CPU time that it took.
    pub cpu: Duration,
}

/// Runs a parser with one input.
///
/// # Errors
/// The finding: it panicked, or took more memory or time than it may.
pub fn run_case(target: &Target, input: &[u8]) -> Result<Case, String> {
    let begun = thread_cpu();
    let (ended, peak_bytes) = metered(|| panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))));
    let cpu = thread_cpu().saturating_sub(begun);
    let is_understood = ended.map_err(|_| "it panics".to_owned())?;
    if peak_bytes > target.most_bytes {
        return Err(format!("it takes {peak_bytes} bytes of memory, and may take {}", target.most_bytes));
    }
    if cpu > MOST_CPU {
        return Err(format!("it takes {cpu:.1?} of CPU time, and may take {MOST_CPU:?}"));
    }
    Ok(Case { is_understood, peak_bytes, cpu })
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let nanos = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_panics_or_takes_too_much_memory_is_a_finding() {
        let target = Target {
            run: |input| vec![0_u8; input.len() * 1_000].len() > 1,
            most_bytes: 5_000,
            ..Target::BASE
        };
        assert!(run_case(&target, b"abc").is_ok_and(|case| case.is_understood && case.peak_bytes >= 3_000));
        assert!(run_case(&target, b"abcdef").is_err_and(|why| why.contains("may take 5000")));
        let target = Target { run: |input| input[0] > 0, ..Target::BASE };
        assert_eq!(run_case(&target, b"").unwrap_err(), "it panics");
    }
}
