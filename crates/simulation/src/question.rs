//! What a simulation asks, and how often the answers were wrong.

/// A statement whose truth is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The statement.
    pub text: String,
    /// Whether it is true.
    pub truth: Truth,
    /// How often answers may be wrong.
    pub limits: Limits,
}

/// Whether a statement is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// It is true: FAIL is wrong.
    Met,
    /// The truth is at the bound: either answer is wrong.
    AtBound,
    /// It is false: PASS is wrong.
    Violated,
}

/// The largest shares of answers, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Of wrong PASS, and of wrong FAIL; 1: any share, because the report says that it does not exclude what is simulated.
    pub wrong: f64,
    /// Of PASS kept, at least; none: any share may be undecided.
    pub kept: Option<f64>,
}

/// The verdict on a statement; of an interval, whether it contains the true value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenVerdict {
    /// The statement is true; the interval ends below the true value.
    Pass,
    /// The statement is false; the interval begins above the true value.
    Fail,
    /// The evidence does not decide it; the interval contains the true value.
    Undecided,
}

/// How often a question was answered how.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    pub question: Question,
    /// Answers of each kind.
    pub passed: u64,
    /// See `passed`.
    pub failed: u64,
    /// See `passed`.
    pub undecided: u64,
}

/// A simulated share above its limit by chance: with this probability at most.
const CHANCE: f64 = 0.001;

impl Tally {
    pub(crate) fn of(question: Question) -> Tally {
        Tally { question, passed: 0, failed: 0, undecided: 0 }
    }

    pub(crate) fn add(&mut self, answer: GivenVerdict) {
        match answer {
            GivenVerdict::Pass => self.passed += 1,
            GivenVerdict::Fail => self.failed += 1,
            GivenVerdict::Undecided => self.undecided += 1,
        }
    }

    /// Adds the answers of other runs to the same question.
    pub fn merge(&mut self, other: &Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.undecided += other.undecided;
    }

    /// How many runs were simulated.
    pub fn runs(&self) -> u64 {
        self.passed + self.failed + self.undecided
    }

    /// How many passed although the truth is at or beyond the bound; none where PASS is right.
    pub fn wrong_pass(&self) -> Option<u64> {
        (self.question.truth != Truth::Met).then_some(self.passed)
    }

    /// How many failed although the truth is at or within the bound; none where FAIL is right.
    pub fn wrong_fail(&self) -> Option<u64> {
        (self.question.truth != Truth::Violated).then_some(self.failed)
    }

    /// Whether no figure exceeds its limit by more than chance explains: by the exact limits of a share (Clopper and Pearson)
    /// at 99.9 %.
    pub fn is_within_limits(&self) -> bool {
        let Limits { wrong, kept } = self.question.limits;
        let exceeds = |count: u64, limit: f64| {
            stats::share_limits(count as f64, self.runs() as f64, 1.0 - CHANCE).lower > limit
        };
        let is_wrong = self.wrong_pass().is_some_and(|count| exceeds(count, wrong))
            || self.wrong_fail().is_some_and(|count| exceeds(count, wrong));
        let is_lost = kept.is_some_and(|kept| exceeds(self.runs() - self.passed, 1.0 - kept));
        !is_wrong && !is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(truth: Truth, [passed, failed, undecided]: [u64; 3]) -> Tally {
        let limits = Limits { wrong: 0.05, kept: None };
        Tally { question: Question { text: String::new(), truth, limits }, passed, failed, undecided }
    }

    #[test]
    fn chance_explains_no_more_than_a_few_wrong_answers() {
        assert!(tally(Truth::AtBound, [60, 55, 885]).is_within_limits());
        assert!(!tally(Truth::AtBound, [80, 0, 920]).is_within_limits());
        assert!(!tally(Truth::AtBound, [0, 80, 920]).is_within_limits());
        assert!(tally(Truth::Met, [1000, 0, 0]).is_within_limits());
        assert!(!tally(Truth::Violated, [1000, 0, 0]).is_within_limits());
        assert!(!tally(Truth::Met, [0, 100, 900]).is_within_limits());
    }

    #[test]
    fn undecided_runs_count_where_pass_must_be_kept() {
        let mut tally = tally(Truth::Met, [950, 0, 50]);
        assert!(tally.is_within_limits());
        tally.question.limits.kept = Some(0.99);
        assert!(!tally.is_within_limits());
    }
}
