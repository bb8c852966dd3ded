//! Searches the highest load that a service sustains: doubled until it fails, then narrowed down.

use anyhow::Result;

/// The first load of the search, as a part of the plan's load.
pub(super) const FIRST_LOAD: f64 = 0.5;
/// The highest load that is tried.
const MAX_LOAD: f64 = 64.0;
/// How often the gap is halved after doubling: the last two loads differ by a tenth.
const NARROWINGS: u32 = 3;
/// The share of the offered requests that must succeed within 100 ms.
pub(super) const GOOD_SHARE: f64 = 0.99;

/// The good rate at the highest load that `step` passes. `step` offers a load and returns its good rate, or nothing if
/// the load was too high.
///
/// # Errors
/// Those of `step`.
pub(super) fn highest(mut step: impl FnMut(f64) -> Result<Option<f64>>) -> Result<f64> {
    let (mut load, mut good_per_s) = (FIRST_LOAD, 0.0);
    let mut too_high = loop {
        match step(load)? {
            Some(per_s) if load < MAX_LOAD => (load, good_per_s) = (load * 2.0, per_s),
            Some(per_s) => return Ok(per_s),
            None => break load,
        }
    };
    let mut sustained = too_high / 2.0;
    for _ in 0..NARROWINGS {
        let between = (sustained * too_high).sqrt();
        match step(between)? {
            Some(per_s) => (sustained, good_per_s) = (between, per_s),
            None => too_high = between,
        }
    }
    Ok(good_per_s)
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
    fn the_search_ends_at_the_highest_load_and_at_zero_if_nothing_passes() {
        assert!((search(1e9).0 - MAX_LOAD).abs() < 1e-9);
        assert!(search(0.1).0.abs() < 1e-9);
    }
}
