//! How requests ended: by outcome, by the status of the response, and by the reason of a failure.
//!
//! A target decides how many statuses and reasons there are, so there is a limit to them: past it, results are counted without
//! their reason, then without their status. No request is left out.

use evidence::{KeyId, Outcome, ResponseStatus};

/// The most reasons of one outcome and status that are counted apart, in one row.
const MAX_REASONS: usize = 8;
/// The most results of one row that are counted apart; those without status and reason come on top.
const MAX_RESULTS: usize = 48;
/// A longer reason is cut, in bytes: both as it is compared and as it is shown.
const MAX_REASON_BYTES: usize = 200;

/// How a request ended, besides its outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending<'a> {
    /// The status of the response, where one had begun.
    pub(crate) status: Option<ResponseStatus>,
    /// Why it failed; empty where it did not.
    pub(crate) reason: &'a str,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RequestResult<'a> {
    pub(super) outcome: Outcome,
    pub(super) ending: Ending<'a>,
}

impl RequestResult<'_> {
    fn has_kind_of(&self, known: &KnownResult) -> bool {
        known.outcome == self.outcome && known.status == self.ending.status
    }

    /// Most have no reason, and to compare nothing with nothing costs more than to see that there is nothing.
    fn has_reason_of(&self, known: &KnownResult) -> bool {
        match self.ending.reason {
            "" => known.reason.is_empty(),
            reason => *known.reason == *cut(reason),
        }
    }
}

/// A result that has a key.
#[derive(Debug)]
struct KnownResult {
    outcome: Outcome,
    status: Option<ResponseStatus>,
    reason: Box<str>,
    key: KeyId,
}

/// The keys of results, by row of the accounting. Most requests of a row end like its first one: a list is searched.
#[derive(Debug, Default)]
pub(super) struct Results(Vec<Vec<KnownResult>>);

impl Results {
    /// The key of this result in the row at `position`.
    #[inline]
    pub(super) fn known(&self, position: usize, result: RequestResult<'_>) -> Option<KeyId> {
        let row = self.0.get(position)?;
        let is_it = |known: &&KnownResult| result.has_kind_of(known) && result.has_reason_of(known);
        row.iter().find(is_it).map(|known| known.key)
    }

    /// The result as it is counted: without what there are too many of.
    pub(super) fn folded<'r>(&self, position: usize, result: RequestResult<'r>) -> RequestResult<'r> {
        let row = self.0.get(position).map_or(&[][..], Vec::as_slice);
        let reasons =
            row.iter().filter(|known| result.has_kind_of(known) && !known.reason.is_empty()).count();
        let ending = match result.ending {
            _ if row.len() >= MAX_RESULTS => Ending { status: None, reason: "" },
            Ending { status, .. } if reasons >= MAX_REASONS => Ending { status, reason: "" },
            ending => ending,
        };
        RequestResult { ending, ..result }
    }

    pub(super) fn add(&mut self, position: usize, result: RequestResult<'_>, key: KeyId) {
        let RequestResult { outcome, ending: Ending { status, reason } } = result;
        let row = grown_row(&mut self.0, position);
        row.push(KnownResult { outcome, status, reason: cut(reason).into(), key });
    }
}

fn grown_row(rows: &mut Vec<Vec<KnownResult>>, position: usize) -> &mut Vec<KnownResult> {
    if position >= rows.len() {
        rows.resize_with(position + 1, Vec::new);
    }
    &mut rows[position]
}

/// A redacted reason as it is stored.
pub(super) fn shown(reason: &str) -> String {
    let cut = cut(reason);
    if cut.len() < reason.len() { format!("{cut}…") } else { cut.to_owned() }
}

fn cut(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(MAX_REASON_BYTES)]
}

#[cfg(test)]
mod tests {
    use evidence::GrpcCode;

    use super::*;

    /// Counts a result as the accounting does, and returns its key.
    fn count(results: &mut Results, outcome: Outcome, status: Option<ResponseStatus>, reason: &str) -> KeyId {
        let result = RequestResult { outcome, ending: Ending { status, reason } };
        results.known(0, result).unwrap_or_else(|| {
            let folded = results.folded(0, result);
            results.known(0, folded).unwrap_or_else(|| {
                let key = KeyId(results.0.first().map_or(0, Vec::len) as u32);
                results.add(0, folded, key);
                key
            })
        })
    }

    #[test]
    fn a_result_keeps_its_key_and_others_have_their_own() {
        let mut results = Results::default();
        let statuses = [Some(ResponseStatus::Http(200)), Some(ResponseStatus::Grpc(GrpcCode::OK)), None];
        for _ in 0..2 {
            let keys = statuses.map(|status| count(&mut results, Outcome::Ok, status, "").0);
            assert_eq!(keys, [0, 1, 2]);
            assert_eq!(count(&mut results, Outcome::Reset, None, "closed").0, 3);
            assert_eq!(count(&mut results, Outcome::Reset, None, "reset").0, 4);
        }
    }

    #[test]
    fn reasons_that_never_repeat_are_counted_without_their_words() {
        let mut results = Results::default();
        let status = Some(ResponseStatus::Http(500));
        let keys: Vec<u32> =
            (0..1_000).map(|n| count(&mut results, Outcome::Http5xx, status, &format!("{n}")).0).collect();
        assert_eq!(keys[..MAX_REASONS], [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(keys[MAX_REASONS..].iter().all(|key| *key == 8), "{keys:?}");
        assert_eq!(count(&mut results, Outcome::Http5xx, status, "3").0, 3);
    }

    #[test]
    fn statuses_past_the_limit_are_counted_by_outcome() {
        let mut results = Results::default();
        for status in 400..499 {
            count(&mut results, Outcome::Http4xx, Some(ResponseStatus::Http(status)), "");
        }
        assert_eq!(results.0[0].len(), MAX_RESULTS + 1);
        assert_eq!(results.0[0][MAX_RESULTS].status, None);
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let long = "é".repeat(MAX_REASON_BYTES);
        assert_eq!(shown(&long).chars().count(), MAX_REASON_BYTES / 2 + 1);
        let mut results = Results::default();
        let keys = [0, 0].map(|_| count(&mut results, Outcome::Check, None, &long).0);
        assert_eq!(keys, [0, 0]);
    }
}
