//! Levels of a target that is in one of two states: no mean describes its probes, so they are counted.

use evidence::capacity::{CapacityProbe, LevelVerdict};
use stats::{MedianLimits, falling_medians};

use super::margin::CLIP;

/// The one-sided confidence of each end of the interval.
pub(super) const ONE_SIDED: f64 = 0.975;
/// Probes of one level that differ by more than a factor of eight within the cut are in two states. Of normally distributed
/// margins with a deviation of 45 %, three differ by as much in three of a thousand levels.
const APART: f64 = 3.0 * std::f64::consts::LN_2;

/// Margins of each level's probes.
pub(super) type Margins = Vec<Vec<f64>>;

/// The level, and the objective, of which probes are furthest apart, if they are in two states.
pub(super) fn in_two_states(by_slo: &[Margins]) -> Option<(usize, usize)> {
    let levels = by_slo.iter().enumerate().flat_map(|(slo, levels)| {
        levels.iter().enumerate().map(move |(level, margins)| (level, slo, margins))
    });
    let distances = levels.filter_map(|(level, slo, margins)| Some((distance(margins)?, level, slo)));
    let (distance, level, slo) = distances.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (distance > APART).then_some((level, slo))
}

/// Whether probes of neighbouring levels are as far apart as those of two states: a cliff, or two states of which few probes
/// of each level have shown one.
pub(super) fn has_jump(by_slo: &[Margins]) -> bool {
    let mut distances =
        by_slo.iter().flat_map(|levels| levels.windows(2)).filter_map(|pair| distance(&pair.concat()));
    distances.any(|distance| distance > APART)
}

fn distance(margins: &[f64]) -> Option<f64> {
    let of = |further: fn(f64, f64) -> f64| margins.iter().copied().reduce(further);
    Some(of(f64::max)? - of(f64::min)?)
}

/// Whether more than half of the probes of each level would meet every objective, or would not, as it and its neighbours show.
pub(super) fn counted<'p>(levels: impl Iterator<Item = &'p [&'p CapacityProbe]>) -> Vec<LevelVerdict> {
    let worst = |probe: &&CapacityProbe| probe.margins.iter().copied().reduce(f64::min);
    let worst: Margins = levels.map(|probes| probes.iter().filter_map(worst).collect()).collect();
    let verdict = |limits: MedianLimits| match () {
        () if limits.lower > 0.0 => LevelVerdict::Holds,
        () if limits.upper < 0.0 => LevelVerdict::Breaks,
        () => LevelVerdict::Open,
    };
    falling_medians(&worst, ONE_SIDED, ONE_SIDED).into_iter().map(verdict).collect()
}

/// Limits of the median margin of one objective at each level, no further than margins are cut.
pub(super) fn limits(levels: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let cut = |limits: MedianLimits| (limits.lower.max(-CLIP), limits.upper.min(CLIP));
    falling_medians(levels, ONE_SIDED, ONE_SIDED).into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use evidence::capacity::ProbeStage;

    use super::*;

    const MET: f64 = 1.386;
    const VIOLATED: f64 = -1.386;

    fn probe(margins: [f64; 2]) -> CapacityProbe {
        CapacityProbe {
            values: vec![None; 2],
            margins: margins.to_vec(),
            errors: vec![0.0; 2],
            ..CapacityProbe::unmeasured(ProbeStage::Grid, 100.0)
        }
    }

    #[test]
    fn a_level_breaks_where_now_one_objective_and_now_the_other_is_violated() {
        let probes = [[MET, MET], [MET, VIOLATED], [VIOLATED, MET]].map(probe);
        let [both, second, first] = &probes;
        let good = vec![both; 3];
        let bad = vec![first, second, first];
        let levels = [&good, &good, &good, &bad, &bad, &bad];
        let (holds, open, breaks) = (LevelVerdict::Holds, LevelVerdict::Open, LevelVerdict::Breaks);
        let found = counted(levels.iter().map(|level| level.as_slice()));
        // Nine probes decide: three levels on the harder side, or on the easier one.
        assert_eq!(found, [holds, open, open, open, open, breaks]);
    }

    #[test]
    fn the_level_whose_probes_are_furthest_apart_is_named() {
        let calm = vec![vec![0.2, -0.3], vec![-0.5, -0.4]];
        let torn = vec![vec![MET, MET], vec![MET, VIOLATED]];
        assert_eq!(in_two_states(&[calm.clone(), torn]), Some((1, 1)));
        assert_eq!(in_two_states(&[calm]), None);
        assert_eq!(in_two_states(&[vec![Vec::new()]]), None);
    }
}
