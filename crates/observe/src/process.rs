//! Watches one process: its CPU, memory, threads, descriptors and context switches.

use std::fmt;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};

use crate::error::ObserveError;
use crate::listener::{self, Socket};
use crate::notice::Notices;
use crate::rates::{levels, rates};
use crate::reading::{Reading, read, read_stat};
use crate::watch::Observer;

/// How a process is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessRef {
    /// By its number. Once it has ended, a later process with the same number is not watched.
    Pid(u32),
    /// Whatever process listens on this TCP port, on any local address; watched again after a restart.
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

/// A process that a reference led to.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
    pub(crate) socket: Option<Socket>,
    /// Others the reference would fit as well.
    pub(crate) others: Vec<u32>,
}

impl ProcessRef {
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

/// The process that is being watched, and the last look at it.
#[derive(Debug)]
struct Watched {
    found: Found,
    base: (Instant, Reading),
}

/// Samples one target's process. It looks for the process when it is first asked, and again whenever the
/// process is gone.
#[derive(Debug)]
pub struct ProcessObserver {
    target: String,
    process: ProcessRef,
    watched: Option<Watched>,
    /// The last process watched: its number and its start.
    last: Option<(u32, u64)>,
    /// What was said of a search that found nothing, so that it is said once and not each second.
    said: Option<String>,
    notices: Notices,
}

impl ProcessObserver {
    /// Watches `process` as the target named `target`.
    pub fn new(target: &str, process: ProcessRef) -> Self {
        let (watched, last, said) = (None, None, None);
        let notices = Notices::new(target);
        ProcessObserver { target: target.to_owned(), process, watched, last, said, notices }
    }

    /// Samples of the process watched so far; none when it is gone or another took its place.
    fn follow(&mut self, at: Instant) -> Option<Vec<(SeriesKey, Sample)>> {
        let watched = self.watched.as_mut()?;
        if let Some(successor) = successor(self.process, &watched.found) {
            self.watched = None;
            self.begin(at, successor);
            return None;
        }
        match read(watched.found.pid, watched.found.start_ticks) {
            Ok(reading) => {
                let mut samples = levels(&self.target, at, &reading);
                let (base_at, base) = &watched.base;
                samples.extend(rates(&self.target, (*base_at, base), (at, &reading)));
                if at > *base_at {
                    watched.base = (at, reading);
                }
                Some(samples)
            }
            Err(error) => {
                self.watched = None;
                self.lost(at, &error);
                None
            }
        }
    }

    /// Looks for the process and takes a first look at it, which gives no rates yet.
    fn search(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        match self.process.find() {
            Ok(found) if self.is_another_of_same_number(&found) => {
                self.lost(at, &ObserveError::Replaced { pid: found.pid });
            }
            Ok(found) => self.begin(at, found),
            Err(error) => self.lost(at, &error),
        }
        let watched = self.watched.as_ref();
        watched.map(|watched| levels(&self.target, at, &watched.base.1)).unwrap_or_default()
    }

    fn is_another_of_same_number(&self, found: &Found) -> bool {
        matches!(self.process, ProcessRef::Pid(_))
            && self.last.is_some_and(|(_, start_ticks)| start_ticks != found.start_ticks)
    }

    fn begin(&mut self, at: Instant, found: Found) {
        let reading = match read(found.pid, found.start_ticks) {
            Ok(reading) => reading,
            Err(error) => return self.lost(at, &error),
        };
        self.introduce(at, &found, &reading);
        self.last = Some((found.pid, found.start_ticks));
        self.said = None;
        self.watched = Some(Watched { found, base: (at, reading) });
    }

    fn introduce(&mut self, at: Instant, found: &Found, reading: &Reading) {
        let pid = found.pid;
        let is_new = |(before, start_ticks)| (before, start_ticks) != (pid, found.start_ticks);
        match self.last {
            Some(last) if is_new(last) => {
                let text = format!("{} was {} and is {pid} now: it was restarted", self.process, last.0);
                self.notices.say(at, NoticeKind::Restarted, text);
            }
            _ if self.said.is_some() => {
                let text = format!("{} was found: it is process {pid}", self.process);
                self.notices.say(at, NoticeKind::Appeared, text);
            }
            _ => {}
        }
        if !found.others.is_empty() {
            let text = format!(
                "{} processes answer to {}; only process {pid}, the oldest, is watched",
                found.others.len() + 1,
                self.process
            );
            self.notices.say(at, NoticeKind::Several, text);
        }
        for (absent, what) in [
            (reading.fds.is_none(), "open files of another user's process cannot be counted"),
            (reading.switches.is_none(), "context switches cannot be read, or there are too many threads"),
        ] {
            if absent {
                self.notices.say(at, NoticeKind::Unreadable, format!("process {pid}: {what}"));
            }
        }
    }

    fn lost(&mut self, at: Instant, error: &ObserveError) {
        let text = error.to_string();
        if self.said.as_ref() == Some(&text) {
            return;
        }
        let kind = match error {
            ObserveError::Gone { .. } | ObserveError::Replaced { .. } | ObserveError::NoListener { .. } => {
                NoticeKind::Gone
            }
            _ => NoticeKind::Unreadable,
        };
        self.notices.say(at, kind, text.clone());
        self.said = Some(text);
    }
}

/// Another process that has taken over the port. While nobody has, the one that had it is watched on: it
/// may be closing its port first and finishing its work after.
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
            Some(watched) => levels(&self.target, at, &watched.base.1),
            None => self.search(at),
        }
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.take()
    }
}
