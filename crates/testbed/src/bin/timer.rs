//! The floor under start lag: a loop that sleeps until each due instant on a timer descriptor, and does nothing then. How
//! much later than due it wakes is the machine's; what a generator adds is its own.

use std::error::Error;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use clap::Parser;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

const NS_A_SECOND: u64 = 1_000_000_000;

/// Sleep until each of evenly spaced instants, and print how much later than due the loop woke
#[derive(Parser)]
struct Arguments {
    /// Instants a second
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rate: u64,
    /// For how many seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    // Where the kernel refuses, its default of 50 µs shows in the result.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let count = arguments.rate * arguments.seconds;
    let begin = now_ns();
    let mut lags = Vec::with_capacity(usize::try_from(count)?);
    for number in 0..count {
        let due = begin + number * NS_A_SECOND / arguments.rate;
        if due > now_ns() {
            sleep_until(&timer, due)?;
        }
        lags.push(now_ns().saturating_sub(due));
    }
    lags.sort_unstable();
    let quantile_us = |q: f64| lags[((lags.len() - 1) as f64 * q) as usize] as f64 / 1e3;
    writeln!(io::stdout(), "{} {} {}", quantile_us(0.5), quantile_us(0.99), quantile_us(1.0))?;
    Ok(())
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * NS_A_SECOND + now.tv_nsec.unsigned_abs()
}

/// Sleep until the monotonic clock shows `due` nanoseconds.
fn sleep_until(timer: &OwnedFd, due: u64) -> Result<(), Box<dyn Error>> {
    let value =
        Timespec { tv_sec: i64::try_from(due / NS_A_SECOND)?, tv_nsec: i64::try_from(due % NS_A_SECOND)? };
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once)?;
    rustix::io::read(timer, &mut [0; 8])?;
    Ok(())
}
