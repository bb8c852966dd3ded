//! At which confidence each look at a run must decide, so that all of them together are no more often wrong than one look
//! at 95 %.

use workload::LOOKS;

use crate::random::Random;

/// Of one look at the end of a run, one-sided.
const WRONG: f64 = 0.05;

/// The confidence of each of [`LOOKS`] at which the first answer that any of them gives is wrong in 5 % of so many runs, from
/// this seed on. The truth is at the bound; arrivals are many and independent, so that the excess of each part of the run is
/// normal and that of the parts so far is their sum.
pub(crate) fn look_confidence(runs: usize, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut highest: Vec<f64> = (0..runs).map(|_| highest_score(&mut random)).collect();
    let place = ((1.0 - WRONG) * runs as f64) as usize;
    let (_, score, _) = highest.select_nth_unstable_by(place, f64::total_cmp);
    1.0 - stats::gamma::upper(0.5, score.powi(2) / 2.0) / 2.0
}

/// The highest standard score of a run over its looks.
fn highest_score(random: &mut Random) -> f64 {
    let mut sum = 0.0;
    let scores = (1..=LOOKS).map(|look| {
        sum += random.normal();
        sum / f64::from(look).sqrt()
    });
    scores.fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use workload::LOOK_CONFIDENCE;

    use super::*;

    #[test]
    fn the_level_of_a_look_is_the_one_that_simulation_gives() {
        let simulated = look_confidence(400_000, 1);
        assert!((LOOK_CONFIDENCE - 0.001..LOOK_CONFIDENCE).contains(&simulated), "{simulated}");
    }
}
