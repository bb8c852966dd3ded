//! What uses the processor. A timer of the process's CPU time interrupts the thread that runs, a hundred times a second of
//! it; the signal handler copies the registers and the stack into a ring and does nothing else. Callers are found later,
//! in the copy: to follow them in a handler is how processes that profile themselves crash.
#![allow(
    unsafe_code,
    reason = "signal handlers and timers have no safe interface; whole processes are profiled in tests"
)]

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::pprof::{self, Header, Sample};
use super::program::{Program, UnwindCache};
use super::stack::{CopyFile, Registers, copy};
use crate::clock::UtcMs;

/// CPU time between two samples.
const PERIOD: Duration = Duration::from_millis(10);
/// How often the ring is emptied.
const COLLECT_EVERY: Duration = Duration::from_millis(50);
/// Samples that the ring contains at once: more than are taken on 16 processors before it is emptied.
const SLOTS: usize = 128;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub(super) enum CpuProfileError {
    /// One at a time: there is one timer.
    #[error("a profile of the processor is being taken; try again when it is finished")]
    Busy,
    /// The system refused something.
    #[error("the process cannot be profiled: {0}")]
    System(#[from] io::Error),
}

/// Where the handler leaves its samples. A slot is claimed, filled and then marked with its length; only then it is read,
/// and freed. It exists as long as the process, since a handler may still be at work when a profile is complete.
struct Ring {
    /// The file of the copies; -1 before there is one.
    descriptor: AtomicI32,
    claimed: AtomicUsize,
    freed: AtomicUsize,
    lengths: [AtomicU32; SLOTS],
    /// Samples for which there was no slot.
    lost: AtomicU64,
}

static RING: Ring = Ring {
    descriptor: AtomicI32::new(-1),
    claimed: AtomicUsize::new(0),
    freed: AtomicUsize::new(0),
    lengths: [const { AtomicU32::new(0) }; SLOTS],
    lost: AtomicU64::new(0),
};

impl Ring {
    /// Called by the handler only.
    fn take(&self, registers: &Registers) {
        let claim = self.claimed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |claimed| {
            (claimed.wrapping_sub(self.freed.load(Ordering::Acquire)) < SLOTS)
                .then_some(claimed.wrapping_add(1))
        });
        let Ok(claimed) = claim else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let slot = claimed % SLOTS;
        let length = copy(self.descriptor.load(Ordering::Acquire), slot, registers);
        // At least 1: also a slot without a copy is to be freed.
        self.lengths[slot].store((length as u32).max(1), Ordering::Release);
    }

    /// The next slot that is filled, with the length of its copy.
    fn filled(&self) -> Option<(usize, usize)> {
        let slot = self.freed.load(Ordering::Acquire) % SLOTS;
        let length = self.lengths[slot].load(Ordering::Acquire);
        (length > 0).then_some((slot, length as usize))
    }

    fn free(&self, slot: usize) {
        self.lengths[slot].store(0, Ordering::Release);
        self.freed.fetch_add(1, Ordering::AcqRel);
    }
}

extern "C" fn on_timer(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: errno belongs to this thread, which is interrupted: it must find the value that it had.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: with SA_SIGINFO the third argument is the context of the interrupted thread, valid until the handler ends.
    if let Some(context) = unsafe { context.cast::<libc::ucontext_t>().as_ref() } {
        RING.take(&Registers::interrupted(context));
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// The timer while it runs.
struct RunningTimer;

impl RunningTimer {
    fn start() -> io::Result<Self> {
        set_timer(PERIOD).map(|()| Self)
    }
}

impl Drop for RunningTimer {
    fn drop(&mut self) {
        if let Err(error) = set_timer(Duration::ZERO) {
            tracing::warn!(%error, "the timer of a profile cannot be stopped");
        }
    }
}

/// Signals the thread that runs whenever the process has used `period` of CPU time; zero stops it.
fn set_timer(period: Duration) -> io::Result<()> {
    const ITIMER_PROF: c_int = 2;
    let period = libc::timeval { tv_sec: 0, tv_usec: i64::from(period.subsec_micros()) };
    let interval_and_first = [period, period];
    // SAFETY: the kernel reads an `itimerval`, which is two `timeval`, and writes nothing where the third pointer is null.
    let done = unsafe {
        libc::syscall(
            libc::SYS_setitimer,
            ITIMER_PROF,
            interval_and_first.as_ptr(),
            std::ptr::null_mut::<libc::timeval>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn install_handler() -> io::Result<()> {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_timer;
    // SAFETY: all zeros is a valid `sigaction`: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the handler makes one system call and uses atomic variables: nothing that a signal may interrupt. No other
    // part of the process uses the signal.
    let done = unsafe { libc::sigaction(libc::SIGPROF, &raw const action, std::ptr::null_mut()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The copies of the ring; made once and never closed.
fn copies() -> io::Result<&'static CopyFile> {
    static COPIES: OnceLock<CopyFile> = OnceLock::new();
    if COPIES.get().is_none() {
        // Only one profile is taken at a time, so that none is dropped here.
        let _only = COPIES.set(CopyFile::new()?);
    }
    COPIES.get().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The right to take a profile: there is one timer.
struct OnlyProfile;

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

impl OnlyProfile {
    fn reserve() -> Result<Self, CpuProfileError> {
        if IS_TAKEN.swap(true, Ordering::AcqRel) { Err(CpuProfileError::Busy) } else { Ok(Self) }
    }
}

impl Drop for OnlyProfile {
    fn drop(&mut self) {
        IS_TAKEN.store(false, Ordering::Release);
    }
}

/// Samples the process for this long. When the caller gives up, the timer stops.
///
/// # Errors
/// When another profile is being taken, or the system refuses.
pub(super) async fn profile(length: Duration) -> Result<Vec<u8>, CpuProfileError> {
    let mut profile = CpuProfile::start()?;
    let mut ticks = tokio::time::interval(COLLECT_EVERY);
    while profile.began.elapsed() < length {
        ticks.tick().await;
        profile.collect();
    }
    let encoded = tokio::task::spawn_blocking(move || profile.finish()).await;
    Ok(encoded.map_err(io::Error::other)??)
}

/// A profile that is being taken.
struct CpuProfile {
    program: Program,
    cache: UnwindCache,
    counts: HashMap<Vec<u64>, i64>,
    lost_before: u64,
    began: Instant,
    timer: Option<RunningTimer>,
    _only: OnlyProfile,
}

impl CpuProfile {
    fn start() -> Result<Self, CpuProfileError> {
        let only = OnlyProfile::reserve()?;
        RING.descriptor.store(copies()?.descriptor(), Ordering::Release);
        install_handler()?;
        let program = Program::load()?;
        // What a handler left after the end of an earlier profile.
        while let Some((slot, _length)) = RING.filled() {
            RING.free(slot);
        }
        Ok(Self {
            program,
            cache: UnwindCache::default(),
            counts: HashMap::new(),
            lost_before: RING.lost.load(Ordering::Relaxed),
            began: Instant::now(),
            timer: Some(RunningTimer::start()?),
            _only: only,
        })
    }

    fn collect(&mut self) {
        while let Some((slot, length)) = RING.filled() {
            let sample = copies().and_then(|copies| copies.read(slot, length));
            RING.free(slot);
            if let Ok(sample) = sample {
                let addresses = self.program.callers(&sample, &mut self.cache);
                *self.counts.entry(addresses).or_default() += 1;
            }
        }
    }

    fn finish(mut self) -> io::Result<Vec<u8>> {
        let duration = self.began.elapsed();
        self.timer = None;
        self.collect();
        let lost = RING.lost.load(Ordering::Relaxed) - self.lost_before;
        let comment = if lost > 0 { format!("{lost} samples were lost") } else { String::new() };
        let period = pprof::nanoseconds(PERIOD);
        let sampled = std::mem::take(&mut self.counts).into_iter();
        let samples: Vec<Sample> = sampled
            .map(|(addresses, count)| Sample { addresses, values: vec![count, count * period] })
            .collect();
        let header = Header {
            values: &[["samples", "count"], ["cpu", "nanoseconds"]],
            shown: "cpu",
            period_type: ["cpu", "nanoseconds"],
            period,
            time_ns: UtcMs::now().0.saturating_mul(1_000_000) - pprof::nanoseconds(duration),
            duration_ns: pprof::nanoseconds(duration),
            comment: &comment,
        };
        pprof::encode(&header, &samples, &self.program, |_name| false)
    }
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;
    use crate::profiling::symbols::Symbols;

    fn process_cpu_ms() -> i64 {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    #[inline(never)]
    fn burns(until: Instant) -> u64 {
        let mut sum = 0_u64;
        while Instant::now() < until {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        std::hint::black_box(sum)
    }

    /// Whatever other tests do meanwhile: both numbers are of the whole process.
    #[test]
    fn samples_add_up_to_the_cpu_time_of_the_process_and_name_what_used_it() {
        let mut profile = CpuProfile::start().unwrap();
        assert!(matches!(CpuProfile::start(), Err(CpuProfileError::Busy)));
        let before = process_cpu_ms();
        for _ in 0..10 {
            burns(Instant::now() + COLLECT_EVERY);
            profile.collect();
        }
        let used = process_cpu_ms() - before;
        let sampled = profile.counts.values().sum::<i64>() * 10;
        assert!(used > 50, "{used} ms");
        assert!((used / 2..=used * 3 / 2 + 50).contains(&sampled), "{sampled} ms of {used} ms were sampled");
        let symbols = Symbols::resolve(&profile.program, profile.counts.keys().flatten().copied());
        let burnt = profile.counts.iter().filter(|(addresses, _)| {
            addresses
                .iter()
                .any(|address| symbols.name(*address).is_some_and(|name| name.ends_with("tests::burns")))
        });
        assert!(burnt.map(|(_, count)| count).sum::<i64>() > 0, "{:?}", profile.counts);
        let bytes = profile.finish().unwrap();
        assert!(bytes.starts_with(&[0x1f, 0x8b]));
        assert!(CpuProfile::start().is_ok(), "the next one may begin");
    }
}
