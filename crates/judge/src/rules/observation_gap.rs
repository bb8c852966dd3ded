//! O1: gaps in what observers recorded.

use evidence::{Finding, Notice, NoticeKind, RuleId, Scope, Severity, Verdict};
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective, ObserverNotices};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::O1,
    title: "observation-gap",
    severity: Severity::Inconclusive,
    tests: "Every observer that reported anything: the seconds of the run that its series do not cover, and \
            its first notices. A sample covers the time since the previous sample, or one usual interval if that time is more \
            than 1.5 times as long. A target that was gone, unreadable, late or restarted is a caution, everything \
            else is info. An objective on a series of which more than 5 % of its window was not observed is \
            inconclusive, except where a highest or lowest value that was seen violates it. What a run file of an \
            earlier version does not record is info.",
    affects: "objectives on a series that has the gap",
    why: "A gap is not a zero: the state of a target that was not observed is unknown.",
    next: "Look at `notices` in the run file, and fix what stopped the observer.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

/// An objective on a series of which a larger share was not observed is not decided.
pub(crate) const GAP_SHARE: f64 = 0.05;
/// The first version of run files with notices and profiles.
const HAS_NOTICES: u32 = 2;
/// The most notices that a finding quotes; the run file has them all.
const MAX_QUOTED: usize = 3;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let undecided = facts.objectives.iter().filter_map(gap);
    let not_recorded = not_recorded(facts).into_iter().map(|what| {
        let what = format!("The run file is of version {}, which {what}.", facts.schema_version);
        RULE.finding(Severity::Info, Scope::default(), what)
    });
    facts.observer_notices.iter().map(finding).chain(undecided).chain(not_recorded).collect()
}

/// What a run file of this version does not record, where the run has anything of it.
fn not_recorded(facts: &Facts<'_>) -> Vec<&'static str> {
    let requests = "does not record which requests were under way while the generator stalled, nor which of its loops \
                    did: all that ended in the seconds of a stall count as perturbed";
    let notices = "has neither notices of observers nor profiles: where a target was gone, restarted or unreadable, its \
                   series have a gap and no reason";
    let has_notices = facts.schema_version >= HAS_NOTICES || !facts.has_observed_targets;
    let missing = [(facts.stalls_hide_requests, requests), (!has_notices, notices)];
    missing.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, what)| what).collect()
}

/// An objective on a series that was not observed for a part of its window. An extreme that violates its bound was
/// seen, whatever else there was.
fn gap(measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let Measure::Series { statistic, name, .. } = &measured.objective.measure else { return None };
    let missing = measured.observed.unobserved.filter(|_| measured.observed.samples > 0)?;
    let is_seen = match statistic {
        Statistic::Max => measured.has_upper_bound(),
        Statistic::Min => !measured.has_upper_bound(),
        Statistic::Mean | Statistic::Quantile(_) => false,
    };
    if missing <= GAP_SHARE || (is_seen && measured.verdict() == Verdict::Fail) {
        return None;
    }
    let what = format!(
        "`{name}` was not observed for {} of the time that the objective is about.",
        brief::percent(missing)
    );
    let figures = [("missing", missing * 100.0, "%"), ("threshold", GAP_SHARE * 100.0, "%")];
    Some(with_figures(RULE.finding(Severity::Inconclusive, measured.scope(), what), &figures))
}

fn finding(observer: &ObserverNotices) -> Finding {
    let is_gap = observer.notices.iter().any(|notice| is_trouble(notice.kind));
    let severity = if is_gap { Severity::Caution } else { Severity::Info };
    let quoted: Vec<String> = observer.notices.iter().take(MAX_QUOTED).map(quote).collect();
    let more = match observer.notices.len().saturating_sub(MAX_QUOTED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let notices = format!("{}{more}", quoted.join("; "));
    let what = match observer.missing_s {
        Some(seconds) if seconds >= 0.5 => {
            format!("{}: {seconds:.0} s of its series are missing ({notices}).", observer.name)
        }
        _ => format!("{}: {notices}.", observer.name),
    };
    let finding = RULE.finding(severity, Scope::default(), what);
    match observer.missing_s {
        Some(seconds) => with_figures(finding, &[("missing", seconds, "s")]),
        None => finding,
    }
}

fn quote(notice: &Notice) -> String {
    format!("at {} s: {}", notice.at.second(), notice.text)
}

/// Whether it means that a series has a gap or is incomplete.
fn is_trouble(kind: NoticeKind) -> bool {
    match kind {
        NoticeKind::Gone | NoticeKind::Unreadable | NoticeKind::Late | NoticeKind::Restarted => true,
        NoticeKind::Appeared
        | NoticeKind::Several
        | NoticeKind::Remark
        | NoticeKind::Stopped
        | NoticeKind::Mark => false,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::time::Duration;

    use evidence::{Instant, Observed, Sample, SeriesKey, Sink as _};

    use super::*;
    use crate::testing::{Load, TestRun};

    fn observed(
        observations: impl IntoIterator<Item = Range<u32>>,
        notices: &[(u64, NoticeKind, &str)],
    ) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        let own = |name: &str, unit: &str| SeriesKey::new(name, SeriesKey::GENERATOR, unit).part("web redis");
        test_run.observe(&own("observer_cpu", "cores"), 0..70, 0.01);
        for seconds in observations {
            test_run.observe(&own("observer_took", "s"), seconds, 0.002);
        }
        let notice = |(second, kind, text): &(u64, NoticeKind, &str)| Notice {
            at: Instant::at(Duration::from_secs(*second)),
            observer: "web redis".to_owned(),
            instance: None,
            kind: *kind,
            text: (*text).to_owned(),
        };
        let notices = notices.iter().map(notice).collect();
        test_run.run.observed(&Observed { notices, ..Observed::default() }).unwrap();
        test_run
    }

    #[test]
    fn each_observer_with_gaps_has_one_finding() {
        let notices = [
            (20, NoticeKind::Gone, "connection refused"),
            (30, NoticeKind::Appeared, "answers again"),
            (30, NoticeKind::Restarted, "its counters began anew"),
            (40, NoticeKind::Remark, "something else"),
        ];
        insta::assert_snapshot!(observed([0..20, 30..70], &notices).findings(check), @r"
        caution [] web redis: 10 s of its series are missing (at 20 s: connection refused; at 30 s: answers again; at 30 s: its counters began anew; and 1 more).
          missing Some(10.0) s
        ");
    }

    #[test]
    fn an_observer_without_any_sample_is_a_caution() {
        let notices = [(0, NoticeKind::Gone, "connection refused")];
        insta::assert_snapshot!(observed([], &notices).findings(check), @r"
        caution [] web redis: 70 s of its series are missing (at 0 s: connection refused).
          missing Some(70.0) s
        ");
    }

    #[test]
    fn a_notice_that_means_no_gap_is_info() {
        let notices = [(5, NoticeKind::Remark, "`t_p99` is beyond the largest bound, 1")];
        insta::assert_snapshot!(observed(Some(0..70), &notices).findings(check), @r"
        info [] web redis: at 5 s: `t_p99` is beyond the largest bound, 1.
          missing Some(0.0) s
        ");
    }

    /// Observers sample at whole seconds, a little late, and once more when the run is over: that sample is joined with the
    /// one before it, and no other has its middle in the last second.
    #[test]
    fn a_sample_at_the_end_of_the_watch_leaves_no_gap() {
        let cpu = SeriesKey::new("cpu", "web", "cores");
        let mut test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("cpu", "mean(cpu) < 0.5");
        let at_ms = (1..70u64).map(|second| second * 1_000 + second % 7).chain([69_400]);
        let sample = |ms| (cpu.clone(), Sample { at: Instant::at(Duration::from_millis(ms)), value: 0.1 });
        let samples = at_ms.map(sample).collect();
        test_run.run.observed(&Observed { samples, ..Observed::default() }).unwrap();
        let findings = test_run.findings(|facts| {
            assert_eq!(facts.objectives[0].observed.unobserved, Some(0.0));
            super::check(facts)
        });
        assert_eq!(findings, "nothing");
    }

    #[test]
    fn observers_without_notices_give_no_finding() {
        insta::assert_snapshot!(observed(Some(0..70), &[]).findings(check), @"nothing");
    }

    #[test]
    fn no_claim_is_affected() {
        let notices = [(0, NoticeKind::Gone, "connection refused")];
        let test_run = observed([], &notices).with_objective("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(test_run.verdict(), @r"
        PASS: The objective is met. The run is too short to rule out outages longer than 1.17 s that occur less than once in 23.3 s.
        PASS fast
          10.5 ms over 6,000 observations: 0 of 6,000 failed or took 50 ms or longer; the true share is at most 0.0499 %, and 5 % is allowed (95 % confidence, effective sample size 6,000).
        ");
    }

    #[test]
    fn what_a_file_of_an_earlier_version_does_not_record_is_info() {
        let of = |version: u32, stall_us: u64, target: &str| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
            test_run.observe(&SeriesKey::new("rss", target, "bytes"), 0..70, 1e6);
            test_run.stall(20..22, stall_us);
            test_run.edit(|manifest| manifest.schema_version = version);
            test_run.findings(super::check)
        };
        insta::assert_snapshot!(of(1, 3_000, "web"), @r"
        info [] The run file is of version 1, which does not record which requests were under way while the generator stalled, nor which of its loops did: all that ended in the seconds of a stall count as perturbed.
          
        info [] The run file is of version 1, which has neither notices of observers nor profiles: where a target was gone, restarted or unreadable, its series have a gap and no reason.
          
        ");
        insta::assert_snapshot!(of(2, 3_000, "web"), @r"
        info [] The run file is of version 2, which does not record which requests were under way while the generator stalled, nor which of its loops did: all that ended in the seconds of a stall count as perturbed.
          
        ");
        assert_eq!(of(2, 500, "web"), "nothing", "it never stalled");
        assert_eq!(of(1, 500, SeriesKey::GENERATOR), "nothing", "no target was observed");
        assert_eq!(of(3, 3_000, "web"), "nothing");
    }
}
