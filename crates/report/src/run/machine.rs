//! Scenarios, the generator, CPU and observed series, on a page.

use evidence::manifest::Worker;
use evidence::{RuleId, SeriesKey};

use crate::document::{
    Block, Cell, Column, FactLayout, Facts, Forms, Paragraph, ParagraphKind, Row, Section, Table,
};
use crate::number;
use crate::summary::{
    Arrivals, CpuUse, Outcomes, ScenarioTotal, SeriesSummary, Summary, WorkerSummary, quantile_text,
    spread_of_workers,
};

/// The most phases that have a column in the table of series.
const MAX_SERIES_PHASES: usize = 6;
/// The most observers whose costs are listed; the table of series has all.
const MAX_OBSERVERS: usize = 5;

pub(super) fn sections(summary: &Summary) -> [Section; 2] {
    let hint = Block::text(
        ParagraphKind::Hint,
        "“Dropped: VU limit”: no virtual user was free, because the target was too slow. “Dropped: generator late”: the \
         generator could not start the arrival in time.",
    );
    let scenarios = Section::new("scenarios", "Scenarios", vec![Block::Table(scenarios(summary)), hint]);
    let facts = Block::Facts(Facts::new(FactLayout::Values, generator(summary)));
    let mut blocks = vec![facts, Block::Table(cpu(summary)), Block::Table(series(summary))];
    if summary.workers.len() > 1 && !differ(summary) {
        let folded = format!("Workers ({})", summary.workers.len());
        blocks.insert(1, Block::Table(Table { folded: Some(folded), ..workers(summary) }));
    }
    [scenarios, Section::new("generator", "Generator and targets", blocks)].map(|of| of.only(Forms::Page))
}

/// Each worker, in every form where they were not alike.
pub(super) fn unlike_workers(summary: &Summary) -> Option<Section> {
    let section = || Section::new("workers", "Workers", vec![Block::Table(workers(summary))]);
    differ(summary).then(section)
}

/// Whether a rule names one of several workers, or one dropped arrivals that others did not drop.
fn differ(summary: &Summary) -> bool {
    let names_one = |rule: RuleId| matches!(rule, RuleId::W1 | RuleId::W2 | RuleId::W3 | RuleId::W4);
    let is_found = summary.judgement.findings.iter().any(|finding| names_one(finding.rule));
    let dropped = || summary.workers.iter().map(|worker| worker.load.dropped_late);
    summary.workers.len() > 1 && (is_found || dropped().min() != dropped().max())
}

fn workers(summary: &Summary) -> Table {
    let percent = |share: f64| format!("{} %", number::significant(share * 100.0, 2));
    let has_vanished = summary.workers.iter().any(|worker| worker.load.vanished_at_s.is_some());
    let row = |worker: &WorkerSummary| {
        let load = &worker.load;
        let cells = [
            Cell::new(worker.loops.to_string()),
            Cell::new(number::or_not_measured(load.offered_per_s, |n| number::significant(n, 3))),
            Cell::bad_if(number::count(load.dropped_late), load.dropped_late > 0),
            Cell::new(number::time_or_none(load.start_lag_p99_ms)),
            Cell::new(number::or_not_measured(load.stalled, percent)),
            Cell::new(number::or_not_measured(load.cpu_cores, |n| number::significant(n, 2))),
        ];
        let vanished = load.vanished_at_s.map_or_else(|| "–".to_owned(), |at| format!("at {at} s"));
        let vanished = has_vanished.then(|| Cell::bad_if(vanished, load.vanished_at_s.is_some()));
        let name = Worker::name_of(worker.place.process.into(), &worker.address);
        Row::of_cells(name, vanished.into_iter().chain(cells))
    };
    let vanished = has_vanished.then(|| Column::new("vanished", 0));
    let columns = [
        Column::new("loops", 2),
        Column::new("started/s", 0),
        Column::new("dropped late", 0),
        Column::new("start lag p99", 1),
        Column::new("stalled", 2),
        Column::new("CPU, cores", 1),
    ];
    let columns = vanished.into_iter().chain(columns);
    Table::of_columns("worker", columns, summary.workers.iter().map(row))
}

fn scenarios(summary: &Summary) -> Table {
    let row = |s: &ScenarioTotal| {
        let arrivals = |part: fn(&Arrivals) -> u64| number::count_or_none(s.arrivals.as_ref().map(part));
        let cells = [
            arrivals(|a| a.scheduled),
            arrivals(|a| a.started),
            arrivals(|a| a.dropped_cap),
            arrivals(|a| a.dropped_late),
            number::count_or_none(s.iterations_done),
            number::count_or_none(s.iterations_cancelled),
            number::or_not_measured(s.virtual_users.as_ref(), |users| users.in_words()),
            s.outcomes.completed_text(),
            failed(&s.outcomes),
        ];
        Row::new(&s.name, cells)
    };
    let columns = [
        Column::new("due", 0),
        Column::new("started", 0),
        Column::new("dropped: VU limit", 0),
        Column::new("dropped: generator late", 0),
        Column::new("iterations done", 0),
        Column::new("cancelled", 0),
        Column::words("virtual users", 0),
        Column::new("requests ended", 0),
        Column::new("failed", 0),
    ];
    Table {
        none: "No scenario started.",
        ..Table::of_columns("scenario", columns, summary.scenarios.iter().map(row))
    }
}

/// Failures and their share: `12 (0.40 %)`.
fn failed(outcomes: &Outcomes) -> String {
    match outcomes.failed() {
        Some(failed) => format!("{} ({})", number::count(failed), outcomes.failed_share()),
        None => outcomes.count_text(None),
    }
}

fn generator(summary: &Summary) -> Vec<Paragraph> {
    let generator = &summary.generator;
    let bytes = |n: Option<u64>| number::or_not_measured(n, |n| number::bytes(n as f64));
    let (lag, stall) = (&generator.start_lag, &generator.loop_stall);
    let facts = [
        ("arrivals due", number::count_or_none(summary.arrivals.map(|arrivals| arrivals.scheduled))),
        ("requests ended", summary.outcomes.completed_text()),
        ("start lag p50", number::time_or_none(lag.p50_ms)),
        ("start lag p99", quantile_text(lag, 0.99, lag.p99_ms)),
        ("start lag max", number::time_or_none(lag.max_ms)),
        ("loop stall p99", quantile_text(stall, 0.99, stall.p99_ms)),
        ("loop stall max", number::time_or_none(stall.max_ms)),
        ("bytes received", bytes(generator.bytes_in)),
        ("bytes sent", bytes(generator.bytes_out)),
        ("cancelled by the generator", summary.outcomes.count_text(summary.outcomes.cancelled())),
        ("in flight at the end", number::count_or_none(summary.header.requests_in_flight)),
        ("ticks merged", number::count_or_none(generator.folded_ticks)),
        ("endpoints counted as one", number::count_or_none(generator.folded_endpoints)),
    ];
    let perturbed = generator.perturbed_requests.map(|n| ("requests during stalls", number::count(n)));
    let workers = spread_of_workers(&summary.workers).map(|spread| ("workers", spread));
    let watching = observers(summary).map(|costs| ("watching", costs));
    let facts = facts.into_iter().chain(perturbed).chain(workers).chain(watching);
    facts.map(|(name, value)| Paragraph::labelled(name, value)).collect()
}

/// The costs of the observers, the most expensive first.
fn observers(summary: &Summary) -> Option<String> {
    let costs =
        summary.series.iter().filter(|s| s.name == "observer_cpu" && s.target == SeriesKey::GENERATOR);
    let mut costs: Vec<(&str, f64)> = costs.map(|s| (s.part.as_str(), s.statistics.mean)).collect();
    costs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let sum: f64 = costs.iter().map(|(_, cores)| cores).sum();
    let cores = |cores: f64| format!("{} cores", number::significant(cores, 2));
    let named = costs.iter().take(MAX_OBSERVERS).map(|(name, cost)| format!("{name} {}", cores(*cost)));
    let named: Vec<String> = named.collect();
    (!costs.is_empty()).then(|| format!("{}: {}", cores(sum), named.join(", ")))
}

fn cpu(summary: &Summary) -> Table {
    let number3 = |value: Option<f64>| number::or_not_measured(value, |v| number::significant(v, 3));
    let row = |c: &CpuUse| {
        let cells = [
            number3(c.cpu_seconds),
            number3(c.mean_cores),
            number::or_not_measured(c.per_1000_requests_s, number::cpu),
            number::or_not_measured(c.per_1000_requests_s, |_| c.part_of_run()),
            c.note.clone(),
        ];
        Row::new(&c.target, cells)
    };
    let columns = [
        Column::new("CPU-seconds", 0),
        Column::new("cores, mean", 0),
        Column::new("per 1,000 requests", 0),
        Column::words("of", 0),
        Column::words("note", 0),
    ];
    Table::of_columns("CPU of", columns, summary.cpu.iter().map(row))
}

/// Every observed series; by phase as well where there are several, because a single one would repeat the mean.
fn series(summary: &Summary) -> Table {
    let phases = if summary.phases.len() > 1 { summary.phases.as_slice() } else { &[] };
    let phases = &phases[..phases.len().min(MAX_SERIES_PHASES)];
    let row = |s: &SeriesSummary| {
        let value = |v: f64| number::with_unit(Some(v), &s.unit);
        let name = if s.part.is_empty() { s.name.clone() } else { format!("{} ({})", s.name, s.part) };
        let statistics = &s.statistics;
        let whole = [
            name,
            value(statistics.mean),
            value(statistics.min),
            value(statistics.max),
            value(statistics.last),
            number::count(statistics.samples),
        ];
        let by_phase = s.phases.iter().take(phases.len()).map(|of_phase| {
            number::or_not_measured(of_phase.as_ref(), |of_phase| {
                format!("{} (max {})", value(of_phase.mean), value(of_phase.max))
            })
        });
        Row::new(&s.target, whole.into_iter().chain(by_phase))
    };
    let columns = ["mean", "lowest", "highest", "last", "samples"].map(|head| Column::new(head, 0));
    let by_phase = phases.iter().map(|phase| Column::new(format!("in {}", phase.name), 0));
    let columns = std::iter::once(Column::words("series", 0)).chain(columns).chain(by_phase);
    let table = Table::of_columns("target", columns, summary.series.iter().map(row));
    Table { folded: Some(format!("Observed series ({})", summary.series.len())), ..table }
}
