//! The verdict on a search, and what limits it.

use evidence::capacity::{
    CapacityJudgement, CapacityProbe, CapacitySlo, Ceiling, LevelVerdict, ProbeStage, Recovery,
    shown_level as shown,
};
use evidence::{ExperimentEnd, ExperimentFinding, Severity, Verdict};

use super::CapacityRules;
use super::grid::GridAnswer;
use figures::number::brief;

/// A share of the capacity that is kept beyond it, from which on that is good, and below which it has collapsed.
const KEPT_WELL: f64 = 0.90;
const COLLAPSED: f64 = 0.50;
/// How much shorter a step may be than it should be.
const SHORT_STEP: f64 = 0.99;

pub(super) fn whole(
    rules: &CapacityRules<'_>,
    answer: &GridAnswer,
    judgement: &CapacityJudgement,
) -> (Verdict, String) {
    if let ExperimentEnd::Broken(why) = &judgement.end {
        return (Verdict::Invalid, format!("The search stopped: {why}"));
    }
    if answer.disorder.is_some() {
        return (Verdict::Inconclusive, "A higher load did better than a lower one.".to_owned());
    }
    let range = || interval(judgement);
    if let Some(asked) = judgement.at_least {
        let is_within = |level: Option<f64>, beyond: bool| {
            level.is_some_and(|level| if beyond { level <= asked } else { level >= asked })
        };
        let asked = shown(asked, &judgement.unit);
        return match () {
            () if is_within(judgement.holds, false) => {
                (Verdict::Pass, format!("{}; {asked} required.", range()))
            }
            () if is_within(judgement.breaks, true) => {
                (Verdict::Fail, format!("{}; {asked} required.", range()))
            }
            () => (
                Verdict::Inconclusive,
                format!("{}; {asked} required, which is not decided.{}", range(), ended(judgement)),
            ),
        };
    }
    match (judgement.holds, judgement.breaks) {
        (Some(_), Some(_)) => (Verdict::Measured, format!("{}. {}", range(), single_probes(judgement))),
        (None, Some(level)) if answer.holds.is_none() && is_easiest(rules, level) => {
            let level = shown(level, &judgement.unit);
            (
                Verdict::Fail,
                format!("The objectives are violated at {level}, the easiest level that may be tried."),
            )
        }
        (None, Some(_)) if judgement.hold.is_some() => (
            Verdict::Inconclusive,
            format!(
                "Loads that meet the objectives for {:.0} s do not meet them for longer. {}.",
                rules.step_s,
                range()
            ),
        ),
        (Some(_), None) => {
            let why = match judgement.ceiling {
                Some((_, Ceiling::Generator)) => "the generator cannot sustain a higher load on this machine",
                Some((_, Ceiling::Asked)) | None => "the search was not allowed to try a higher one",
            };
            (Verdict::Inconclusive, format!("{}; {why}.{}", range(), ended(judgement)))
        }
        _ => {
            (Verdict::Inconclusive, format!("No level was shown to meet the objectives.{}", ended(judgement)))
        }
    }
}

fn is_easiest(rules: &CapacityRules<'_>, level: f64) -> bool {
    (level / rules.range.easiest - 1.0).abs() < 1e-6
}

/// `Objectives are met up to 306 arrivals/s and violated from 331 arrivals/s`.
fn interval(judgement: &CapacityJudgement) -> String {
    let level = |level: f64| shown(level, &judgement.unit);
    match (judgement.holds, judgement.breaks) {
        (Some(holds), Some(breaks)) => {
            format!("Objectives are met up to {} and violated from {}", level(holds), level(breaks))
        }
        (Some(holds), None) => {
            format!("Objectives are met up to {}, and no level was shown to violate them", level(holds))
        }
        (None, Some(breaks)) => {
            format!("Objectives are violated from {}, and no level was shown to meet them", level(breaks))
        }
        (None, None) => "No level was shown to meet or to violate the objectives".to_owned(),
    }
}

/// What one more probe would find, which varies about the mean.
fn single_probes(judgement: &CapacityJudgement) -> String {
    match judgement.nine_of_ten {
        Some(level) => {
            let level = shown(level, &judgement.unit);
            format!("Nine of ten single probes are shown to meet them up to {level}.")
        }
        None => "At no level are nine of ten single probes shown to meet them.".to_owned(),
    }
}

fn ended(judgement: &CapacityJudgement) -> &'static str {
    match judgement.end {
        ExperimentEnd::Budget => " The budget does not allow another probe.",
        ExperimentEnd::Interrupted => " It was interrupted, and can be resumed.",
        _ => "",
    }
}

/// What limits the answer, the gravest first.
pub(super) fn findings(
    rules: &CapacityRules<'_>,
    answer: &GridAnswer,
    judgement: &CapacityJudgement,
) -> Vec<ExperimentFinding> {
    let mut found = Vec::new();
    found.extend(disorder(answer, judgement));
    found.extend(two_states(answer, judgement));
    found.extend(unusable(judgement));
    found.extend(doubtful(answer, judgement));
    found.extend(short_step(rules, judgement));
    found.extend(not_held(rules, judgement));
    found.extend(overload_findings(judgement));
    // What one probe more is, says nothing where probes are in one of two states.
    found.extend(hysteresis(judgement).filter(|_| answer.two_states.is_none()));
    found.sort_by_key(|finding| finding.severity);
    found
}

fn finding(name: &str, severity: Severity, what: String, next: &str) -> ExperimentFinding {
    ExperimentFinding { name: name.to_owned(), severity, pairs: Vec::new(), what, next: next.to_owned() }
}

fn disorder(answer: &GridAnswer, judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let (easier, harder, slo) = answer.disorder?;
    let slo = judgement.slos.get(slo).map_or("", |slo| &slo.name);
    let [easier, harder] = [easier, harder].map(|level| shown(level, &judgement.unit));
    Some(finding(
        "not-monotone",
        Severity::Inconclusive,
        format!("`{slo}` is better at {harder} than at {easier}, beyond noise."),
        "Look for state that a probe leaves to the next (give the arm a `reset`), for a cache that load warms, or for a \
         target that ends in one of two states.",
    ))
}

fn two_states(answer: &GridAnswer, judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let (level, at) = answer.two_states?;
    let slo = judgement.slos.get(at)?;
    let is_of_level = |probe: &&CapacityProbe| {
        probe.stage == ProbeStage::Grid
            && probe.unusable.is_none()
            && (probe.level / level - 1.0).abs() < 1e-6
    };
    let of_level: Vec<&CapacityProbe> = judgement.probes.iter().filter(is_of_level).collect();
    let by_margin = |a: &&&CapacityProbe, b: &&&CapacityProbe| a.margins[at].total_cmp(&b.margins[at]);
    let [worst, best] = [of_level.iter().min_by(by_margin)?, of_level.iter().max_by(by_margin)?];
    let value = |probe: &CapacityProbe| format_value(slo, probe.values.get(at));
    Some(finding(
        "two-states",
        Severity::Caution,
        format!(
            "`{}` at {} is {} in one probe and {} in another. Levels are decided by how many probes of neighbouring levels meet \
             the objective: a level holds where more than half would.",
            slo.name,
            shown(level, &judgement.unit),
            value(best),
            value(worst)
        ),
        "Look for what differs between probes of one load: a processor that target and generator share, a collector, a \
         checkpoint, another tenant of the machine.",
    ))
}

fn format_value(slo: &CapacitySlo, value: Option<&Option<f64>>) -> String {
    match (value.copied().flatten(), slo.unit.as_str()) {
        (None, _) => "∞".to_owned(),
        (Some(share), "1") => brief::percent(share),
        (Some(value), unit) => brief::quantity(value, unit),
    }
}

fn unusable(judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let excluded: Vec<_> = judgement
        .probes
        .iter()
        .filter(|probe| probe.stage != ProbeStage::Overload)
        .filter_map(|probe| Some((probe, probe.unusable.as_ref()?)))
        .collect();
    let (first, why) = excluded.first()?;
    Some(finding(
        "probes-left-out",
        Severity::Caution,
        format!(
            "{} of {} probes were excluded as unusable; the first is probe {} at {}: {why}.",
            excluded.len(),
            judgement.probes.len(),
            first.number,
            shown(first.level, &judgement.unit)
        ),
        "Offer the load from another machine, or leave more of this one to the generator.",
    ))
}

/// Whether what breaks may be the generator's doing.
fn doubtful(answer: &GridAnswer, judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let breaking = answer.levels.iter().filter(|level| level.verdict == LevelVerdict::Breaks);
    let levels: Vec<f64> = breaking.map(|level| level.level).collect();
    let is_of_breaking = |level: f64| levels.iter().any(|other| (other / level - 1.0).abs() < 1e-6);
    let probes: Vec<_> = judgement
        .probes
        .iter()
        .filter(|probe| probe.stage == ProbeStage::Grid && is_of_breaking(probe.level))
        .collect();
    let doubtful = probes.iter().filter(|probe| probe.is_doubtful).count();
    (2 * doubtful > probes.len()).then(|| {
        finding(
            "generator-delays",
            Severity::Caution,
            format!(
                "In {doubtful} of {} probes beyond the capacity, delays of the generator alone may have violated an objective: \
                 the target may carry more than what is called breaking.",
                probes.len()
            ),
            "Offer the load from another machine, or leave a processor to the generator.",
        )
    })
}

fn short_step(rules: &CapacityRules<'_>, judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let needed_s = rules.step_needed_s(judgement.estimate.or(judgement.holds).unwrap_or(rules.range.start));
    (rules.step_s < SHORT_STEP * needed_s).then(|| {
        finding(
            "short-probes",
            Severity::Caution,
            format!(
                "Probes last {:.0} s; {:.0} s are what the quantile and a queue near its capacity take. A queue that still \
                 grows at the end of a probe looks better than it is.",
                rules.step_s, needed_s
            ),
            "Leave `step` out, or raise it.",
        )
    })
}

fn not_held(rules: &CapacityRules<'_>, judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let held: Vec<_> = judgement.probes.iter().filter(|probe| probe.stage == ProbeStage::Hold).collect();
    let has_failed = |probe: &&&CapacityProbe| probe.unusable.is_none() && !super::search::passes(probe);
    let failed = held.iter().filter(has_failed).count();
    match held.first() {
        Some(first) if failed > 0 => Some(finding(
            "hold-violated",
            Severity::Caution,
            format!(
                "{} held in probes of {:.0} s and not for {:.0} s.",
                shown(first.level, &judgement.unit),
                rules.step_s,
                first.seconds
            ),
            "Look for what grows or recurs: a cache, a table, a collector, a checkpoint; or make probes as long as that.",
        )),
        Some(_) => None,
        None => judgement.holds.map(|_| {
            finding(
                "not-held",
                Severity::Caution,
                format!("The answer rests on probes of {:.0} s: it was not held for longer.", rules.step_s),
                "Give it the time: `hold = \"10m\"`, or --hold 10m.",
            )
        }),
    }
}

/// Whether the easiest level of the grid is worse at the end than it was before, beyond what probes of a level vary by.
fn hysteresis(judgement: &CapacityJudgement) -> Option<ExperimentFinding> {
    let again = judgement.probes.iter().find(|probe| probe.stage == ProbeStage::Again)?;
    let before = judgement.levels.iter().find(|level| (level.level / again.level - 1.0).abs() < 1e-6)?;
    let least = |(mean, lower, _): &(f64, f64, f64)| {
        // From the limit of a mean to that of one more probe.
        mean - (mean - lower) * f64::from(before.probes + 1).sqrt()
    };
    let margins = again.margins.iter().zip(&before.margins);
    let at = margins.enumerate().find(|(_, (margin, level))| **margin < least(level))?.0;
    let slo = judgement.slos.get(at)?;
    again.unusable.is_none().then(|| {
        finding(
            "T5 hysteresis",
            Severity::Caution,
            format!(
                "`{}` at {} is {} at the end, and was {} before, beyond noise.",
                slo.name,
                shown(again.level, &judgement.unit),
                format_value(slo, again.values.get(at)),
                format_value(slo, before.medians.get(at))
            ),
            "Look for state that grows from probe to probe (give the arm a `reset`), or for what a high load leaves.",
        )
    })
}

/// What the overload shows.
fn overload_findings(judgement: &CapacityJudgement) -> Vec<ExperimentFinding> {
    let Some(overload) = &judgement.overload else { return Vec::new() };
    let mut found = Vec::new();
    let over = overload.parts.iter().filter(|part| part.factor > 1.0);
    if let Some(worst) = over.min_by(|a, b| a.kept.total_cmp(&b.kept)).filter(|worst| worst.kept < KEPT_WELL)
    {
        let what = format!(
            "At {} times the capacity {:.0} % of its goodput is kept.",
            worst.factor,
            worst.kept * 100.0
        );
        let (name, next) = match worst.kept < COLLAPSED {
            true => (
                "congestion-collapse",
                "Refuse early what cannot be served: bound the queue, and answer 503 at once.",
            ),
            false => (
                "degraded",
                "Look for work that is done and thrown away: time limits, retries, lock contention.",
            ),
        };
        found.push(finding(name, Severity::Caution, what, next));
    }
    let recovery = match overload.recovery {
        Recovery::NotRecovered => Some((
            "metastable",
            "The service did not recover after the overload, although its backlog had time to drain."
                .to_owned(),
            "Look for what keeps the overload alive: retries, an empty cache, work that is late already.",
        )),
        Recovery::Slower => Some((
            "T5 carry-over",
            format!(
                "After the overload the 95th percentile is {} ms; before it was {} ms.",
                overload.p95_ms[1].map_or_else(|| "∞".to_owned(), |ms| format!("{ms:.1}")),
                overload.p95_ms[0].map_or_else(|| "∞".to_owned(), |ms| format!("{ms:.1}"))
            ),
            "Look for state that the overload leaves: memory, tables, connections.",
        )),
        Recovery::TooShort => Some((
            "recovery-not-seen",
            "The run ended before the backlog of the overload could drain.".to_owned(),
            "Make `overload` longer.",
        )),
        Recovery::Recovered | Recovery::Unknown => None,
    };
    found.extend(recovery.map(|(name, what, next)| finding(name, Severity::Caution, what, next)));
    found
}
