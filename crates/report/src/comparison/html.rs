//! A comparison as one self-contained HTML file.

use askama::Template;

use super::format;
use crate::html::charts::{self, Chart};
use crate::html::policy;
use crate::html::view::CardView;
use crate::number;
use crate::summary::{Comparison, EndpointTable, Measure, PhaseTable, SeriesPair, SideSummary, TargetSeries};
use crate::text::{self, visible};

/// How many of the series of a target that moved most are always visible.
const MAX_MOVED: usize = 12;

/// A cell; its class marks a refused difference.
struct CellView {
    text: String,
    class: &'static str,
}

struct RowView {
    name: String,
    cells: Vec<CellView>,
}

/// The table of an endpoint.
struct EndpointView {
    title: String,
    note: String,
    rows: Vec<RowView>,
}

/// The observed series of a target.
struct TargetView {
    target: String,
    /// Mean and highest value of each series.
    rows: Vec<RowView>,
    /// The means that moved by a tenth or more, furthest first.
    moved: Vec<RowView>,
}

struct PhaseView {
    name: String,
    lengths: String,
    endpoints: Vec<EndpointView>,
    costs: Vec<RowView>,
    cost_seconds: Vec<String>,
    series: Vec<TargetView>,
}

/// A run of the comparison.
struct SideView {
    letter: &'static str,
    name: String,
    /// Its plan, start, length and end.
    run: String,
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    comparison: &'a Comparison,
    verdict: String,
    sides: Vec<SideView>,
    heads: Vec<String>,
    findings: Vec<CardView>,
    charts: Vec<Chart>,
    phases: Vec<PhaseView>,
    profiles: Vec<(String, String)>,
    conclusions: [(&'static str, &'a [String]); 3],
}

/// The comparison as one self-contained HTML file.
pub fn html(comparison: &Comparison) -> String {
    let judgement = &comparison.judgement;
    let sides = comparison.sides.len();
    let page = Page {
        policy: policy::content_security_policy(&[policy::STYLE], &[policy::SCRIPT]),
        style: policy::STYLE,
        script: policy::SCRIPT,
        comparison,
        verdict: judgement.verdict.to_string(),
        sides: comparison.sides.iter().map(side).collect(),
        heads: format::heads(sides),
        findings: format::cards(judgement).iter().map(CardView::of).collect(),
        charts: charts::overlaid(comparison),
        phases: comparison.phases.iter().map(|phase| phase_of(phase, sides)).collect(),
        profiles: comparison
            .profiles
            .iter()
            .map(|pair| (visible(&format::profile_title(pair)), format::profile_text(pair).to_string()))
            .collect(),
        conclusions: format::conclusions(judgement),
    };
    text::page(&page)
}

fn side(side: &SideSummary) -> SideView {
    SideView {
        letter: side.letter,
        name: visible(&side.name),
        run: visible(&format::run_in_words(&side.run)),
    }
}

fn phase_of(phase: &PhaseTable, sides: usize) -> PhaseView {
    let rows = |measures: &[Measure]| -> Vec<RowView> {
        measures.iter().map(|measure| row(measure, sides)).collect()
    };
    let endpoint_view = |endpoint: &EndpointTable| {
        let failures = endpoint.failures.iter().map(|(outcome, counts)| {
            let counts: Vec<String> = counts.iter().map(|n| number::count_or_none(*n)).collect();
            format!("{outcome} {}", counts.join(" / "))
        });
        EndpointView {
            title: visible(&endpoint.title()),
            note: failures.collect::<Vec<_>>().join(" · "),
            rows: rows(&endpoint.measures),
        }
    };
    PhaseView {
        name: visible(&phase.name),
        lengths: format::phase_lengths(phase).join(", "),
        endpoints: phase.endpoints.iter().map(endpoint_view).collect(),
        costs: rows(&phase.costs),
        cost_seconds: format::cost_seconds(phase).iter().map(|sentence| visible(sentence)).collect(),
        series: phase.series.iter().map(|target| observed(target, sides)).collect(),
    }
}

fn observed(target: &TargetSeries, sides: usize) -> TargetView {
    let named = |measure: &Measure, statistic: &str| {
        let row = row(measure, sides);
        RowView { name: format!("{} {statistic}", row.name), ..row }
    };
    let both = |pair: &SeriesPair| [named(&pair.mean, "mean"), named(&pair.max, "highest")];
    let moved = format::moved(target, MAX_MOVED).into_iter();
    TargetView {
        target: visible(&target.target),
        rows: target.series.iter().flat_map(both).collect(),
        moved: moved.map(|pair| row(&pair.mean, sides)).collect(),
    }
}

fn row(measure: &Measure, sides: usize) -> RowView {
    let plain = |text: String| CellView { text, class: "" };
    let values = measure.values.iter().map(|value| plain(format::value(*value, &measure.unit)));
    let differences = (1..sides).flat_map(|side| {
        let class = if format::is_refused(measure, side) { "refused" } else { "" };
        format::difference(measure, side).map(|text| CellView { text, class })
    });
    RowView { name: visible(&measure.name), cells: values.chain(differences).collect() }
}
