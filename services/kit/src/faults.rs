//! Fault injection: a service is started with an injected fault, so that a diagnosis can be compared with the true
//! cause. Only builds with the feature `faults` have this module.
//!
//! `INJECT_FAULTS` names the faults, each with its amount: `INJECT_FAULTS=burn=500,narrow=2`. [`inject`] applies the
//! common faults to a request; a service reads [`amount`] for its own.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

use crate::env::{Env, EnvError};

/// The variable that names the faults of a process.
pub const VARIABLE: &str = "INJECT_FAULTS";

/// A fault that a service can be started with.
#[derive(Debug)]
pub struct Fault {
    /// Its name in the variable.
    pub name: &'static str,
    /// The meaning of its amount, with the unit.
    pub amount: &'static str,
    /// Its effect.
    pub does: &'static str,
    /// Its symptoms for an observer.
    pub shows: &'static str,
}

impl Fault {
    /// Its row in the table of faults in `docs/fault-injection.md`.
    #[must_use]
    pub fn row(&self) -> String {
        format!("| `{}` | {} | {} | {} |", self.name, self.amount, self.does, self.shows)
    }
}

/// Decides which requests a fault hits: one of every `amount`.
#[derive(Debug, Default)]
pub struct FaultCounter(AtomicU64);

impl FaultCounter {
    /// The first request counted is hit.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts a request; returns whether the fault hits it. Without the fault no request is hit.
    pub fn hits_next(&self, fault: &str) -> bool {
        amount(fault).is_some_and(|every| self.0.fetch_add(1, Ordering::Relaxed).is_multiple_of(every))
    }
}

/// The faults of every service.
pub const COMMON: [Fault; 6] = [
    Fault {
        name: "burn",
        amount: "microseconds of CPU a request",
        does: "computes a result that is not used",
        shows: "`cpu` and CPU per request rise with the load; the profile names `kit::faults::burn`",
    },
    Fault {
        name: "sleep",
        amount: "milliseconds a request",
        does: "waits",
        shows: "every response time is longer by the amount, at any load; CPU and profile do not change",
    },
    Fault {
        name: "lock",
        amount: "milliseconds for which each request holds the lock",
        does: "holds a process-wide lock across a wait",
        shows: "requests are serialised: at most 1000 / amount a second; response times rise with the load, CPU does not",
    },
    Fault {
        name: "narrow",
        amount: "requests worked on at once",
        does: "further requests wait for a slot",
        shows: "the rate stops rising though neither service nor store is busy; response times rise with the load",
    },
    Fault {
        name: "leak-memory",
        amount: "bytes a request",
        does: "allocates memory and never frees it",
        shows: "`rss` rises with the number of requests and never falls",
    },
    Fault {
        name: "leak-descriptors",
        amount: "requests per leaked descriptor",
        does: "opens a file and never closes it",
        shows: "`fds` rises with the number of requests, until nothing more can be opened",
    },
];

struct Active {
    amounts: HashMap<&'static str, u64>,
    lock: Mutex<()>,
    slots: Option<Semaphore>,
}

static ACTIVE: OnceLock<Active> = OnceLock::new();

/// Reads the faults of this process, from [`COMMON`] and the service's `own`, and logs them.
///
/// # Errors
/// When the variable names an unknown fault or no amount.
pub fn start(env: &Env, own: &'static [Fault]) -> Result<(), EnvError> {
    let amounts = parse(env.text(VARIABLE).unwrap_or_default(), own)?;
    for (fault, amount) in &amounts {
        tracing::warn!(fault, amount, "started with an injected fault");
    }
    let slots = amounts.get("narrow").map(|slots| {
        Semaphore::new(usize::try_from(*slots).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS))
    });
    let _first = ACTIVE.set(Active { amounts, lock: Mutex::new(()), slots });
    Ok(())
}

fn parse(text: &str, own: &'static [Fault]) -> Result<HashMap<&'static str, u64>, EnvError> {
    let known = || COMMON.iter().chain(own);
    let unusable = |part: &str| {
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
    parts.map(|part| fault(part).ok_or_else(|| unusable(part))).collect()
}

/// The amount of a fault; `None` when the process was not started with it.
#[must_use]
pub fn amount(name: &str) -> Option<u64> {
    ACTIVE.get()?.amounts.get(name).copied()
}

/// The faults applied to a request; they last until this is dropped.
pub struct InjectedFaults {
    _slot: Option<SemaphorePermit<'static>>,
}

/// Applies the common faults to a request. The returned value must be kept until the request is answered.
pub async fn inject() -> InjectedFaults {
    let Some(active) = ACTIVE.get() else { return InjectedFaults { _slot: None } };
    let slot = match &active.slots {
        // The semaphore is never closed.
        Some(slots) => slots.acquire().await.ok(),
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
        let _lock: MutexGuard<'_, ()> = active.lock.lock().await;
        tokio::time::sleep(Duration::from_millis(*ms)).await;
    }
    InjectedFaults { _slot: slot }
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
        // Written to, or the kernel would not allocate the pages.
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
    fn an_unknown_fault_is_refused_with_a_list_of_the_known_ones() {
        for part in ["burnt=1", "burn", "burn=0", "burn=-1", "burn=much"] {
            let message = parse(part, OWN).unwrap_err().to_string();
            assert!(message.starts_with(&format!("INJECT_FAULTS={part:?} cannot be used")), "{message}");
            let names = "burn, sleep, lock, narrow, leak-memory, leak-descriptors, own";
            assert!(message.contains(names), "{message}");
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
