//! What an imported source leaves unknown: records that could not be read, and records and totals that contradict each
//! other. Such a request may lie on either side of every objective.

use serde::{Deserialize, Serialize};

use crate::manifest::Source;

/// Observations of an imported run of which it is unknown how they ended or how long they took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownRecords {
    /// What they are.
    pub of: UnknownSubject,
    /// How they are known to exist.
    pub basis: UnknownBasis,
    /// Their scenario; empty where they may be of any.
    #[serde(default)]
    pub scenario: String,
    /// Their endpoint; empty where they may be of any.
    #[serde(default)]
    pub endpoint: String,
    /// At most so many besides those that were read; none where nothing limits their number.
    pub more: Option<u64>,
    /// So many of those that were read may have ended otherwise.
    pub doubtful: u64,
    /// What shows it, as a sentence.
    pub why: String,
}

/// What unknown records are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownSubject {
    /// Requests, iterations or checks: what could not be read may be any.
    Any,
    /// Requests.
    Requests,
    /// Iterations.
    Iterations,
    /// Checks.
    Checks,
}

/// How unknown records are known to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownBasis {
    /// By records that cannot be read or that contradict each other: the numbers of several add up.
    Records,
    /// By totals that the source states: of several, the largest number counts, since they are about the same requests.
    Totals,
}

/// How many observations are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnknownCount {
    /// At most so many besides those that were read.
    pub more: u64,
    /// So many of those that were read may have ended otherwise.
    pub doubtful: u64,
}

impl UnknownCount {
    /// Whether everything is known.
    pub fn is_zero(self) -> bool {
        self == UnknownCount::default()
    }
}

impl Source {
    /// How many observations of this kind are unknown; those of a scenario and an endpoint where they are not empty. A
    /// number without a limit counts as none: see [`Source::is_open_ended`].
    pub fn unknown_records(&self, of: UnknownSubject, scenario: &str, endpoint: &str) -> UnknownCount {
        if self.unknown.is_empty() {
            // Files that were written before unknown records were listed.
            return UnknownCount { more: self.malformed, doubtful: 0 };
        }
        let is_it = |name: &str, asked: &str| name.is_empty() || asked.is_empty() || name == asked;
        let (mut records, mut whole, mut parts) = <(UnknownCount, UnknownCount, UnknownCount)>::default();
        for unknown in self.unknown.iter().filter(|unknown| {
            matches!(unknown.of, kind if kind == of || kind == UnknownSubject::Any)
                && is_it(&unknown.scenario, scenario)
                && is_it(&unknown.endpoint, endpoint)
        }) {
            let (more, doubtful) = (unknown.more.unwrap_or(0), unknown.doubtful);
            let add = |sum: UnknownCount| UnknownCount {
                more: sum.more.saturating_add(more),
                doubtful: sum.doubtful.saturating_add(doubtful),
            };
            match unknown.basis {
                UnknownBasis::Records => records = add(records),
                UnknownBasis::Totals if unknown.is_of_the_whole_run() => {
                    whole = larger(whole, UnknownCount { more, doubtful });
                }
                UnknownBasis::Totals => parts = add(parts),
            }
        }
        larger(records, larger(whole, parts))
    }

    /// Why nothing limits how many requests are unknown, if so: a file is cut off, and states no total.
    pub fn is_open_ended(&self) -> bool {
        let has_total = || {
            let is_total = |u: &UnknownRecords| u.basis == UnknownBasis::Totals && u.is_of_the_whole_run();
            self.unknown.iter().any(|unknown| is_total(unknown) && unknown.more.is_some())
        };
        self.unknown.iter().any(|unknown| unknown.more.is_none()) && !has_total()
    }
}

impl UnknownRecords {
    fn is_of_the_whole_run(&self) -> bool {
        self.scenario.is_empty() && self.endpoint.is_empty()
    }
}

fn larger(a: UnknownCount, b: UnknownCount) -> UnknownCount {
    UnknownCount { more: a.more.max(b.more), doubtful: a.doubtful.max(b.doubtful) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(basis: UnknownBasis, endpoint: &str, more: Option<u64>, doubtful: u64) -> UnknownRecords {
        UnknownRecords {
            of: UnknownSubject::Requests,
            basis,
            scenario: String::new(),
            endpoint: endpoint.to_owned(),
            more,
            doubtful,
            why: String::new(),
        }
    }

    fn source(unknown: Vec<UnknownRecords>) -> Source {
        Source { unknown, malformed: 7, ..Source::default() }
    }

    #[test]
    fn records_add_up_and_the_largest_of_the_totals_counts() {
        use UnknownBasis::{Records, Totals};
        let source = source(vec![
            unknown(Records, "", Some(3), 0),
            unknown(Records, "list", Some(4), 1),
            unknown(Totals, "", Some(5), 2),
            unknown(Totals, "buy", Some(20), 0),
        ]);
        let count = |endpoint| {
            let count = source.unknown_records(UnknownSubject::Requests, "", endpoint);
            (count.more, count.doubtful)
        };
        assert_eq!((count(""), count("list"), count("buy")), ((20, 2), (7, 2), (20, 2)));
        let checks = source.unknown_records(UnknownSubject::Checks, "", "");
        assert!(checks.is_zero());
    }

    #[test]
    fn a_file_that_is_cut_off_is_limited_by_its_total_alone() {
        use UnknownBasis::{Records, Totals};
        assert!(source(vec![unknown(Records, "", None, 0)]).is_open_ended());
        let totals = [unknown(Totals, "", Some(5), 0), unknown(Totals, "list", Some(5), 0)];
        let [whole, part] = totals.map(|total| source(vec![unknown(Records, "", None, 0), total]));
        assert!(!whole.is_open_ended() && part.is_open_ended());
    }

    #[test]
    fn without_a_list_every_record_that_could_not_be_read_is_unknown() {
        let count = source(Vec::new()).unknown_records(UnknownSubject::Checks, "", "list");
        assert_eq!(count, UnknownCount { more: 7, doubtful: 0 });
    }
}
