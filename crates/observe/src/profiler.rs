//! Captures profiles at marks of the run, from endpoints like those of Go's `net/http/pprof`, or by `perf`.
//!
//! A capture covers whole seconds of the run, so that what was completed in it can be counted exactly. Profiles that
//! accumulate since the process began are taken at both ends.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Observed, Profile, ProfileKind, Sampling};

use crate::fetch::{Fetcher, require_scheme};
use crate::observer::Clock;
use crate::perf::Perf;
use crate::process::ProcessRef;
use crate::watch::{Stopped, wait_until};

/// How long a snapshot may take, and a CPU profile longer than its window.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest profile that is kept.
const MOST_BYTES: u64 = 32 << 20;
/// The beginning of a profile's text form, which says whether samples are taken.
const HEAD_BYTES: u64 = 1024;

/// Profiles to be captured at one mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub target: String,
    /// The plan's mark, for people.
    pub mark: String,
    /// The second of the run in which the window begins.
    pub begin_s: u32,
    /// How long the window is.
    pub length_s: u32,
    /// Of what; several are captured side by side.
    pub kinds: Vec<ProfileKind>,
    /// Where they come from.
    pub source: ProfileSource,
}

/// Where profiles come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileSource {
    /// The URL under which the target serves them: what comes before `/heap`. It may hold a password: it is not shown.
    Pprof(String),
    /// Sampling of the process from outside, which gives profiles of the processor alone.
    Perf(ProcessRef),
}

impl ProfileSource {
    /// Check that this program can ask there.
    ///
    /// # Errors
    /// When that needs TLS, and the program was built without it.
    pub fn require_usable(&self) -> io::Result<()> {
        match self {
            ProfileSource::Pprof(url) => require_scheme(url),
            ProfileSource::Perf(_) => Ok(()),
        }
    }
}

/// Functions on profile formats, which this crate does not know.
#[derive(Debug, Clone, Copy)]
pub struct Formats {
    /// Makes pprof's format of what [`ProfileSource::Perf`] sampled, or says why not.
    pub from_perf: fn(&str) -> Result<Vec<u8>, String>,
    /// Whether bytes are a profile in pprof's format; if not, why.
    pub check: fn(&[u8]) -> Result<(), String>,
}

/// Captures that are waited for or under way.
#[derive(Debug)]
pub struct Profiler {
    stops: Vec<Sender<()>>,
    /// How many captures there are.
    count: usize,
    ended: Receiver<()>,
}

impl Profiler {
    /// Starts to wait for the marks, each on a thread of its own; what is captured is sent to `seen`.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        captures: Vec<Capture>,
        clock: &Clock,
        formats: Formats,
        seen: &Sender<Observed>,
    ) -> io::Result<Profiler> {
        let (end, ended) = channel();
        let count = captures.len();
        let mut stops = Vec::with_capacity(count);
        for capture in captures {
            let (stop, stopped) = channel();
            let task = Task { capture, clock: clock.clone(), formats, seen: seen.clone(), stopped };
            let end = end.clone();
            thread::Builder::new().name("profile".to_owned()).spawn(move || {
                task.run();
                // The receiver may have stopped waiting.
                let _ = end.send(());
            })?;
            stops.push(stop);
        }
        Ok(Profiler { stops, count, ended })
    }

    /// Leaves out captures whose window is not over by now. The others go on until [`Profiler::stop`] has waited for them.
    pub fn end_windows(&mut self) {
        self.stops.clear();
    }

    /// Waits for captures whose window is over, and leaves out the others.
    pub fn stop(mut self) {
        self.end_windows();
        for _ in 0..self.count {
            if self.ended.recv_timeout(PATIENCE).is_err() {
                return;
            }
        }
    }
}

/// One mark, on its thread.
struct Task {
    capture: Capture,
    clock: Clock,
    formats: Formats,
    seen: Sender<Observed>,
    stopped: Receiver<()>,
}

impl Task {
    fn run(&self) {
        if self.wait_until(self.begin()).is_err() || self.capture().is_err() {
            let why = "the run ended before its window was over".to_owned();
            self.add_notice(
                NoticeKind::Unreadable,
                format!("profiles at `{}` are missing: {why}", self.capture.mark),
            );
        }
    }

    fn begin(&self) -> Instant {
        Instant::at(Duration::from_secs(self.capture.begin_s.into()))
    }

    fn end(&self) -> Instant {
        self.begin() + Duration::from_secs(self.capture.length_s.into())
    }

    fn capture(&self) -> Result<(), Stopped> {
        match &self.capture.source {
            ProfileSource::Pprof(url) => self.fetch(url),
            ProfileSource::Perf(process) => self.sample(*process),
        }
    }

    fn sample(&self, process: ProcessRef) -> Result<(), Stopped> {
        let others: Vec<String> = self
            .capture
            .kinds
            .iter()
            .filter(|kind| **kind != ProfileKind::Cpu)
            .map(ToString::to_string)
            .collect();
        if !others.is_empty() {
            let text = format!("a process without pprof endpoints has no profiles of {}", others.join(", "));
            self.add_notice(NoticeKind::Unreadable, text);
        }
        if self.capture.kinds.contains(&ProfileKind::Cpu) {
            let perf = Perf::start(process, self.capture.length_s);
            self.wait_until(self.end())?;
            let printed = perf.and_then(Perf::finish).and_then(|text| (self.formats.from_perf)(&text));
            self.keep(ProfileKind::Cpu, Sampling::On, self.end(), printed);
        }
        Ok(())
    }

    fn fetch(&self, url: &str) -> Result<(), Stopped> {
        let has = |kind| self.capture.kinds.contains(&kind);
        let (answer, cpu) = channel();
        let asks_cpu = has(ProfileKind::Cpu);
        if asks_cpu {
            let (url, length_s) = (url.to_owned(), self.capture.length_s);
            let fetcher = Fetcher::new(PATIENCE + Duration::from_secs(length_s.into()));
            // The target answers when the window is over; a run that ends sooner does not wait for it.
            thread::spawn(move || {
                answer.send(fetcher.whole(&format!("{url}/profile?seconds={length_s}"), "*/*", MOST_BYTES))
            });
        }
        let fetcher = Fetcher::new(PATIENCE);
        let accumulating =
            [ProfileKind::Heap, ProfileKind::Mutex, ProfileKind::Block].map(|kind| (kind, has(kind)));
        let accumulating = accumulating.into_iter().filter(|(_, is_asked)| *is_asked).map(|(kind, _)| kind);
        for kind in accumulating.clone() {
            self.snapshot(&fetcher, url, kind, self.begin());
        }
        self.wait_until(self.end())?;
        for kind in accumulating {
            self.snapshot(&fetcher, url, kind, self.end());
        }
        if has(ProfileKind::Goroutine) {
            self.snapshot(&fetcher, url, ProfileKind::Goroutine, self.end());
        }
        if asks_cpu {
            let fetched = cpu.recv_timeout(PATIENCE).unwrap_or_else(|_| Err("no answer in time".to_owned()));
            self.keep(ProfileKind::Cpu, Sampling::On, self.end(), fetched);
        }
        Ok(())
    }

    fn snapshot(&self, fetcher: &Fetcher, url: &str, kind: ProfileKind, end: Instant) {
        let url = format!("{url}/{kind}");
        let fetched = fetcher.whole(&url, "*/*", MOST_BYTES);
        let sampling = match kind {
            ProfileKind::Cpu | ProfileKind::Goroutine => Sampling::On,
            ProfileKind::Heap | ProfileKind::Mutex | ProfileKind::Block => {
                let head = fetcher.beginning(&format!("{url}?debug=1"), HEAD_BYTES).unwrap_or_default();
                sampling_of(kind, &String::from_utf8_lossy(&head))
            }
        };
        self.keep(kind, sampling, end, fetched);
    }

    fn keep(&self, kind: ProfileKind, sampling: Sampling, end: Instant, fetched: Result<Vec<u8>, String>) {
        let Capture { target, mark, .. } = &self.capture;
        match fetched {
            Ok(bytes) => {
                // It is kept as it came nevertheless.
                if let Err(why) = self.check(&bytes) {
                    let text = format!("the {kind} profile at `{mark}` cannot be read: {why}");
                    self.add_notice(NoticeKind::Unreadable, text);
                }
                let (target, mark) = (target.clone(), mark.clone());
                let profile = Profile { target, kind, mark, begin: self.begin(), end, sampling, bytes };
                self.send(Observed { profiles: vec![profile], ..Observed::default() });
            }
            Err(why) => self.add_notice(
                NoticeKind::Unreadable,
                format!("the {kind} profile at `{mark}` is missing: {why}"),
            ),
        }
    }

    /// One at a time: decoded, a profile takes many times its bytes.
    fn check(&self, bytes: &[u8]) -> Result<(), String> {
        static CHECKING: Mutex<()> = Mutex::new(());
        let _turn = CHECKING.lock().unwrap_or_else(PoisonError::into_inner);
        (self.formats.check)(bytes)
    }

    fn add_notice(&self, kind: NoticeKind, text: String) {
        let observer = format!("{} pprof", self.capture.target);
        let notice = Notice { at: (self.clock)(), observer, instance: None, kind, text };
        self.send(Observed { notices: vec![notice], ..Observed::default() });
    }

    fn send(&self, seen: Observed) {
        // A recorder that is gone has reported why itself.
        let _ = self.seen.send(seen);
    }

    fn wait_until(&self, due: Instant) -> Result<(), Stopped> {
        wait_until(due, &self.clock, &self.stopped)
    }
}

/// The sampling state in the text form of a profile (`?debug=1`) of Go: the heap profile's first line ends with twice the
/// rate, the mutex profile names its period, the block profile shows nothing unless something blocked.
fn sampling_of(kind: ProfileKind, head: &str) -> Sampling {
    let rate = match kind {
        ProfileKind::Heap => number_after(head, "@ heap/"),
        ProfileKind::Mutex => number_after(head, "sampling period="),
        ProfileKind::Block => {
            let has_samples = head.lines().any(|line| line.contains(" @ 0x"));
            return if has_samples { Sampling::On } else { Sampling::Unknown };
        }
        ProfileKind::Cpu | ProfileKind::Goroutine => return Sampling::On,
    };
    match rate {
        Some(0) => Sampling::Off,
        Some(_) => Sampling::On,
        None => Sampling::Unknown,
    }
}

fn number_after(text: &str, words: &str) -> Option<u64> {
    let rest = &text[text.find(words)? + words.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whether_samples_are_taken_is_read_from_the_text_form() {
        use ProfileKind::{Block, Heap, Mutex};
        let heap = "heap profile: 4: 1056 [97: 150256] @ heap/1048576\n";
        let mutex = |period| format!("--- mutex:\ncycles/second=2400000000\nsampling period={period}\n");
        assert_eq!(sampling_of(Heap, heap), Sampling::On);
        assert_eq!(sampling_of(Heap, "heap profile: 0: 0 [0: 0] @ heap/0\n"), Sampling::Off);
        assert_eq!(sampling_of(Mutex, &mutex(0)), Sampling::Off);
        assert_eq!(sampling_of(Mutex, &mutex(5)), Sampling::On);
        assert_eq!(sampling_of(Mutex, "not Go's"), Sampling::Unknown);
        assert_eq!(sampling_of(Block, "--- contention:\ncycles/second=2400000000\n"), Sampling::Unknown);
        assert_eq!(sampling_of(Block, "--- contention:\ncycles/second=1\n90 3 @ 0x40 0x41\n"), Sampling::On);
    }
}
