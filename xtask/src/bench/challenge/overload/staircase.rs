//! The highest good load: doubled until too much, then narrowed down.

use anyhow::{Result, ensure};

use super::Kind;
use crate::bench::challenge::fixture::{BenchContext, Fixture, Load};
use crate::bench::climb::{FIRST, GOOD, highest};
use crate::bench::overload::PLANNED_PER_S;

/// What is answered within 100 ms a second at the highest good load.
///
/// # Errors
/// When not even the first step is good.
pub(super) fn climb(context: &BenchContext<'_>, (fixture, kind): (&Fixture<'_>, &Kind)) -> Result<f64> {
    let best = highest(|load| {
        let time_scale = context.options.time_scale().clamp(0.5, 2.0);
        let seen = fixture.offer(&Load::of(kind.staircase).for_time(time_scale).at(load))?;
        let good_per_s = seen.observed("good")?;
        println!("  {:.0} offered a second, {good_per_s:.0} good", load * PLANNED_PER_S);
        Ok((good_per_s >= GOOD * load * PLANNED_PER_S).then_some(good_per_s))
    })?;
    ensure!(best > 0.0, "not even {:.0} a second were good", FIRST * PLANNED_PER_S);
    Ok(best)
}
