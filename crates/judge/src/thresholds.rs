//! Every threshold of every rule, in one place. Shares are from 0 to 1.

/// L1: a smaller share of delivered arrivals is invalid.
pub(crate) const DELIVERED_INVALID: f64 = 0.99;
/// L1: a smaller share of delivered arrivals is a caution.
pub(crate) const DELIVERED_CAUTION: f64 = 0.995;
/// L1: a smaller share of delivered arrivals in any window of [`WINDOW_S`] is a caution.
pub(crate) const DELIVERED_IN_WINDOW: f64 = 0.95;
/// L1, L3, S9: the window in which a short disturbance is looked for, in seconds.
pub(crate) const WINDOW_S: u32 = 10;

/// L2: a larger share of arrivals dropped because the generator was late is invalid.
pub(crate) const LATE_INVALID: f64 = 0.01;
/// L2: a larger share of arrivals dropped because the generator was late is a caution.
pub(crate) const LATE_CAUTION: f64 = 0.001;
/// L2: the largest 99th percentile of start lag, as a share of an objective's limit …
pub(crate) const LAG_SHARE: f64 = 0.05;
/// L2: … but never less than this, in milliseconds.
pub(crate) const LAG_FLOOR_MS: f64 = 1.0;

/// L3: the most a loop may use of a core.
pub(crate) const LOOP_CPU: f64 = 0.80;
/// L3: the largest 99th percentile of loop stalls, in milliseconds.
pub(crate) const STALL_MS: f64 = 2.0;

/// L4: the largest share of a phase that a scenario may be at its VU limit.
pub(crate) const AT_VU_LIMIT: f64 = 0.01;
/// L4: the largest share of the VU limit that rate × iteration time may reach.
pub(crate) const VU_LIMIT_USE: f64 = 0.90;

/// L5: with fewer whole seconds it is not tested.
pub(crate) const LEAST_WINDOW_S: u32 = 20;
/// L5: a larger difference between observed and implied concurrency, as a share, is a caution …
pub(crate) const LITTLE_CAUTION: f64 = 0.02;
/// L5: … and a larger one than this is invalid.
pub(crate) const LITTLE_INVALID: f64 = 0.05;

/// L6: the largest difference between arrivals and the plan's, for rounding.
pub(crate) const PLAN_GAP: u64 = 1;

/// L6: a larger gap in the counts of an imported run is invalid, a smaller one a caution.
pub(crate) const IMPORTED_GAP: f64 = 0.001;

/// Q1: the largest difference of failure rates in one pool.
pub(crate) const POOLED_FAILURES: f64 = 0.01;
/// Q1: the largest ratio of medians in one pool.
pub(crate) const POOLED_MEDIANS: f64 = 2.0;
/// Q1: groups of fewer observations are not compared.
pub(crate) const POOLED_GROUP: u64 = 100;

/// Q2: a response that took this share of its time limit counts as cut off by it.
pub(crate) const NEAR_TIMEOUT: f64 = 0.98;

/// Q3: a larger share of failed or dropped arrivals is invalid for a number about successes.
pub(crate) const SURVIVORS_INVALID: f64 = 0.01;
/// Q3: a larger share of failed or dropped arrivals is a caution for it.
pub(crate) const SURVIVORS_CAUTION: f64 = 0.001;

/// Q4: with fewer successes, fewer than 20 are beyond the 95th percentile, and it is not compared with the mean.
pub(crate) const BIMODAL_SAMPLES: u64 = 400;

/// S4: a quantile with fewer arrivals beyond it is not gated.
pub(crate) const TAIL_GATED: f64 = 100.0;
/// S4: one with fewer arrivals, or fewer independent ones, is no more than a hint.
pub(crate) const TAIL_SHOWN: f64 = 20.0;
/// S4: a clustered tail is inconclusive unless the interval from batches, this many times as wide, does not include
/// the bound.
pub(crate) const CLEAR_WIDTHS: f64 = 3.0;

/// T1, T2: endpoints with fewer requests in the median second are not analysed.
pub(crate) const STEADY_MIN_RATE: f64 = 10.0;
/// T1, T2: the 95th percentile of a second is analysed from so many requests a second on.
pub(crate) const STEADY_P95_MIN_RATE: f64 = 40.0;
/// T1: a warm-up that changes a quantile by more than this share affects it; half of the margin within which quantiles
/// are called equal.
pub(crate) const WARM_UP_MOVES: f64 = 0.025;
/// T1: MSER-5 disagrees when its cut is more than this share of the phase away.
pub(crate) const MSER_APART: f64 = 0.2;
/// T2: a failed share in a few seconds that exceeds the mean by more than this is a burst.
pub(crate) const BURST: f64 = 0.05;
/// T2: how many seconds those are.
pub(crate) const BURST_BATCH_S: u32 = 5;

/// T4: a smaller share of successes invalidates the latency of a phase.
pub(crate) const MIN_SUCCESS: f64 = 0.50;

/// T5: a second belongs to the backlog when at least this share of its responses was due in an earlier phase.
pub(crate) const CARRIED_SHARE: f64 = 0.10;
/// T5: fewer such responses are no backlog.
pub(crate) const CARRIED: u64 = 10;
/// T5: a backlog that takes this share of the phase affects its 95th percentile, and is invalid.
pub(crate) const CARRIED_INVALID: f64 = 0.05;

/// S9: the largest share of the processors that neighbours may take, in the mean …
pub(crate) const STEAL_MEAN: f64 = 0.01;
/// S9: … and in any window of [`WINDOW_S`].
pub(crate) const STEAL_WINDOW: f64 = 0.05;
/// S9: the largest difference of frequencies, as a share.
pub(crate) const FREQUENCY_APART: f64 = 0.05;
/// S9: the largest share of [`WINDOW_S`] in which a process may wait for memory or a processor.
pub(crate) const PRESSURE: f64 = 0.05;
/// S9: the most cores that other processes may use while a process waits for a processor.
pub(crate) const OTHERS_CORES: f64 = 0.25;

/// Length of the batches that intervals are computed from, in seconds.
pub(crate) const BATCH_S: u32 = 10;

/// C1: failed shares differ when they are further apart than this …
pub(crate) const ERRORS_APART: f64 = 0.001;
/// C1: … and the test gives a smaller probability for chance alone.
pub(crate) const ERRORS_CHANCE: f64 = 0.001;
/// C2: mixes of endpoints differ when their total variation is larger than this …
pub(crate) const MIX_APART: f64 = 0.01;
/// C2: … and the test gives a smaller probability for chance alone.
pub(crate) const MIX_CHANCE: f64 = 0.001;
/// C2: the largest difference of response sizes, as a share …
pub(crate) const BYTES_APART: f64 = 0.02;
/// C2: … and in bytes: a header that was sent on the connection before takes a few bytes less.
pub(crate) const BYTES_OF_FRAMING: f64 = 32.0;
/// C6: the largest difference of stored data at the start, as a share.
pub(crate) const STATE_APART: f64 = 0.05;

/// L7: fewer failures in the last second are ignored.
pub(crate) const CUTOFF_FAILURES: u64 = 10;
/// L7: failures of the last second that differ from the requests in flight by no more than this share are cut-offs.
pub(crate) const CUTOFF_NEAR: f64 = 0.15;
