//! `/proc/PID/stat`.

/// What is taken from a process's `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// `R`, `S`, `D`, `Z` …
    pub(crate) state: char,
    /// CPU time in user mode and in the kernel, of all threads that live or have ended, in clock ticks.
    pub(crate) cpu_ticks: u64,
    /// The same of children that have ended and were waited for, and of theirs.
    pub(crate) waited_ticks: u64,
    /// Threads that live.
    pub(crate) threads: u64,
    /// When it started, in clock ticks since the machine did: distinguishes a process from a later one with the same
    /// number.
    pub(crate) start_ticks: u64,
}

impl Stat {
    /// Whether the process has ended, and only its number is still taken.
    pub(crate) fn has_ended(&self) -> bool {
        self.state == 'Z' || self.is_removed()
    }

    /// Whether it was waited for as well: its times are no longer shown here.
    pub(crate) fn is_removed(&self) -> bool {
        matches!(self.state, 'X' | 'x')
    }
}

/// Reads `stat`. The name, second of its fields, is in parentheses and may itself contain spaces and
/// parentheses; the fields after it are counted from the last closing one.
pub(crate) fn parse_stat(text: &str) -> Result<Stat, &'static str> {
    let (_, rest) = text.rsplit_once(')').ok_or("there is no name in parentheses")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // Field 3 of proc_pid_stat(5) is the first after the name.
    let field = |number: usize| fields.get(number - 3).copied().ok_or("there are too few fields");
    let count = |number: usize| field(number)?.parse::<u64>().map_err(|_| "a field is not a number");
    Ok(Stat {
        state: field(3)?.chars().next().ok_or("there is no state")?,
        cpu_ticks: count(14)?.saturating_add(count(15)?),
        waited_ticks: count(16)?.saturating_add(count(17)?),
        threads: count(20)?,
        start_ticks: count(22)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TAIL: &str = "S 1 4242 4242 0 -1 4194560 1853 0 12 0 157 43 5 2 20 0 9 0 123456 \
                        227180544 5120 18446744073709551615 1 1 0 0 0 0 0 4096 17475 0 0 0 17 1 0 0 0 0 0";

    fn check(name: &str) {
        let expect = Stat { state: 'S', cpu_ticks: 200, waited_ticks: 7, threads: 9, start_ticks: 123_456 };
        assert_eq!(parse_stat(&format!("4242 ({name}) {TAIL}")), Ok(expect), "{name}");
    }

    #[test]
    fn names_may_contain_anything() {
        check("challenge");
        check("a name with spaces");
        check("tricky) R 9 9 (9");
        check(")))(((");
        check("");
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(parse_stat(""), Err("there is no name in parentheses"));
        assert_eq!(parse_stat("1 (x) S 1 2"), Err("there are too few fields"));
        assert_eq!(
            parse_stat(&TAIL.replace("157", "many").replace("S 1", ") S 1")),
            Err("a field is not a number")
        );
    }

    #[test]
    fn a_zombie_has_ended() {
        let zombie = parse_stat(&format!("1 (x) {}", TAIL.replacen('S', "Z", 1))).unwrap();
        assert!(zombie.has_ended());
    }

    proptest! {
        #[test]
        fn never_panics(text in ".{0,200}", numbers in proptest::collection::vec(any::<u64>(), 0..30)) {
            let _ = parse_stat(&text);
            let fields: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let _ = parse_stat(&format!("1 ({text}) S {}", fields.join(" ")));
        }
    }
}
