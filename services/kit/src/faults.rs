//! Known faults, put in on purpose, so that a diagnosis can be held against the truth. This module exists in builds
//! with the feature `faults` alone.
//!
//! `INJECT_FAULTS` names them, each with its amount: `INJECT_FAULTS=burn=500,narrow=2`. [`inject`] puts the ones that any
//! service can have into a request; a service asks [`amount`] for its own.

use crate::env::{Env, EnvError};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

/// The variable that names the faults of a process.
pub const VARIABLE: &str = "INJECT_FAULTS";

/// A fault that a service can be started with.
#[derive(Debug)]
pub struct Fault {
    /// How the variable names it.
    pub name: &'static str,
    /// What its amount counts, with the unit.
    pub amount: &'static str,
    /// What it does.
    pub does: &'static str,
    /// What an observer should see.
    pub shows: &'static str,
}

impl Fault {
    /// Its row in the table of faults that documentation has.
    #[must_use]
    pub fn row(&self) -> String {
        format!("| `{}` | {} | {} | {} |", self.name, self.amount, self.does, self.shows)
    }
}

/// Counts what a fault may strike, and tells whose turn it is.
#[derive(Debug, Default)]
pub struct FaultCounter(AtomicU64);

impl FaultCounter {
    /// The first one that is counted has it.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Whether this is the one of as many as the fault's amount that has it; nobody without the fault.
    pub fn hits_next(&self, fault: &str) -> bool {
        amount(fault).is_some_and(|every| self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(every))
    }
}

/// What any service can be started with.
pub const COMMON: [Fault; 6] = [
    Fault {
        name: "burn",
        amount: "microseconds of CPU a request",
        does: "computes something that nobody needs",
        shows: "`cpu` and CPU per request rise with the load; the profile names `kit::faults::burn`",
    },
    Fault {
        name: "sleep",
        amount: "milliseconds a request",
        does: "waits",
        shows: "every time is longer by as much, at any load; CPU and profile stay as they were",
    },
    Fault {
        name: "lock",
        amount: "milliseconds for which one request holds it",
        does: "holds the only lock of the process across a wait",
        shows: "requests follow one another: no more than 1000 / amount a second; times rise with the load, CPU does not",
    },
    Fault {
        name: "narrow",
        amount: "requests worked on at once",
        does: "makes the rest wait for a place",
        shows: "the rate stops rising though neither service nor store is busy; times rise with the load",
    },
    Fault {
        name: "leak-memory",
        amount: "bytes a request",
        does: "keeps memory for ever",
        shows: "`rss` rises with the number of requests and never falls",
    },
    Fault {
        name: "leak-descriptors",
        amount: "requests for each descriptor",
        does: "opens a file and never closes it",
        shows: "`fds` rises with the number of requests, until nothing more can be opened",
    },
];

struct Active {
    amounts: HashMap<&'static str, u64>,
    lock: Mutex<()>,
    places: Option<Semaphore>,
}

static ACTIVE: OnceLock<Active> = OnceLock::new();

/// Reads which faults this process has, of [`COMMON`] and the service's `own`, and says them in the log.
///
/// # Errors
/// When the variable names an unknown fault or no amount.
pub fn start(env: &Env, own: &'static [Fault]) -> Result<(), EnvError> {
    let amounts = parse(env.text(VARIABLE).unwrap_or_default(), own)?;
    for (fault, amount) in &amounts {
        tracing::warn!(fault, amount, "started with a known fault");
    }
    let places = amounts.get("narrow").map(|places| {
        Semaphore::new(usize::try_from(*places).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS))
    });
    let _first = ACTIVE.set(Active { amounts, lock: Mutex::new(()), places });
    Ok(())
}

fn parse(text: &str, own: &'static [Fault]) -> Result<HashMap<&'static str, u64>, EnvError> {
    let known = || COMMON.iter().chain(own);
    let wrong = |part: &str| {
        let names: Vec<&str> = known().map(|fault| fault.name).collect();
        let expected =
            format!("faults as NAME=AMOUNT with commas between them, at least 1 each: {}", names.join(", "));
        EnvError { name: VARIABLE, value: part.to_owned(), expected }
    };
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let fault = |part: &str| {
        let (name, amount) = part.split_once('=')?;
        let fault = known().find(|fault| fault.name == name.trim())?;
        Some((fault.name, amount.trim().parse().ok().filter(|amount| *amount > 0)?))
    };
    parts.map(|part| fault(part).ok_or_else(|| wrong(part))).collect()
}

/// The amount of a fault; `None` when the process was not started with it.
#[must_use]
pub fn amount(name: &str) -> Option<u64> {
    ACTIVE.get()?.amounts.get(name).copied()
}

/// What a request holds until it is answered.
pub struct InjectedFaults {
    _place: Option<SemaphorePermit<'static>>,
}

/// Puts the common faults into a request. What it returns is to be kept until the request is answered.
pub async fn inject() -> InjectedFaults {
    let Some(active) = ACTIVE.get() else { return InjectedFaults { _place: None } };
    let place = match &active.places {
        // It is never closed.
        Some(places) => places.acquire().await.ok(),
        None => None,
    };
    leak(active);
    if let Some(us) = active.amounts.get("burn") {
        burn(Duration::from_micros(*us));
    }
    if let Some(ms) = active.amounts.get("sleep") {
        tokio::time::sleep(Duration::from_millis(*ms)).await;
    }
    if let Some(ms) = active.amounts.get("lock") {
        let _held: MutexGuard<'_, ()> = active.lock.lock().await;
        tokio::time::sleep(Duration::from_millis(*ms)).await;
    }
    InjectedFaults { _place: place }
}

#[inline(never)]
fn burn(time: Duration) {
    let began = Instant::now();
    let mut sum = 0_u64;
    while began.elapsed() < time {
        for step in 0..1_000_u64 {
            sum = black_box(sum.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(step));
        }
    }
}

fn leak(active: &Active) {
    if let Some(bytes) = active.amounts.get("leak-memory") {
        // Written, or the pages would not be there.
        std::mem::forget(vec![1_u8; usize::try_from(*bytes).unwrap_or(usize::MAX)]);
    }
    if REQUESTS.hits_next("leak-descriptors") {
        std::mem::forget(std::fs::File::open("/dev/null"));
    }
}

static REQUESTS: FaultCounter = FaultCounter::new();

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[Fault] = &[Fault { name: "own", amount: "times", does: "", shows: "" }];

    #[test]
    fn faults_are_named_with_their_amounts() {
        let read = parse(" burn=500, own=3,", OWN).unwrap();
        assert_eq!(read, HashMap::from([("burn", 500), ("own", 3)]));
        assert!(parse("", OWN).unwrap().is_empty());
    }

    #[test]
    fn an_unknown_fault_is_refused_with_the_known_ones() {
        for part in ["burnt=1", "burn", "burn=0", "burn=-1", "burn=much"] {
            let said = parse(part, OWN).unwrap_err().to_string();
            assert!(said.starts_with(&format!("INJECT_FAULTS={part:?} cannot be used")), "{said}");
            assert!(said.contains("burn, sleep, lock, narrow, leak-memory, leak-descriptors, own"), "{said}");
        }
    }

    #[test]
    fn every_common_fault_is_documented() {
        let documentation = include_str!("../../../docs/fault-injection.md");
        for fault in &COMMON {
            assert!(documentation.contains(&fault.row()), "docs/fault-injection.md lacks\n{}", fault.row());
        }
    }
}
