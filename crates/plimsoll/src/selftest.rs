//! `plimsoll selftest engine`: what this machine lets the generator promise.
//!
//! The engine offers load to a server of this process whose truth is known, at rising rates, and what it did is laid
//! beside what was asked. Nothing here is an opinion of the target: the target is ours.

mod stage;
mod target;
mod text;

use std::time::Duration;

use anyhow::anyhow;

use crate::arguments::SelftestArguments;
use crate::failure::{Failure, Outcome};
use crate::outputs;
use stage::{Ask, Stage};
use text::Selftest;

/// Rates that everybody gets to see, in arrivals a second.
const RATES: [u32; 3] = [1_000, 5_000, 20_000];
/// No machine of today needs more of one loop.
const HIGHEST_RATE: u32 = 640_000;
/// How often the interval between a rate that was kept and one that was not is halved.
const HALVINGS: u32 = 4;
/// How long the target holds each answer where the error of measuring is asked for.
const KNOWN_DELAY: Duration = Duration::from_millis(5);
const KNOWN_DELAY_RATE: u32 = 500;

pub(crate) fn selftest(arguments: &SelftestArguments) -> Outcome<u8> {
    let seconds = arguments.seconds;
    let offer = |rate, delay| {
        outputs::tell(format_args!("offering {rate} arrivals/s for {seconds} s"));
        stage::offer(Ask { rate, delay, seconds }).map_err(Failure::own)
    };
    let mut stages = Vec::new();
    for rate in RATES {
        stages.push(offer(rate, Duration::ZERO)?);
    }
    climb(&mut stages, &|rate| offer(rate, Duration::ZERO))?;
    stages.sort_by_key(|stage| stage.rate);
    let known = offer(KNOWN_DELAY_RATE, KNOWN_DELAY)?;
    if known.service.is_empty() {
        return Err(Failure::own(anyhow!(
            "the target of the self-test answered nothing; is loopback cut off?"
        )));
    }
    let selftest = Selftest { stages, known, delay: KNOWN_DELAY, seconds };
    outputs::print(&selftest.text())?;
    if let Some(path) = &arguments.json {
        outputs::put(path, &selftest.json())?;
    }
    Ok(0)
}

/// Look for the highest rate that is kept: double until one is not, then halve what lies between.
fn climb(stages: &mut Vec<Stage>, offer: &dyn Fn(u32) -> Outcome<Stage>) -> Outcome<()> {
    let mut kept = stages.iter().filter(|stage| stage.is_kept()).map(|stage| stage.rate).max().unwrap_or(0);
    let mut missed = stages.iter().map(|stage| stage.rate).filter(|rate| *rate > kept).min();
    while missed.is_none() && kept < HIGHEST_RATE {
        let stage = offer(kept.saturating_mul(2).max(RATES[0]))?;
        if stage.is_kept() {
            kept = stage.rate;
        } else {
            missed = Some(stage.rate);
        }
        stages.push(stage);
    }
    for _halving in 0..HALVINGS {
        let Some(above) = missed else { break };
        let stage = offer(kept.midpoint(above))?;
        if stage.is_kept() {
            kept = stage.rate;
        } else {
            missed = Some(stage.rate);
        }
        stages.push(stage);
    }
    Ok(())
}
