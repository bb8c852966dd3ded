//! Does the same work again and again on the processors of a target, and says how much processor time it took: how fast the machine is,
//! whatever the target does.
//!
//! A round is a chain of multiplications along a walk through memory that fits into a second-level cache, so that frequency, a
//! neighbour on the other thread of a core, and time that a hypervisor takes and counts as used are in it. Its memory is brought
//! back before each round, so that what the target left in the caches is not.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::notice::Notices;
use crate::observer::{Observer, own_thread_cpu};
use crate::process::ProcessRef;

const NAME: &str = "reference_probe";
/// What the system shows of a thread's name has 15 bytes.
const THREAD: &str = "probe-rounds";
/// Between two rounds, each on the next processor: 50 a second at most, about four per cent of one processor.
const PAUSE: Duration = Duration::from_millis(20);
/// The memory of the walk: 128 KiB, in lines of 64 bytes.
const LINES: usize = 2_048;
const WORDS_A_LINE: usize = 8;
/// Multiplications at each line, each of which waits for the one before.
const MULTIPLICATIONS: u32 = 8;
/// Walks of a round.
const WALKS: u32 = 8;
/// Odd, as the multiplier of a generator of congruences modulo 2⁶⁴ must be (D. E. Knuth, MMIX).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// Samples the processor time of a round. The rounds begin with the first sample and end when this is dropped.
#[derive(Debug)]
pub struct ReferenceProbe {
    targets: Vec<ProcessRef>,
    running: Option<Running>,
    notices: Notices,
}

/// The rounds since the last sample.
#[derive(Debug, Default)]
struct Rounds {
    count: u32,
    /// Of the rounds themselves.
    timed: Duration,
    /// With all that is around them.
    cost: Duration,
}

#[derive(Debug)]
struct Running {
    rounds: Arc<Mutex<Rounds>>,
    cost: Duration,
    /// None once it shall stop.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ReferenceProbe {
    /// On the processors that these processes may use; without any on those that the generator may not use, or on all.
    pub fn new(targets: Vec<ProcessRef>) -> ReferenceProbe {
        ReferenceProbe { targets, running: None, notices: Notices::new(NAME) }
    }
}

impl Observer for ReferenceProbe {
    fn name(&self) -> &str {
        NAME
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let Some(running) = &mut self.running else {
            match Running::start(processors(&self.targets)) {
                Ok(running) => self.running = Some(running),
                Err(error) => {
                    self.notices.add(at, NoticeKind::Unreadable, format!("the probe has no thread: {error}"));
                }
            }
            return Vec::new();
        };
        let Rounds { count, timed, cost } = running.take();
        running.cost += cost;
        let of_round = (count > 0).then(|| timed.as_secs_f64() * 1e6 / f64::from(count));
        of_round.map(|value| (SeriesKey::reference_probe(), Sample { at, value })).into_iter().collect()
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.take()
    }

    fn take_cost(&mut self) -> Duration {
        self.running.as_mut().map(|running| std::mem::take(&mut running.cost)).unwrap_or_default()
    }
}

impl Running {
    fn start(processors: Vec<usize>) -> io::Result<Running> {
        let rounds = Arc::new(Mutex::new(Rounds::default()));
        let (stop, stopped) = mpsc::channel();
        let counted = Arc::clone(&rounds);
        let thread = thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || make_rounds(&processors, &counted, &stopped))?;
        Ok(Running { rounds, cost: Duration::ZERO, stop: Some(stop), thread: Some(thread) })
    }

    fn take(&self) -> Rounds {
        std::mem::take(&mut *self.rounds.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A thread that panicked has said so; what it counted before stays true.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Rounds on each of `processors` in turn, until the sender of `stopped` is gone.
fn make_rounds(processors: &[usize], counted: &Mutex<Rounds>, stopped: &Receiver<()>) {
    let mut walk = Walk::new();
    let mut places = processors.iter().cycle();
    while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
        let begun = own_thread_cpu();
        if let Some(place) = places.next() {
            let mut only = CpuSet::new();
            only.set(*place);
            // A processor that was taken away meanwhile: the round is made where the thread is.
            let _ = sched_setaffinity(None, &only);
        }
        walk.once();
        let before = own_thread_cpu();
        (0..WALKS).for_each(|_| walk.once());
        let after = own_thread_cpu();
        let mut rounds = counted.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.count += 1;
        rounds.timed += after.saturating_sub(before);
        rounds.cost += after.saturating_sub(begun);
    }
}

/// Memory whose lines name each other in one circle.
struct Walk {
    lines: Vec<[u64; WORDS_A_LINE]>,
    hash: u64,
}

impl Walk {
    fn new() -> Walk {
        // A congruential generator with an odd increment and a multiplier of 1 more than a multiple of 4 visits all numbers of a power
        // of two once (T. E. Hull and A. R. Dobell, 1962), in an order that no prefetcher follows.
        let next = |line: usize| line.wrapping_mul(1_637).wrapping_add(1_013) % LINES;
        let line = |at: usize| {
            let mut words = [0; WORDS_A_LINE];
            words[0] = next(at) as u64;
            words
        };
        Walk { lines: (0..LINES).map(line).collect(), hash: 1 }
    }

    /// Visits each line once.
    fn once(&mut self) {
        let mut at = 0;
        for _ in 0..LINES {
            let line = &mut self.lines[at];
            for _ in 0..MULTIPLICATIONS {
                self.hash = self.hash.wrapping_mul(MULTIPLIER) ^ line[0];
            }
            line[1] = self.hash;
            at = line[0] as usize % LINES;
        }
        std::hint::black_box(&self.lines);
    }
}

/// The processors that any of these processes may use; without a process those that this one may not, or else all.
fn processors(targets: &[ProcessRef]) -> Vec<usize> {
    let of_targets = targets.iter().filter_map(|target| {
        let pid = i32::try_from(target.find().ok()?.pid).ok()?;
        sched_getaffinity(Pid::from_raw(pid)).ok()
    });
    let of_targets: Vec<CpuSet> = of_targets.collect();
    if !of_targets.is_empty() {
        return (0..CpuSet::MAX_CPU).filter(|cpu| of_targets.iter().any(|set| set.is_set(*cpu))).collect();
    }
    let Ok(own) = sched_getaffinity(None) else { return Vec::new() };
    let all = processors_online();
    let others: Vec<usize> = (0..all).filter(|cpu| !own.is_set(*cpu)).collect();
    if others.is_empty() { (0..CpuSet::MAX_CPU).filter(|cpu| own.is_set(*cpu)).collect() } else { others }
}

/// How many processors are online, whichever this process may use.
fn processors_online() -> usize {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let last = online.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    last.map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_visits_each_line_once() {
        let walk = Walk::new();
        let (mut at, mut seen) = (0, vec![false; LINES]);
        for _ in 0..LINES {
            assert!(!std::mem::replace(&mut seen[at], true), "line {at} twice");
            at = walk.lines[at][0] as usize;
        }
        assert_eq!(at, 0, "the walk is a circle");
    }
}
