//! `/proc/PID/task/TID/schedstat`: what a thread had of the processors (the kernel's `Documentation/scheduler/sched-stats.rst`).

use std::time::Duration;

/// What a thread had of the processors since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThreadTimes {
    /// It ran.
    pub(crate) ran: Duration,
    /// It could have run, and waited for a processor.
    pub(crate) delayed: Duration,
}

/// Nanoseconds that the thread ran, and that it waited for a processor; none of anything else.
pub(crate) fn parse_schedstat(text: &str) -> Option<ThreadTimes> {
    let mut numbers =
        text.split_ascii_whitespace().map(|number| number.parse().ok().map(Duration::from_nanos));
    Some(ThreadTimes { ran: numbers.next()??, delayed: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_number_is_what_it_ran_and_the_second_what_it_waited() {
        let times = parse_schedstat("505795 1200 1\n").unwrap();
        assert_eq!((times.ran.as_nanos(), times.delayed.as_nanos()), (505_795, 1_200));
        assert_eq!(parse_schedstat(""), None);
        assert_eq!(parse_schedstat("12 x 3"), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in ".{0,60}", numbers in any::<[u64; 3]>()) {
            let _ = parse_schedstat(&text);
            let [a, b, c] = numbers;
            let times = parse_schedstat(&format!("{a} {b} {c}"));
            prop_assert!(times.is_some_and(|times| times.delayed == Duration::from_nanos(b)));
        }
    }
}
