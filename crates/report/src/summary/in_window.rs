//! What began and ended in the window of each phase, whenever it was due.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Name, PhaseSpan, Run};
use figures::{EndedCounts, Figures, RowKey, WindowCounts};
use serde::Serialize;
use workload::Workload;

use crate::number;

/// Requests of one phase, by the instants at which they began and ended. What was in flight before it plus `begun` is
/// `completed` plus `cancelled` plus what was in flight at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PhaseRequests {
    /// Requests that began in its window.
    pub begun: u64,
    /// Of these, the ones of iterations of an earlier phase, whose table has them.
    pub begun_by_earlier: u64,
    /// Requests that iterations of this phase began after its end: its table has them.
    pub begun_after: u64,
    /// Those that ended in it, in success or failure.
    pub completed: u64,
    /// Those that the generator cancelled in it.
    pub cancelled: u64,
    /// Those in flight when it began.
    pub in_flight_at_begin: u64,
    /// Those in flight when it ended.
    pub in_flight_at_end: u64,
}

impl PhaseRequests {
    /// Whether every request is accounted for.
    pub(crate) fn adds_up(&self) -> bool {
        self.in_flight_at_begin + self.begun == self.completed + self.cancelled + self.in_flight_at_end
    }

    /// The identity in words: `3,900 requests begun = 2,925 completed + 0 cancelled + 975 more in flight`.
    pub(crate) fn in_words(&self) -> String {
        let growth = number::count(self.in_flight_at_end.abs_diff(self.in_flight_at_begin));
        let growth = match self.in_flight_at_end < self.in_flight_at_begin {
            true => format!("− {growth} that were in flight before"),
            false => format!("+ {growth} more in flight"),
        };
        format!(
            "{} begun = {} completed + {} cancelled {growth}",
            number::counted(self.begun, "request"),
            number::count(self.completed),
            number::count(self.cancelled),
        )
    }

    /// What its table counts beside these, in words: `1,592 in the table = 1,582 begun + 12 begun after the phase − 2 of
    /// iterations from before it`. None where both are the same requests.
    pub(crate) fn beside_table(&self) -> Option<String> {
        let PhaseRequests { begun, begun_by_earlier, begun_after, .. } = *self;
        if begun_by_earlier + begun_after == 0 {
            return None;
        }
        let table = (begun + begun_after).saturating_sub(begun_by_earlier);
        let mut text = format!("{} in the table = {} begun", number::count(table), number::count(begun));
        if begun_after > 0 {
            text.push_str(&format!(" + {} begun after the phase", number::count(begun_after)));
        }
        if begun_by_earlier > 0 {
            text.push_str(&format!(" − {} of iterations from before it", number::count(begun_by_earlier)));
        }
        Some(text)
    }
}

/// What began and ended, by window.
#[derive(Debug)]
pub(super) struct InWindow {
    spans: Vec<PhaseSpan>,
    ended: BTreeMap<RowKey, EndedCounts>,
    /// By phase; none where the run file does not say in which phase requests began and ended, or what was in flight.
    requests: Option<Vec<PhaseRequests>>,
}

impl InWindow {
    pub(super) fn of(run: &dyn Run, workload: &Workload, figures: &Figures) -> Result<InWindow, ReadError> {
        let counts_them = run.manifest().counts_windows() && run.manifest().source.is_none();
        let requests = |counts: &WindowCounts| PhaseRequests {
            begun: counts.begun,
            begun_by_earlier: counts.begun_by_earlier,
            begun_after: counts.begun_after,
            completed: counts.completed,
            cancelled: counts.cancelled,
            in_flight_at_begin: 0,
            in_flight_at_end: counts.in_flight_at_end.unwrap_or(0),
        };
        Ok(InWindow {
            spans: workload.windows(run)?.spans().to_vec(),
            ended: figures.ended.clone(),
            requests: counts_them.then(|| figures.in_window.iter().map(requests).collect()),
        })
    }

    /// What ended of an endpoint in the window of its phase.
    pub(super) fn ended(&self, key: &RowKey) -> EndedCounts {
        self.ended.get(key).copied().unwrap_or_default()
    }

    /// A count per second of the window of a phase; none where it has no length.
    pub(super) fn per_second(&self, phase: &Name, count: f64) -> Option<f64> {
        let span = self.spans.iter().find(|span| span.name == *phase)?;
        (span.length_s() > 0.0).then(|| count / span.length_s())
    }

    /// The requests of the phase with this index; none where they do not add up: what a worker that vanished had in flight is
    /// not known, nor what was in flight when a run was killed.
    pub(super) fn requests(&self, phase: usize) -> Option<PhaseRequests> {
        let all = self.requests.as_ref()?;
        let before = phase.checked_sub(1).and_then(|before| all.get(before));
        let in_flight_at_begin = before.map_or(0, |before| before.in_flight_at_end);
        let its = all.get(phase).map(|its| PhaseRequests { in_flight_at_begin, ..*its });
        its.filter(PhaseRequests::adds_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_the_requests_of_a_phase_is_an_equation() {
        let grown = PhaseRequests {
            begun: 3_900,
            completed: 2_925,
            cancelled: 0,
            in_flight_at_begin: 0,
            in_flight_at_end: 975,
            ..PhaseRequests::default()
        };
        assert!(grown.adds_up());
        assert_eq!(
            grown.in_words(),
            "3,900 requests begun = 2,925 completed + 0 cancelled + 975 more in flight"
        );
        let drained = PhaseRequests { begun: 0, completed: 970, cancelled: 5, ..grown };
        let drained = PhaseRequests { in_flight_at_begin: 975, in_flight_at_end: 0, ..drained };
        assert!(drained.adds_up());
        assert_eq!(
            drained.in_words(),
            "0 requests begun = 970 completed + 5 cancelled − 975 that were in flight before"
        );
    }
    #[test]
    fn the_requests_of_a_table_and_those_begun_in_its_phase_are_an_equation_where_they_differ() {
        let same = PhaseRequests { begun: 1_582, ..PhaseRequests::default() };
        assert_eq!(same.beside_table(), None);
        let both = PhaseRequests { begun_by_earlier: 2, begun_after: 12, ..same };
        let expected =
            "1,592 in the table = 1,582 begun + 12 begun after the phase − 2 of iterations from before it";
        assert_eq!(both.beside_table().as_deref(), Some(expected));
        let later = PhaseRequests { begun_by_earlier: 0, ..both };
        let expected = "1,594 in the table = 1,582 begun + 12 begun after the phase";
        assert_eq!(later.beside_table().as_deref(), Some(expected));
    }
}
