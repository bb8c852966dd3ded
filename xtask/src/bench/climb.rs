//! The highest good load of a service: doubled until too much, then narrowed down.

use anyhow::Result;

/// What the search begins with, as a part of the plan's load.
pub(super) const FIRST: f64 = 0.5;
/// The most that is tried.
const MOST: f64 = 64.0;
/// Times the gap is halved after doubling: the last step is a tenth apart from the one before.
const NARROWINGS: u32 = 3;
/// The part of what is offered that must be answered within 100 ms.
pub(super) const GOOD: f64 = 0.99;

/// The highest that `step` grants: it is given a load and tells what was good of it, or nothing if it was too much.
///
/// # Errors
/// What `step` returns.
pub(super) fn highest(mut step: impl FnMut(f64) -> Result<Option<f64>>) -> Result<f64> {
    let (mut load, mut good) = (FIRST, 0.0);
    let mut too_much = loop {
        match step(load)? {
            Some(per_s) if load < MOST => (load, good) = (load * 2.0, per_s),
            Some(per_s) => return Ok(per_s),
            None => break load,
        }
    };
    let mut held = too_much / 2.0;
    for _ in 0..NARROWINGS {
        let between = (held * too_much).sqrt();
        match step(between)? {
            Some(per_s) => (held, good) = (between, per_s),
            None => too_much = between,
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(limit: f64) -> (f64, usize) {
        let mut steps = 0;
        let found = highest(|load| {
            steps += 1;
            Ok((load <= limit).then_some(load))
        });
        (found.expect("steps do not fail"), steps)
    }

    #[test]
    fn the_limit_is_found_to_a_tenth() {
        for limit in [0.55, 1.0, 3.3, 7.0, 40.0] {
            let (found, steps) = search(limit);
            assert!(found <= limit && found > limit * 0.9, "{found} for {limit}");
            assert!(steps <= 12, "{steps} steps for {limit}");
        }
    }

    #[test]
    fn what_has_no_limit_ends_at_the_most_and_what_holds_nothing_at_none() {
        assert!((search(1e9).0 - MOST).abs() < 1e-9);
        assert!(search(0.1).0.abs() < 1e-9);
    }
}
