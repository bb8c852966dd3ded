//! What a comparison says first, and of what only one run has.

use evidence::memory::MemoryRun;
use evidence::{Claim, ComparisonJudgement, Key, Metric, Outcome, Verdict};
use report::summary::{Comparison, Side};
use report::{Detail, Reported as _, Style, document};

use crate::comparison_pages::{between, judgement, run};
use crate::{forms, sample_run};

/// The claim that `claim` has a p95 below 5.5 ms.
fn fast(verdict: Verdict, observed_ms: f64) -> Claim {
    let mut claim = sample_run::judgement().claims.remove(0);
    (claim.name, claim.text) = ("fast".to_owned(), "p95(claim) < 5.5ms".to_owned());
    claim.verdict = verdict;
    claim.observed.value = Some(observed_ms);
    claim
}

#[test]
fn an_objective_that_one_run_met_and_another_did_not_comes_before_everything_else() {
    let steady = |verdict| Claim { name: "steady".to_owned(), ..fast(verdict, 5.0) };
    let own = |verdict, ms| vec![steady(Verdict::Pass), fast(verdict, ms)];
    let mut judgement = judgement();
    judgement.objectives = vec![own(Verdict::Pass, 5.0), own(Verdict::Fail, 6.0)];
    let (base, new, workload) = (run(5_000, 0), run(6_000, 0), sample_run::workload());
    let side = |name, run| Side { name, run, workload: &workload };
    let sides = [side("a.plimsoll", &base), side("b.plimsoll", &new)];
    let compared = |judgement: &ComparisonJudgement| Comparison::of(&sides, judgement).expect("memory");
    let comparison = compared(&judgement);
    let brief = |of: &Comparison| forms::terminal(of, Style::Plain, 80, Detail::Brief);
    insta::assert_snapshot!(between(&brief(&comparison), "Objectives", "Largest"), @r"
    Objectives  1 of 2 with verdicts that differ between the runs
    objective               claim             A             B
    fast       p95(claim) < 5.5ms  PASS 5.00 ms  FAIL 6.00 ms
    steady     p95(claim) < 5.5ms  PASS 5.00 ms  PASS 5.00 ms
    ");
    judgement.objectives[1].pop();
    insta::assert_snapshot!(between(&brief(&compared(&judgement)), "Objectives", "Largest"), @r"
    Objectives  1 of 2 with verdicts that differ between the runs
    objective               claim             A                B
    fast       p95(claim) < 5.5ms  PASS 5.00 ms  not in its plan
    steady     p95(claim) < 5.5ms  PASS 5.00 ms     PASS 5.00 ms
    ");
    judgement.objectives[1] = judgement.objectives[0].clone();
    let same = brief(&compared(&judgement));
    assert!(same.contains("Objectives  the same verdicts in each run"), "{same}");
    let page = document::html(&comparison.document());
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    assert!(at("id=\"objectives\"") < at("id=\"largest\""));
    assert!(page.contains("<span class=\"badge fail\">FAIL 6.00 ms</span>"), "{page}");
}

#[test]
fn an_endpoint_that_a_run_does_not_have_is_not_refused_there() {
    let mut base = run(5_000, 0);
    for second in 0..10 {
        let key = |metric| Key::of(metric).scenario("play").phase("ramp").endpoint("list");
        base.add(&key(Metric::Requests), second, 10);
        base.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, 700, 10);
    }
    let (new, workload) = (run(6_000, 1), sample_run::workload());
    let side = |name, run| Side { name, run, workload: &workload };
    let sides = [side("a.plimsoll", &base), side("b.plimsoll", &new)];
    let comparison = Comparison::of(&sides, &judgement()).expect("memory");
    let page = forms::terminal(&comparison, Style::Plain, 100, Detail::Brief);
    insta::assert_snapshot!(between(&page, "By endpoint", "~ marks"), @r"
    By endpoint in ramp
    endpoint       run  throughput  failed      p50      ÷ A       p95      ÷ A       p99      ÷ A
    claim            A     10.00/s     0 %  5.00 ms           ~5.00 ms           ~5.00 ms
                     B     10.00/s  10.0 %  6.00 ms  refused  ~6.00 ms  refused  ~6.00 ms  refused
    list             A     10.00/s     0 %   700 µs            ~700 µs            ~700 µs
              not in B
    ");
}

#[test]
fn the_charts_of_the_endpoint_that_differs_most_come_first() {
    let with_list = |claim_us, list_us| {
        let mut run = run(claim_us, 0);
        for second in 0..10 {
            let key = |metric| Key::of(metric).scenario("play").phase("ramp").endpoint("list");
            run.add(&key(Metric::Requests), second, 5);
            run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, list_us, 5);
        }
        run
    };
    let workload = sample_run::workload();
    let titles = |base: &MemoryRun, new: &MemoryRun| {
        let side = |name, run| Side { name, run, workload: &workload };
        let mut judgement = judgement();
        judgement.refusals.clear();
        let comparison =
            Comparison::of(&[side("a.plimsoll", base), side("b.plimsoll", new)], &judgement).expect("memory");
        let page = document::html(&comparison.document());
        let captions = page.split("<figcaption><b>").skip(1).filter_map(|rest| rest.split('<').next());
        captions.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(titles(&with_list(5_000, 700), &with_list(5_050, 1_400))[..2], ["list p50", "list p95"]);
    assert_eq!(titles(&with_list(5_000, 700), &with_list(9_000, 710))[..2], ["claim p50", "claim p95"]);
}
