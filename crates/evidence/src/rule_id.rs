//! The names of the validity rules.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The short name of a validity rule, in the order in which findings of one severity are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RuleId {
    /// `evidence-changed`
    A1,
    /// `offered-load-not-reached`
    L1,
    /// `dropped-or-late`
    L2,
    /// `generator-saturated`
    L3,
    /// `closed-loop-or-capped`
    L4,
    /// `little-mismatch`
    L5,
    /// `accounting-identity`
    L6,
    /// `end-of-run-cutoff`
    L7,
    /// `waited-for-connection`
    L8,
    /// `sent-again`
    L9,
    /// `worker-vanished`
    W1,
    /// `worker-clock`
    W2,
    /// `worker-differs`
    W3,
    /// `worker-unlike-others`
    W4,
    /// `error-rates-differ`
    C1,
    /// `workload-mismatch`
    C2,
    /// `load-shape-mismatch`
    C3,
    /// `environment-mismatch`
    C4,
    /// `not-the-shipped-config`
    C5,
    /// `state-not-reset`
    C6,
    /// `baseline-provenance`
    C7,
    /// `not-one-change`
    C8,
    /// `single-run`
    S1,
    /// `pooled-phases`
    Q1,
    /// `censored-quantile`
    Q2,
    /// `survivors-only`
    Q3,
    /// `impossible-or-bimodal`
    Q4,
    /// `averaged-percentiles`
    Q5,
    /// `profile-window-or-denominator`
    Q7,
    /// `profile-sample-too-small`
    Q8,
    /// `not-measured-is-not-zero`
    Q9,
    /// `too-few-tail-samples`
    S4,
    /// `noisy-host`
    S9,
    /// `warm-up-included`
    T1,
    /// `not-steady`
    T2,
    /// `functional-failure-phase`
    T4,
    /// `carry-over`
    T5,
    /// `iterations-threw`
    T6,
    /// `backlog`
    T7,
    /// `malformed-http`
    T8,
    /// `observation-gap`
    O1,
    /// `leak-claim`
    M4,
    /// `prediction-as-result`
    M5,
    /// `partial-pass`
    M6,
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A variant's name is the rule's.
        f.pad(&format!("{self:?}"))
    }
}
