//! An objective of a run under way, as it is shown. Who computes it decides nothing: the run is judged when it is over.

use crate::number;

/// An objective, by what was counted so far.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveNow {
    /// Its name in the plan.
    pub name: String,
    /// Its text in the plan.
    pub source: String,
    /// The value so far, in its unit; infinite where too much failed.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: &'static str,
    /// How far it is decided.
    pub stage: Stage,
    /// Of an objective on a share of arrivals.
    pub interval: Option<IntervalNow>,
    /// Of one that stops the run: since when its value does not hold, and from when on that ends the run.
    pub stop: Option<StopNow>,
}

/// The share of arrivals on the wrong side of a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalNow {
    /// The share so far.
    pub observed: f64,
    /// It is at least this.
    pub lower: f64,
    /// It is at most this.
    pub upper: f64,
    /// It may be this.
    pub allowed: f64,
}

/// Of an objective that stops the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopNow {
    /// The second since which its value does not hold; none while it holds.
    pub failing_since_s: Option<u32>,
    /// The second from which on the run ends for it.
    pub not_before_s: u32,
}

/// How far an objective is decided by the arrivals so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Nothing that it counts has ended.
    NothingCounted,
    /// Its interval is on the right side of the bound.
    Met,
    /// Its interval is on the wrong side.
    Violated,
    /// Its interval contains the bound, after too few seconds to say for how long.
    OpenEarly,
    /// Its interval contains the bound.
    Open {
        /// In so many seconds it is decided, if shares, clusters and arrivals a second stay as they are.
        decided_in_s: Option<f64>,
        /// So many seconds are left in which arrivals count for it.
        left_s: f64,
    },
    /// There is no interval, only a value, which holds or does not.
    ValueOnly {
        /// Whether it holds.
        holds: bool,
    },
    /// It is not evaluated before the run is judged.
    AtTheEnd,
}

impl Stage {
    /// In words; no more arrivals come for it where the run is stopping.
    pub(super) fn words(self, is_stopping: bool) -> String {
        match self {
            Stage::NothingCounted => "nothing counted yet".to_owned(),
            Stage::Met => "met so far".to_owned(),
            Stage::Violated => "violated so far".to_owned(),
            Stage::OpenEarly => (if is_stopping { "stays undecided" } else { "not decided yet" }).to_owned(),
            Stage::Open { left_s, .. } if is_stopping || left_s < 0.5 => "stays undecided".to_owned(),
            Stage::Open { decided_in_s: None, .. } => "too close to its bound".to_owned(),
            Stage::Open { decided_in_s: Some(seconds), left_s } if seconds <= left_s => {
                format!("decided in about {}", about(seconds))
            }
            Stage::Open { decided_in_s: Some(seconds), left_s } => {
                format!("needs {}, {} left", about(seconds), number::duration(left_s.max(0.0).round() as u64))
            }
            Stage::ValueOnly { holds: true } => "holds, judged at the end".to_owned(),
            Stage::ValueOnly { holds: false } => "misses, judged at the end".to_owned(),
            Stage::AtTheEnd => "judged at the end".to_owned(),
        }
    }
}

/// Seconds as they may be said of an estimate: whole ones below 10, then fives, tens, minutes and hours.
fn about(seconds: f64) -> String {
    let rounded = |step: f64| ((seconds / step).round() * step).max(1.0) as u64;
    match seconds {
        s if s < 9.5 => number::duration(rounded(1.0)),
        s if s < 57.5 => number::duration(rounded(5.0)),
        s if s < 115.0 => format!("{} s", rounded(10.0)),
        s if s < 3_570.0 => number::duration(rounded(60.0)),
        _ => number::duration(rounded(3_600.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_said_as_roughly_as_it_is_known() {
        let open = |decided_in_s, left_s| Stage::Open { decided_in_s, left_s }.words(false);
        for (seconds, words) in [
            (0.2, "decided in about 1 s"),
            (8.6, "decided in about 9 s"),
            (12.7, "decided in about 15 s"),
            (41.0, "decided in about 40 s"),
            (58.0, "decided in about 60 s"),
            (96.0, "decided in about 100 s"),
            (500.0, "decided in about 8 min"),
            (9_000.0, "decided in about 3 h"),
        ] {
            assert_eq!(open(Some(seconds), 1e6), words);
        }
        assert_eq!(open(Some(500.0), 61.0), "needs 8 min, 1 min 1 s left");
        assert_eq!(open(None, 61.0), "too close to its bound");
        assert_eq!(Stage::OpenEarly.words(false), "not decided yet");
        for decided_in_s in [None, Some(3.0), Some(500.0)] {
            assert_eq!(open(decided_in_s, 0.0), "stays undecided", "no arrival is due any more");
            let stopping = Stage::Open { decided_in_s, left_s: 61.0 }.words(true);
            assert_eq!(stopping, "stays undecided", "the run is stopping");
        }
    }
}
