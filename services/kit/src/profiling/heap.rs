//! What memory is allocated by, and what of it is in use. One allocation of every 512 KiB, or of the number of bytes that
//! is set, is recorded with its callers: each byte with the same probability, so that the numbers of all can be estimated.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::pprof::{self, Header, Sample};
use super::program::{Program, UnwindCache};
use super::stack::{CopyFile, Registers, copy};
use super::unsampled::unsampled;
use crate::clock::UtcMs;

/// The mean number of bytes between two samples.
static RATE_BYTES: AtomicU64 = AtomicU64::new(512 << 10);

/// The mean number of bytes between two samples.
pub(super) fn rate_bytes() -> u64 {
    RATE_BYTES.load(Ordering::Relaxed)
}

static IS_ON: AtomicBool = AtomicBool::new(false);
static SAMPLES: OnceLock<Sampler> = OnceLock::new();

/// Whether allocations are sampled.
pub(super) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Samples allocations from now on, one of every `rate_bytes`.
///
/// # Errors
/// When the system does not say what is loaded, or gives no memory file.
pub(super) fn start(rate_bytes: u64) -> io::Result<()> {
    RATE_BYTES.store(rate_bytes, Ordering::Relaxed);
    let sampler = Sampler {
        program: Program::load()?,
        copies: CopyFile::new()?,
        since: Instant::now(),
        table: Mutex::default(),
    };
    if SAMPLES.set(sampler).is_ok() {
        IS_ON.store(true, Ordering::Release);
    }
    Ok(())
}

struct Sampler {
    program: Program,
    copies: CopyFile,
    since: Instant,
    table: Mutex<Table>,
}

/// What was sampled.
#[derive(Default)]
struct Table {
    cache: UnwindCache,
    stacks: HashMap<Vec<u64>, usize>,
    totals: Vec<Totals>,
    /// The samples that are not freed: by address, the stack and the bytes.
    live: HashMap<usize, (usize, usize)>,
}

/// The sampled allocations of one stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    allocated: Amount,
    freed: Amount,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Amount {
    objects: u64,
    bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: usize) {
        self.objects += 1;
        self.bytes += bytes as u64;
    }

    /// The estimate of all from what was sampled: an allocation of `n` bytes is sampled with probability
    /// 1 - exp(-n / rate), as <https://github.com/google/pprof/blob/main/profile/legacy_profile.go> does it.
    fn estimated(self) -> [i64; 2] {
        if self.objects == 0 {
            return [0, 0];
        }
        let mean = self.bytes as f64 / self.objects as f64;
        let scale = 1.0 / -(-mean / rate_bytes() as f64).exp_m1();
        [self.objects, self.bytes].map(|sampled| (sampled as f64 * scale) as i64)
    }
}

/// Counts of the sampled addresses, by a hash of them: where there is 0, an address that is freed was not sampled. Most
/// are not, and are found so without a lock.
static SAMPLED: [AtomicU8; FILTER] = [const { AtomicU8::new(0) }; FILTER];
const FILTER: usize = 1 << 16;

fn filter(address: usize) -> &'static AtomicU8 {
    // Fibonacci hashing: the upper bits of a product with 2^64 / phi.
    let hash = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    &SAMPLED[hash as usize]
}

/// Records an allocation with its callers.
pub(super) fn record(address: usize, bytes: usize) {
    let Some(sampler) = SAMPLES.get() else { return };
    let registers = Registers::here();
    let mut table = sampler.table.lock().unwrap_or_else(PoisonError::into_inner);
    let length = copy(sampler.copies.descriptor(), 0, &registers);
    let Ok(sample) = sampler.copies.read(0, length) else { return };
    let addresses = sampler.program.callers(&sample, &mut table.cache);
    let table = &mut *table;
    let stack = *table.stacks.entry(addresses).or_insert_with(|| {
        table.totals.push(Totals::default());
        table.totals.len() - 1
    });
    table.totals[stack].allocated.add(bytes);
    if let Some((stack, bytes)) = table.live.insert(address, (stack, bytes)) {
        // Freed without our knowledge, by the C library.
        table.totals[stack].freed.add(bytes);
    } else {
        let _at_most =
            filter(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_add(1));
    }
}

/// Whether an address may have been sampled.
pub(super) fn may_be_sampled(address: usize) -> bool {
    filter(address).load(Ordering::Relaxed) > 0
}

/// Records that an allocation is freed, if it was sampled.
pub(super) fn forget(address: usize) {
    let Some(sampler) = SAMPLES.get() else { return };
    let mut table = sampler.table.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((stack, bytes)) = table.live.remove(&address) {
        table.totals[stack].freed.add(bytes);
        // A count that reached its maximum stays there, since it may be short.
        let _stays = filter(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            (count < u8::MAX).then(|| count.saturating_sub(1))
        });
    }
}

/// Which of the two values a profile shows first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    InUse,
    /// What was allocated since the start.
    Allocated,
}

/// The profile of allocations, since sampling began.
///
/// # Errors
/// When sampling is off, or memory cannot be written to.
pub(super) fn profile(shown: Shown) -> io::Result<Vec<u8>> {
    unsampled(|| {
        let sampler = SAMPLES.get().ok_or(io::ErrorKind::Unsupported)?;
        let samples = sampler.samples();
        let header = Header {
            values: &[
                ["alloc_objects", "count"],
                ["alloc_space", "bytes"],
                ["inuse_objects", "count"],
                ["inuse_space", "bytes"],
            ],
            shown: if shown == Shown::InUse { "inuse_space" } else { "alloc_space" },
            period_type: ["space", "bytes"],
            period: rate_bytes() as i64,
            time_ns: UtcMs::now().0.saturating_mul(1_000_000),
            duration_ns: pprof::nanoseconds(sampler.since.elapsed()),
            comment: "",
        };
        pprof::encode(&header, &samples, &sampler.program, is_own)
    })
}

/// The text form of the profile: its first line has the totals and, at its end, twice the rate.
pub(super) fn text() -> String {
    unsampled(|| {
        let samples = SAMPLES.get().map(Sampler::samples).unwrap_or_default();
        let line = |values: &[i64]| format!("{}: {} [{}: {}]", values[2], values[3], values[0], values[1]);
        let total = |index: usize| samples.iter().map(|sample| sample.values[index]).sum::<i64>();
        let mut text =
            format!("heap profile: {} @ heap/{}\n", line(&[0, 1, 2, 3].map(total)), rate_bytes() * 2);
        for sample in &samples {
            let addresses: String = sample.addresses.iter().map(|address| format!(" {address:#x}")).collect();
            text.push_str(&format!("{} @{addresses}\n", line(&sample.values)));
        }
        text
    })
}

impl Sampler {
    fn samples(&self) -> Vec<Sample> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = table.stacks.iter().map(|(addresses, stack)| {
            let Totals { allocated, freed } = table.totals[*stack];
            let in_use = Amount {
                objects: allocated.objects.saturating_sub(freed.objects),
                bytes: allocated.bytes.saturating_sub(freed.bytes),
            };
            let values = [allocated.estimated(), in_use.estimated()].concat();
            Sample { addresses: addresses.clone(), values }
        });
        samples.collect()
    }
}

/// The functions between the one that asks for memory and the sample.
fn is_own(name: &str) -> bool {
    const BEGINNINGS: [&str; 5] =
        ["kit::profiling::", "__rustc::__r", "__r", "alloc::alloc::", "alloc::raw_vec::"];
    let name = name.trim_start_matches('<');
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_of_all_allocations() {
        let large = Amount { objects: 3, bytes: 3 << 30 };
        assert_eq!(large.estimated(), [3, 3 << 30]);
        let small = Amount { objects: 1, bytes: 1024 };
        let [objects, bytes] = small.estimated();
        assert!((512..=514).contains(&objects), "{objects}");
        assert_eq!(bytes / 1024, objects);
        assert_eq!(Amount::default().estimated(), [0, 0]);
    }

    #[inline(never)]
    fn keeps_memory() -> Vec<Vec<u8>> {
        // No tail call: it would not be on the stack.
        std::hint::black_box((0..64).map(|_| vec![1_u8; 128 << 10]).collect())
    }

    /// The only test of this process that samples.
    #[test]
    fn memory_in_use_and_allocated_is_attributed_to_the_function_that_asked_for_it() {
        start(512 << 10).unwrap();
        assert!(is_on());
        let kept = keeps_memory();
        drop(keeps_memory());
        let program = Program::load().unwrap();
        let samples = SAMPLES.get().unwrap().samples();
        let addresses = samples.iter().flat_map(|sample| sample.addresses.iter().copied());
        let symbols = super::super::symbols::Symbols::resolve(&program, addresses);
        let own = samples.iter().filter(|sample| {
            let names = sample.addresses.iter().filter_map(|address| symbols.name(*address));
            names.into_iter().any(|name| name.ends_with("heap::tests::keeps_memory"))
        });
        let [allocated, in_use] = own.fold([0, 0], |[allocated, in_use], sample| {
            [allocated + sample.values[1], in_use + sample.values[3]]
        });
        // 16 MiB were allocated and 8 are in use; the standard deviation of the first is about 2.
        let mib = |bytes: i64| bytes >> 20;
        assert!((6..=30).contains(&mib(allocated)), "{allocated}");
        assert!(in_use > 0 && in_use < allocated, "{in_use} of {allocated}");
        assert!(text().starts_with("heap profile: ") && text().contains("] @ heap/1048576\n"));
        assert!(profile(Shown::InUse).unwrap().starts_with(&[0x1f, 0x8b]));
        drop(kept);
    }
}
