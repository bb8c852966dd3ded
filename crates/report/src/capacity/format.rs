//! The words and numbers that all reports of a capacity search share.

use evidence::capacity::{
    CapacityJudgement, CapacityLevel, CapacitySlo, LevelVerdict, OverloadPart, Recovery, shown_level,
};

use super::CapacitySummary;
use crate::{experiment, number};

/// The answer in one line: `holds 306.2, breaks 331.1 arrivals/s, 95 % [306.2, 331.1]`.
pub(super) fn answer(judgement: &CapacityJudgement) -> String {
    let level =
        |level: Option<f64>| level.map_or_else(|| "not shown".to_owned(), |level| shown_level(level, ""));
    let (holds, breaks) = (level(judgement.holds), level(judgement.breaks));
    let unit = if judgement.unit.is_empty() { String::new() } else { format!(" {}", judgement.unit) };
    let interval = match (judgement.holds, judgement.breaks) {
        (Some(_), Some(_)) if judgement.is_more_better => format!(", 95 % [{breaks}, {holds}]"),
        (Some(_), Some(_)) => format!(", 95 % [{holds}, {breaks}]"),
        _ => String::new(),
    };
    format!("holds {holds}, breaks {breaks}{unit}{interval}")
}

/// What it rests on.
pub(super) fn basis(summary: &CapacitySummary) -> String {
    let judgement = &summary.judgement;
    format!(
        "{} probes of {}; the generator can sustain {} requests/s. {}",
        judgement.probes.len(),
        number::length(summary.step_s),
        number::plain(summary.proven_per_s.round()),
        experiment::end(&judgement.end),
    )
}

/// The hold; none where it was not tested.
pub(super) fn hold(judgement: &CapacityJudgement) -> Option<String> {
    let hold = judgement.hold.as_ref()?;
    let values: Vec<String> = judgement
        .slos
        .iter()
        .zip(&hold.values)
        .map(|(slo, value)| format!("{} {}", slo.name, of_slo(slo, *value)))
        .collect();
    Some(format!(
        "{} for {}: {} ({})",
        shown_level(hold.level, &judgement.unit),
        number::length(hold.seconds),
        hold.verdict,
        values.join(", ")
    ))
}

/// A value of an objective; `∞` where it is infinite or was not measured.
pub(super) fn of_slo(slo: &CapacitySlo, value: Option<f64>) -> String {
    match (value, slo.unit.as_str()) {
        (None, _) => number::INFINITE.to_owned(),
        (Some(share), "1") => number::percent(share, 1.0),
        (value, unit) => number::with_unit(value, unit),
    }
}

pub(super) fn limit(judgement: &CapacityJudgement) -> String {
    match &judgement.diagnosis {
        None => "not found: no level is shown to break".to_owned(),
        Some(diagnosis) => diagnosis.because.clone(),
    }
}

/// The word for a level.
pub(super) fn verdict(level: &CapacityLevel) -> &'static str {
    match level.verdict {
        LevelVerdict::Holds => "holds",
        LevelVerdict::Breaks => "breaks",
        LevelVerdict::Open => "open",
    }
}

/// The margin of the objective that is least known to be met, with its limits, as the factor by which it is within its bound.
pub(super) fn margin(level: &CapacityLevel) -> String {
    let least = level.margins.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let percent = |margin: f64| format!("{:+.0} %", margin.exp_m1() * 100.0);
    number::or_not_measured(least, |(mean, lower, upper)| {
        format!("{} ({} to {})", percent(*mean), percent(*lower), percent(*upper))
    })
}

/// A load of the overload run: its multiple, offered, goodput, what is kept, what is in time, quick refusals, p99, growth.
pub(super) fn overload_cells(part: &OverloadPart) -> [String; 8] {
    let share = |share: Option<f64>| number::or_not_measured(share, |share| number::percent(share, 1.0));
    [
        format!("{} ×", part.factor),
        number::rate(part.offered),
        number::rate(part.goodput),
        number::percent(part.kept, 1.0),
        share(part.in_time),
        share(part.refused_quickly),
        number::time_or_none(part.p99_ms),
        format!("{:+.1}/s", part.in_flight_growth),
    ]
}

/// The heads of [`overload_cells`].
pub(super) const OVERLOAD_HEADS: [&str; 8] =
    ["load", "offered", "goodput", "kept", "in time", "quick refusals", "p99", "in flight"];

/// Whether it comes back after the overload; none where there was none.
pub(super) fn recovery(judgement: &CapacityJudgement) -> Option<String> {
    let overload = judgement.overload.as_ref()?;
    let seconds = |s: Option<f64>| number::or_not_measured(s, number::length);
    let after = seconds(overload.recovered_after_s);
    let drain =
        overload.drain_s.map(|s| format!("; its backlog takes {}", number::length(s))).unwrap_or_default();
    Some(match overload.recovery {
        Recovery::Recovered => format!("back to its response times {after} after the load drops{drain}."),
        Recovery::Slower => {
            format!("back {after} after the load drops{drain}, and slower than before afterwards.")
        }
        Recovery::NotRecovered => {
            format!("not back to its response times{drain}: a metastable state is suspected.")
        }
        Recovery::TooShort => format!("not seen: the run ended before{drain}."),
        Recovery::Unknown => "not known: there is nothing to compare with.".to_owned(),
    })
}
