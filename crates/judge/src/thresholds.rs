//! Every threshold of every rule, so that they can be read, argued with and changed in one place.
//! Shares are from 0 to 1.

/// L1: a smaller share of arrivals kept is invalid.
pub(crate) const KEPT_INVALID: f64 = 0.99;
/// L1: a smaller share of arrivals kept is a caution.
pub(crate) const KEPT_CAUTION: f64 = 0.995;
/// L1: a smaller share of arrivals kept in any window of [`WINDOW_S`] is a caution.
pub(crate) const KEPT_IN_WINDOW: f64 = 0.95;
/// L1, L3: the window in which a short lack shows, in seconds.
pub(crate) const WINDOW_S: u32 = 10;

/// L2: a larger share of arrivals dropped late is invalid.
pub(crate) const LATE_INVALID: f64 = 0.01;
/// L2: a larger share of arrivals dropped late is a caution.
pub(crate) const LATE_CAUTION: f64 = 0.001;
/// L2: the largest 99th percentile of start lag, as a share of the gated quantile …
pub(crate) const LAG_SHARE: f64 = 0.05;
/// L2: … but never less than this, in milliseconds.
pub(crate) const LAG_FLOOR_MS: f64 = 1.0;

/// L3: the most a loop may use of a core.
pub(crate) const LOOP_CPU: f64 = 0.80;
/// L3: the largest 99th percentile of loop stalls, in milliseconds.
pub(crate) const STALL_MS: f64 = 2.0;

/// L4: the largest share of a phase that may be spent at the cap.
pub(crate) const AT_CAP: f64 = 0.01;
/// L4: the largest share of the cap that rate × iteration time may come to.
pub(crate) const CAP_USE: f64 = 0.90;

/// L5: fewer whole seconds say nothing.
pub(crate) const LEAST_WINDOW_S: u32 = 20;
/// L5: what was under way and what rate and times make of it may be this far apart, as a share …
pub(crate) const LITTLE_CAUTION: f64 = 0.02;
/// L5: … and from here on one of them is wrong.
pub(crate) const LITTLE_INVALID: f64 = 0.05;

/// L6: by how much arrivals may differ from the plan's, for rounding.
pub(crate) const PLAN_GAP: u64 = 1;

/// L6: a larger gap in the books of an imported run is invalid, a smaller one a caution.
pub(crate) const IMPORTED_GAP: f64 = 0.001;

/// Q1: the largest difference of failure rates in one pool.
pub(crate) const POOLED_FAILURES: f64 = 0.01;
/// Q1: the largest ratio of medians in one pool.
pub(crate) const POOLED_MEDIANS: f64 = 2.0;
/// Q1: a group of fewer observations is too small for its rate or median to be compared.
pub(crate) const POOLED_GROUP: u64 = 100;

/// Q2: from this share of the time limit on a response counts as cut off by it.
pub(crate) const NEAR_TIMEOUT: f64 = 0.98;

/// Q3: a larger share of failed or dropped arrivals is invalid for a number about successes.
pub(crate) const SURVIVORS_INVALID: f64 = 0.01;
/// Q3: a larger share of failed or dropped arrivals is a caution for it.
pub(crate) const SURVIVORS_CAUTION: f64 = 0.001;

/// Q4: with fewer successes a mean above the 95th percentile says little: 20 beyond the quantile.
pub(crate) const BIMODAL_SAMPLES: u64 = 400;

/// S4: with fewer arrivals beyond it a quantile is not gated.
pub(crate) const TAIL_GATED: f64 = 100.0;
/// S4: with fewer, or fewer independent ones, it is no more than a hint.
pub(crate) const TAIL_SHOWN: f64 = 20.0;
/// S4: a clustered tail leaves the answer open unless the interval from batches, this many times as wide, is
/// clear of the bound.
pub(crate) const CLEAR_WIDTHS: f64 = 3.0;

/// T1, T2: endpoints with fewer requests in a usual second are not looked at.
pub(crate) const COURSE_RATE: f64 = 10.0;
/// T1, T2: the 95th percentile of a second is looked at from so many requests a second on.
pub(crate) const COURSE_P95_RATE: f64 = 40.0;
/// T1: half of the margin within which quantiles are called equal; a warm-up that moves one by more is in the way.
pub(crate) const WARM_UP_MOVES: f64 = 0.025;
/// T1: another way to find the cut disagrees from this share of the phase on.
pub(crate) const MSER_APART: f64 = 0.2;
/// T2: failures in a few seconds are a burst from this many beyond the mean on, as a share.
pub(crate) const BURST: f64 = 0.05;
/// T2: how many seconds these are.
pub(crate) const BURST_BATCH_S: u32 = 5;

/// T4: a smaller share of successes voids the latency of a phase.
pub(crate) const WORKING: f64 = 0.50;

/// T5: seconds in which fewer of the responses were due in an earlier phase are not spent on a backlog.
pub(crate) const CARRIED_SHARE: f64 = 0.10;
/// T5: fewer than this are no backlog.
pub(crate) const CARRIED: u64 = 10;
/// T5: working the backlog off took so much of the phase that it is in its 95th percentile.
pub(crate) const CARRIED_INVALID: f64 = 0.05;

/// S9: the most that neighbours may take of the processors, in the mean …
pub(crate) const STEAL_MEAN: f64 = 0.01;
/// S9: … and in any window of [`WINDOW_S`].
pub(crate) const STEAL_WINDOW: f64 = 0.05;
/// S9: how far apart frequencies may be.
pub(crate) const FREQUENCY_APART: f64 = 0.05;
/// S9: the most that anybody may wait for memory or a processor, as a share of [`WINDOW_S`].
pub(crate) const PRESSURE: f64 = 0.05;
/// S9: the most that others may use while somebody waits for a processor.
pub(crate) const OTHERS_CORES: f64 = 0.25;

/// Length of the batches of which intervals are made, in seconds.
pub(crate) const BATCH_S: u32 = 10;

/// C1: failed shares differ from this on …
pub(crate) const ERRORS_APART: f64 = 0.001;
/// C1: … if chance alone would show as much less often than this.
pub(crate) const ERRORS_CHANCE: f64 = 0.001;
/// C2: mixes of endpoints differ from this total variation on …
pub(crate) const MIX_APART: f64 = 0.01;
/// C2: … if chance alone would show as much less often than this.
pub(crate) const MIX_CHANCE: f64 = 0.001;
/// C2: by how much the size of an answer may differ.
pub(crate) const BYTES_APART: f64 = 0.02;
/// C2: … and by how many at all: a header that a connection has carried before takes a few bytes less.
pub(crate) const BYTES_OF_FRAMING: f64 = 32.0;
/// C6: by how much what is stored at the start may differ.
pub(crate) const STATE_APART: f64 = 0.05;

/// L7: fewer failures in the last second are nothing to speak of.
pub(crate) const CUTOFF_FAILURES: u64 = 10;
/// L7: how near to the number in flight failures of the last second are its cut-off.
pub(crate) const CUTOFF_NEAR: f64 = 0.15;
