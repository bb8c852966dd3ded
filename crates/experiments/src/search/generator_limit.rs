//! What the generator can offer on this machine, found before anything is sent to the target: rates offered to a server in this
//! process that answers at once. A search uses at most half of what it reached there, because a target that works leaves it
//! less of the machine.

use std::time::Duration;

use conduct::failure::CommandResult;
use conduct::screen::note;
use workload::Objective;

use crate::generator::{self, Reach};

/// More than a search asks for.
const HIGHEST: u32 = 320_000;
const LOWEST: u32 = 100;
/// How much more than the search may use is tested.
const RESERVE: f64 = 2.0;
/// How often the interval between a rate that was reached and one that was not is halved.
const HALVINGS: u32 = 3;
/// Neighbours may take the processor for a moment: that is not what the generator can do.
const ATTEMPTS: u32 = 3;
/// Of the bound on a time, how late requests may start.
const LAG_SHARE: f64 = 0.05;
/// The same where no time is a bound, in milliseconds.
const LAG_OF_SHARES_MS: f64 = 10.0;

/// What the generator is tested for.
pub(super) struct LimitQuery {
    /// Requests a second that are needed, and no more; none: as many as there can be.
    pub(super) needed_per_s: Option<f64>,
    /// Where it begins otherwise.
    pub(super) begin_per_s: f64,
    /// Loops that offer them.
    pub(super) loops: u16,
    /// How late 99 of 100 may start.
    pub(super) lag: Duration,
}

/// How late requests may start where these objectives are judged: a twentieth of the shortest time that is a bound (rule L2),
/// and at least a millisecond.
pub(super) fn allowed_lag(slos: &[Objective]) -> Duration {
    let bounds = slos.iter().filter(|slo| slo.measure.unit() == "ms").map(|slo| slo.bound);
    let shortest_ms = bounds.fold(f64::INFINITY, f64::min);
    let allowed_ms = if shortest_ms.is_finite() { shortest_ms * LAG_SHARE } else { LAG_OF_SHARES_MS };
    Duration::from_secs_f64(allowed_ms.clamp(1.0, 1_000.0) / 1_000.0)
}

/// Requests a second that a search may use.
pub(super) fn generator_limit(asked: &LimitQuery) -> CommandResult<f64> {
    let LimitQuery { needed_per_s: needed, begin_per_s, loops, lag } = *asked;
    note(format_args!("the generator is tested against a server that answers at once"));
    let reaches = |rate: u32| -> CommandResult<bool> {
        for _ in 0..ATTEMPTS {
            if generator::reaches(Reach { rate, loops, lag })? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let rate_of = |per_s: f64| (RESERVE * per_s).ceil().clamp(f64::from(LOWEST), f64::from(HIGHEST)) as u32;
    let mut rate = rate_of(needed.unwrap_or(begin_per_s));
    let (mut reached, mut missed) = (0, None);
    loop {
        match reaches(rate)? {
            true => reached = rate,
            false => missed = Some(rate),
        }
        rate = match (reached, missed) {
            (_, None) if needed.is_some() || reached >= HIGHEST => break,
            (_, None) => reached.saturating_mul(2).min(HIGHEST),
            (0, Some(missed)) if missed <= LOWEST => break,
            (0, Some(missed)) => (missed / 2).max(LOWEST),
            (_, Some(_)) => break,
        };
    }
    for _ in 0..HALVINGS {
        let Some(above) = missed.filter(|_| reached > 0) else { break };
        let middle = reached.midpoint(above);
        match reaches(middle)? {
            true => reached = middle,
            false => missed = Some(middle),
        }
    }
    let usable = f64::from(reached) / RESERVE;
    note(format_args!(
        "the generator can sustain {reached} requests/s on this machine; the search uses at most half of that ({usable:.0}/s)"
    ));
    Ok(usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_may_start_a_twentieth_of_the_shortest_bound_late() {
        fn of(texts: &[&str]) -> u128 {
            let slos: Vec<_> =
                texts.iter().map(|text| workload::objective::parse("slo", text).unwrap()).collect();
            allowed_lag(&slos).as_millis()
        }
        assert_eq!(of(&["p95(list) < 200ms", "p50(list) < 80ms"]), 4);
        assert_eq!(of(&["p95(list) < 5ms"]), 1);
        assert_eq!(of(&["error_rate(all) < 1%"]), 10);
    }
}
