//! Findings by rule: each rule's texts once, with the places where it found something.

use evidence::{ClaimShare, Effect, Ending, Finding, Judgement, Reason, Scope, Severity, Verdict};
use report::{Detail, Style, Summary};

use crate::{forms, sample_run};

/// The sample's second finding at `places` endpoints, the gravest at the first.
fn judgement(places: usize) -> Judgement {
    let judgement = sample_run::judgement();
    let original = judgement.findings[1].clone();
    let at = |place: usize| Finding {
        severity: if place == 0 { Severity::Invalid } else { Severity::Caution },
        scope: Scope { endpoint: Some(format!("endpoint {place}")), ..original.scope.clone() },
        what: format!("Numbers of place {place}."),
        ..original.clone()
    };
    Judgement { findings: (0..places).map(at).collect(), ..judgement }
}

fn summary(judgement: &Judgement) -> Summary {
    let run = sample_run::run(105, Some(Ending::Completed));
    Summary::of(&run, &sample_run::workload(), judgement).expect("memory can be read")
}

#[test]
fn findings_of_a_rule_are_one_card_with_their_places() {
    let judgement = judgement(8);
    let summary = summary(&judgement);
    let why = judgement.findings[0].why.as_str();
    let terminal = forms::terminal(&summary, Style::Plain, 100_000, Detail::Full);
    for page in [&terminal, &forms::markdown(&summary), &forms::html(&summary)] {
        assert_eq!(page.matches("closed-loop-or-capped").count(), 1, "{page}");
        assert_eq!(page.matches(why).count(), 1, "{page}");
        assert_eq!(page.matches("Numbers of place 4.").count(), 1, "{page}");
    }
    let (_, card) = terminal.split_once("\nFindings\n").expect("it has findings");
    insta::assert_snapshot!(card, @r"
    invalid  L4 closed-loop-or-capped
      –   phase gameplay · endpoint endpoint 0: Numbers of place 0.
      –   caution · phase gameplay · endpoint endpoint 1: Numbers of place 1.
      –   caution · phase gameplay · endpoint endpoint 2: Numbers of place 2.
      –   caution · phase gameplay · endpoint endpoint 3: Numbers of place 3.
      –   caution · phase gameplay · endpoint endpoint 4: Numbers of place 4.
      –   and 3 more
    why   While arrivals are dropped at the VU limit, the load is not the planned load, and the longest waits are missing.
    next  Raise max_vus to at least rate × timeout, or find what stalled the target at 1:11.

    exchanges  3 failed, 3 slowest (--html FILE shows them)
    ");
}

/// Of a comparison nearly every pair has four of them.
#[test]
fn findings_for_information_are_one_line_of_names_until_all_is_asked_for() {
    let mut judgement = judgement(1);
    let info = Finding { severity: Severity::Info, ..judgement.findings[0].clone() };
    for (rule, title) in
        [(evidence::RuleId::C5, "not-the-shipped-config"), (evidence::RuleId::T2, "not-steady")]
    {
        judgement.findings.push(Finding { rule, title: title.to_owned(), ..info.clone() });
    }
    let brief = forms::terminal(&summary(&judgement), Style::Plain, 100, Detail::Brief);
    let line = "info  C5 not-the-shipped-config, T2 not-steady (-v says what is not known)";
    assert!(brief.contains(line), "{brief}");
    let full = forms::terminal(&summary(&judgement), Style::Plain, 100, Detail::Full);
    assert!(full.contains("info  C5 not-the-shipped-config\n"), "{full}");
}

#[test]
fn the_junit_error_of_an_open_objective_has_the_next_step_of_its_finding() {
    let mut judgement = judgement(1);
    let open = judgement.claims.iter().position(|claim| claim.verdict == Verdict::Inconclusive).unwrap();
    let claim = judgement.claims[open].name.clone();
    judgement.findings[0].affects = vec![evidence::ClaimEffect { claim, effect: Effect::LeavesUndecided }];
    let step = format!("Next ({}): {}", judgement.findings[0].rule, judgement.findings[0].next);
    assert_eq!(forms::junit(&summary(&judgement)).matches(&step).count(), 1);
}

#[test]
fn figures_come_before_findings() {
    let summary = summary(&sample_run::judgement());
    let pages = [
        (forms::terminal(&summary, Style::Plain, 80, Detail::Full), "\nrequests ", "\nFindings\n"),
        (forms::markdown(&summary), "**Phase ramp**", "### Findings"),
        (forms::html(&summary), "<section id=\"failures\">", "<section id=\"findings\">"),
    ];
    for (page, figures, findings) in pages {
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text:?} in:\n{page}"));
        assert!(at(figures) < at(findings), "{page}");
        assert!(at("FAIL") < at(figures), "{page}");
    }
}

#[test]
fn a_claim_names_the_rules_that_decided_it_and_says_nothing_twice() {
    let mut judgement = judgement(2);
    let findings = judgement.findings.clone();
    let sentence = "0.3 % failed (0.1 % to 0.9 % at 95 %; 0.5 % allowed)";
    let claim = &mut judgement.claims[0];
    claim.verdict = Verdict::Invalid;
    claim.share = Some(ClaimShare {
        sentence: sentence.to_owned(),
        observed: 0.003,
        lower: 0.001,
        upper: 0.009,
        allowed: 0.005,
        confidence: 0.95,
        arrivals: 15_750,
        least: 47,
        most: 47,
        effective_sample: 15_750.0,
        design_effect: 1.0,
        perturbed: 0,
        widened_by: Vec::new(),
        blind_spot: None,
    });
    claim.reasons = vec![
        Reason::Observation(format!("6.32 ms over 15,750 observations: {sentence}.")),
        Reason::from_finding(&findings[0], Effect::Invalidates),
        Reason::from_finding(&findings[1], Effect::Cautions),
    ];
    judgement.claims.truncate(1);
    let summary = summary(&judgement);
    let terminal = forms::terminal(&summary, Style::Plain, 100_000, Detail::Full);
    for page in [&terminal, &forms::markdown(&summary), &forms::html(&summary)] {
        assert_eq!(page.matches("0.3 % failed").count(), 1, "{page}");
        assert_eq!(page.matches("because of L4, below").count(), 1, "{page}");
        assert_eq!(page.matches("Numbers of place 0.").count(), 1, "{page}");
    }
    let (_, claims) = terminal.split_once("\nObjectives\n").expect("it has claims");
    let (claim, _) = claims.split_once("\n\n").expect("they end");
    insta::assert_snapshot!(claim, @r"
INVALID  list_fast  p95(list challenges, phase = gameplay) < 50ms
      6.32 ms, limit < 50 ms: no valid result · n = 15,750
      0.3 % failed (0.1 % to 0.9 % at 95 %; 0.5 % allowed)
      because of L4, below
");
}
