//! What is made of each look and each round of calls; without a clock, so that it can be tested.

use std::time::Duration;

/// Between two looks.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long the wait must be above its target before there is a line: a machine that was busy with something else for
/// a moment is no overload.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long the line must have ended again and again, and nobody been kept outside, before there is none. Who was not
/// heard when he connected tries again after a second.
const RELIEF: Duration = Duration::from_millis(1_200);
/// How long it must have stood without an end before anybody is refused: what is worked off sooner was a burst.
const STANDS: Duration = Duration::from_secs(1);
/// Who has waited for less is not refused; who has waited for longer is not served as long as the line stands, or all
/// the time would go into answers that come too late.
const TOO_LATE: Duration = Duration::from_millis(50);
/// The part of the time that may be spent on refusing while there is work that is of use. More would leave too little
/// for work where a refusal costs nearly as much as that; less would let too many wait in vain where it costs little.
const REFUSING: f64 = 0.25;
/// Time for refusing that was not used is kept up to so much.
const MOST_CREDIT_S: f64 = 0.01;
/// Called at once. Small, so that who comes meanwhile is seen soon; large beside the cost of a round.
const ROUND: usize = 16;

/// What is done in the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nobody stands in line.
    Rest,
    /// Up to so many of the newest are served.
    Serve(usize),
    /// Up to so many of the oldest are refused that have waited for so long.
    Refuse(usize, Duration),
}

/// Who waits, as seen between two rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waiting {
    /// How long the oldest and the newest in line have waited.
    pub(super) line: Option<(Duration, Duration)>,
    /// As many connections were taken in as may be; there may be more.
    pub(super) is_door_shut: bool,
}

#[derive(Debug)]
pub(super) struct Pace {
    target: Duration,
    /// For how long the wait has been above its target.
    late: Duration,
    /// For how long the line has been standing without an end.
    standing: Duration,
    /// For how long it has not stood longer than the target, with nobody outside.
    relieved: Duration,
    /// Time that may be spent on refusing.
    credit_s: f64,
    /// Whether somebody is in line whose answer would come in time.
    has_work: bool,
}

impl Pace {
    /// `target` is how long a task that is ready may wait.
    pub(super) fn new(target: Duration) -> Self {
        let zero = Duration::ZERO;
        Self { target, late: zero, standing: zero, relieved: zero, credit_s: 0.0, has_work: true }
    }

    /// Whether a line is needed, after a wait.
    pub(super) fn look(&mut self, wait: Duration) -> bool {
        self.late = if wait > self.target { self.late + wait + LOOK_EVERY } else { Duration::ZERO };
        let is_behind = self.late >= PATIENCE;
        if is_behind {
            *self = Self::new(self.target);
        }
        is_behind
    }

    /// Whether the line has stood for too long.
    pub(super) fn is_overload(&self) -> bool {
        self.standing >= STANDS
    }

    /// What is next, after what was done, how long that took, and who waits then; `None` when no line is needed any more.
    pub(super) fn round(&mut self, done: Next, took: Duration, waiting: Waiting) -> Option<Next> {
        self.standing = if waiting.line.is_some() { self.standing + took } else { Duration::ZERO };
        let is_late = self.standing > self.target || waiting.is_door_shut;
        self.relieved = if is_late { Duration::ZERO } else { self.relieved + took };
        if self.relieved >= RELIEF {
            return None;
        }
        self.credit_s += match done {
            Next::Refuse(..) if self.has_work => -took.as_secs_f64(),
            Next::Refuse(..) => 0.0,
            Next::Serve(_) | Next::Rest => took.as_secs_f64() * REFUSING / (1.0 - REFUSING),
        };
        self.credit_s = self.credit_s.min(MOST_CREDIT_S);
        self.has_work = waiting.line.is_some_and(|(_, newest)| newest <= TOO_LATE);
        let is_overload = self.is_overload();
        Some(match waiting.line {
            None => Next::Rest,
            Some((oldest, _))
                if is_overload && oldest > TOO_LATE && (self.credit_s > 0.0 || !self.has_work) =>
            {
                Next::Refuse(ROUND, TOO_LATE)
            }
            Some(_) => Next::Serve(ROUND),
        })
    }
}

#[cfg(test)]
mod tests;
