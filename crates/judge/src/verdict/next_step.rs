//! What to do about objectives that have no result.

use evidence::{Claim, Finding, RuleId, Verdict};
use workload::Measure;

use crate::claims;
use crate::facts::Facts;

/// More steps at once are the findings' own to say.
const MAX_STEPS: usize = 2;

/// What to look at where a target is too slow.
const SLOW: &str = "Look at the parts of a request and the slowest exchanges in the HTML report; if it is the load that makes it slow, \
                    `plimsoll diagnose` names what limits it.";

/// What to do so that the next run answers the objectives of this `verdict`, each step once, in the order of the plan; where it is
/// FAIL, what to look at. None where nothing says so.
pub(super) fn of(
    facts: &Facts<'_>,
    claims: &[Claim],
    findings: &[Finding],
    verdict: Verdict,
) -> Option<String> {
    let failing = findings.iter().find(|finding| finding.rule == RuleId::T4);
    match verdict {
        Verdict::Invalid | Verdict::Inconclusive => {}
        Verdict::Fail => {
            let of_times = || is_slow(facts, claims).then(|| format!("Next: {SLOW}"));
            return failing.map(|finding| format!("Next: {}", finding.next)).or_else(of_times);
        }
        Verdict::Pass | Verdict::Measured => return None,
    }
    let mut seen: Vec<RuleId> = Vec::new();
    let mut steps: Vec<String> = Vec::new();
    for (measured, claim) in facts.objectives.iter().zip(claims).filter(|(_, claim)| claim.verdict == verdict)
    {
        let is_of_failures =
            measured.objective.measure == Measure::ErrorRate && verdict == Verdict::Inconclusive;
        match failing.filter(|_| is_of_failures).or_else(|| cause(claim, findings, verdict)) {
            Some(finding) if seen.contains(&finding.rule) => {}
            Some(finding) => {
                seen.push(finding.rule);
                steps.push(step(finding));
            }
            None => steps.extend(measured.observed.share.as_ref().and_then(claims::generator_step)),
        }
    }
    let mut distinct: Vec<String> = Vec::new();
    for step in steps {
        if distinct.len() < MAX_STEPS && !distinct.contains(&step) {
            distinct.push(step);
        }
    }
    (!distinct.is_empty()).then(|| format!("Next: {}", distinct.join(" ")))
}

/// Whether an objective on times is violated.
fn is_slow(facts: &Facts<'_>, claims: &[Claim]) -> bool {
    let mut judged = facts.objectives.iter().zip(claims);
    // An infinite quantile is one of failures.
    let is_long = |claim: &Claim| claim.observed.value.is_some_and(f64::is_finite);
    judged.any(|(it, claim)| claim.verdict == Verdict::Fail && it.is_about_times() && is_long(claim))
}

/// The finding that keeps the claim from a result. Where a worker was lost the rest follows from that.
fn cause<'f>(claim: &Claim, findings: &'f [Finding], verdict: Verdict) -> Option<&'f Finding> {
    let on_claim = |finding: &&Finding| finding.effect_on(&claim.name).is_some();
    let is_decisive = |finding: &&Finding| {
        let effect = finding.effect_on(&claim.name);
        effect.is_some_and(|effect| effect.on(Verdict::Pass) == verdict)
    };
    let lost = findings.iter().filter(on_claim).find(|finding| finding.rule == RuleId::W1);
    lost.or_else(|| findings.iter().find(is_decisive))
}

fn step(finding: &Finding) -> String {
    match finding.rule {
        RuleId::W1 => format!("{} {}", finding.next, finding.what),
        RuleId::T4 => format!("{} {}", finding.next, finding.what),
        _ => finding.next.clone(),
    }
}

#[cfg(test)]
mod tests {
    use evidence::{Key, Metric, RuleId, Verdict};

    use crate::testing::{Load, SCENARIO, TestRun, with_lost_worker, worker};

    fn half_dropped() -> TestRun {
        let load = Load { dropped_generator_late: 50, ..Load::ok(50) };
        TestRun::new().offer("steady", "list", load).with_objective("fast", "p95(list) < 50ms")
    }

    #[test]
    fn an_invalid_verdict_ends_with_the_step_of_the_finding_that_made_it_so() {
        let judgement = half_dropped().judge();
        assert_eq!(judgement.verdict, Verdict::Invalid);
        let step = crate::rules::offered_load_not_reached::RULE.next;
        assert!(judgement.because.ends_with(&format!(" Next: {step}")), "{}", judgement.because);
    }

    #[test]
    fn a_lost_worker_is_the_cause_of_the_load_that_it_did_not_offer() {
        let judgement = with_lost_worker(half_dropped()).judge();
        assert!(
            judgement.because.contains("Next: Look at")
                && judgement.because.contains("worker 2 vanished: the connection was closed"),
            "{}",
            judgement.because
        );
        assert_eq!(judgement.findings[0].title, "worker-vanished", "it comes before what follows from it");
    }

    #[test]
    fn an_objective_names_the_lost_worker_and_advises_no_processor() {
        let mut test_run = with_lost_worker(half_dropped());
        let of_worker = |metric| {
            Key::of(metric).scenario(SCENARIO).phase("steady").endpoint("list").instance(worker(2).place)
        };
        for metric in [Metric::Scheduled, Metric::DroppedLate] {
            test_run.run.add(&of_worker(metric), 45, 40);
        }
        let judgement = test_run.judge();
        let l1 = judgement.findings.iter().find(|finding| finding.rule == RuleId::L1).unwrap();
        assert!(l1.next.starts_with("Look at the worker's own output"), "{}", l1.next);
        let said = format!("{:?}", judgement.claims[0].reasons);
        assert!(
            said.contains(
                "40 arrivals have no result, because worker 2 (127.0.0.1:7402) vanished at 40 s: what it did in its last"
            ),
            "{said}"
        );
        assert!(!said.contains("free core"), "{said}");
    }

    #[test]
    fn what_another_finding_invalidates_is_not_told_to_run_longer() {
        let load = Load { failed: 3, dropped_generator_late: 50, ..Load::ok(47) };
        let test_run =
            TestRun::new().offer("steady", "list", load).with_objective("few", "error_rate(list) < 7%");
        let judgement = test_run.judge();
        assert!(judgement.findings.iter().any(|finding| finding.title == "offered-load-not-reached"));
        assert!(
            judgement.findings.iter().all(|finding| finding.title != "too-few-tail-samples"),
            "{judgement:?}"
        );
    }

    #[test]
    fn of_an_endpoint_that_mostly_fails_the_failures_are_the_next_step() {
        let failing = Load { failed: 9, ..Load::ok(1) };
        let test_run =
            TestRun::new().offer("steady", "list", Load::ok(100)).offer("steady", "login", failing);
        let judgement = test_run.with_objective("few", "error_rate(all) < 8.2%").judge();
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{}", judgement.because);
        let step =
            format!("Next: {} 10 % success of `login`", crate::rules::functional_failure_phase::RULE.next);
        assert!(judgement.because.contains(&step), "{}", judgement.because);
        assert!(!judgement.because.contains("longer"), "{}", judgement.because);
    }

    #[test]
    fn a_target_that_is_too_slow_is_looked_into() {
        let judgement = TestRun::new()
            .offer("steady", "list", Load::ok(1_000))
            .with_objective("fast", "p95(list) < 1us")
            .judge();
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert!(judgement.because.ends_with(&format!(" Next: {}", super::SLOW)), "{}", judgement.because);
    }

    #[test]
    fn what_is_decided_has_no_next_step() {
        let sound = TestRun::new().offer("steady", "list", Load::ok(100));
        let judgement = sound.with_objective("fast", "p95(list) < 50ms").judge();
        assert!(!judgement.because.contains("Next:"), "{}", judgement.because);
    }
}
