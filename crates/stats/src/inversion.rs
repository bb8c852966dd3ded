//! The level of a stress at which a margin becomes negative, as an interval: test inversion on a grid of levels.
//!
//! Every level was probed a few times; each probe gave its margin, positive where a bound is met. A level holds where the
//! mean margin is shown to be above 0, breaks where it is shown to be below, both by Student's t with the deviation pooled
//! over all levels. The set of levels at which neither is shown is the confidence set of the level with a mean margin of 0
//! (Casella and Berger, "Statistical Inference", 2002, section 9.2.1).

use crate::student::t_quantile;

/// How levels are tested.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InversionRules {
    /// The one-sided confidence at which a level holds.
    pub holds: f64,
    /// The one-sided confidence at which a level breaks.
    pub breaks: f64,
    /// The least deviation that may be taken for known.
    pub least: f64,
    /// A margin of this or less is that of a collapse: it says that the level is far beyond, and nothing of the deviation.
    pub collapsed: f64,
}

/// What is known of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelMargin {
    /// The mean margin.
    pub mean: f64,
    /// Its lower limit.
    pub lower: f64,
    /// Its upper limit.
    pub upper: f64,
}

/// What is known of all levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Inversion {
    /// The deviation of probes of the same level, pooled.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub degrees: u32,
    /// Each level, in order; none of a level without probes.
    pub levels: Vec<Option<LevelMargin>>,
}

impl Inversion {
    /// From the margins of each level's probes, the lowest stress first; none where nothing was probed twice.
    pub fn detect(levels: &[Vec<f64>], rules: InversionRules) -> Option<Inversion> {
        let (deviation, degrees) = pooled(levels, rules)?;
        let limits =
            [rules.holds, rules.breaks].map(|confidence| t_quantile(confidence, degrees) * deviation);
        let level = |margins: &Vec<f64>| {
            let mean = crate::mean(margins)?;
            let root = (margins.len() as f64).sqrt();
            Some(LevelMargin { mean, lower: mean - limits[0] / root, upper: mean + limits[1] / root })
        };
        Some(Inversion { deviation, degrees, levels: levels.iter().map(level).collect() })
    }

    /// Two levels of which the one with the higher stress has the larger margin, by more than chance explains: `confidence`
    /// is that of all pairs together.
    pub fn disorder(&self, levels: &[Vec<f64>], confidence: f64) -> Option<(usize, usize)> {
        let known: Vec<(usize, f64, f64)> = (self.levels.iter().zip(levels).enumerate())
            .filter_map(|(at, (level, margins))| Some((at, level.as_ref()?.mean, margins.len() as f64)))
            .collect();
        let pairs = known.len() * known.len().saturating_sub(1) / 2;
        let each = 1.0 - (1.0 - confidence) / pairs.max(1) as f64;
        let t = t_quantile(each, self.degrees);
        let mut worst: Option<(f64, (usize, usize))> = None;
        for (index, low) in known.iter().enumerate() {
            for high in &known[index + 1..] {
                let error = self.deviation * (1.0 / low.2 + 1.0 / high.2).sqrt();
                let excess = high.1 - low.1 - t * error;
                if excess > 0.0 && worst.is_none_or(|(most, _)| excess > most) {
                    worst = Some((excess, (low.0, high.0)));
                }
            }
        }
        worst.map(|(_, pair)| pair)
    }
}

/// The pooled deviation and its degrees of freedom. A level that collapsed in every probe has none: all its margins were cut.
fn pooled(levels: &[Vec<f64>], rules: InversionRules) -> Option<(f64, u32)> {
    let (mut squares, mut degrees) = (0.0, 0_u32);
    let mut repeated = 0_u32;
    for margins in levels.iter().filter(|margins| margins.len() > 1) {
        let more = margins.len() as u32 - 1;
        repeated += more;
        if margins.iter().all(|margin| *margin <= rules.collapsed) {
            continue;
        }
        let mean = crate::mean(margins)?;
        squares += margins.iter().map(|margin| (margin - mean).powi(2)).sum::<f64>();
        degrees += more;
    }
    match degrees {
        0 if repeated == 0 => None,
        // Nothing but collapses.
        0 => Some((rules.least, repeated)),
        _ => Some(((squares / f64::from(degrees)).sqrt().max(rules.least), degrees)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: InversionRules =
        InversionRules { holds: 0.975, breaks: 0.975, least: 0.001, collapsed: -1.386 };

    #[test]
    fn levels_hold_and_break_by_the_pooled_deviation() {
        let levels =
            vec![vec![0.5, 0.6, 0.55], vec![0.1, -0.1, 0.0], vec![-0.5, -0.4, -0.45], vec![-1.386, -1.386]];
        let found = Inversion::detect(&levels, RULES).unwrap();
        assert_eq!(found.degrees, 6);
        assert!((found.deviation - (0.03_f64 / 6.0).sqrt()).abs() < 1e-12, "{found:?}");
        let of = |at: usize| found.levels[at].unwrap();
        assert!(of(0).lower > 0.0 && of(2).upper < 0.0 && of(3).upper < 0.0);
        assert!(of(1).lower < 0.0 && of(1).upper > 0.0);
    }

    #[test]
    fn single_probes_show_nothing() {
        assert_eq!(Inversion::detect(&[vec![1.0], vec![-1.0]], RULES), None);
    }

    #[test]
    fn a_higher_level_with_a_larger_margin_is_seen_beyond_noise() {
        let rising = vec![vec![-0.5, -0.6, -0.55], vec![0.5, 0.6, 0.55]];
        let noise = vec![vec![0.0, -0.1, 0.1], vec![0.05, 0.15, -0.05]];
        let disorder = |levels: &[Vec<f64>]| Inversion::detect(levels, RULES).unwrap().disorder(levels, 0.99);
        assert_eq!(disorder(&rising), Some((0, 1)));
        assert_eq!(disorder(&noise), None);
    }
}
