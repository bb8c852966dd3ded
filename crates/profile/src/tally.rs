//! One pass over all stacks: the cost of every function, with its sampling error.

use crate::view::{Node, View};

/// How many samples a value is made of, and the variance that follows from them.
///
/// Samples are random, each worth its share of the stack's value, so that a value is a compound Poisson variable: its
/// variance is the sum of the squared values of its samples. This is a lower bound; runs differ by more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SamplingError {
    /// None if the profile does not contain it.
    pub(crate) samples: Option<f64>,
    /// In the square of the value's unit.
    pub(crate) variance: f64,
}

impl Default for SamplingError {
    fn default() -> Self {
        SamplingError { samples: Some(0.0), variance: 0.0 }
    }
}

impl SamplingError {
    /// The error of a sum.
    pub(crate) fn with(self, other: SamplingError) -> SamplingError {
        SamplingError {
            samples: self.samples.zip(other.samples).map(|(sum, more)| sum + more),
            variance: self.variance + other.variance,
        }
    }

    fn add(&mut self, value: i64, samples: Option<f64>) {
        self.samples = self.samples.zip(samples).map(|(sum, more)| sum + more);
        if let Some(samples) = samples.filter(|samples| *samples > 0.0) {
            let value = value as f64;
            self.variance += value * value / samples;
        }
    }
}

/// The cost of one function.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) flat: i64,
    pub(crate) cumulative: i64,
    pub(crate) flat_error: SamplingError,
    pub(crate) cumulative_error: SamplingError,
}

/// The costs of all functions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tallies {
    pub(crate) nodes: Vec<Tally>,
    /// The sum of the flat values.
    pub(crate) flat_total: i64,
    /// The error of that sum.
    pub(crate) error: SamplingError,
    pub(crate) samples: Option<f64>,
    /// The sum of negative stacks.
    pub(crate) negative: i64,
}

pub(crate) fn tally(view: &View<'_>) -> Tallies {
    let mut tallies = Tallies { nodes: vec![Tally::default(); view.node_count()], ..Tallies::default() };
    // The number of the last stack that contained each function.
    let mut last_stack = vec![0_usize; view.node_count()];
    for (number, stack) in (1..).zip(view.stacks()) {
        for Node(node) in view.frames(&stack) {
            let node = node as usize;
            if last_stack[node] != number {
                last_stack[node] = number;
                let tally = &mut tallies.nodes[node];
                tally.cumulative = tally.cumulative.saturating_add(stack.value);
                tally.cumulative_error.add(stack.value, stack.samples);
            }
        }
        if let Some(Node(leaf)) = view.leaf(&stack) {
            let tally = &mut tallies.nodes[leaf as usize];
            tally.flat = tally.flat.saturating_add(stack.value);
            tally.flat_error.add(stack.value, stack.samples);
            tallies.flat_total = tallies.flat_total.saturating_add(stack.value);
            tallies.error.add(stack.value, stack.samples);
            tallies.negative = tallies.negative.saturating_add(stack.value.min(0));
        }
    }
    tallies.samples = tallies.error.samples;
    tallies
}
