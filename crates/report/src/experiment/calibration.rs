//! A calibration as text for a terminal: the noise of each metric, and the changes that an experiment can see.

use evidence::{Calibration, EffectScale, MetricNoise, TerminalText};

use crate::number;
use crate::terminal::Style;
use crate::terminal::line::Tone;
use crate::terminal::page::{Label, Page};
use crate::terminal::table::{Cell, Column, Table};

/// The smallest changes of a metric that are found.
#[derive(Debug, Clone)]
pub struct VisibleChanges {
    /// The change for the worse that is accepted.
    pub margin: f64,
    /// In each of the minutes; none where too few pairs fit.
    pub smallest: [Option<f64>; 4],
}

/// A calibration, for its report.
#[derive(Debug, Clone)]
pub struct CalibrationSummary<'a> {
    /// What was found.
    pub calibration: &'a Calibration,
    /// How many times as large as found a deviation may be.
    pub error: f64,
    /// In so many minutes.
    pub minutes: [u32; 4],
    /// So many pairs fit.
    pub pairs: [u32; 4],
    /// By metric of the calibration.
    pub visible: Vec<VisibleChanges>,
    /// Metrics without noise, and why.
    pub unknown: &'a [(String, String)],
}

/// The calibration as text, no line wider than `width` columns.
pub fn calibration(summary: &CalibrationSummary<'_>, style: Style, width: usize) -> TerminalText {
    let found = summary.calibration;
    let mut page = Page::new(width);
    page.labelled(
        Label::new("CALIBRATED", 12),
        Tone::Good,
        Tone::Strong,
        &format!("{}: {} pairs of A against A, {} s under load each", found.name, found.pairs, found.slot_s),
    );
    page.paragraph(Label::indent(3), Tone::Dim, &host(found));
    page.gap();
    page.table(&noise(&found.metrics));
    page.paragraph(
        Label::indent(2),
        Tone::Normal,
        &format!(
            "{} pairs know a standard deviation to × {:.2} (80 %). Within a run: what more or longer slots reduce; between \
             starts: what only more pairs reduce.",
            found.pairs, summary.error
        ),
    );
    page.heading("Smallest change that is found with 95 %", "  at the limit of each deviation");
    page.table(&smallest(summary));
    for (noise, visible) in found.metrics.iter().zip(&summary.visible) {
        let best = visible.smallest[3];
        if best.is_none_or(|best| best > visible.margin) {
            let text = format!(
                "margin-not-visible: {}: even in {} min a change of {} may be missed; its margin is {}.",
                noise.name,
                summary.minutes[3],
                best.map_or("any size".to_owned(), |best| percent(best, noise.scale)),
                percent(visible.margin, noise.scale)
            );
            page.paragraph(Label::indent(2), Tone::Warn, &text);
        }
    }
    for (name, why) in summary.unknown {
        page.paragraph(Label::indent(2), Tone::Warn, &format!("{name}: not calibrated. {why}"));
    }
    page.render(style)
}

fn host(found: &Calibration) -> String {
    let fact = |name: &str| found.host.get(name).map_or("unknown", String::as_str);
    format!(
        "{}, {} ({} cores); kept for 14 days from {}",
        fact("hostname"),
        fact("cpu_model"),
        fact("cores"),
        found.made_at
    )
}

fn noise(metrics: &[MetricNoise]) -> Table {
    let heads =
        [("median", 4), ("within pairs", 0), ("within a run", 1), ("between starts", 2), ("session", 3)];
    let row = |metric: &MetricNoise| {
        let deviation =
            |value: Option<f64>| number::or_not_measured(value, |value| percent(value, metric.scale));
        let median = match metric.scale {
            EffectScale::Points => number::percent(metric.median, 1.0),
            EffectScale::Relative => number::with_unit(Some(metric.median), &metric.unit),
        };
        let cells = [
            median,
            deviation(Some(metric.deviation)),
            deviation(metric.within_run),
            deviation(metric.between_starts),
            deviation(Some(metric.between_pairs)),
        ];
        (metric.name.clone(), cells.map(Cell::plain).to_vec())
    };
    Table {
        label: "standard deviation",
        columns: heads.map(|(head, rank)| Column { head, rank }).to_vec(),
        rows: metrics.iter().map(row).collect(),
    }
}

fn smallest(summary: &CalibrationSummary<'_>) -> Table {
    const HEADS: [&str; 4] = ["10 min", "20 min", "60 min", "90 min"];
    let mut columns: Vec<Column> =
        HEADS.iter().zip([3, 2, 0, 1]).map(|(head, rank)| Column { head, rank }).collect();
    columns.push(Column { head: "margin", rank: 4 });
    let row = |(noise, visible): (&MetricNoise, &VisibleChanges)| {
        let shown = |change: Option<f64>| {
            Cell::plain(number::or_not_measured(change, |change| percent(change, noise.scale)))
        };
        let mut cells: Vec<Cell> = visible.smallest.map(shown).to_vec();
        cells.push(shown(Some(visible.margin)));
        (noise.name.clone(), cells)
    };
    let mut rows = vec![(
        "pairs".to_owned(),
        summary
            .pairs
            .map(|pairs| Cell::plain(pairs.to_string()))
            .into_iter()
            .chain([Cell::plain(String::new())])
            .collect(),
    )];
    rows.extend(summary.calibration.metrics.iter().zip(&summary.visible).map(row));
    Table { label: "metric", columns, rows }
}

fn percent(value: f64, scale: EffectScale) -> String {
    let unit = if scale == EffectScale::Points { "pp" } else { "%" };
    let percent = value * 100.0;
    let digits = match percent {
        size if size >= 9.95 => 1,
        size if size >= 0.1 || size == 0.0 => 2,
        _ => 3,
    };
    format!("{percent:.digits$} {unit}")
}
