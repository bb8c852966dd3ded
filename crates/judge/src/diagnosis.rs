//! Why objectives break: the ledger of resources.
//!
//! For each resource the demand of a completion is estimated from loads below the break (the utilisation law, U = X · D:
//! P. J. Denning and J. P. Buzen, "The Operational Analysis of Queueing Network Models", 1978), and with it the load at which the
//! resource is used up. A resource is named if that load is where the objectives break, no other resource's is, and most of the
//! growth of the response time was spent waiting for it. Otherwise the answer is UNDETERMINED, with the share of the growth
//! that no observed wait explains.

mod name;
mod resources;
#[cfg(test)]
mod tests;

use evidence::diagnosis::{
    CapacityInterval, DemandInterval, Diagnosis, LedgerLine, LedgerStanding, ResourceUse,
};
pub(crate) use resources::uses;
use stats::Regression;

/// Loads below this share of the break show the demand: near it waits and retries distort what is used.
const BELOW_BREAK: f64 = 0.85;
/// Near this share of the break begins the growth that waits are compared with.
const GROWTH_BEGINS: f64 = 0.6;
/// Confidence of demands and capacities.
const CONFIDENCE: f64 = 0.95;
/// How much wider the range of the break is taken than it was measured.
const WIDENED: f64 = 0.10;
/// A resource that is held this much longer at the break than at [`GROWTH_BEGINS`] is held while something else is waited for.
const HELD_FOR_LONGER: f64 = 1.3;

/// A part of the evidence in which the load was constant.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadWindow {
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
    let growth = Growth::of(windows, range);
    let mut ledger: Vec<LedgerLine> =
        names(windows).map(|name| line(name, windows, range, &growth)).collect();
    let begins = |line: &LedgerLine| line.capacity_per_s.map_or(f64::INFINITY, |limits| limits.low);
    ledger.sort_by(|a, b| begins(a).total_cmp(&begins(b)).then_with(|| a.resource.cmp(&b.resource)));
    // The wait for what is held for longer is the wait for what is waited for meanwhile.
    let independent = ledger.iter().filter(|line| line.standing != LedgerStanding::HeldForLonger);
    let waits: Vec<f64> = independent.filter_map(|line| line.wait_growth).collect();
    let unexplained = (!waits.is_empty()).then(|| (1.0 - waits.iter().sum::<f64>()).clamp(0.0, 1.0));
    name::with_limit(Diagnosis {
        limit: None,
        because: String::new(),
        range_per_s: [range.holds_per_s, range.breaks_per_s],
        unexplained,
        ledger,
    })
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
    let limit = read.iter().map(|(_, reading)| reading.limit).fold(f64::INFINITY, f64::min);
    let line = Regression::through(&points);
    let demand_s =
        line.map(|line| (line.slope, line.slope_limits(CONFIDENCE))).filter(|(_, limits)| limits.low > 0.0);
    let demand_s = demand_s.map(|(mean, limits)| DemandInterval { mean, low: limits.low, high: limits.high });
    let capacity = line.and_then(|line| line.reaches(limit, CONFIDENCE));
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
        standing: LedgerStanding::Unknown,
    };
    let hold = |window: &LoadWindow| Some(of(window)?.used / window.completions_per_s);
    line.standing = standing(&line, range, growth.factor(&hold));
    line
}

fn standing(line: &LedgerLine, range: BreakRange, hold_factor: Option<f64>) -> LedgerStanding {
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

/// The windows between which the response time grows: near [`GROWTH_BEGINS`] of the break, and at the break.
struct Growth<'a> {
    begin: Vec<&'a LoadWindow>,
    at_break: Vec<&'a LoadWindow>,
}

impl<'a> Growth<'a> {
    fn of(windows: &'a [LoadWindow], range: BreakRange) -> Growth<'a> {
        let near = |load: f64| -> Vec<&'a LoadWindow> {
            let distance = |window: &LoadWindow| (window.completions_per_s - load).abs();
            let nearest = windows.iter().map(distance).fold(f64::INFINITY, f64::min);
            windows.iter().filter(|window| distance(window) <= nearest + 0.05 * load).collect()
        };
        Growth { begin: near(GROWTH_BEGINS * range.breaks_per_s), at_break: near(range.breaks_per_s) }
    }

    fn mean(windows: &[&LoadWindow], of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = windows.iter().filter_map(|window| of(window)).collect();
        stats::mean(&values)
    }

    fn at_break(&self, of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        Growth::mean(&self.at_break, of)
    }

    /// By which factor it grows.
    fn factor(&self, of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        let begin = Growth::mean(&self.begin, of).filter(|begin| *begin > 0.0)?;
        Some(self.at_break(of)? / begin)
    }

    /// By which share of the growth of the response time it grows; none where the response time does not grow.
    fn share(&self, of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        let grows = |of: &dyn Fn(&LoadWindow) -> Option<f64>| {
            Some(self.at_break(of)? - Growth::mean(&self.begin, of)?)
        };
        let whole = grows(&|window| window.response_s).filter(|grown| *grown > 0.0)?;
        Some(grows(of)? / whole)
    }
}
