//! What became of the runs of one arrangement, as a row of the table.

use anyhow::Result;

use super::arranged::ArrangedRun;
use super::live::LiveResult;
use crate::bench::run_report::Claim;
use crate::bench::table::Table;

const VERDICTS: [&str; 4] = ["PASS", "FAIL", "INCONCLUSIVE", "INVALID"];
const HEAD: &[&str] = &[
    "run",
    "runs",
    "verdicts: PASS / FAIL / INCONCLUSIVE / INVALID",
    "of objectives on latency",
    "largest time ÷ its bound",
    "perturbed %",
    "of each processor, neighbours took %",
    "expected",
    "as expected",
];

/// The runs of one arrangement.
pub(super) struct Tally {
    pub(super) arranged: &'static ArrangedRun,
    runs: u64,
    as_expected: u64,
    /// In the order of [`VERDICTS`].
    whole: [u64; 4],
    on_latency: [u64; 4],
    /// Of each run, of its objective on latency that came closest to its bound or went farthest beyond.
    ratios: Vec<f64>,
    /// In percent: of each run; of each neighbour of each run.
    perturbed: Vec<f64>,
    taken: Vec<f64>,
    failures: Vec<String>,
}

impl Tally {
    pub(super) fn new(arranged: &'static ArrangedRun) -> Self {
        Self {
            arranged,
            runs: 0,
            as_expected: 0,
            whole: [0; 4],
            on_latency: [0; 4],
            ratios: Vec::new(),
            perturbed: Vec::new(),
            taken: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Counts a run and prints what it gave. One that could not be carried out is not as expected.
    pub(super) fn add(&mut self, found: Result<LiveResult>) {
        self.runs += 1;
        let LiveResult { report, taken } = match found {
            Ok(found) => found,
            Err(error) => {
                println!("could not be carried out: {error:#}");
                self.failures
                    .push(format!("`{}`: a run could not be carried out: {error:#}", self.arranged.name));
                return;
            }
        };
        let is_expected = self.arranged.expected.is_met_by(&report);
        self.as_expected += u64::from(is_expected);
        let claims = report.claims();
        count(&mut self.whole, report.verdict());
        let on_latency: Vec<&Claim> = claims.iter().filter(|claim| claim.is_on_latency()).collect();
        on_latency.iter().for_each(|claim| count(&mut self.on_latency, &claim.verdict));
        let ratio = |claim: &&Claim| Some(claim.observed? / claim.bound?);
        self.ratios.extend(on_latency.iter().filter_map(ratio).reduce(f64::max));
        let sum = |of: fn(&Claim) -> u64| on_latency.iter().map(|claim| of(claim)).sum::<u64>() as f64;
        let arrivals = sum(|claim| claim.arrivals);
        self.perturbed.extend((arrivals > 0.0).then(|| sum(|claim| claim.perturbed) / arrivals * 100.0));
        self.taken.extend(taken.iter().map(|share| share * 100.0));
        let verdicts: Vec<_> =
            claims.iter().map(|claim| format!("{} {}", claim.name, claim.verdict)).collect();
        let as_expected = if is_expected { "as expected" } else { "NOT as expected" };
        println!("{as_expected}: {} ({})", report.verdict(), verdicts.join(", "));
    }

    /// Whether enough runs were as expected.
    pub(super) fn is_reached(&self) -> bool {
        self.as_expected >= self.arranged.expected.required(self.runs)
    }

    /// What was missed.
    pub(super) fn miss(&self) -> String {
        let Self { arranged, runs, as_expected, .. } = self;
        let required = arranged.expected.required(*runs);
        format!(
            "{}: {as_expected} of {runs} runs, {required} required: {}",
            arranged.name,
            arranged.expected.text()
        )
    }

    fn cells(&self) -> Vec<String> {
        let Self { arranged, runs, .. } = self;
        let required = arranged.expected.required(*runs);
        let reached = if self.is_reached() { "" } else { ", **missed**" };
        vec![
            format!("{} (`{}`)", arranged.text, arranged.name),
            runs.to_string(),
            self.whole.map(|count| count.to_string()).join(" / "),
            self.on_latency.map(|count| count.to_string()).join(" / "),
            range(&self.ratios, 2),
            range(&self.perturbed, 0),
            range(&self.taken, 0),
            format!("{}: {required} of {runs}", arranged.expected.text()),
            format!("{}{reached}", self.as_expected),
        ]
    }
}

/// A row for each arrangement, and what could not be carried out.
pub(super) fn table(tallies: &[Tally]) -> Table {
    let notes = tallies.iter().flat_map(|tally| tally.failures.clone()).collect();
    Table { head: HEAD, rows: tallies.iter().map(Tally::cells).collect(), notes, ..Table::default() }
}

fn count(counts: &mut [u64; 4], verdict: &str) {
    let place = VERDICTS.iter().position(|known| *known == verdict);
    place.into_iter().for_each(|place| counts[place] += 1);
}

/// The least and the most, a dash where nothing was measured.
fn range(values: &[f64], decimals: usize) -> String {
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    match (least, most) {
        (Some(least), Some(most)) => {
            let [least, most] = [least, most].map(|value| format!("{value:.decimals$}"));
            if least == most { least } else { format!("{least} to {most}") }
        }
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::neighbours::arranged::ARRANGED;
    use crate::bench::run_report::{RunReport, tests::report};
    use serde_json::json;

    fn result(verdict: &str, observed_ms: f64) -> Result<LiveResult> {
        let mut report = report();
        report["verdict"] = verdict.into();
        report["claims"] = json!([{ "name": "fast", "verdict": verdict, "bound": { "value": 50.0, "unit": "ms" },
            "observed": { "value": observed_ms, "unit": "ms" }, "share": { "arrivals": 200, "perturbed": 50 } }]);
        Ok(LiveResult { report: RunReport::new(report)?, taken: vec![0.498] })
    }

    #[test]
    fn a_row_has_what_became_of_its_runs() {
        let mut tally = Tally::new(&ARRANGED[1]);
        tally.add(result("PASS", 5.0));
        assert!(tally.is_reached());
        tally.add(result("INVALID", 75.0));
        tally.add(Err(anyhow::anyhow!("no port")));
        assert!(!tally.is_reached());
        let table = table(&[tally]);
        assert_eq!(table.rows[0][1..7], ["3", "1 / 0 / 0 / 1", "1 / 0 / 0 / 1", "0.10 to 1.50", "25", "50"]);
        assert!(table.rows[0][8].ends_with("1, **missed**"), "{:?}", table.rows);
        assert_eq!(table.notes, ["`beside`: a run could not be carried out: no port"]);
    }

    #[test]
    fn an_infinite_time_is_no_ratio() {
        assert_eq!(range(&[], 1), "–");
    }
}
