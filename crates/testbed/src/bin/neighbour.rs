//! A neighbour: a process that takes a share of one processor in bursts, at the usual priority, and ends by itself.
//!
//! Each burst uses between 1 and 50 ms of CPU, however long it has to wait for it. The pause after it is as long as
//! brings the CPU used since the start back to the share.

use std::error::Error;
use std::hint::black_box;
use std::thread;
use std::time::Duration;

use clap::Parser;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// The bursts' shortest and longest CPU time.
const BURST_NS: std::ops::RangeInclusive<u64> = 1_000_000..=50_000_000;
const NS_A_SECOND: u64 = 1_000_000_000;
/// Turns between two looks at the clock.
const TURNS: u64 = 2_000;

/// Take a share of one processor in bursts
#[derive(Parser)]
struct Arguments {
    /// The processor, counted from 0
    processor: usize,
    /// The share of it, in percent
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100))]
    share: u64,
    /// For how many seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Another seed gives bursts of other lengths
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    if arguments.processor >= CpuSet::MAX_CPU {
        return Err(format!("processors are counted from 0 to {}", CpuSet::MAX_CPU - 1).into());
    }
    let mut processors = CpuSet::new();
    processors.set(arguments.processor);
    sched_setaffinity(None, &processors)
        .map_err(|error| format!("cannot run on processor {}: {error}", arguments.processor))?;
    let begin = clock_ns(ClockId::Monotonic);
    let mut draws = arguments.seed;
    loop {
        spin_for(burst_ns(&mut draws));
        let used = clock_ns(ClockId::ThreadCPUTime);
        let elapsed = clock_ns(ClockId::Monotonic) - begin;
        if elapsed >= arguments.seconds * NS_A_SECOND {
            return Ok(());
        }
        thread::sleep(Duration::from_nanos((used * 100 / arguments.share).saturating_sub(elapsed)));
    }
}

/// Uses so much CPU time.
fn spin_for(burst_ns: u64) {
    let end = clock_ns(ClockId::ThreadCPUTime) + burst_ns;
    let mut sum = 0_u64;
    while clock_ns(ClockId::ThreadCPUTime) < end {
        for turn in 0..TURNS {
            sum = black_box(sum.wrapping_add(turn));
        }
    }
}

/// A length within [`BURST_NS`], each as likely as another: splitmix64 (Steele, Lea and Flood, 2014).
fn burst_ns(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let (shortest, longest) = (*BURST_NS.start(), *BURST_NS.end());
    shortest + (mixed ^ (mixed >> 31)) % (longest - shortest + 1)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    u64::try_from(now.tv_sec).unwrap_or(0) * NS_A_SECOND + u64::try_from(now.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_spread_over_their_range() {
        let mut draws = 1;
        let bursts: Vec<u64> = (0..10_000).map(|_| burst_ns(&mut draws)).collect();
        assert!(bursts.iter().all(|burst| BURST_NS.contains(burst)));
        let mean = bursts.iter().sum::<u64>() / 10_000;
        assert!((24_500_000..26_500_000).contains(&mean), "{mean}");
        let long = bursts.iter().filter(|burst| **burst > 45_000_000).count();
        assert!((900..1_150).contains(&long), "{long}");
    }
}
