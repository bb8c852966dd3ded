//! Carry-over: requests that were due in an earlier phase and ended in a later one.

use evidence::run::{ReadError, select};
use evidence::{Metric, Outcome, Run, Seconds};
use figures::PhaseWindow;

/// A second is one of carry-over when at least this share of its responses was due in an earlier phase.
pub(crate) const CARRIED_SHARE: f64 = 0.10;

/// A phase that began with requests of earlier ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CarryOver {
    /// The phase that worked it off.
    pub(crate) phase: String,
    /// Seconds from its beginning on in which a substantial share of the responses was due earlier.
    pub(crate) drained_s: u32,
    /// Responses from earlier phases in these seconds. The first second is not counted: requests in flight when the
    /// phase begins end in it.
    pub(crate) carried: u64,
    /// Length of the phase, in seconds.
    pub(crate) length_s: f64,
}

/// Responses of one second.
#[derive(Debug, Clone, Copy, Default)]
struct EndedCounts {
    /// Due in an earlier phase.
    earlier: u64,
    all: u64,
}

/// The carry-over of every phase that began with one. A response is recorded under the phase in which it was due.
pub(super) fn carry_overs(run: &dyn Run, phases: &[PhaseWindow]) -> Result<Vec<CarryOver>, ReadError> {
    let mut carry_overs = Vec::new();
    for (index, phase) in phases.iter().enumerate().skip(1) {
        let seconds = phase.seconds();
        let window = seconds.start + 1..seconds.end.min(run.seconds());
        if window.is_empty() {
            continue;
        }
        let earlier: Vec<&str> = phases[..index].iter().map(|before| before.name.as_str()).collect();
        let (mut carried, mut drained_s) = (0, 0);
        for (second, ended) in (1..).zip(ended_by_second(run, &earlier, &window)?) {
            if (ended.earlier as f64) < CARRIED_SHARE * ended.all as f64 || ended.earlier == 0 {
                break;
            }
            (carried, drained_s) = (carried + ended.earlier, second + 1);
        }
        if carried > 0 {
            let length_s = phase.length_s();
            carry_overs.push(CarryOver { phase: phase.name.clone(), drained_s, carried, length_s });
        }
    }
    Ok(carry_overs)
}

fn ended_by_second(run: &dyn Run, earlier: &[&str], window: &Seconds) -> Result<Vec<EndedCounts>, ReadError> {
    let mut seconds = vec![EndedCounts::default(); window.len()];
    let is_end = |key: &evidence::Key| key.outcome != Some(Outcome::Cancelled);
    for (id, key) in select(run.keys(), Metric::ResponseTime, is_end) {
        let is_earlier = earlier.contains(&&*key.phase);
        for (second, times) in run.histograms(id, window.clone())? {
            let ended = &mut seconds[(second - window.start) as usize];
            ended.earlier += if is_earlier { times.count() } else { 0 };
            ended.all += times.count();
        }
    }
    Ok(seconds)
}
