//! Series of five minutes, a value a second, for the analysis of steady state.

use stats::NotSteady;

use crate::Simulation;
use crate::question::{GivenVerdict, Limits, Question, Truth};
use crate::random::Random;

const SECONDS: usize = 300;
/// The standard deviation of a second's value around the truth: 5 %.
const DEVIATION: f64 = 0.05;

/// Series of one kind: the truth by second, on a logarithmic scale, and the lag-1 correlation of the noise.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SteadyShape {
    pub(crate) name: &'static str,
    /// What it is, in one line.
    pub(crate) description: &'static str,
    pub(crate) correlation: f64,
    pub(crate) level: fn(f64) -> f64,
    pub(crate) truth: Truth,
    /// The largest share of wrong answers.
    pub(crate) wrong: f64,
}

impl SteadyShape {
    pub(crate) fn prepare(self) -> Simulation {
        let limits = Limits { wrong: self.wrong, kept: None };
        let question = Question { text: "it is steady".to_owned(), truth: self.truth, limits };
        Simulation { questions: vec![question], simulate: Box::new(move |seed| vec![self.answer(seed)]) }
    }

    fn answer(&self, seed: u64) -> GivenVerdict {
        let mut noise = Noise::new(Random::new(seed), self.correlation);
        let values: Vec<f64> =
            (0..SECONDS).map(|second| (self.level)(second as f64) + DEVIATION * noise.next()).collect();
        match stats::steady(&values) {
            Ok(_) => GivenVerdict::Pass,
            Err(NotSteady::Unknown { .. }) => GivenVerdict::Undecided,
            Err(_) => GivenVerdict::Fail,
        }
    }
}

/// An autoregressive series of order 1, with a standard deviation of 1.
pub(crate) struct Noise {
    random: Random,
    correlation: f64,
    value: f64,
}

impl Noise {
    pub(crate) fn new(mut random: Random, correlation: f64) -> Noise {
        let value = random.normal();
        Noise { random, correlation, value }
    }

    pub(crate) fn next(&mut self) -> f64 {
        let (r, value) = (self.correlation, self.value);
        self.value = r * value + (1.0 - r * r).sqrt() * self.random.normal();
        value
    }
}
