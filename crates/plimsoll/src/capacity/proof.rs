//! What the generator can offer on this machine, found before anything is sent to the target: rates offered to a server in this
//! process that answers at once. A generator counts as proven for half of what it reached there, because a target that works
//! leaves it less of the machine.

use crate::failure::CommandResult;
use crate::outputs::note;
use crate::selftest;

/// More than a search asks for.
const HIGHEST: u32 = 320_000;
const LOWEST: u32 = 100;
/// What is asked for beyond the load that is proven.
const RESERVE: f64 = 2.0;
/// How often the interval between a rate that was reached and one that was not is halved.
const HALVINGS: u32 = 3;
/// Neighbours may take the processor for a moment: that is not what the generator can do.
const ATTEMPTS: u32 = 3;

/// Requests a second that the generator with so many loops is proven for. It is asked for `needed` first, where that is known,
/// and for no more.
pub(super) fn prove(needed: Option<f64>, begin_per_s: f64, loops: u16) -> CommandResult<f64> {
    note(format_args!("the generator is tested against a server that answers at once"));
    let reaches = |rate: u32| -> CommandResult<bool> {
        for _ in 0..ATTEMPTS {
            if selftest::reaches(rate, loops)? {
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
    let proven = f64::from(reached) / RESERVE;
    note(format_args!("it is proven for {proven:.0} requests/s: half of the {reached} that it offered in time"));
    Ok(proven)
}
