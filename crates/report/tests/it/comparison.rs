//! The comparison of two sample runs with a profile each, in every report.

use evidence::memory::MemoryRun;
use evidence::{
    ComparisonJudgement, Ending, Instant, Observed, Profile, ProfileKind, Refusal, RuleId, Sampling, Scope,
    Sink, Verdict,
};
use report::summary::{Comparison, Side};
use report::{Detail, Reported as _, Style, document};

use crate::{forms, profiles, sample_run};

pub(crate) fn run(parse_samples: i64) -> MemoryRun {
    let mut run = sample_run::run(105, Some(Ending::Completed));
    let captured = profiles::cpu(&[(&["main", "serve", "parse"], parse_samples), (&["main", "write"], 400)]);
    let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
    let profile = Profile {
        target: "challenge".to_owned(),
        kind: ProfileKind::Cpu,
        mark: "40s".to_owned(),
        begin: at(40),
        end: at(50),
        sampling: Sampling::On,
        bytes: profile::write(&captured).expect("memory takes it"),
    };
    run.observed(&Observed { profiles: vec![profile], ..Observed::default() }).expect("memory takes it");
    run
}

fn judgement(refusals: Vec<Refusal>) -> ComparisonJudgement {
    ComparisonJudgement {
        rules_version: 2,
        verdict: Verdict::Measured,
        because: "Two runs side by side.".to_owned(),
        claims: Vec::new(),
        objectives: Vec::new(),
        findings: Vec::new(),
        refusals,
        supports: vec!["This.".to_owned()],
        does_not_support: vec!["That.".to_owned()],
        would_settle: vec!["Pairs.".to_owned()],
    }
}

pub(crate) fn compared(refusals: Vec<Refusal>) -> Comparison {
    let (base, new, workload) = (run(300), run(600), sample_run::workload());
    let side = |name, run| Side { name, run, workload: &workload };
    Comparison::of(&[side("a.plimsoll", &base), side("b.plimsoll", &new)], &judgement(refusals))
        .expect("memory")
}

#[test]
fn the_difference_of_two_profiles_is_reported_per_request_of_their_windows() {
    let comparison = compared(Vec::new());
    let pair = &comparison.profiles[0];
    let moved = pair.moved.as_ref().expect("both have samples");
    assert_eq!((pair.side, moved.movers[0].name.as_str()), (1, "parse"), "{}", pair.note);
    for page in [
        forms::terminal(&comparison, Style::Plain, 100, Detail::Full),
        document::markdown(&comparison.document()),
        document::html(&comparison.document()),
    ] {
        assert!(page.contains("cpu of challenge at 40s: B against A"), "{page}");
        assert!(page.contains("parse"), "{page}");
    }
}

#[test]
fn a_refused_difference_is_left_out_only_in_the_refused_phase() {
    let scope = Scope { phase: Some("gameplay".to_owned()), ..Scope::default() };
    let page = forms::terminal(
        &compared(vec![Refusal { side: 1, rule: RuleId::C1, scope }]),
        Style::Plain,
        100,
        Detail::Full,
    );
    let overview = page.find("By endpoint in gameplay").expect("it has the phase");
    let details = page.find("\nPhase ").expect("it has details");
    let phase = page.find("Phase gameplay").expect("it has the phase");
    let before = page[..overview].to_owned() + &page[details..phase];
    for after in [&page[overview..details], &page[phase..]] {
        assert!(after.contains("refused"), "{page}");
    }
    assert!(!before.contains("refused"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}
