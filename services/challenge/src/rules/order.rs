//! Which of two events happened first, as their publisher tells it and not as they arrive.

use kit::clock::UtcMs;

/// An event's place among the others: by version, then by time. What is not told comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventOrder {
    /// The version that the publisher numbered it with.
    pub version: Option<i64>,
    /// When it happened.
    pub told_at: Option<UtcMs>,
}

impl EventOrder {
    /// Whether it certainly happened before `other`. An event that tells neither version nor time is before none, and
    /// none is before it: then the order of arrival is all there is.
    #[must_use]
    pub fn is_before(self, other: Self) -> bool {
        let is_told = |order: Self| order != Self::default();
        is_told(self) && is_told(other) && self < other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(version: i64, ms: i64) -> EventOrder {
        let told = |number| (number != 0).then_some(number);
        EventOrder { version: told(version), told_at: told(ms).map(UtcMs) }
    }

    #[test]
    fn version_decides_then_time() {
        for (earlier, later) in
            [((1, 9), (2, 3)), ((1, 3), (1, 9)), ((0, 3), (0, 9)), ((1, 0), (2, 0)), ((-1, 0), (1, 0))]
        {
            let (earlier, later) = (order(earlier.0, earlier.1), order(later.0, later.1));
            assert!(earlier.is_before(later) && !later.is_before(earlier), "{earlier:?} {later:?}");
        }
    }

    #[test]
    fn without_word_of_either_none_is_before_the_other() {
        for (one, other) in [((0, 0), (0, 0)), ((0, 0), (5, 5)), ((5, 5), (5, 5))] {
            let (one, other) = (order(one.0, one.1), order(other.0, other.1));
            assert!(!one.is_before(other) && !other.is_before(one), "{one:?} {other:?}");
        }
    }
}
