//! What an imported run cannot show: each rule that needs what its source did not keep says that it is unknown, which
//! is neither fine nor a fault of the run.

use std::collections::BTreeMap;

use evidence::{Finding, Missing, Scope, Severity, Source};
use workload::{Measure, Statistic};

use crate::facts::{Facts, Stretch};
use crate::rule::{named, with_figures};
use crate::thresholds::{IMPORTED_GAP, LATE_CAUTION, LATE_INVALID};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(source) = facts.source else { return Vec::new() };
    let mut findings = unknown(source);
    findings.extend(facts.tables.stretches.iter().filter_map(dropped));
    findings.extend(model(facts, source));
    findings.extend(time_limits(facts, source));
    findings.extend(figures(source));
    findings
}

/// What is doubted of the whole run, whatever is asked of it.
fn unknown(source: &Source) -> Vec<Finding> {
    let tool = &source.tool;
    let told: [(Missing, &str, String); 3] = [
        (
            Missing::Arrivals,
            "L1",
            format!(
                "{tool} did not keep how many arrivals were due: whether the load that was asked for was offered is unknown."
            ),
        ),
        (
            Missing::DueTimes,
            "L2",
            format!(
                "{tool} did not keep when requests were due: start lag is unknown, and what users waited before \
                 their requests were sent is in none of these times."
            ),
        ),
        (
            Missing::GeneratorLoad,
            "L3",
            format!(
                "{tool} did not keep how busy it was: whether the generator was at its limit is unknown."
            ),
        ),
    ];
    let told = told.into_iter().filter(|(missing, ..)| source.lacks(*missing));
    told.map(|(_, id, what)| named(id).finding(Severity::Caution, Scope::default(), what)).collect()
}

/// Arrivals that were dropped nobody knows why.
fn dropped(stretch: &Stretch) -> Option<Finding> {
    let all = stretch.done + stretch.cancelled + stretch.dropped_unknown;
    let share = stretch.dropped_unknown as f64 / all.max(1) as f64;
    let (severity, threshold) = match share {
        s if s > LATE_INVALID => (Severity::Invalid, LATE_INVALID),
        s if s > LATE_CAUTION => (Severity::Caution, LATE_CAUTION),
        _ => return None,
    };
    let what = format!(
        "{} of {} {} ({}) were dropped; whether the target or the generator was too slow for them is unknown.",
        words::whole(stretch.dropped_unknown),
        words::whole(all),
        stretch.place.words(),
        words::percent(share)
    );
    let figures = [
        ("dropped", stretch.dropped_unknown as f64, "1"),
        ("dropped share", share * 100.0, "%"),
        ("threshold", threshold * 100.0, "%"),
    ];
    Some(with_figures(named("L2").finding(severity, stretch.place.scope(), what), &figures))
}

/// Whether the load was offered, or set by the target's own speed.
fn model(facts: &Facts<'_>, source: &Source) -> Vec<Finding> {
    if !source.lacks(Missing::Model) {
        return Vec::new();
    }
    let asked = facts.asked.iter().filter(|asked| asked.is_a_rate());
    let finding = |asked: &crate::facts::Asked<'_>| {
        let what = format!(
            "{} did not keep whether arrivals waited for completions: whether this rate was offered, or set by the \
             target's own speed, is unknown.",
            source.tool
        );
        named("L4").finding(Severity::Inconclusive, asked.scope(), what)
    };
    asked.map(finding).collect()
}

/// Whether a quantile is a time, or where somebody stopped waiting.
fn time_limits(facts: &Facts<'_>, source: &Source) -> Vec<Finding> {
    if !source.lacks(Missing::TimeLimits) {
        return Vec::new();
    }
    let is_quantile = |asked: &&crate::facts::Asked<'_>| {
        matches!(asked.objective.measure, Measure::ResponseTime(Statistic::Quantile(_)))
            && asked.observed.samples > 0
    };
    let finding = |asked: &crate::facts::Asked<'_>| {
        let what = format!(
            "{} did not keep the time limits of requests: whether this quantile is one of them is unknown.",
            source.tool
        );
        named("Q2").finding(Severity::Caution, asked.scope(), what)
    };
    facts.asked.iter().filter(is_quantile).map(finding).collect()
}

/// Figures of the source's own that cannot be, and means that two kinds of answers make.
fn figures(source: &Source) -> Vec<Finding> {
    let mut by_subject: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for figure in source.figures.iter().filter(|figure| figure.unit == "ms") {
        by_subject.entry(&figure.of).or_default().insert(&figure.name, figure.value);
    }
    by_subject.into_iter().filter_map(|(of, numbers)| impossible(of, &numbers)).collect()
}

fn impossible(of: &str, numbers: &BTreeMap<&str, f64>) -> Option<Finding> {
    let in_order = ["min", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let known: Vec<(&str, f64)> =
        in_order.iter().filter_map(|name| Some((*name, *numbers.get(name)?))).collect();
    let finding = |severity, what| Some(named("Q4").finding(severity, Scope::default(), what));
    if let Some([lower, higher]) = known.array_windows().find(|[lower, higher]| lower.1 > higher.1) {
        let (low, high) = (words::ms(lower.1), words::ms(higher.1));
        let what = format!("`{of}`: {} {low} above {} {high} cannot be.", lower.0, higher.0);
        return finding(Severity::Invalid, what);
    }
    let (mean, p95) = (*numbers.get("avg")?, *numbers.get("p95")?);
    if mean <= p95 {
        return None;
    }
    // The faster 95 % average p95 at most, so the rest must make up for the mean.
    let rest = (mean - 0.95 * p95) / 0.05;
    let (mean, p95, rest) = (words::ms(mean), words::ms(p95), words::ms(rest));
    let what = format!("`{of}`: mean {mean} above p95 {p95}: the slowest 5 % average at least {rest}.");
    finding(Severity::Caution, what)
}

/// L6 of an imported run: only what is known on both sides can be balanced, and a small gap may be the file's.
pub(crate) fn books(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A line that could not be read, or that was cut, is a gap whose reason is known.
    let unread_records = facts.source.map_or(0, |source| source.malformed) + u64::from(!facts.is_complete());
    for cell in facts.tables.cells.iter().filter(|cell| cell.requests > 0) {
        let (begun, ended) = (cell.requests, cell.responses());
        let gap = begun.abs_diff(ended);
        if gap == 0 {
            continue;
        }
        let share = gap as f64 / begun.max(ended) as f64;
        let is_void = share > IMPORTED_GAP && gap > unread_records;
        let severity = if is_void { Severity::Invalid } else { Severity::Caution };
        let what = format!(
            "{} has {} requests and {} times of requests.",
            cell.place.words(),
            words::whole(begun),
            words::whole(ended)
        );
        let figures = [
            ("requests", begun as f64, "1"),
            ("times", ended as f64, "1"),
            ("gap", share * 100.0, "%"),
            ("threshold", IMPORTED_GAP * 100.0, "%"),
        ];
        findings.push(with_figures(named("L6").finding(severity, cell.place.scope(), what), &figures));
    }
    findings.extend(facts.source.and_then(unread));
    findings
}

fn unread(source: &Source) -> Option<Finding> {
    let first = source.first_malformed.as_deref()?;
    let what = match source.malformed {
        1 => format!(
            "One record of the {} could not be read and is in no number here: {first}.",
            source.format
        ),
        n => format!(
            "{} records of the {} could not be read and are in no number here; the first is {first}.",
            words::whole(n),
            source.format
        ),
    };
    let figures = [("records not read", source.malformed as f64, "1"), ("threshold", 0.0, "1")];
    Some(with_figures(named("L6").finding(Severity::Caution, Scope::default(), what), &figures))
}

#[cfg(test)]
mod tests;
