//! One run of an experiment, measured.

use std::collections::BTreeMap;

use evidence::coverage::covered_seconds;
use evidence::run::{ReadError, select};
use evidence::{Coverage, Histogram, Key, Metric, Outcome, Run, Seconds, SeriesKey, Window};
use workload::experiment::GateMetric;
use workload::{Comparison, CostKind, Filter, Measure, Objective, Quantity, Statistic, Workload};

use super::conditions::Conditions;
use super::probe_rounds::{ENOUGH_COVERAGE, round_times};
use super::warm_up::Cuts;
use crate::compare::Side;
use crate::measure::{self, MeasureSource, Readings, Value};

/// Times are kept to three digits: two equal quantiles may differ by so much.
const TIME_ERROR: f64 = 0.000_5;
/// Numbers that never vary are not known more exactly than this.
const OTHER_ERROR: f64 = 0.000_1;
/// How many failures of a run count as one, where no failure shows how they cluster.
const CLUSTERED: f64 = 10.0;
/// The time that statements of a database take, in seconds a second.
const STATEMENT_TIME: &str = "pg_statement_busy";
/// Series of single statements.
const OF_STATEMENTS: &str = "pg_statement_";

/// The value of a metric in one run.
#[derive(Debug, Clone, PartialEq)]
pub enum SlotValue {
    /// A number, and its standard error by counting alone: below that no two runs can be distinguished.
    Known {
        /// In the metric's unit.
        value: f64,
        /// Of the value where sides are compared by their difference, of its logarithm otherwise.
        error: f64,
        /// How much of it the generator's lag may be, in the metric's unit.
        lag: f64,
    },
    /// More requests failed than the quantile leaves out.
    Infinite,
    /// It was not measured; why.
    Missing(String),
}

impl SlotValue {
    /// The number.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub fn known(&self) -> Result<f64, String> {
        match self {
            SlotValue::Known { value, .. } => Ok(*value),
            SlotValue::Infinite => Err("more requests failed than the quantile leaves out.".to_owned()),
            SlotValue::Missing(why) => Err(why.clone()),
        }
    }

    /// Its error by counting alone; 0 where there is no number.
    pub fn error(&self) -> f64 {
        match self {
            SlotValue::Known { error, .. } => *error,
            SlotValue::Infinite | SlotValue::Missing(_) => 0.0,
        }
    }

    /// How much of it the generator's lag may be; 0 where there is no number.
    pub fn lag(&self) -> f64 {
        match self {
            SlotValue::Known { lag, .. } => *lag,
            SlotValue::Infinite | SlotValue::Missing(_) => 0.0,
        }
    }
}

/// Everything of one run that is compared.
pub(super) struct Slot {
    pub(super) values: Vec<SlotValue>,
    /// The processor time of a round of the reference probe in the seconds of each metric.
    pub(super) probe: Vec<Option<f64>>,
    pub(super) others: Vec<(String, f64)>,
    /// Milliseconds of a request in each statement, by its text.
    pub(super) statements: BTreeMap<String, f64>,
    pub(super) conditions: Conditions,
}

impl Slot {
    pub(super) fn measure(side: &Side<'_>, cuts: &Cuts, metrics: &[GateMetric]) -> Result<Slot, ReadError> {
        let (run, workload) = (cuts.applied_to_run(side.run), cuts.applied_to(side.workload));
        let readings = Readings::read(&run, &workload)?;
        let source = readings.source();
        Ok(Slot {
            values: values(&source, metrics)?,
            probe: round_times(&source, metrics)?,
            others: others(&source)?,
            statements: statements(&source)?,
            conditions: Conditions::read(side, &readings.figures)?,
        })
    }
}

/// The values of metrics in a run that is cut.
pub(super) fn cut_values(
    side: &Side<'_>,
    cuts: &Cuts,
    metrics: &[GateMetric],
) -> Result<Vec<SlotValue>, ReadError> {
    let (run, workload) = (cuts.applied_to_run(side.run), cuts.applied_to(side.workload));
    let readings = Readings::read(&run, &workload)?;
    values(&readings.source(), metrics)
}

fn values(source: &MeasureSource<'_>, metrics: &[GateMetric]) -> Result<Vec<SlotValue>, ReadError> {
    metrics.iter().map(|metric| value(source, &metric.quantity)).collect()
}

fn value(source: &MeasureSource<'_>, quantity: &Quantity) -> Result<SlotValue, ReadError> {
    match quantity {
        Quantity::Measure { measure, filter } => measured(source, measure, filter),
        Quantity::Cost { cost, target, phase } => {
            let target = match target {
                Some(target) => target.clone(),
                None => match only_target(source.run, *cost) {
                    Ok(target) => target,
                    Err(why) => return Ok(SlotValue::Missing(why)),
                },
            };
            let filter = Filter { phase: phase.clone(), ..Filter::default() };
            let paid = Paid { cost: *cost, target: &target };
            cost_per_request(source.run, &source.window(&filter), paid)
        }
    }
}

fn measured(source: &MeasureSource<'_>, measure: &Measure, filter: &Filter) -> Result<SlotValue, ReadError> {
    let found = measure::value(source, &objective(measure, filter))?;
    let n = found.samples as f64;
    Ok(match found.value {
        Value::Infinite => SlotValue::Infinite,
        Value::Missing(why) | Value::Unselected(why) => SlotValue::Missing(why),
        Value::Finite(value) => SlotValue::Known {
            value,
            error: error(measure, value, n),
            lag: lag_ms(source.run, measure, filter)?,
        },
    })
}

/// What measures it; its bound decides nothing.
pub(super) fn objective(measure: &Measure, filter: &Filter) -> Objective {
    Objective {
        name: String::new(),
        source: String::new(),
        measure: measure.clone(),
        filter: filter.clone(),
        comparison: Comparison::Below,
        bound: 0.0,
        abort_after: None,
    }
}

/// By how much late starts may have raised a time that runs from the due instant, in milliseconds: the same statistic of the
/// lag.
fn lag_ms(run: &dyn Run, measure: &Measure, filter: &Filter) -> Result<f64, ReadError> {
    let (Measure::ResponseTime(statistic) | Measure::IterationTime(statistic)) = measure else {
        return Ok(0.0);
    };
    let is_its = |key: &Key| {
        filter.scenario.as_ref().is_none_or(|name| *name == *key.scenario)
            && filter.phase.as_ref().is_none_or(|name| *name == *key.phase)
    };
    let mut all = Histogram::new();
    for metric in [Metric::StartLag, Metric::StepLag] {
        for (id, _) in select(run.keys(), metric, is_its) {
            all.merge(&run.histogram(id, run.whole())?);
        }
    }
    let us = match statistic {
        Statistic::Quantile(q) => all.quantile(*q).finite_us(),
        Statistic::Max => all.max_us().map(|us| us as f64),
        Statistic::Min => None,
        Statistic::Mean => all.mean_us(),
    };
    Ok(us.unwrap_or(0.0) / 1_000.0)
}

/// The standard error of a value by counting alone.
pub(super) fn error(measure: &Measure, value: f64, n: f64) -> f64 {
    let of_share = |share: f64| {
        let part = (share * n + 0.5) / (n + 1.0);
        (part * (1.0 - part) / n.max(1.0)).sqrt()
    };
    match measure {
        Measure::ErrorRate | Measure::CheckRate { .. } if value <= 0.0 || value >= 1.0 => {
            of_share(value) * CLUSTERED.sqrt()
        }
        Measure::ErrorRate | Measure::CheckRate { .. } => of_share(value),
        // Below saturation all that is offered is answered, in both arms.
        Measure::Goodput { .. } | Measure::Throughput => (of_share(0.0) * CLUSTERED.sqrt()).max(OTHER_ERROR),
        Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_) => TIME_ERROR,
        Measure::Series { .. } | Measure::Metric(_) => OTHER_ERROR,
    }
}

/// How what requests are paid with is observed.
fn how_to_observe(cost: CostKind) -> &'static str {
    match cost {
        CostKind::Cpu => "observe one (`process = { port = … }`)",
        CostKind::AllocatedBytes | CostKind::Allocations => {
            "observe the metrics of a Go program and keep it \
             (`observe.prometheus = { url = \"…\", keep = [\"go_memstats_*_total\"] }`)"
        }
    }
}

/// The only target that has the series of a cost.
fn only_target(run: &dyn Run, cost: CostKind) -> Result<String, String> {
    let series = cost.series();
    let is_its = |key: &&SeriesKey| &*key.name == series && &*key.target != SeriesKey::GENERATOR;
    let mut targets: Vec<&str> = run.series().iter().filter(is_its).map(|key| &*key.target).collect();
    targets.sort_unstable();
    targets.dedup();
    match targets[..] {
        [only] => Ok(only.to_owned()),
        [] => Err(format!("no target has the series `{series}`; {}.", how_to_observe(cost))),
        _ => Err(format!("several targets have the series `{series}`: {}; name one.", targets.join(", "))),
    }
}

/// What requests are paid with, and by which target.
struct Paid<'a> {
    cost: CostKind,
    target: &'a str,
}

/// The integral of a rate over the seconds of `window` that its samples cover, divided by the requests that ended in
/// exactly these seconds.
fn cost_per_request(run: &dyn Run, window: &Seconds, paid: Paid<'_>) -> Result<SlotValue, ReadError> {
    let Paid { cost, target } = paid;
    let is_its = |key: &&SeriesKey| &*key.name == cost.series() && &*key.target == target;
    let parts: Vec<Coverage> =
        run.series().iter().filter(is_its).map(|key| Coverage::read(run, key)).collect::<Result<_, _>>()?;
    if parts.is_empty() {
        let (series, how) = (cost.series(), how_to_observe(cost));
        return Ok(SlotValue::Missing(format!("`{series}` of {target} was not observed; {how}.")));
    }
    let ranges = covered_seconds(&parts, window, run.seconds());
    let covered: u32 = ranges.iter().map(|range| range.end - range.start).sum();
    if f64::from(covered) < ENOUGH_COVERAGE * window.len() as f64 || covered == 0 {
        let asked = window.len();
        return Ok(SlotValue::Missing(format!(
            "`{}` of {target} was observed in {covered} of {asked} s.",
            cost.series()
        )));
    }
    let (mut sum, mut requests) = (0.0, 0_u64);
    for range in &ranges {
        sum += parts.iter().map(|part| part.integral(Window::new(range)).sum).sum::<f64>();
        requests += ended(run, range)?;
    }
    Ok(match requests {
        0 => SlotValue::Missing("no request ended.".to_owned()),
        _ => SlotValue::Known { value: sum * cost.factor() / requests as f64, error: OTHER_ERROR, lag: 0.0 },
    })
}

/// How many requests ended in these seconds, those that the generator cancelled left out.
fn ended(run: &dyn Run, seconds: &Seconds) -> Result<u64, ReadError> {
    let mut count = 0;
    for (id, _) in select(run.keys(), Metric::ResponseTime, |key| key.outcome != Some(Outcome::Cancelled)) {
        count += run.histogram(id, seconds.clone())?.count();
    }
    Ok(count)
}

/// What is compared and decides nothing: p50 and p95 of each endpoint in each phase, and the mean of each observed series.
fn others(source: &MeasureSource<'_>) -> Result<Vec<(String, f64)>, ReadError> {
    let MeasureSource { run, workload, figures, .. } = *source;
    let mut others = Vec::new();
    for endpoint in figures.endpoints() {
        for (name, q) in [("p50", 0.5), ("p95", 0.95)] {
            if let Some(us) = endpoint.ok.quantile_with(q, endpoint.infinitely_slow()).finite_us() {
                let key = &endpoint.key;
                others.push((format!("{name} of {} in {}", key.endpoint, key.phase), us / 1_000.0));
            }
        }
    }
    let window = whole(workload);
    let is_other =
        |key: &&SeriesKey| &*key.target != SeriesKey::GENERATOR && !key.name.starts_with(OF_STATEMENTS);
    for series in run.series().iter().filter(is_other) {
        let integral = Coverage::read(run, series)?.integral(window);
        if integral.covered_s > 0.0 && integral.sum > 0.0 {
            let part = if series.part.is_empty() { String::new() } else { format!(" {}", series.part) };
            others.push((
                format!("mean {}{part} of {}", series.name, series.target),
                integral.sum / integral.covered_s,
            ));
        }
    }
    Ok(others)
}

/// The time that requests spend in each statement of the observed databases. A statement is named by its text: its id
/// differs between databases.
fn statements(source: &MeasureSource<'_>) -> Result<BTreeMap<String, f64>, ReadError> {
    let MeasureSource { run, workload, .. } = *source;
    let mut statements = BTreeMap::new();
    let window = whole(workload);
    let seconds = source.window(&Filter::default());
    let rate = ended(run, &seconds)? as f64 / (seconds.len() as f64).max(1.0);
    for series in run.series().iter().filter(|series| &*series.name == STATEMENT_TIME) {
        let integral = Coverage::read(run, series)?.integral(window);
        if integral.covered_s <= 0.0 || rate <= 0.0 {
            continue;
        }
        let part = &*series.part;
        let text = part.split_once(' ').map_or(part, |(_, text)| text);
        *statements.entry(text.to_owned()).or_default() += integral.sum / integral.covered_s / rate * 1_000.0;
    }
    Ok(statements)
}

/// From the first phase's beginning to the last one's end.
fn whole(workload: &Workload) -> Window {
    let at = |time: Option<std::time::Duration>| evidence::Instant::at(time.unwrap_or_default());
    let begin = workload.phases.first().map(|phase| phase.start);
    Window { begin: at(begin), end: at(workload.phases.last().map(|phase| phase.end)) }
}
