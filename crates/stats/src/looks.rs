//! Tests that are looked at more than once: how small a probability must be at each look, so that all looks together are
//! no more often wrong than one test at the level asked for.
//!
//! The usual boundaries hold for many observations; with 6 to 20 pairs they are wrong too often. These were simulated for
//! Student's t, with the same nominal probability at each look (S. J. Pocock, Biometrika 64, 1977): 10 million sequences of
//! normal differences from seed 1, by `simulation`'s `nominal_levels`.

use std::fmt;

/// Levels for which there are constants.
const LEVELS: [f64; 5] = [0.05, 0.01, 0.005, 0.001_25, 0.000_625];

/// After how many pairs is looked, and the nominal probability at each look for each of [`LEVELS`].
struct Schedule {
    looks: &'static [u32],
    /// Two-sided.
    nominal: [f64; 5],
    /// One-sided, for 5 % overall.
    one_sided: f64,
}

/// The first is the default.
const SCHEDULES: [Schedule; 5] = [
    Schedule {
        looks: &[6, 10, 16],
        nominal: [0.021_02, 0.003_82, 0.001_847, 0.000_445, 0.000_217],
        one_sided: 0.022_4,
    },
    Schedule {
        looks: &[4, 6, 8, 10, 12, 16, 20],
        nominal: [0.011_82, 0.002_00, 0.000_951, 0.000_221, 0.000_109],
        one_sided: 0.013_1,
    },
    Schedule {
        looks: &[6, 8, 10, 12, 16, 20],
        nominal: [0.014_41, 0.002_44, 0.001_156, 0.000_267, 0.000_130],
        one_sided: 0.015_9,
    },
    Schedule {
        looks: &[5, 10],
        nominal: [0.027_90, 0.005_27, 0.002_596, 0.000_643, 0.000_320],
        one_sided: 0.029_1,
    },
    Schedule {
        looks: &[8, 12, 16, 20, 30, 40],
        nominal: [0.013_42, 0.002_32, 0.001_110, 0.000_259, 0.000_124],
        one_sided: 0.014_7,
    },
];

/// After how many pairs a comparison is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looks {
    at: Vec<u32>,
    /// Its place in [`SCHEDULES`]; none for a single look.
    schedule: Option<usize>,
}

/// Looks for which there are no constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLooks {
    at: Vec<u32>,
}

impl fmt::Display for UnknownLooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = Looks::known().map(|looks| format!("{looks:?}")).collect();
        write!(
            f,
            "there are no constants for looks after {:?} pairs; take one number from {FEWEST_PAIRS} to {MOST_PAIRS}, or one of {}",
            self.at,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownLooks {}

/// Below so many pairs nothing is decided.
pub const FEWEST_PAIRS: u32 = 5;
/// More pairs than this are not planned.
pub const MOST_PAIRS: u32 = 200;

impl Default for Looks {
    /// After 6, 10 and 16 pairs.
    fn default() -> Looks {
        Looks { at: SCHEDULES[0].looks.to_vec(), schedule: Some(0) }
    }
}

impl Looks {
    /// Looks after these numbers of pairs: one number from [`FEWEST_PAIRS`] to [`MOST_PAIRS`], or one of
    /// [`Looks::known`].
    ///
    /// # Errors
    /// [`UnknownLooks`] for any other.
    pub fn new(at: &[u32]) -> Result<Looks, UnknownLooks> {
        let schedule = SCHEDULES.iter().position(|schedule| schedule.looks == at);
        match (at, schedule) {
            ([only], _) if (FEWEST_PAIRS..=MOST_PAIRS).contains(only) => {
                Ok(Looks { at: at.to_vec(), schedule: None })
            }
            (_, Some(_)) => Ok(Looks { at: at.to_vec(), schedule }),
            _ => Err(UnknownLooks { at: at.to_vec() }),
        }
    }

    /// Every list of more than one look for which there are constants.
    pub fn known() -> impl Iterator<Item = &'static [u32]> {
        SCHEDULES.iter().map(|schedule| schedule.looks)
    }

    /// After how many pairs, ascending; not empty.
    pub fn at(&self) -> &[u32] {
        &self.at
    }

    /// After how many pairs the last look is.
    pub fn last(&self) -> u32 {
        self.at.last().copied().unwrap_or(FEWEST_PAIRS)
    }

    /// The two-sided nominal probability below which a single look rejects, for this level (0 to 1) overall.
    pub fn nominal(&self, level: f64) -> f64 {
        let Some(schedule) = self.schedule else { return level };
        let nominal = &SCHEDULES[schedule].nominal;
        match LEVELS.iter().position(|known| *known <= level) {
            Some(0) => level * nominal[0] / LEVELS[0],
            Some(below) => {
                let of = |at: usize| (LEVELS[at].ln(), nominal[at].ln());
                let ((x1, y1), (x0, y0)) = (of(below - 1), of(below));
                (y0 + (level.ln() - x0) * (y1 - y0) / (x1 - x0)).exp()
            }
            // Below the lowest level the looks are taken to be tests of their own, which is on the safe side (Bonferroni).
            None => level / self.at.len() as f64,
        }
    }

    /// The one-sided nominal level at each look for this level (0 to 0.5) overall. Both tails of the two-sided test at twice
    /// the level are as large, and hardly ever reached in one sequence; for 5 % the constant was simulated itself.
    pub fn one_sided(&self, level: f64) -> f64 {
        match self.schedule {
            None => level,
            Some(schedule) if level == 0.05 => SCHEDULES[schedule].one_sided,
            Some(_) => self.nominal(2.0 * level) / 2.0,
        }
    }

    /// The level overall at which a look with this two-sided probability rejects: what several looks are compared by, the
    /// lowest of them counts. The inverse of [`Looks::nominal`].
    pub fn level(&self, p: f64) -> f64 {
        let Some(schedule) = self.schedule else { return p.clamp(0.0, 1.0) };
        let nominal = &SCHEDULES[schedule].nominal;
        let level = match nominal.iter().position(|known| *known <= p) {
            Some(0) => p * LEVELS[0] / nominal[0],
            Some(below) => {
                let of = |at: usize| (nominal[at].ln(), LEVELS[at].ln());
                let ((x1, y1), (x0, y0)) = (of(below - 1), of(below));
                (y0 + (p.ln() - x0) * (y1 - y0) / (x1 - x0)).exp()
            }
            None => p * self.at.len() as f64,
        };
        level.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_level_and_its_nominal_probability_are_inverse_and_rise(
            p in 1e-6..0.9f64, more in 1.0..2.0f64, which in 0..SCHEDULES.len()
        ) {
            let looks = Looks::new(SCHEDULES[which].looks).unwrap();
            let level = looks.level(p);
            prop_assert!(level >= p && level <= (p * looks.at().len() as f64).max(level.min(1.0)));
            prop_assert!(looks.level((p * more).min(1.0)) >= level);
            // Below the constants the safe bound is not continuous with them.
            if level < 1.0 && p > SCHEDULES[which].nominal[4] {
                prop_assert!((looks.nominal(level) / p - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn looks_have_constants_or_are_refused() {
        assert_eq!(Looks::new(&[6, 10, 16]), Ok(Looks::default()));
        assert_eq!(Looks::new(&[8]).unwrap().nominal(0.005), 0.005);
        for unknown in [&[][..], &[6, 11], &[4], &[1_000], &[16, 10, 6]] {
            assert_eq!(Looks::new(unknown), Err(UnknownLooks { at: unknown.to_vec() }), "{unknown:?}");
        }
        for looks in Looks::known() {
            let known = Looks::new(looks).unwrap();
            assert!(known.nominal(0.01) < 0.01 && known.nominal(0.01) > 0.01 / looks.len() as f64);
            for level in [0.05, 0.005] {
                let nominal = known.one_sided(level);
                assert!(nominal < level && nominal > level / looks.len() as f64, "{looks:?} {nominal}");
            }
        }
    }
}
