//! A calibration: the noise of each metric, and the changes that an experiment can see.

use evidence::{Calibration, EffectScale, MetricNoise};

use crate::document::{
    Block, Document, Paragraph, ParagraphKind, Reported, Row, Section, Table, VerdictBlock,
};
use crate::number;

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
    pub minutes: [u32; 4],
    /// So many pairs fit.
    pub pairs: [u32; 4],
    /// By metric of the calibration.
    pub visible: Vec<VisibleChanges>,
    /// Metrics without noise, and why.
    pub unknown: &'a [(String, String)],
}

impl Reported for CalibrationSummary<'_> {
    fn document(&self) -> Document {
        let found = self.calibration;
        let error = format!(
            "{} pairs know a standard deviation to × {:.2} (80 %). Within a run: what more or longer slots reduce; between \
             starts: what only more pairs reduce.",
            found.pairs, self.error
        );
        let noise = vec![Block::Table(noise(&found.metrics)), Block::text(ParagraphKind::Plain, error)];
        let probed = Block::text(ParagraphKind::Plain, use_of_probe(&found.metrics));
        let probed = probe(&found.metrics).map(|table| vec![Block::Table(table), probed]);
        let probed =
            probed.map(|blocks| Section::new("probe", "Standard deviation with the reference probe", blocks));
        let warnings = self.invisible().chain(self.uncalibrated());
        let warnings = warnings.map(|text| Block::text(ParagraphKind::Notice, text));
        let smallest = std::iter::once(Block::Table(smallest(self))).chain(warnings);
        Document {
            name: found.name.clone(),
            title: format!("Calibration of {}", found.name),
            verdict: VerdictBlock {
                verdict: None,
                word: "CALIBRATED".to_owned(),
                answer: None,
                because: format!(
                    "{}: {} pairs of A against A, {} s under load each",
                    found.name, found.pairs, found.slot_s
                ),
                assumes: None,
                case: "calibration",
            },
            facts: vec![Paragraph::new(ParagraphKind::Basis, host(found))],
            sections: [
                Some(Section::unheaded("noise", "How much runs differ", noise)),
                probed,
                Some(Section {
                    note: "at the limit of each deviation".to_owned(),
                    ..Section::new("smallest", "Smallest change that is found with 95 %", smallest.collect())
                }),
            ]
            .into_iter()
            .flatten()
            .collect(),
            properties: vec![("pairs", found.pairs.to_string())],
            footer: "Made by Plimsoll from pairs of A against A.",
            ..Document::default()
        }
    }

    fn json(&self) -> String {
        crate::json::pretty(self.calibration)
    }
}

impl CalibrationSummary<'_> {
    /// Which margins no experiment of a usual length can see.
    fn invisible(&self) -> impl Iterator<Item = String> {
        self.calibration.metrics.iter().zip(&self.visible).filter_map(|(noise, visible)| {
            let best = visible.smallest[3];
            best.is_none_or(|best| best > visible.margin).then(|| {
                format!(
                    "margin-not-detectable: {}: even after {} min, a change of {} may be missed; its margin is {}.",
                    noise.name,
                    self.minutes[3],
                    best.map_or("any size".to_owned(), |best| percent(best, noise.scale)),
                    percent(visible.margin, noise.scale)
                )
            })
        })
    }

    fn uncalibrated(&self) -> impl Iterator<Item = String> {
        self.unknown.iter().map(|(name, why)| format!("{name}: not calibrated. {why}"))
    }
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
        Row::new(&metric.name, cells)
    };
    Table::new("standard deviation", heads, metrics.iter().map(row))
}

/// What the reference probe takes out of the deviations; none where nothing is known of it.
fn probe(metrics: &[MetricNoise]) -> Option<Table> {
    let heads = [("without", 1), ("with", 0), ("at most", 2), ("used", 3)];
    let row = |metric: &MetricNoise| {
        let gain = metric.probe?;
        let cells = [
            percent(metric.deviation, metric.scale),
            percent(gain.deviation, metric.scale),
            format!("× {:.2}", gain.ratio_limit),
            if gain.is_enough { "yes" } else { "no" }.to_owned(),
        ];
        Some(Row::new(&metric.name, cells))
    };
    let rows: Vec<Row> = metrics.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table::new("metric", heads, rows))
}

fn use_of_probe(metrics: &[MetricNoise]) -> String {
    let is_used = metrics.iter().any(|metric| metric.probe.is_some_and(|gain| gain.is_enough));
    let answer = match is_used {
        true => "It earns its place: `plimsoll ab` corrects the metrics of which it is used.",
        false => "It does not earn its place, and `plimsoll ab` does not use it.",
    };
    format!(
        "{answer} It is used where the upper limit (80 %) of the deviation with it is below × 0.90 of that without."
    )
}

fn smallest(summary: &CalibrationSummary<'_>) -> Table {
    let minutes = summary.minutes.iter().zip([3, 2, 0, 1]);
    let heads = minutes.map(|(minutes, rank)| (format!("{minutes} min"), rank));
    let of_metric = |(noise, visible): (&MetricNoise, &VisibleChanges)| {
        let shown = |change| number::or_not_measured(change, |change| percent(change, noise.scale));
        Row::new(&noise.name, visible.smallest.into_iter().chain([Some(visible.margin)]).map(shown))
    };
    let pairs = summary.pairs.map(|pairs| pairs.to_string()).into_iter().chain([String::new()]);
    let metrics = summary.calibration.metrics.iter().zip(&summary.visible).map(of_metric);
    let rows = std::iter::once(Row::new("pairs", pairs)).chain(metrics);
    Table::new("metric", heads.chain([("margin".to_owned(), 4)]), rows)
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
