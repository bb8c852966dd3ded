//! Every page of one small comparison: two runs of ten seconds with one endpoint.

use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::{
    ComparisonJudgement, Figure, Finding, Key, Metric, Outcome, Refusal, RuleId, Run, Scope, Severity,
    SidedFinding, Verdict,
};
use report::summary::{Comparison, Side};
use report::{Detail, Reported as _, Style, document};

use crate::{forms, sample_run};

/// `claim` of `play` ten times per second, with response times of `us` and so many failures per second.
pub(crate) fn run(us: u64, failures_per_s: u64) -> MemoryRun {
    let mut run = MemoryRun::new(sample_run::run(1, None).manifest().clone());
    for second in 0..10 {
        let key = |metric| Key::of(metric).scenario("play").phase("ramp").endpoint("claim");
        for metric in [Metric::Scheduled, Metric::Started, Metric::Requests] {
            run.add(&key(metric), second, 10);
        }
        run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, us, 10 - failures_per_s);
        if failures_per_s > 0 {
            run.record(&key(Metric::ResponseTime).outcome(Outcome::Http5xx), second, 900, failures_per_s);
        }
    }
    run
}

pub(crate) fn judgement() -> ComparisonJudgement {
    let scope = Scope { phase: Some("ramp".to_owned()), ..Scope::default() };
    let finding = Finding {
        rule: RuleId::C1,
        title: "error-rates-differ".to_owned(),
        severity: Severity::Invalid,
        scope: scope.clone(),
        what: "`claim` in `ramp`: 0 % of 100 failed against 10 % of 100.".to_owned(),
        figures: vec![Figure::new("failed", 10.0, "%")],
        affects: Vec::new(),
        why: "Survivors look faster.".to_owned(),
        next: "Fix the failures.".to_owned(),
    };
    ComparisonJudgement {
        rules_version: 3,
        verdict: Verdict::Measured,
        because: "Two runs side by side: a description.".to_owned(),
        claims: Vec::new(),
        objectives: Vec::new(),
        findings: vec![SidedFinding { sides: vec![0, 1], finding }],
        refusals: vec![Refusal { side: 1, rule: RuleId::C1, scope }],
        supports: vec!["What each run shows of itself.".to_owned()],
        does_not_support: vec!["That one is faster.".to_owned()],
        would_settle: vec!["Six pairs.".to_owned()],
    }
}

/// A comparison whose differences this rule refuses, if one does.
fn small(refused_by: Option<RuleId>) -> Comparison {
    let mut workload = sample_run::workload();
    workload.phases.truncate(1);
    workload.phases[0].end = Duration::from_secs(10);
    let mut judgement = judgement();
    match refused_by {
        Some(rule) => {
            judgement.findings[0].finding.rule = rule;
            judgement.refusals[0].rule = rule;
        }
        None => {
            judgement.findings.clear();
            judgement.refusals.clear();
        }
    }
    let failures_per_s = u64::from(refused_by.is_some());
    let (base, new) = (run(5_000, 0), run(6_000, failures_per_s));
    let side = |name, run| Side { name, run, workload: &workload };
    Comparison::of(&[side("a.plimsoll", &base), side("b.plimsoll", &new)], &judgement).expect("memory")
}

/// The part of a page from one text up to another.
pub(crate) fn between<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let start = page.find(from).expect("the page has it");
    let end = page[start..].find(to).expect("it ends");
    &page[start..start + end]
}

#[test]
fn plans_that_offer_different_loads_are_named_before_any_difference() {
    let mut comparison = small(Some(RuleId::C3));
    let finding = &mut comparison.judgement.findings[0].finding;
    finding.scope = Scope::default();
    finding.what = "The shape of the load differs.".to_owned();
    let text = forms::terminal(&comparison, Style::Plain, 100, Detail::Full);
    assert!(text.starts_with("MEASURED  The shape of the load differs. Two runs side by side"), "{text}");
    assert!(!text.contains("Largest differences"), "{text}");
    let claim = between(&text, "claim of play", "avg");
    let refused = claim.lines().filter(|line| line.contains("refused") && line.contains("C3"));
    assert_eq!(refused.count(), 2, "throughput and failed: {claim}");
}

#[test]
fn the_terminal_lays_two_runs_side_by_side() {
    insta::assert_snapshot!(forms::terminal(&small(Some(RuleId::C1)), Style::Plain, 100, Detail::Full), @r"
    MEASURED  Error rate of claim: 0 % in A, 10.0 % in B. Two runs side by side: a description.
    A  a.plimsoll · demo · 2026-11-21T10:40:19Z · 10 s · killed at second 10 of 10
    B  b.plimsoll · demo · 2026-11-21T10:40:19Z · 10 s · killed at second 10 of 10

    Largest differences  one run each: no evidence of a change
    endpoint  measure    A       B  ÷ A
    claim      failed  0 %  10.0 %    –
      throughput: no endpoint differs by 5 %.
      Of each measure the endpoint that differs most between these runs. One run of each does not show
      whether it would differ again, nor what caused the difference.

    By endpoint  phase ramp
    endpoint  run  throughput  failed      p50      ÷ A       p95      ÷ A       p99      ÷ A
    claim       A     10.00/s     0 %  5.00 ms           ~5.00 ms           ~5.00 ms
                B     10.00/s  10.0 %  6.00 ms  refused  ~6.00 ms  refused  ~6.00 ms  refused
    ~ marks a quantile with fewer than 20 samples above it.

    Findings
    invalid  C1 error-rates-differ
      –   A, B · phase ramp: `claim` in `ramp`: 0 % of 100 failed against 10 % of 100.
    why   Survivors look faster.
    next  Fix the failures.

    Phase ramp  10 s
    claim of play
                               A         B     B − A  B ÷ A
    offered              10.00/s   10.00/s       0/s   1.00
    throughput           10.00/s   10.00/s       0/s   1.00
    failed                   0 %    10.0 %  +10.0 pp      –
    avg                  5.00 ms   6.00 ms   refused     C1
    p50                  5.00 ms   6.00 ms   refused     C1
    p90                 ~5.00 ms  ~6.00 ms   refused     C1
    p95                 ~5.00 ms  ~6.00 ms   refused     C1
    p99                 ~5.00 ms  ~6.00 ms   refused     C1
    max                  5.00 ms   6.00 ms   refused     C1
    p95, failures as ∞  ~5.00 ms         ∞   refused     C1
    p99, failures as ∞  ~5.00 ms         ∞   refused     C1
      http_5xx: A 0, B 10

    Differences
      Response times of successes, from the instant a request was due to its last byte; ∞: so many
      requests failed that the quantile is among them; –: not measured. A refused difference is not
      computed; the rule beside it is the reason.
      No claim on a difference was made: that takes repeated runs in random order.

    What this comparison supports
    – What each run shows of itself.

    What it does not support
    – That one is faster.

    What would decide it
    – Six pairs.
    ");
}

#[test]
fn differences_that_no_rule_refuses_are_computed() {
    let page = forms::terminal(&small(None), Style::Plain, 100, Detail::Full);
    insta::assert_snapshot!(between(&page, "Phase ramp", "Differences"), @r"
    Phase ramp  10 s
    claim of play
                               A         B     B − A  B ÷ A
    offered              10.00/s   10.00/s       0/s   1.00
    throughput           10.00/s   10.00/s       0/s   1.00
    failed                   0 %       0 %      0 pp      –
    avg                  5.00 ms   6.00 ms  +1.00 ms   1.20
    p50                  5.00 ms   6.00 ms  +1.00 ms   1.20
    p90                 ~5.00 ms  ~6.00 ms  +1.00 ms   1.20
    p95                 ~5.00 ms  ~6.00 ms  +1.00 ms   1.20
    p99                 ~5.00 ms  ~6.00 ms  +1.00 ms   1.20
    max                  5.00 ms   6.00 ms  +1.00 ms   1.20
    p95, failures as ∞  ~5.00 ms  ~6.00 ms  +1.00 ms   1.20
    p99, failures as ∞  ~5.00 ms  ~6.00 ms  +1.00 ms   1.20
    ");
}

#[test]
fn markdown_lays_two_runs_side_by_side() {
    insta::assert_snapshot!(document::markdown(&small(Some(RuleId::C1)).document()), @r#"
    ## 📏 MEASURED

    Error rate of claim: 0 % in A, 10.0 % in B. Two runs side by side: a description.

    - **A** a.plimsoll · demo · 2026-11-21T10:40:19Z · 10 s · killed at second 10 of 10
    - **B** b.plimsoll · demo · 2026-11-21T10:40:19Z · 10 s · killed at second 10 of 10

    ### Largest differences (one run each: no evidence of a change)

    | endpoint | measure | A | B | ÷ A |
    | --- | --- | ---: | ---: | ---: |
    | claim | failed | 0 % | 10.0 % | – |

    throughput: no endpoint differs by 5 %.

    Of each measure the endpoint that differs most between these runs. One run of each does not show whether it would differ again, nor what caused the difference.

    **By endpoint** phase ramp

    | endpoint | run | throughput | failed | p50 | ÷ A | p95 | ÷ A | p99 | ÷ A |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | claim | A | 10.00/s | 0 % | 5.00 ms |  | \~5.00 ms |  | \~5.00 ms |  |
    |  | B | 10.00/s | 10.0 % | 6.00 ms | refused | \~6.00 ms | refused | \~6.00 ms | refused |

    \~ marks a quantile with fewer than 20 samples above it.

    ### Findings

    **invalid C1 error-rates-differ**

    | where | what |
    | --- | --- |
    | A, B · phase ramp | \`claim\` in \`ramp\`: 0 % of 100 failed against 10 % of 100. |

    Survivors look faster. _Next:_ Fix the failures.

    ### Phase ramp (10 s)

    **claim of play**

    |  | A | B | B − A | B ÷ A |
    | --- | ---: | ---: | ---: | ---: |
    | offered | 10.00/s | 10.00/s | 0/s | 1.00 |
    | throughput | 10.00/s | 10.00/s | 0/s | 1.00 |
    | failed | 0 % | 10.0 % | +10.0 pp | – |
    | avg | 5.00 ms | 6.00 ms | refused | C1 |
    | p50 | 5.00 ms | 6.00 ms | refused | C1 |
    | p90 | \~5.00 ms | \~6.00 ms | refused | C1 |
    | p95 | \~5.00 ms | \~6.00 ms | refused | C1 |
    | p99 | \~5.00 ms | \~6.00 ms | refused | C1 |
    | max | 5.00 ms | 6.00 ms | refused | C1 |
    | p95, failures as ∞ | \~5.00 ms | ∞ | refused | C1 |
    | p99, failures as ∞ | \~5.00 ms | ∞ | refused | C1 |

    http\_5xx: A 0, B 10

    ### Differences

    Response times of successes, from the instant a request was due to its last byte; ∞: so many requests failed that the quantile is among them; –: not measured. A refused difference is not computed; the rule beside it is the reason.

    No claim on a difference was made: that takes repeated runs in random order.

    ### What this comparison supports

    - What each run shows of itself.

    ### What it does not support

    - That one is faster.

    ### What would decide it

    - Six pairs.
    "#);
}

#[test]
fn html_has_findings_and_numbers() {
    let page = document::html(&small(Some(RuleId::C1)).document());
    insta::assert_snapshot!(between(&page, "<section id=\"findings\">", "<section id=\"phase-1\">"), @r#"
    <section id="findings">
    <h2>Findings</h2>

    <div class="cards">
    <article class="card invalid">
    <h3><span class="badge invalid">invalid</span> <span class="rule">C1</span> error-rates-differ</h3>
    <table class="places"><tbody>
    <tr><th scope="row">A, B · phase ramp</th><td><span class="what"><code class="inline">claim</code> in <code class="inline">ramp</code>: 0 % of 100 failed against 10 % of 100.</span><dl class="figures"><div><dt>failed</dt><dd>10.0 %</dd></div></dl></td></tr>
    </tbody></table>
    <p><b>Why it matters.</b> Survivors look faster.</p>
    <p><b>What to do next.</b> Fix the failures.</p>
    </article></div>

    </section>
    "#);
    let phase = between(&page, "<section id=\"phase-1\">", "<section id=\"differences\">");
    for part in [
        "<h2>Phase ramp</h2>",
        "<caption><b>claim of play</b> </caption>",
        "<th scope=\"col\" class=\"n\">B − A</th>",
        "<th scope=\"row\">failed</th><td class=\"n\">0 %</td><td class=\"n\">10.0 %</td><td class=\"n\">+10.0 pp</td>",
        "<td class=\"n\"><span class=\"badge inconclusive\">refused</span></td><td class=\"n\">C1</td>",
        "http_5xx: A 0, B 10",
    ] {
        assert!(phase.contains(part), "{part}: {phase}");
    }
}

#[test]
fn json_has_the_judgement_and_the_numbers() {
    let json: serde_json::Value = serde_json::from_str(&small(Some(RuleId::C1)).json()).expect("it is JSON");
    assert_eq!(json["schema"], "plimsoll.comparison/1");
    let found = &json["judgement"]["findings"][0];
    let measures = json["phases"][0]["endpoints"][0]["measures"].as_array().expect("a list");
    let p95 = measures.iter().find(|measure| measure["name"] == "p95").expect("it has one");
    insta::assert_snapshot!(format!("{}\n{}\n{p95}", found, json["judgement"]["refusals"]), @r#"
    {"figures":[{"name":"failed","unit":"%","value":10.0}],"next":"Fix the failures.","rule":"C1","scope":{"phase":"ramp"},"severity":"invalid","sides":[0,1],"title":"error-rates-differ","what":"`claim` in `ramp`: 0 % of 100 failed against 10 % of 100.","why":"Survivors look faster."}
    [{"rule":"C1","scope":{"phase":"ramp"},"side":1}]
    {"differences":[{"is":"refused","rules":["C1"]}],"name":"p95","rough":[0,1],"unit":"ms","values":[{"is":"finite","value":5.0028500000000005},{"is":"finite","value":6.0028500000000005}]}
    "#);
}

#[test]
fn the_largest_differences_are_before_the_findings() {
    let page = forms::terminal(&small(None), Style::Plain, 100, Detail::Full);
    insta::assert_snapshot!(between(&page, "Largest differences", "Phase ramp"), @r"
    Largest differences  one run each: no evidence of a change
    endpoint  measure         A         B      ÷ A
    claim         p50   5.00 ms   6.00 ms   × 1.20
    claim         p95  ~5.00 ms  ~6.00 ms  × ~1.20
      throughput, failed: no endpoint differs by 5 %.
      Of each measure the endpoint that differs most between these runs. One run of each does not show
      whether it would differ again, nor what caused the difference.

    By endpoint  phase ramp
    endpoint  run  throughput  failed      p50     ÷ A       p95      ÷ A       p99      ÷ A
    claim       A     10.00/s     0 %  5.00 ms          ~5.00 ms           ~5.00 ms
                B     10.00/s     0 %  6.00 ms  × 1.20  ~6.00 ms  × ~1.20  ~6.00 ms  × ~1.20
    ~ marks a quantile with fewer than 20 samples above it.
    ");
}
