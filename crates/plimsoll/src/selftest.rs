//! `plimsoll selftest engine`: what the generator can do on this machine. For `selftest verdicts` see [`verdicts`].
//!
//! The engine offers load at rising rates to a server in this process whose behaviour is known. What it did is compared
//! with what was asked; the server is not what is tested.

#[cfg(feature = "full")]
mod capacities;
#[cfg(feature = "full")]
mod experiments;
mod text;
#[cfg(feature = "full")]
mod verdicts;

use std::time::Duration;

use ::experiments::generator::{Load, Stage, offer};
use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::{screen, standard_output};

use crate::arguments::SelftestEngineArguments;
#[cfg(not(feature = "full"))]
pub(crate) use crate::lean::simulation::{experiments, verdicts};
use crate::outputs;
#[cfg(feature = "full")]
pub(crate) use experiments::run as experiments;
use text::Selftest;
#[cfg(feature = "full")]
pub(crate) use verdicts::verdicts;

/// Rates that are always tried, in arrivals a second.
const RATES: [u32; 3] = [1_000, 5_000, 20_000];
/// More than one loop reaches on any machine today.
const HIGHEST_RATE: u32 = 640_000;
/// How often the interval between a rate that was reached and one that was not is halved.
const HALVINGS: u32 = 4;
/// How long the target delays each response where the measurement error is determined.
const KNOWN_DELAY: Duration = Duration::from_millis(5);
const KNOWN_DELAY_RATE: u32 = 500;

pub(crate) fn engine(arguments: &SelftestEngineArguments) -> CommandResult<u8> {
    let seconds = arguments.seconds;
    let offered = |rate, delay| {
        screen::note(format_args!("offering {rate} arrivals/s for {seconds} s"));
        offer(Load { rate, delay, seconds, loops: 1 }).map_err(Failure::own)
    };
    let mut stages = Vec::new();
    for rate in RATES {
        stages.push(offered(rate, Duration::ZERO)?);
    }
    climb(&mut stages, &|rate| offered(rate, Duration::ZERO))?;
    stages.sort_by_key(|stage| stage.rate);
    let known = offered(KNOWN_DELAY_RATE, KNOWN_DELAY)?;
    if known.service.is_empty() {
        return Err(Failure::own(anyhow!(
            "the target of the self-test answered nothing: check that loopback works"
        )));
    }
    let selftest = Selftest { stages, known, delay: KNOWN_DELAY, seconds };
    standard_output::print(&selftest.text())?;
    if let Some(path) = &arguments.json {
        outputs::put(path, &selftest.json())?;
    }
    Ok(0)
}

/// Find the highest rate that is reached: double until one is not, then bisect.
fn climb(stages: &mut Vec<Stage>, offer: &dyn Fn(u32) -> CommandResult<Stage>) -> CommandResult<()> {
    let mut reached =
        stages.iter().filter(|stage| stage.is_reached()).map(|stage| stage.rate).max().unwrap_or(0);
    let mut missed = stages.iter().map(|stage| stage.rate).filter(|rate| *rate > reached).min();
    while missed.is_none() && reached < HIGHEST_RATE {
        let stage = offer(reached.saturating_mul(2).max(RATES[0]))?;
        if stage.is_reached() {
            reached = stage.rate;
        } else {
            missed = Some(stage.rate);
        }
        stages.push(stage);
    }
    for _halving in 0..HALVINGS {
        let Some(above) = missed else { break };
        let stage = offer(reached.midpoint(above))?;
        if stage.is_reached() {
            reached = stage.rate;
        } else {
            missed = Some(stage.rate);
        }
        stages.push(stage);
    }
    Ok(())
}
