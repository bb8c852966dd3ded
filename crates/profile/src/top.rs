//! Functions by their own cost (flat) and with the functions they call (cumulative).

use crate::kind::{Kind, Sampling};
use crate::model::ValueType;
use crate::tally::{Tally, tally};
use crate::view::{Node, View};

/// What functions are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Their own cost.
    #[default]
    Flat,
    /// Their cost with the functions they call.
    Cumulative,
}

/// Which functions to list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopOptions {
    pub sort: Sort,
    /// The most to list.
    pub most: usize,
    /// Functions whose cumulative value is below this share of all are left out.
    pub least_share: f64,
}

impl Default for TopOptions {
    /// As `go tool pprof -top -nodecount=20`.
    fn default() -> Self {
        TopOptions { sort: Sort::Flat, most: 20, least_share: 0.005 }
    }
}

/// A function.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    pub name: String,
    /// Its own cost.
    pub flat: i64,
    /// Its cost with the functions it called; a function that calls itself counts once. Rows overlap: do not sum.
    pub cumulative: i64,
    /// How many samples the flat value is made of, where this is known.
    pub samples: Option<f64>,
}

/// The functions of a view.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Top {
    pub sample_type: ValueType,
    pub kind: Kind,
    /// What it means if there are no samples.
    pub sampling: Sampling,
    pub sort: Sort,
    /// The sum of all absolute values: the denominator of shares.
    pub total: i64,
    /// The sum of the flat values of all functions; smaller than the total where a focus leaves stacks out, or values
    /// are negative.
    pub flat_total: i64,
    /// How many samples that sum is made of, where this is known.
    pub samples: Option<f64>,
    /// The sum of negative stacks, which a difference may have.
    pub negative: i64,
    /// The duration of the profile, in nanoseconds; 0 if unknown.
    pub duration_ns: i64,
    /// How many functions there are.
    pub functions: usize,
    /// How many of them were left out because of their small share.
    pub dropped: usize,
    /// The functions.
    pub rows: Vec<Row>,
}

/// Lists functions of `view`.
pub fn top(view: &View<'_>, options: TopOptions) -> Top {
    let tallies = tally(view);
    let mut rows: Vec<(&str, &Tally)> = (0..)
        .zip(&tallies.nodes)
        .map(|(node, tally)| (view.name(Node(node)), tally))
        .filter(|(_, tally)| tally.flat != 0 || tally.cumulative != 0)
        .collect();
    let functions = rows.len();
    let cutoff = (tallies.flat_total as f64 * options.least_share).abs() as u64;
    rows.retain(|(_, tally)| tally.cumulative.unsigned_abs() >= cutoff);
    let dropped = functions - rows.len();
    rows.sort_by(|(left_name, left), (right_name, right)| {
        let [left_key, right_key] = [left, right].map(|tally| match options.sort {
            Sort::Flat => (tally.flat.unsigned_abs(), tally.cumulative.unsigned_abs()),
            Sort::Cumulative => (tally.cumulative.unsigned_abs(), tally.flat.unsigned_abs()),
        });
        right_key.0.cmp(&left_key.0).then(left_name.cmp(right_name)).then(right_key.1.cmp(&left_key.1))
    });
    rows.truncate(options.most);
    Top {
        sample_type: view.value_type().clone(),
        kind: view.kind(),
        sampling: view.sampling(),
        sort: options.sort,
        total: view.total(),
        flat_total: tallies.flat_total,
        samples: tallies.samples,
        negative: tallies.negative,
        duration_ns: view.profile().duration_ns,
        functions,
        dropped,
        rows: rows.into_iter().map(|(name, tally)| row(name, tally)).collect(),
    }
}

fn row(name: &str, tally: &Tally) -> Row {
    Row {
        name: name.to_owned(),
        flat: tally.flat,
        cumulative: tally.cumulative,
        samples: tally.flat_error.samples,
    }
}
