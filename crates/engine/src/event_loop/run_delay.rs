//! How long the system let a loop's thread wait for a processor: a timer shows that only where it was due.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use evidence::Instant;

/// The kernel's count for one thread.
#[derive(Debug)]
pub(super) struct RunDelay {
    /// None where the kernel does not count.
    file: Option<File>,
    read_at: Instant,
    waited_ns: u64,
}

impl RunDelay {
    /// Of the calling thread, from now on.
    pub(super) fn of_this_thread(now: Instant) -> RunDelay {
        RunDelay::read_from(File::open("/proc/thread-self/schedstat").ok(), now)
    }

    pub(super) fn read_from(file: Option<File>, now: Instant) -> RunDelay {
        let mut delay = RunDelay { file, read_at: now, waited_ns: 0 };
        delay.waited_ns = delay.read_ns().unwrap_or(0);
        delay
    }

    /// How long the thread waited for a processor within this sleep, at least: all that it waited since the last call may
    /// have been before the sleep.
    pub(super) fn within(&mut self, began: Instant, ended: Instant) -> Duration {
        let before = began.since(self.read_at);
        self.until(ended).saturating_sub(before).min(ended.since(began))
    }

    /// How long the thread waited for a processor since the last call; zero where the kernel does not count.
    pub(super) fn until(&mut self, ended: Instant) -> Duration {
        let Some(waited_ns) = self.read_ns() else { return Duration::ZERO };
        self.read_at = ended;
        Duration::from_nanos(waited_ns.saturating_sub(std::mem::replace(&mut self.waited_ns, waited_ns)))
    }

    /// The second number of `schedstat`.
    fn read_ns(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file as the kernel's, in which the thread has waited so long.
    pub(in super::super) fn file(waited_ms: u64) -> File {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("schedstat", flags).unwrap());
        set(&file, waited_ms);
        file
    }

    pub(in super::super) fn set(file: &File, waited_ms: u64) {
        file.write_all_at(format!("42 {} 7\n", waited_ms * 1_000_000).as_bytes(), 0).unwrap();
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn what_may_have_been_waited_before_a_sleep_is_left_out() {
        let counted = file(100);
        let mut delay = RunDelay::read_from(Some(counted.try_clone().unwrap()), ms(0));
        set(&counted, 108);
        assert_eq!(delay.within(ms(3), ms(20)), Duration::from_millis(5));
        assert_eq!(delay.within(ms(20), ms(30)), Duration::ZERO, "nothing since");
        set(&counted, 208);
        assert_eq!(delay.within(ms(30), ms(40)), Duration::from_millis(10), "no longer than the sleep");
    }

    #[test]
    fn without_a_count_nothing_was_waited() {
        let mut delay = RunDelay::read_from(None, ms(0));
        assert_eq!(delay.within(ms(0), ms(9)), Duration::ZERO);
    }
}
