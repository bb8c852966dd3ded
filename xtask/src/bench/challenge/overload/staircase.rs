//! The highest good load of an interface.

use anyhow::{Result, ensure};

use super::OverloadCase;
use crate::bench::challenge::fixture::{Fixture, Load};
use crate::bench::highest_load::{FIRST_LOAD, GOOD_SHARE, highest};
use crate::bench::overload::PLANNED_PER_S;

/// Successes within 100 ms a second at the highest good load.
///
/// # Errors
/// When not even the first load is good.
pub(super) fn highest_good(fixture: &Fixture<'_>, case: &OverloadCase) -> Result<f64> {
    let best = highest(|load| {
        let time_scale = fixture.context.options.time_scale().clamp(0.5, 2.0);
        let report = fixture.offer(&Load::of(case.staircase).for_time(time_scale).at(load))?;
        let good_per_s = report.observed("good")?;
        println!("  {:.0} offered a second, {good_per_s:.0} good", load * PLANNED_PER_S);
        Ok((good_per_s >= GOOD_SHARE * load * PLANNED_PER_S).then_some(good_per_s))
    })?;
    ensure!(best > 0.0, "not even {:.0} a second were good", FIRST_LOAD * PLANNED_PER_S);
    Ok(best)
}
