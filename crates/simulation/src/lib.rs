//! Simulated runs whose truth is known, and how often their judgement is wrong.
//!
//! An arrival process, a generator whose thread is kept from running, and a target of known behaviour give what the
//! recorder would have kept; the judge judges it as any other run, and does not see the truth. Series for the analyses of
//! steady state and of leaks are simulated beside them. Pure and seeded: the same seed gives the same answers. Start reading
//! at [`catalogue`], then `verdicts`.

mod bisections;
mod capacity;
mod catalogue;
mod diagnoses;
mod episodes;
mod experiments;
mod flipped;
mod generator;
mod leaks;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod nominal_levels;
mod question;
mod random;
mod recording;
mod reference_probe;
mod sealed;
mod steady;
mod target;
mod together;
mod truth;
mod verdicts;

pub use bisections::{BisectionKind, BisectionTally, RIGHT_AT_LEAST, bisections};
pub use capacity::{CapacityKind, CapacityTally, capacity_kinds};
pub use catalogue::{Subject, catalogue};
pub use diagnoses::{DiagnosisKind, DiagnosisTally, NamedCounts, diagnosis_kinds};
pub use experiments::{ExperimentKind, ExperimentTally, Promise, experiments};
pub use flipped::{Experiments, LivePairs, Unusable};
pub use question::{GivenVerdict, Limits, Question, Tally, Truth};
pub use reference_probe::{ProbedKind, probed};
pub use sealed::{CAUSES, Cause, SealedCase, Visibility};
pub use together::{TogetherKind, together};

/// Runs or series of one kind, and what is asked of each.
pub struct Simulation {
    questions: Vec<Question>,
    /// The answers to the questions in a run with this seed.
    simulate: Box<dyn Fn(u64) -> Vec<GivenVerdict> + Sync>,
}

impl Simulation {
    /// The answers in runs with these seeds.
    pub fn run(&self, seeds: impl Iterator<Item = u64>) -> Vec<Tally> {
        let mut tallies: Vec<Tally> = self.questions.iter().cloned().map(Tally::of).collect();
        for seed in seeds {
            let answers = (self.simulate)(seed);
            tallies.iter_mut().zip(answers).for_each(|(tally, answer)| tally.add(answer));
        }
        tallies
    }
}

#[cfg(test)]
mod tests;
