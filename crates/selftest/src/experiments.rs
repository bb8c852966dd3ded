//! How often experiments whose truth is known are decided wrongly, and how many pairs they
//! need: simulated ones, bisections, and live pairs of a program against itself, of which a coin decides which run is A.

use std::path::Path;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::screen;
use evidence::{TerminalText, visible};
use experiments::pairs::Pairs;
use experiments::record::Record;
use judge::experiment::SlotValue;
use serde::Serialize;
use serde_json::json;
use simulation::{
    BisectionKind, BisectionTally, ExperimentKind, ExperimentTally, Experiments, LivePairs, Promise,
    RIGHT_AT_LEAST, Unusable, bisections, experiments, probed, together,
};

use crate::{capacities, diagnoses};

/// What is planted into live pairs.
const PLANTED: [f64; 3] = [0.05, 0.10, 0.20];
/// Nothing is planted.
const NOTHING: f64 = 0.0;
/// Where each experiment takes many times as long: a bisection has seven steps, and of versions at the same moment each request is
/// simulated.
const FEWER: u64 = 10;

/// What became of the experiments of a kind.
#[derive(Debug, Serialize)]
struct Figure {
    simulated: String,
    description: String,
    counted: &'static str,
    experiments: u64,
    share: f64,
    /// Its limits at 95 %, each one-sided; of live pairs they are those of the draws and not of the pairs.
    lower: f64,
    upper: f64,
    /// What is promised; none where a host decides.
    limit: Option<String>,
    mean_pairs: f64,
    meets_target: bool,
}

/// What is simulated.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentOptions {
    /// Experiments of each kind.
    pub experiments: u64,
    /// Capacity searches of each kind.
    pub searches: u64,
    /// The seed of the first; the next one has the next number.
    pub seed: u64,
}

impl ExperimentOptions {
    fn of_services(self) -> Experiments {
        Experiments { count: self.experiments, seed: self.seed }
    }

    fn of_searches(self) -> Experiments {
        Experiments { count: self.searches, seed: self.seed }
    }
}

/// How often experiments were decided wrongly.
pub struct ExperimentTest {
    asked: ExperimentOptions,
    figures: Vec<Figure>,
    searches: Vec<capacities::Row>,
    diagnoses: Vec<diagnoses::Row>,
}

impl ExperimentTest {
    /// Simulate experiments of every kind, and flip the signs of live pairs.
    pub fn run(asked: ExperimentOptions, live: Option<&LivePairsOfHost>) -> ExperimentTest {
        let many = Experiments { count: asked.experiments, seed: asked.seed };
        let mut figures = Vec::new();
        let kinds = experiments();
        for (number, kind) in (1..).zip(&kinds) {
            screen::note(format_args!("{number} of {}: {}", kinds.len(), kind.name));
            figures.push(of_kind(kind, &kind.run(many.count, many.seed)));
        }
        screen::note("a machine whose speed wanders, with the reference probe and without");
        figures.extend(probed().iter().map(|kind| {
            let what = [kind.name.to_owned(), kind.description()];
            figure(what, kind.promise, &kind.run(many))
        }));
        let fewer = Experiments { count: many.count.div_ceil(FEWER), ..many };
        screen::note("both versions at the same moment, request by request");
        figures.extend(together().iter().map(|kind| {
            let what = [kind.name.to_owned(), kind.description()];
            figure(what, kind.promise, &kind.run(fewer.count, fewer.seed))
        }));
        figures.extend(bisections().iter().map(|kind| of_bisection(kind, &kind.run(fewer))));
        if let Some(live) = live {
            screen::note("live pairs, signs flipped");
            figures.extend(of_live(live, many));
        }
        let searches = capacities::run(asked.of_searches());
        ExperimentTest { asked, figures, searches, diagnoses: diagnoses::run(many) }
    }

    /// Whether every target is met.
    pub fn meets_targets(&self) -> bool {
        self.figures.iter().all(|figure| figure.meets_target)
            && capacities::are_kept(&self.searches)
            && diagnoses::are_kept(&self.diagnoses)
    }

    /// In words.
    pub fn text(&self) -> TerminalText {
        let mut text = text(&self.figures, &self.asked);
        capacities::add_text(&mut text, &self.searches, self.asked.of_searches());
        diagnoses::add_text(&mut text, &self.diagnoses, self.asked.of_services());
        text
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let value = json!({
            "experiments": self.asked.experiments,
            "seed": self.asked.seed,
            "figures": self.figures,
            "capacity": capacities::json(&self.searches),
            "diagnosis": diagnoses::json(&self.diagnoses),
        });
        format!("{value:#}\n")
    }
}

/// Pairs of A against A that were made on this host.
pub struct LivePairsOfHost {
    pairs: LivePairs,
    /// The name of each metric; whether its sides are compared by their ratio.
    metrics: Vec<(String, bool)>,
    count: usize,
}

impl LivePairsOfHost {
    /// Those of the experiment in this folder, in which a program was compared with itself. From then on the command can do
    /// nothing else.
    ///
    /// # Errors
    /// When the arms differ, or the pairs cannot be used.
    pub fn read(folder: &Path) -> CommandResult<LivePairsOfHost> {
        live_pairs(folder)
    }
}

fn live_pairs(folder: &Path) -> CommandResult<LivePairsOfHost> {
    let record = Record::<Pairs>::read(folder)?;
    let Pairs { arms: [a, b], metrics, .. } = &record.design;
    if a != b {
        return Err(Failure::usage(anyhow!(
            "{}: A (`{}`) and B (`{}`) are different commands; this test needs an experiment whose A and B are the same",
            folder.display(),
            visible(a),
            visible(b)
        )));
    }
    let judged = record.received_steps(folder)?;
    let of = |at: usize| -> Vec<[SlotValue; 2]> {
        judged.iter().filter_map(|pair| pair.values.get(at).cloned()).collect()
    };
    let values: Vec<Vec<[SlotValue; 2]>> = (0..metrics.len()).map(of).collect();
    let pairs = LivePairs::new(metrics, &values)
        .map_err(|Unusable(why)| Failure::usage(anyhow!("{}: {why}", folder.display())))?;
    let metrics = metrics.iter().map(|metric| (metric.name.clone(), !metric.quantity.is_share()));
    Ok(LivePairsOfHost { pairs, metrics: metrics.collect(), count: judged.len() })
}

/// What is counted, and its limit.
fn promised(promise: Promise) -> (&'static str, String) {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    match promise {
        Promise::AlarmsAtMost(most) => ("false alarms", format!("≤ {}", percent(most))),
        Promise::FoundAtLeast(0.0) => ("found", "–".to_owned()),
        Promise::FoundAtLeast(least) => ("found", format!("≥ {}", percent(least))),
        Promise::MissedAtMost(most) => ("called none", format!("≤ {}", percent(most))),
        Promise::ClearedAtLeast(0.0) => ("shown to be none", "–".to_owned()),
        Promise::ClearedAtLeast(least) => ("shown to be none", format!("≥ {}", percent(least))),
    }
}

fn figure(what: [String; 2], promise: Promise, tally: &ExperimentTally) -> Figure {
    let (counted, limit) = promised(promise);
    let (lower, upper) = tally.limits(promise);
    let [simulated, description] = what;
    Figure {
        simulated,
        description,
        counted,
        experiments: tally.experiments,
        share: tally.share(promise),
        lower,
        upper,
        limit: Some(limit),
        mean_pairs: tally.pairs as f64 / tally.experiments.max(1) as f64,
        meets_target: tally.keeps(promise),
    }
}

fn of_kind(kind: &ExperimentKind, tally: &ExperimentTally) -> Figure {
    figure([kind.name.to_owned(), kind.description()], kind.promise, tally)
}

fn of_bisection(kind: &BisectionKind, tally: &BisectionTally) -> Figure {
    let [lower, upper] = tally.limits();
    let bisections = tally.bisections.max(1) as f64;
    Figure {
        simulated: format!("bisection, {} % slower from one commit on", kind.effect * 100.0),
        description: format!(
            "seven steps with a margin of {} %, standard deviation within pairs {} %; {:.2} % name another commit, {:.2} % \
             skip one",
            kind.margin() * 100.0,
            kind.deviation * 100.0,
            tally.wrong as f64 / bisections * 100.0,
            tally.skipped as f64 / bisections * 100.0
        ),
        counted: "all steps right",
        experiments: tally.bisections,
        share: tally.right as f64 / bisections,
        lower,
        upper,
        limit: Some(format!("≥ {:.1} %", RIGHT_AT_LEAST * 100.0)),
        mean_pairs: tally.pairs as f64 / bisections,
        meets_target: tally.meets_target(),
    }
}

fn of_live(live: &LivePairsOfHost, many: Experiments) -> Vec<Figure> {
    let description = format!("{} live pairs, {} metrics, signs flipped", live.count, live.metrics.len());
    let same = live.pairs.run(0, NOTHING, many);
    let mut figures =
        vec![figure(["A against A, live".to_owned(), description], Promise::AlarmsAtMost(0.01), &same)];
    let fewer = Experiments { count: many.count.div_ceil(FEWER), ..many };
    for (at, ((name, is_ratio), deviation)) in live.metrics.iter().zip(live.pairs.deviations()).enumerate() {
        for planted in PLANTED.iter().filter(|_| *is_ratio) {
            let tally = live.pairs.run(at, *planted, fewer);
            let what = [
                format!("{} % more of {}, live", planted * 100.0, visible(name)),
                format!("standard deviation within pairs {:.1} %", deviation * 100.0),
            ];
            let found = figure(what, Promise::FoundAtLeast(0.0), &tally);
            // What a host allows is measured and not promised.
            figures.push(Figure { limit: None, meets_target: true, ..found });
        }
    }
    figures
}

fn text(figures: &[Figure], asked: &ExperimentOptions) -> TerminalText {
    let mut text = TerminalText::default();
    let ExperimentOptions { experiments, seed, .. } = asked;
    text.line(format_args!("Experiments whose truth is known, {experiments} of each kind from seed {seed}"));
    text.line("");
    for figure in figures {
        let mark = if figure.meets_target { "" } else { "  BROKEN" };
        let limit = figure.limit.as_deref().map(|limit| format!(", {limit}")).unwrap_or_default();
        text.line(format_args!("{}: {}", figure.simulated, figure.description));
        text.line(format_args!(
            "  {} {:.2} % ({:.2} to {:.2} %{limit}), {:.1} pairs in the mean{mark}",
            figure.counted,
            figure.share * 100.0,
            figure.lower * 100.0,
            figure.upper * 100.0,
            figure.mean_pairs
        ));
    }
    let broken = figures.iter().filter(|figure| !figure.meets_target).count();
    text.line("").line(match broken {
        0 => format!("PASS: none of {} promises is broken by more than chance explains.", figures.len()),
        _ => format!("FAIL: {broken} of {} promises are broken.", figures.len()),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_promise_is_marked() {
        let asked = ExperimentOptions { experiments: 1_000, searches: 0, seed: 1 };
        let kind = experiments()[0];
        let tally = |alarms| ExperimentTally {
            experiments: 1_000,
            alarms,
            pairs: 8_000,
            ..ExperimentTally::default()
        };
        let figures = [4, 40].map(|alarms| of_kind(&kind, &tally(alarms)));
        let text = text(&figures, &asked).to_string();
        assert!(
            text.contains("false alarms 0.40 % (0.14 to 0.91 %, ≤ 1.0 %), 8.0 pairs in the mean\n"),
            "{text}"
        );
        assert!(text.contains("8.0 pairs in the mean  BROKEN"), "{text}");
        assert!(text.contains("FAIL: 1 of 2 promises are broken."), "{text}");
    }
}
