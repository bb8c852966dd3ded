//! Which of two events happened first: by their publisher's version and time, not by their arrival.

use kit::clock::UtcMs;

/// The order of an event: by version, then by time. An absent value is ordered first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventOrder {
    /// The version that the publisher numbered it with.
    pub version: Option<i64>,
    /// When it happened.
    pub occurred_at: Option<UtcMs>,
}

impl EventOrder {
    /// Whether it certainly happened before `other`. An event with neither version nor time is before none, and none is
    /// before it: only the order of arrival is left.
    #[must_use]
    pub fn is_before(self, other: Self) -> bool {
        let is_ordered = |order: Self| order != Self::default();
        is_ordered(self) && is_ordered(other) && self < other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(version: i64, ms: i64) -> EventOrder {
        let present = |number| (number != 0).then_some(number);
        EventOrder { version: present(version), occurred_at: present(ms).map(UtcMs) }
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
    fn without_version_and_time_none_is_before_the_other() {
        for (one, other) in [((0, 0), (0, 0)), ((0, 0), (5, 5)), ((5, 5), (5, 5))] {
            let (one, other) = (order(one.0, one.1), order(other.0, other.1));
            assert!(!one.is_before(other) && !other.is_before(one), "{one:?} {other:?}");
        }
    }
}
