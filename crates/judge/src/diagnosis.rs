//! Why objectives break: the ledger of resources.
//!
//! For each resource the demand of a completion is estimated from loads below the break (the utilisation law, U = X · D:
//! P. J. Denning and J. P. Buzen, "The Operational Analysis of Queueing Network Models", 1978), and with it the load at which the
//! resource is used up. A resource is named if that load is where the objectives break, no other resource's is, and most of the
//! growth of the response time was spent waiting for it. Otherwise the answer is UNDETERMINED, with the share of the growth
//! that no observed wait explains.
//!
//! The loads are those of a capacity search, or of one run ([`of_run`]).

mod growth;
mod levels;
mod name;
mod observe;
mod resources;
mod run;
#[cfg(test)]
mod tests;

use evidence::diagnosis::{
    CapacityInterval, DemandInterval, Diagnosis, LedgerLine, LedgerStanding, ResourceUse,
};
use figures::number::brief;
use stats::Regression;

use growth::Growth;
pub(crate) use resources::{BUSIEST_THREAD, CPU, UseWindow, uses};
pub use run::of_run;

/// Loads below this share of the break show the demand: near it waits and retries distort what is used.
const BELOW_BREAK: f64 = 0.85;
/// Confidence of demands and capacities.
const CONFIDENCE: f64 = 0.95;
/// How much wider the range of the break is taken than it was measured.
const WIDENED: f64 = 0.10;
/// A resource that is held this much longer at the break than where the growth begins is held while something else is waited for.
const HELD_FOR_LONGER: f64 = 1.3;

/// A part of the evidence in which the load was constant.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadWindow {
    /// Requests that were offered, a second; none where that is not known.
    pub offered_per_s: Option<f64>,
    /// Requests that were answered correctly, a second.
    pub completions_per_s: f64,
    /// Their mean response time, in seconds; none where it was not measured.
    pub response_s: Option<f64>,
    /// What was observed of resources.
    pub resources: Vec<ResourceUse>,
}

/// Between which loads the objectives break, in completions a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakRange {
    /// The highest load that is shown to hold.
    pub holds_per_s: f64,
    /// The lowest load that is shown to break.
    pub breaks_per_s: f64,
}

/// What limits a service whose objectives break within `range`.
pub fn diagnose(windows: &[LoadWindow], range: BreakRange) -> Diagnosis {
    let diagnosis = ledger(windows, range);
    let range_per_s = Some([range.holds_per_s, range.breaks_per_s]);
    let mut named = name::with_limit(Diagnosis { range_per_s, ..diagnosis }, range);
    named.observe = observe::what(&named, windows);
    named
}

/// What `windows` show, of which none breaks: the highest is below the break.
pub(crate) fn above_all(windows: &[LoadWindow], highest_per_s: f64, why: &str) -> Diagnosis {
    without_limit(windows, highest_per_s / BELOW_BREAK * (1.0 + f64::EPSILON.sqrt()), why)
}

/// What `windows` show, where there is no range in which they break: the loads below `breaks_per_s` show the demands.
pub(crate) fn without_limit(windows: &[LoadWindow], breaks_per_s: f64, why: &str) -> Diagnosis {
    let mut found = ledger(windows, BreakRange { holds_per_s: breaks_per_s, breaks_per_s });
    found.levels = levels::of(windows, None);
    let first = found.ledger.first().and_then(|line| Some((line, line.capacity_per_s?)));
    let first = first.map_or_else(String::new, |(line, limits)| {
        let high =
            limits.high.map_or_else(|| " or more".to_owned(), |high| format!(" to {}", brief::rate(high)));
        format!(" {} would be used up first, at {}{high}.", line.resource, brief::rate(limits.low))
    });
    found.because = format!("UNDETERMINED: {why}{first}");
    found.observe = observe::what(&found, windows);
    found
}

/// What `windows` show of each resource, without a limit: the loads up to the break are those up to `range`.
fn ledger(windows: &[LoadWindow], range: BreakRange) -> Diagnosis {
    let growth = Growth::of(windows, range);
    let lines = names(windows).map(|name| line(name, windows, range, &growth));
    // A single thread that is the busiest only at low loads limits nothing.
    let is_at_break =
        |line: &LedgerLine| line.series != resources::BUSIEST_THREAD || line.used_at_break.is_some();
    let mut ledger: Vec<LedgerLine> = lines.filter(is_at_break).collect();
    let begins = |line: &LedgerLine| line.capacity_per_s.map_or(f64::INFINITY, |limits| limits.low);
    ledger.sort_by(|a, b| begins(a).total_cmp(&begins(b)).then_with(|| a.resource.cmp(&b.resource)));
    // The wait for what is held for longer is the wait for what is waited for meanwhile.
    let independent = ledger.iter().filter(|line| line.standing != LedgerStanding::HeldForLonger);
    let waits: Vec<f64> = independent.filter_map(|line| line.wait_growth).collect();
    let unexplained = (!waits.is_empty()).then(|| (1.0 - waits.iter().sum::<f64>()).clamp(0.0, 1.0));
    Diagnosis {
        response_s: growth.response_s(),
        levels: levels::of(windows, Some(range.breaks_per_s)),
        unexplained,
        ledger,
        ..Diagnosis::default()
    }
}

/// The resources, each once, in the order in which they were first observed.
fn names(windows: &[LoadWindow]) -> impl Iterator<Item = &str> {
    let mut names: Vec<&str> = Vec::new();
    for reading in windows.iter().flat_map(|window| &window.resources) {
        if !names.contains(&reading.name.as_str()) {
            names.push(&reading.name);
        }
    }
    names.into_iter()
}

fn line(name: &str, windows: &[LoadWindow], range: BreakRange, growth: &Growth<'_>) -> LedgerLine {
    let of = |window: &'_ LoadWindow| -> Option<ResourceUse> {
        window.resources.iter().find(|reading| reading.name == name).cloned()
    };
    let read: Vec<(f64, ResourceUse)> =
        windows.iter().filter_map(|window| Some((window.completions_per_s, of(window)?))).collect();
    let below = read.iter().filter(|(rate, _)| *rate < BELOW_BREAK * range.breaks_per_s);
    let points: Vec<(f64, f64)> = below.map(|(rate, reading)| (*rate, reading.used)).collect();
    let limit = read.iter().filter_map(|(_, reading)| reading.limit).reduce(f64::min);
    let line = limit.and_then(|_| Regression::through(&points));
    let demand_s =
        line.map(|line| (line.slope, line.slope_limits(CONFIDENCE))).filter(|(_, limits)| limits.low > 0.0);
    let demand_s = demand_s.map(|(mean, limits)| DemandInterval { mean, low: limits.low, high: limits.high });
    let capacity = line.zip(limit).and_then(|(line, limit)| line.reaches(limit, CONFIDENCE));
    let capacity_per_s = capacity.map(|interval| CapacityInterval {
        low: interval.low,
        high: Some(interval.high).filter(|high| high.is_finite()),
    });
    let mut line = LedgerLine {
        resource: name.to_owned(),
        series: read.first().map(|(_, reading)| reading.series.clone()).unwrap_or_default(),
        limit,
        used_at_break: growth.at_break(&|window| of(window).map(|reading| reading.used)),
        demand_s,
        capacity_per_s,
        wait_growth: growth.share(&|window| of(window)?.wait_s),
        wait_s: growth.at_break(&|window| of(window)?.wait_s),
        standing: LedgerStanding::Unknown,
    };
    let hold = |window: &LoadWindow| Some(of(window)?.used / window.completions_per_s);
    line.standing = standing(&line, range, growth.factor(&hold));
    line
}

fn standing(line: &LedgerLine, range: BreakRange, hold_factor: Option<f64>) -> LedgerStanding {
    if line.limit.is_none() {
        return LedgerStanding::WaitedFor;
    }
    let Some(CapacityInterval { low, high }) = line.capacity_per_s else { return LedgerStanding::Unknown };
    if low > range.breaks_per_s * (1.0 + WIDENED) {
        return LedgerStanding::Suffices;
    }
    match (high, hold_factor) {
        (None, _) => LedgerStanding::Unknown,
        (Some(high), _) if high < range.holds_per_s * (1.0 - WIDENED) => LedgerStanding::Contradicted,
        (_, Some(factor)) if factor > HELD_FOR_LONGER => LedgerStanding::HeldForLonger,
        _ => LedgerStanding::Candidate,
    }
}
