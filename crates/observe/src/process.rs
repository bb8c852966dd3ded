//! Watches a process with its descendants: their CPU, memory, threads, descriptors and context switches.

use std::fmt;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};

use crate::base::{Base, Dated};
use crate::error::ObserveError;
use crate::listener::{self, Socket};
use crate::notice::Notices;
use crate::observer::Observer;
use crate::rates::{levels, rates};
use crate::reading::{Reading, read, read_stat};
use crate::tree::{MOST_PROCESSES, lists_children, read_family};

/// How a process is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessRef {
    /// By its number. Once it has ended, a later process with the same number is not watched.
    Pid(u32),
    /// The process that listens on this TCP port, on any local address; watched again after a restart.
    Port(u16),
}

impl fmt::Display for ProcessRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessRef::Pid(pid) => write!(f, "process {pid}"),
            ProcessRef::Port(port) => write!(f, "the process that listens on port {port}"),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pub(crate) socket: Option<Socket>,
    /// Other processes that match.
    pub(crate) others: Vec<u32>,
}

impl ProcessRef {
    /// Whether there is such a process.
    ///
    /// # Errors
    /// When there is none, or it may not be looked at.
    pub fn check(self) -> Result<(), ObserveError> {
        self.find().map(drop)
    }

    pub(crate) fn find(self) -> Result<Found, ObserveError> {
        match self {
            ProcessRef::Pid(pid) => {
                let start_ticks = read_stat(pid)?.start_ticks;
                Ok(Found { pid, start_ticks, socket: None, others: Vec::new() })
            }
            ProcessRef::Port(port) => {
                let found = listener::find(port)?;
                let start_ticks = read_stat(found.pid)?.start_ticks;
                let socket = Some(found.socket);
                Ok(Found { pid: found.pid, start_ticks, socket, others: found.others })
            }
        }
    }
}

/// The process that is being watched, and what it was last.
#[derive(Debug)]
struct Watched {
    found: Found,
    base: Base<Reading>,
    /// Whether the last reading was less than the base.
    is_short: bool,
}

/// Which processes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Alone,
    Family,
}

/// Samples one target's process and all its descendants. It looks for the process at the first sample, and again
/// whenever the process is gone.
#[derive(Debug)]
pub struct ProcessObserver {
    target: String,
    process: ProcessRef,
    scope: Scope,
    watched: Option<Watched>,
    /// The last process watched: its number and its start.
    last: Option<(u32, u64)>,
    /// The reason for which the process is not found, reported once and not each second.
    reported: Option<String>,
    /// Whether the excess of processes was reported.
    is_excess_reported: bool,
    notices: Notices,
}

impl ProcessObserver {
    /// Watches `process` with its descendants as the target named `target`.
    pub fn new(target: &str, process: ProcessRef) -> Self {
        ProcessObserver {
            target: target.to_owned(),
            process,
            scope: Scope::Family,
            watched: None,
            last: None,
            reported: None,
            is_excess_reported: false,
            notices: Notices::new(target),
        }
    }

    /// Watches `process` by itself.
    pub(crate) fn alone(target: &str, process: ProcessRef) -> Self {
        ProcessObserver { scope: Scope::Alone, ..ProcessObserver::new(target, process) }
    }

    fn read(&self, found: &Found) -> Result<Reading, ObserveError> {
        match self.scope {
            Scope::Alone => read(found.pid, found.start_ticks),
            Scope::Family => read_family(found.pid, found.start_ticks),
        }
    }

    /// Samples of the process watched so far; none when it is gone or another took its place.
    fn follow(&mut self, at: Instant) -> Option<Vec<(SeriesKey, Sample)>> {
        let watched = self.watched.take()?;
        if let Some(successor) = successor(self.process, &watched.found) {
            self.begin(at, successor);
            return None;
        }
        match self.read(&watched.found) {
            Ok(reading) => Some(self.compare(at, watched, reading)),
            Err(error) => {
                self.lost(at, &error);
                None
            }
        }
    }

    /// Samples from a further reading. CPU time of a child that ended during the reading is missing from it alone, so the
    /// base is kept and the next reading is compared with it. If that is less too, the time was lost with a child that
    /// left the family or was never waited for, and rates start from a new base.
    fn compare(&mut self, at: Instant, mut watched: Watched, reading: Reading) -> Vec<(SeriesKey, Sample)> {
        self.report_excess(at, &reading);
        let mut samples = levels(&self.target, at, &reading);
        if let Some(base) = watched.base.of_rate_until(at) {
            let base = Dated { at: base.at, reading: &base.reading };
            samples.extend(rates(&self.target, base, Dated { at, reading: &reading }));
        }
        let is_short = reading.cpu < watched.base.last().cpu;
        match (is_short, watched.is_short) {
            (true, false) => {}
            (true, true) => watched.base = Base::new(at, reading),
            (false, _) => watched.base.advance(at, reading),
        }
        watched.is_short = is_short && !watched.is_short;
        self.watched = Some(watched);
        samples
    }

    fn report_excess(&mut self, at: Instant, reading: &Reading) {
        if reading.processes >= MOST_PROCESSES as u64
            && !std::mem::replace(&mut self.is_excess_reported, true)
        {
            let text = format!(
                "{} has more than {MOST_PROCESSES} descendants: the others are left out",
                self.process
            );
            self.notices.add(at, NoticeKind::Unreadable, text);
        }
    }

    /// Finds the process and takes a first reading, which gives no rates yet.
    fn search(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        match self.process.find() {
            Ok(found) if self.is_another_of_same_number(&found) => {
                self.lost(at, &ObserveError::Replaced { pid: found.pid });
            }
            Ok(found) => self.begin(at, found),
            Err(error) => self.lost(at, &error),
        }
        let watched = self.watched.as_ref();
        watched.map(|watched| levels(&self.target, at, watched.base.last())).unwrap_or_default()
    }

    fn is_another_of_same_number(&self, found: &Found) -> bool {
        matches!(self.process, ProcessRef::Pid(_))
            && self.last.is_some_and(|(_, start_ticks)| start_ticks != found.start_ticks)
    }

    fn begin(&mut self, at: Instant, found: Found) {
        let reading = match self.read(&found) {
            Ok(reading) => reading,
            Err(error) => return self.lost(at, &error),
        };
        self.introduce(at, &found, &reading);
        self.last = Some((found.pid, found.start_ticks));
        self.reported = None;
        self.report_excess(at, &reading);
        self.watched = Some(Watched { found, base: Base::new(at, reading), is_short: false });
    }

    fn introduce(&mut self, at: Instant, found: &Found, reading: &Reading) {
        let pid = found.pid;
        let is_new = |(before, start_ticks)| (before, start_ticks) != (pid, found.start_ticks);
        match self.last {
            Some(last) if is_new(last) => {
                let text = format!("{} was {} and is {pid} now: it was restarted", self.process, last.0);
                self.notices.add(at, NoticeKind::Restarted, text);
            }
            _ if self.reported.is_some() => {
                let text = format!("{} was found: it is process {pid}", self.process);
                self.notices.add(at, NoticeKind::Appeared, text);
            }
            _ => {}
        }
        if !found.others.is_empty() {
            let text = format!(
                "{} processes match {}; only process {pid}, the oldest, is watched",
                found.others.len() + 1,
                self.process
            );
            self.notices.add(at, NoticeKind::Several, text);
        }
        let are_children_hidden = self.scope == Scope::Family && !lists_children(pid);
        for (absent, what) in [
            (are_children_hidden, "this system does not list children: they are not included"),
            (reading.fds.is_none(), "open files of another user's process cannot be counted"),
            (reading.switches.is_none(), "context switches cannot be read, or there are too many threads"),
        ] {
            if absent {
                self.notices.add(at, NoticeKind::Unreadable, format!("process {pid}: {what}"));
            }
        }
    }

    fn lost(&mut self, at: Instant, error: &ObserveError) {
        let text = error.to_string();
        if self.reported.as_ref() == Some(&text) {
            return;
        }
        let kind = match error {
            ObserveError::Gone { .. } | ObserveError::Replaced { .. } | ObserveError::NoListener { .. } => {
                NoticeKind::Gone
            }
            _ => NoticeKind::Unreadable,
        };
        self.notices.add(at, kind, text.clone());
        self.reported = Some(text);
    }
}

/// Another process that has taken over the port. Until one has, the former process is still watched: it may have closed
/// its port before finishing its work.
fn successor(process: ProcessRef, found: &Found) -> Option<Found> {
    let given_up = found.socket.as_ref().is_some_and(|socket| !socket.is_held());
    if !given_up {
        return None;
    }
    process.find().ok().filter(|new| (new.pid, new.start_ticks) != (found.pid, found.start_ticks))
}

impl Observer for ProcessObserver {
    fn name(&self) -> &str {
        &self.target
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        if let Some(samples) = self.follow(at) {
            return samples;
        }
        match &self.watched {
            Some(watched) => levels(&self.target, at, watched.base.last()),
            None => self.search(at),
        }
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.take()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Rates of CPU at each second in which a family has used so many milliseconds; none where there is a gap.
    fn cpu_of(used_ms: &[u64]) -> Vec<Option<f64>> {
        let seconds = (0..).map(|second| Instant::at(Duration::from_secs(second)));
        cpu_at(&seconds.zip(used_ms.iter().copied()).collect::<Vec<_>>())
    }

    /// The same at instants of the test's choice.
    fn cpu_at(used_ms: &[(Instant, u64)]) -> Vec<Option<f64>> {
        let pid = std::process::id();
        let mut observer = ProcessObserver::new("web", ProcessRef::Pid(pid));
        let found = ProcessRef::Pid(pid).find().unwrap();
        let reading =
            |ms: u64| Reading { cpu: Duration::from_millis(ms), ..read(pid, found.start_ticks).unwrap() };
        let base = Base::new(used_ms[0].0, reading(used_ms[0].1));
        observer.watched = Some(Watched { found: found.clone(), base, is_short: false });
        let rates = used_ms[1..].iter().map(|(at, ms)| {
            let watched = observer.watched.take().unwrap();
            let samples = observer.compare(*at, watched, reading(*ms));
            samples.iter().find(|(key, _)| &*key.name == "cpu").map(|(_, sample)| sample.value)
        });
        rates.collect()
    }

    #[test]
    fn cpu_time_missed_by_one_reading_is_in_the_next() {
        assert_eq!(cpu_of(&[1_000, 300, 1_600, 1_700]), [None, Some(0.3), Some(0.1)]);
    }

    #[test]
    fn cpu_time_that_left_the_family_is_a_gap() {
        assert_eq!(cpu_of(&[1_000, 300, 400, 600]), [None, None, Some(0.2)]);
    }

    #[test]
    fn a_clock_tick_just_after_a_sample_is_no_spike() {
        let at = |micros| Instant::at(Duration::from_micros(micros));
        let used = [(at(5_000_087), 1_000), (at(6_000_142), 1_500), (at(6_000_311), 1_510)];
        let rates = cpu_at(&used);
        assert!(
            (0.4..0.6).contains(&rates[0].unwrap()) && (0.4..0.6).contains(&rates[1].unwrap()),
            "{rates:?}"
        );
    }
}
