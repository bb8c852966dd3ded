//! Every rule of pairs, with and without a finding.

mod claims;
mod identity;
mod steadiness;

use evidence::{ComparisonJudgement, Metric, Provenance, SeriesKey, Verdict};

use super::{Side, compare};
use crate::testing::{Load, TestRun};

fn sound() -> TestRun {
    with_load(Load::ok(100))
}

fn with_load(load: Load) -> TestRun {
    let mut test_run = TestRun::new().offer("steady", "list", load);
    test_run.edit(|manifest| {
        manifest.started_at = "2026-11-21T10:00:00Z".to_owned();
        let environment = [("cores", "2"), ("memory_bytes", "1024"), ("hostname", "one")];
        manifest.environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    });
    test_run
}

/// [`sound`], a minute later.
fn later() -> TestRun {
    let mut test_run = sound();
    test_run.edit(|manifest| manifest.started_at = "2026-11-21T10:01:00Z".to_owned());
    test_run
}

fn judgement(runs: [(&TestRun, Provenance); 2]) -> ComparisonJudgement {
    let sides = runs.map(|(test_run, provenance)| Side {
        name: "run",
        run: &test_run.run,
        workload: &test_run.workload,
        provenance,
    });
    compare(&sides, &[]).unwrap()
}

/// The findings of one rule on two runs, a line each.
fn findings(rule: &str, runs: [(&TestRun, Provenance); 2]) -> String {
    let judgement = judgement(runs);
    let of_rule = judgement.findings.iter().filter(|f| f.finding.rule.to_string() == rule);
    let lines: Vec<String> =
        of_rule.map(|f| format!("{} {:?} {}", f.finding.severity, f.sides, f.finding.what)).collect();
    let refused = judgement.refusals.iter().filter(|refusal| refusal.rule.to_string() == rule).count();
    if lines.is_empty() { "nothing".to_owned() } else { format!("{}\nrefusals: {refused}", lines.join("\n")) }
}

fn between(rule: &str, base: &TestRun, new: &TestRun) -> String {
    findings(rule, [(base, Provenance::Intact), (new, Provenance::Intact)])
}

#[test]
fn different_error_rates_refuse_differences_of_latency() {
    let failing = TestRun::new().offer("steady", "list", Load { failed: 7, ..Load::ok(93) });
    insta::assert_snapshot!(between("C1", &sound(), &failing), @r"
    invalid [0, 1] `list` in `steady`: 0 % of 6,000 failed against 7 % of 6,000. Latency of successes is not comparable.
    refusals: 1
    ");
    let because = judgement([(&sound(), Provenance::Intact), (&failing, Provenance::Intact)]).because;
    assert!(because.contains("not compared: C1 error-rates-differ"), "{because}");
    assert_eq!(between("C1", &sound(), &later()), "nothing");
    assert_eq!(between("C1", &failing, &failing), "nothing");
    let mut imported = sound();
    let missing = [evidence::Missing::Outcomes].into();
    imported.edit(|manifest| {
        let format = "HdrHistogram log".to_owned();
        manifest.source = Some(evidence::Source { format, missing, ..evidence::Source::default() });
    });
    insta::assert_snapshot!(between("C1", &imported, &failing), @r"
    info [0, 1] Whether error rates differ is unknown: the HdrHistogram log does not record how requests ended.
    refusals: 0
    ");
}

#[test]
fn another_mix_and_larger_responses_are_invalid() {
    let [mut small, mut large] = [40, 60].map(|share| sound().offer("steady", "claim", Load::ok(share)));
    small.count(Metric::BytesIn, "steady", "list", 6_000 * 2_000);
    large.count(Metric::BytesIn, "steady", "list", 6_000 * 2_060);
    insta::assert_snapshot!(between("C2", &small, &large), @r"
    invalid [0, 1] The mix of endpoints in `steady` differs by 8.93 %: `list` is 71.4 % of the requests against 62.5 %.
    invalid [0, 1] A response of `list` in `steady` has 2,000 bytes against 2,060.
    refusals: 2
    ");
    assert_eq!(between("C2", &small, &small), "nothing");
    // Responses of gRPC differ by the headers that their connection has carried before.
    let [mut short, mut shorter] = [sound(), sound()];
    short.count(Metric::BytesIn, "steady", "list", 6_000 * 38);
    shorter.count(Metric::BytesIn, "steady", "list", 6_000 * 36);
    assert_eq!(between("C2", &short, &shorter), "nothing");
}

#[test]
fn another_load_shape_is_invalid_and_names_the_differences() {
    let mut slower = later();
    slower.plan_rate(50.0);
    slower.workload.phases[1].end = std::time::Duration::from_secs(40);
    insta::assert_snapshot!(between("C3", &sound(), &slower), @r"
    invalid [0, 1] The shape of the load differs: phases warm-up 10 s, steady 60 s against warm-up 10 s, steady 30 s; executor of `play` 85.7 arrivals/s for 70 s against 50 arrivals/s for 70 s. Effects of the target and of the load cannot be separated.
    refusals: 1
    ");
    assert_eq!(between("C3", &sound(), &later()), "nothing");
}

#[test]
fn imported_runs_may_differ_in_length_by_five_per_cent() {
    let imported = |ms: u64| {
        let mut run = later();
        run.edit(|manifest| manifest.source = Some(evidence::Source::default()));
        run.workload.scenarios.clear();
        run.workload.phases.remove(0);
        run.workload.phases[0].end = std::time::Duration::from_millis(ms);
        run
    };
    let base = imported(60_000);
    for near in [57_200, 60_000, 62_940, 63_000] {
        assert_eq!(between("C3", &base, &imported(near)), "nothing", "{near} ms");
    }
    insta::assert_snapshot!(between("C3", &base, &imported(63_060)), @r"
    invalid [0, 1] The shape of the load differs: the imported runs are 60 s and 63.1 s long, and one may be at most 5 % longer. Effects of the target and of the load cannot be separated.
    refusals: 1
    ");
    assert!(between("C3", &imported(63_060), &base).contains("63.1 s and 60 s long"));
    let mut own = imported(60_100);
    own.edit(|manifest| manifest.source = None);
    assert!(between("C3", &base, &own).contains("phases steady 50 s against steady 50.1 s"));
}

#[test]
fn another_machine_is_invalid_and_a_twin_is_a_caution() {
    let mut larger = later();
    larger.edit(|manifest| drop(manifest.environment.insert("cores".to_owned(), "4".to_owned())));
    insta::assert_snapshot!(between("C4", &sound(), &larger), @r"
    invalid [0, 1] The machine of the generator differs: cores 2 against 4.
    refusals: 1
    ");
    let mut twin = later();
    twin.edit(|manifest| drop(manifest.environment.insert("hostname".to_owned(), "two".to_owned())));
    insta::assert_snapshot!(between("C4", &sound(), &twin), @r"
    caution [0, 1] The generator ran on another machine of the same kind: hostname one against two.
    refusals: 0
    ");
    assert_eq!(between("C4", &sound(), &later()), "nothing");
}

#[test]
fn stored_data_at_the_start_is_compared_or_unknown() {
    let key = SeriesKey::new("pg_table_rows", "web", "1").part("goals");
    let [mut small, mut large] = [sound(), later()];
    insta::assert_snapshot!(between("C6", &small, &large), @r"
    info [0, 1] Whether both began with the same data is unknown: no store was observed on both sides.
    refusals: 0
    ");
    small.observe(&key, 0..5, 1_000.0);
    large.observe(&key, 0..5, 1_120.0);
    insta::assert_snapshot!(between("C6", &small, &large), @r"
    invalid [0, 1] At the start pg_table_rows of web goals was 1,000 against 1,120.
    refusals: 1
    ");
    assert_eq!(between("C6", &small, &small), "nothing");
}

#[test]
fn changed_evidence_is_invalid_and_unsealed_evidence_is_a_caution() {
    let (base, new) = (sound(), later());
    let sides = [(&base, Provenance::Changed), (&new, Provenance::Unsealed)];
    insta::assert_snapshot!(findings("A1", sides), @r"
    invalid [0] The evidence was changed after it was sealed: it does not have the digest of its seal.
    refusals: 1
    ");
    insta::assert_snapshot!(findings("C7", sides), @r"
    caution [0, 1] The other run was killed before it was sealed: whether it is complete is unknown.
    refusals: 0
    ");
    assert_eq!(between("C7", &base, &new), "nothing");
    assert_eq!(between("A1", &base, &new), "nothing");
}

#[test]
fn a_comparison_with_changed_evidence_is_invalid() {
    let (base, new) = (sound(), later());
    let judged = |provenance| {
        let side = |name, test_run| -> Side<'_> {
            let test_run: &TestRun = test_run;
            Side { name, run: &test_run.run, workload: &test_run.workload, provenance }
        };
        compare(&[side("base.plimsoll", &base), side("new.plimsoll", &new)], &[]).unwrap()
    };
    assert_eq!(judged(Provenance::Intact).verdict, Verdict::Measured);
    let changed = judged(Provenance::Changed);
    assert_eq!(changed.verdict, Verdict::Invalid);
    insta::assert_snapshot!(changed.because, @"A1 evidence-changed: The evidence in base.plimsoll and new.plimsoll was changed after it was sealed.");
    insta::assert_snapshot!(changed.supports.join("\n"), @"For each run separately, unless its evidence was changed: what it was offered, what succeeded and failed, and how long responses took.");
}

#[test]
fn an_imported_run_is_a_caution() {
    let mut imported = later();
    let source =
        evidence::Source { tool: "k6".to_owned(), format: "k6 NDJSON".to_owned(), ..Default::default() };
    imported.import(source);
    insta::assert_snapshot!(between("C7", &sound(), &imported), @r"
    caution [0, 1] The other run was imported from k6 NDJSON: how its times were measured cannot be checked.
    refusals: 0
    ");
    insta::assert_snapshot!(between("C4", &sound(), &imported), @r"
    caution [0, 1] The generator differs: imported from unknown against k6 NDJSON.
    refusals: 0
    ");
}

#[test]
fn no_change_is_an_aa_run_and_two_changes_are_a_caution() {
    let program = |digest: &str| {
        let mut test_run = later();
        let facts = [("exe_sha256".to_owned(), digest.to_owned())].into();
        test_run.edit(|manifest| drop(manifest.targets.insert("web".to_owned(), facts)));
        test_run
    };
    let mut same = program("one");
    same.edit(|manifest| manifest.started_at = "2026-11-21T10:02:00Z".to_owned());
    insta::assert_snapshot!(between("C8", &program("one"), &same), @r"
    info [0, 1] Nothing that was recorded differs, and the load is the same. Differences may be noise, or come from what is unknown: of `web` its command line, the names of its environment variables, its folder, its container.
    refusals: 0
    ");
    let process = || {
        let mut test_run = program("one");
        test_run.edit(|manifest| {
            let facts = [("started_unix_s", "5"), ("pid", "7")].map(|(k, v)| (k.to_owned(), v.to_owned()));
            manifest.targets.get_mut("web").unwrap().extend(facts);
        });
        test_run
    };
    let mut again = process();
    again.edit(|manifest| manifest.started_at = "2026-11-21T10:09:00Z".to_owned());
    insta::assert_snapshot!(between("C8", &process(), &again), @r"
    info [0, 1] The same process ran on both sides, under the same load: this is an A/A run. Differences are noise.
    refusals: 0
    ");
    insta::assert_snapshot!(between("C8", &program("one"), &program("two")), @r"
    info [0, 1] Of what was recorded, one thing was changed: the program of `web`. Unknown: of `web` its command line, the names of its environment variables.
    refusals: 0
    ");
    let mut seeded = program("two");
    seeded.edit(|manifest| manifest.seed = 2);
    insta::assert_snapshot!(between("C8", &program("one"), &seeded), @r"
    caution [0, 1] More than one thing was changed: the program of `web`, the seed. Their effects cannot be separated. Unknown: of `web` its command line, the names of its environment variables.
    refusals: 0
    ");
}

#[test]
fn one_run_each_of_three_is_one_finding() {
    let (base, new) = (sound(), later());
    let side = |test_run| -> Side<'_> {
        let test_run: &TestRun = test_run;
        Side { name: "run", run: &test_run.run, workload: &test_run.workload, provenance: Provenance::Intact }
    };
    let judgement = compare(&[side(&base), side(&new), side(&new)], &[]).unwrap();
    let single: Vec<_> =
        judgement.findings.iter().filter(|f| f.finding.rule == evidence::RuleId::S1).collect();
    assert_eq!((single.len(), single[0].sides.as_slice()), (1, &[0, 1, 2][..]));
    assert!(judgement.refusals.is_empty() && judgement.claims.is_empty(), "{:?}", judgement.refusals);
}

#[test]
fn an_invalid_run_has_no_differences() {
    let short = TestRun::new().offer("steady", "list", Load { dropped_generator_late: 31, ..Load::ok(99) });
    insta::assert_snapshot!(between("L1", &short, &sound()), @r"
    invalid [0] Planned 130/s, offered 99/s (76.2 %). The response times are those at 99/s.
    refusals: 1
    ");
}

#[test]
fn a_few_rows_and_a_few_requests_are_no_other_state_and_no_other_mix() {
    let dead = SeriesKey::new("pg_table_dead_rows", "web", "1").part("goals");
    let [mut few, mut more] = [sound(), later()];
    few.observe(&dead, 0..5, 12.0);
    more.observe(&dead, 0..5, 15.0);
    assert_eq!(between("C6", &few, &more), "nothing");
    let [mut all, mut other] = [TestRun::new(), TestRun::new()];
    for (test_run, claims) in [(&mut all, 0), (&mut other, 12)] {
        test_run.offer_once(20, "list", Load::ok(400 - claims));
        test_run.offer_once(21, "claim", Load::ok(claims));
    }
    assert_eq!(between("C2", &all, &other), "nothing");
}

#[test]
fn differences_are_described_in_words() {
    let data = |pick, from: &str| {
        let mut test_run = later();
        let from = workload::DataFrom::File(from.to_owned());
        let source = workload::DataSource { from, pick, rows: 5 };
        test_run.workload.data.insert("users".to_owned(), source);
        test_run
    };
    let (base, mut new) =
        (data(workload::Pick::Random, "users.csv"), data(workload::Pick::Unique, "more.csv"));
    insta::assert_snapshot!(between("C2", &base, &new), @r"
    invalid [0, 1] The data of the plans differ: `users`: 5 rows of users.csv, at random against 5 rows of more.csv, each once.
    refusals: 1
    ");
    new.plan_rate(50.0);
    new.workload.scenarios[0].start = std::time::Duration::from_millis(1_500);
    insta::assert_snapshot!(between("C3", &base, &new), @r"
    invalid [0, 1] The shape of the load differs: executor of `play` 85.7 arrivals/s for 70 s against 50 arrivals/s for 70 s; start of `play` 0 µs against 1.5 s. Effects of the target and of the load cannot be separated.
    refusals: 1
    ");
}

#[test]
fn the_parts_in_which_requests_differ_are_named() {
    let with_request = |path: &str, body: &str| {
        let mut test_run = sound();
        for step in test_run.workload.scenarios.iter_mut().flat_map(|scenario| scenario.flow.steps_mut()) {
            if let workload::Request::Http { path: own, body: sent, .. } = &mut step.request {
                *own = workload::Template::literal(path);
                *sent = workload::Template::literal(body);
            }
        }
        test_run
    };
    let (base, new) = (with_request("/a", &"x".repeat(99)), with_request("/b", ""));
    insta::assert_snapshot!(between("C3", &base, &new), @r"
    invalid [0, 1] The shape of the load differs: path of `list` /a against /b; `list` has another body; path of `claim` /a against /b; `claim` has another body. Effects of the target and of the load cannot be separated.
    refusals: 1
    ");
}

/// One second without responses is one event, however many requests fail in it.
#[test]
fn a_short_outage_is_no_other_error_rate() {
    let mut outage = TestRun::new().offer("steady", "list", Load::ok(100));
    outage.offer_once(30, "list", Load { failed: 60, ..Load::ok(0) });
    assert_eq!(between("C1", &sound(), &outage), "nothing");
}
