//! A comparison as one self-contained HTML file.

use askama::Template;
use evidence::SidedFinding;

use super::words;
use crate::html::charts::{self, Chart};
use crate::html::view::FindingView;
use crate::number;
use crate::summary::{Comparison, Measure};
use crate::terminal::line::visible;

/// Series of a target that moved most, which are shown unfolded.
const MOVED: usize = 12;

/// A finding with the letters of its runs.
struct Sided {
    letters: String,
    view: FindingView,
}

/// A cell with the class that marks what is refused.
struct Shown {
    text: String,
    class: &'static str,
}

struct Row {
    name: String,
    cells: Vec<Shown>,
}

struct Block {
    title: String,
    note: String,
    rows: Vec<Row>,
}

/// What was seen of a target.
struct Observed {
    target: String,
    /// Mean and highest of each series.
    rows: Vec<Row>,
    /// Means that moved by a tenth, furthest first.
    moved: Vec<Row>,
}

struct Phase {
    name: String,
    lengths: String,
    endpoints: Vec<Block>,
    costs: Vec<Row>,
    series: Vec<Observed>,
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page<'a> {
    comparison: &'a Comparison,
    verdict: String,
    sides: Vec<(String, String, String)>,
    heads: Vec<String>,
    findings: Vec<Sided>,
    charts: Vec<Chart>,
    phases: Vec<Phase>,
    profiles: Vec<(String, String)>,
    closing: [(&'static str, &'a [String]); 3],
}

/// The comparison as one self-contained HTML file.
pub fn html(comparison: &Comparison) -> String {
    let judgement = &comparison.judgement;
    let sides = comparison.sides.len();
    let values = (0..sides).map(|side| words::letter(side).to_owned());
    let differences = (1..sides).flat_map(|side| {
        let letter = words::letter(side);
        [format!("{letter} − A"), format!("{letter} ÷ A")]
    });
    let page = Page {
        comparison,
        verdict: judgement.verdict.to_string(),
        sides: comparison.sides.iter().map(side).collect(),
        heads: values.chain(differences).collect(),
        findings: judgement.findings.iter().map(sided).collect(),
        charts: charts::overlaid(comparison),
        phases: comparison.phases.iter().map(|phase| phase_of(phase, sides)).collect(),
        profiles: comparison
            .profiles
            .iter()
            .map(|pair| (visible(&words::profile_title(pair)), words::profile_text(pair)))
            .collect(),
        closing: [
            ("What this comparison supports", &judgement.supports),
            ("What it does not", &judgement.does_not_support),
            ("What would settle it", &judgement.would_settle),
        ],
    };
    page.render().expect("writing a page to memory cannot fail")
}

fn side(side: &crate::summary::SideSummary) -> (String, String, String) {
    let run = &side.run;
    let span = number::span(u64::from(run.seconds));
    let what = format!("{} · {} · {span} · {}", run.name, run.started_at, run.end_in_words());
    (side.letter.to_owned(), visible(&side.name), visible(&what))
}

fn sided(found: &SidedFinding) -> Sided {
    Sided { letters: words::letters(&found.sides), view: FindingView::of(&found.finding) }
}

fn phase_of(phase: &crate::summary::PhaseTable, sides: usize) -> Phase {
    let length =
        |length: &Option<f64>| length.map_or("absent".to_owned(), |s| format!("{} s", number::plain(s)));
    let rows =
        |measures: &[Measure]| -> Vec<Row> { measures.iter().map(|measure| row(measure, sides)).collect() };
    let block = |endpoint: &crate::summary::EndpointTable| {
        let failures = endpoint.failures.iter().map(|(outcome, counts)| {
            let counts: Vec<String> = counts.iter().map(|n| number::count(*n)).collect();
            format!("{outcome} {}", counts.join(" / "))
        });
        Block {
            title: visible(&format!("{} of {}", endpoint.label(), endpoint.scenario)),
            note: failures.collect::<Vec<_>>().join(" · "),
            rows: rows(&endpoint.measures),
        }
    };
    Phase {
        name: visible(&phase.name),
        lengths: phase.covered_s.iter().map(length).collect::<Vec<_>>().join(", "),
        endpoints: phase.endpoints.iter().map(block).collect(),
        costs: rows(&phase.costs),
        series: phase.series.iter().map(|target| observed(target, sides)).collect(),
    }
}

fn observed(target: &crate::summary::TargetSeries, sides: usize) -> Observed {
    let named = |measure: &Measure, which: &str| {
        let row = row(measure, sides);
        Row { name: format!("{} {which}", row.name), ..row }
    };
    let both = |pair: &crate::summary::SeriesPair| [named(&pair.mean, "mean"), named(&pair.max, "highest")];
    let striking = words::striking(target, MOVED).into_iter();
    Observed {
        target: visible(&target.target),
        rows: target.series.iter().flat_map(both).collect(),
        moved: striking.map(|pair| row(&pair.mean, sides)).collect(),
    }
}

fn row(measure: &Measure, sides: usize) -> Row {
    let shown = |text: String| Shown { text, class: "" };
    let values = measure.values.iter().map(|value| shown(words::value(*value, &measure.unit)));
    let differences = (1..sides).flat_map(|side| {
        let class = if words::is_refused(measure, side) { "refused" } else { "" };
        words::difference(measure, side).map(|text| Shown { text, class })
    });
    Row { name: visible(&measure.name), cells: values.chain(differences).collect() }
}
