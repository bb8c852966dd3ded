//! Runs that end as soon as every objective passes at two looks in turn, or one is violated.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How often such a run is judged: at these equal parts of its planned time, the last time at its end.
pub const LOOKS: u32 = 4;
/// The confidence of each limit at each of [`LOOKS`], one-sided: so that a verdict by any of them is wrong in 5 % of the runs
/// at most, as one at 95 % by a single look is. Derived from 400,000 simulated runs with seed 1 by
/// `cargo test -p simulation the_level_of_a_look`; the idea of one level for all looks is S. J. Pocock's, "Group sequential
/// methods in the design and analysis of clinical trials", Biometrika 64, 1977.
pub const LOOK_CONFIDENCE: f64 = 0.981;
/// So much of the time that objectives count has passed at the first look: six batches of ten seconds, fewer of which do not
/// show how slow requests cluster.
pub const EARLIEST_LOOK: Duration = Duration::from_secs(60);
/// Of a run that is judged once.
const SINGLE_CONFIDENCE: f64 = 0.95;

/// When a run is judged besides at its end, and at which confidence. It is stored with the run, so that judging it again
/// gives the same verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UntilDecided {
    /// When what there is by then is judged, from the start of the run, ascending; never where an objective needs the whole run.
    pub looks: Vec<Duration>,
    /// The confidence of each limit, one-sided, at every look and at the end.
    pub confidence: f64,
    /// Objectives that need the whole run; one is enough to keep it going.
    pub whole_run: Vec<WholeRunObjective>,
}

/// An objective that a part of the run cannot decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WholeRunObjective {
    pub objective: String,
    /// Why, as the rest of a sentence about it.
    pub why: String,
}

impl UntilDecided {
    /// A run that is judged at these times and at its end, or only there if any objective needs all of it.
    pub fn new(looks: Vec<Duration>, whole_run: Vec<WholeRunObjective>) -> UntilDecided {
        let (looks, confidence) = match whole_run.is_empty() && !looks.is_empty() {
            true => (looks, LOOK_CONFIDENCE),
            false => (Vec::new(), SINGLE_CONFIDENCE),
        };
        UntilDecided { looks, confidence, whole_run }
    }

    /// How a run ended that was decided, and stopped at this time: `after 50 % of the planned time, decided
    /// at 98.1 %`.
    pub fn ended_at(&self, at: Duration) -> String {
        let is_over = |look: &&Duration| **look <= at;
        let too_early = (LOOKS as usize - 1).saturating_sub(self.looks.len());
        let passed = too_early + self.looks.iter().filter(is_over).count();
        let (share, confidence) = (100 * passed / LOOKS as usize, percent(self.confidence));
        format!("after {share} % of the planned time, decided at {confidence} %")
    }
}

/// `judged at 15 s, 30 s and 45 s …`, or why it is not.
impl fmt::Display for UntilDecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let confidence = percent(self.confidence);
        if self.whole_run.is_empty() && self.looks.is_empty() {
            return write!(
                f,
                "the run lasts to its planned end, where it is judged at {confidence} %: a look needs {} s, and three quarters of \
                 the time that objectives count are less",
                EARLIEST_LOOK.as_secs()
            );
        }
        if self.whole_run.is_empty() {
            let at: Vec<String> = self.looks.iter().map(|look| format!("{} s", look.as_secs())).collect();
            return write!(
                f,
                "the run ends when every objective passes at two looks in turn, or one is violated: judged at {} and at the end, each time at {confidence} %",
                at.join(", ")
            );
        }
        let why = |whole: &WholeRunObjective| format!("`{}` {}", whole.objective, whole.why);
        let reasons: Vec<String> = self.whole_run.iter().map(why).collect();
        write!(
            f,
            "the run lasts to its planned end, where it is judged at {confidence} %: {}",
            reasons.join("; ")
        )
    }
}

fn percent(share: f64) -> f64 {
    (share * 1_000.0).round() / 10.0
}
