//! C4, C5, S1 and M5 on two runs.

use evidence::{Provenance, SeriesKey};
use workload::{Connecting, Scheme, model::Target};

use super::{Side, between, compare, later, sound, with_load};
use crate::testing::{Load, TestRun};

/// The findings of M5 on two runs and these expectations, a line each.
fn expecting(expected: &[&str], base: &TestRun, new: &TestRun) -> String {
    let expected: Vec<crate::Expectation> = expected.iter().map(|text| text.parse().unwrap()).collect();
    let side = |test_run| -> Side<'_> {
        let test_run: &TestRun = test_run;
        Side { name: "run", run: &test_run.run, workload: &test_run.workload, provenance: Provenance::Intact }
    };
    let judgement = compare(&[side(base), side(new)], &expected).unwrap();
    let found = judgement.findings.iter().filter(|f| f.finding.rule == evidence::RuleId::M5);
    found.map(|f| format!("{} {:?} {}\n", f.finding.severity, f.sides, f.finding.what)).collect()
}

#[test]
fn an_expectation_is_reported_beside_what_was_measured() {
    let quicker = with_load(Load { us: 8_000, ..Load::ok(100) });
    insta::assert_snapshot!(expecting(&["p95 -30%", "avg(claim) +5%"], &sound(), &quicker), @r"
    caution [0, 1] Expected, and never measured: p95 -30%. Measured, one run each: `list` in `steady` −20 % (10.5 ms against 8.4 ms).
    caution [0, 1] Expected, and never measured: avg(claim) +5%. Measured, one run each: nothing that both runs have.
    ");
    let failing = with_load(Load { failed: 7, us: 7_000, ..Load::ok(93) });
    insta::assert_snapshot!(expecting(&["p95(list) -30%"], &sound(), &failing), @"caution [0, 1] Expected, and never measured: p95(list) -30%. Measured, one run each: `list` in `steady` refused (C1).");
    assert_eq!(expecting(&[], &sound(), &quicker), "", "nothing was expected");
}

#[test]
fn one_run_each_is_inconclusive() {
    insta::assert_snapshot!(between("S1", &sound(), &later()), @r"
    inconclusive [0, 1] One run each cannot show more than this host's run-to-run spread, and that was not measured: any difference here may be the difference between two starts of one program.
    refusals: 0
    ");
}

#[test]
fn a_target_without_tls_is_named() {
    let reached = |scheme| {
        let mut test_run = sound();
        let http = workload::HttpOrigin { scheme, host: "::1".to_owned(), port: 1, base_path: String::new() };
        let target = Target {
            http: Some(http),
            grpc: None,
            process: None,
            wait_ready: None,
            connecting: Connecting::default(),
            observe: Default::default(),
            cookies: false,
            fresh_cookies: false,
        };
        test_run.workload.targets.insert("web".to_owned(), target);
        test_run
    };
    insta::assert_snapshot!(between("C5", &reached(Scheme::Http), &reached(Scheme::Https)), @r"
    info [0, 1] Whether rate limits, authentication, logging and retries are those of production is unknown: `web` without TLS; run files do not contain a target's own configuration.
    refusals: 0
    ");
    insta::assert_snapshot!(between("C5", &reached(Scheme::Https), &reached(Scheme::Https)), @r"
    info [0, 1] Whether rate limits, authentication, logging and retries are those of production is unknown: run files do not contain a target's own configuration.
    refusals: 0
    ");
}

#[test]
fn another_store_or_another_limit_is_invalid() {
    let with = |facts: &[(&str, &str)], memory: f64| {
        let mut test_run = later();
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        test_run.edit(|manifest| drop(manifest.targets.insert("web".to_owned(), facts)));
        test_run.observe(&SeriesKey::new("cgroup_memory_limit", "web", "bytes"), 0..70, memory);
        test_run
    };
    let old = with(&[("postgres_version", "16.4"), ("postgres_settings", "0123456789abcdef")], 1e9);
    let new = with(&[("postgres_version", "17.2"), ("postgres_settings", "fedcba9876543210")], 4e9);
    insta::assert_snapshot!(between("C4", &old, &new), @r"
    invalid [0, 1] The environment of the targets differs: postgres_version of `web` 16.4 against 17.2; postgres_settings of `web` 0123456789ab against fedcba987654; cgroup_memory_limit of `web` 954 MiB against 3.73 GiB.
    refusals: 1
    ");
    assert_eq!(between("C4", &old, &old), "nothing");
    let unknown = with(&[], 1e9);
    assert_eq!(between("C4", &old, &unknown), "nothing", "what one side did not record is unknown");
    let [here, there] = ["127.0.0.1:80/v1", "10.0.0.7:80/v1"].map(|http| with(&[("http", http)], 1e9));
    insta::assert_snapshot!(between("C4", &here, &there), @r"
    caution [0, 1] Whether the targets ran on the same machine is unknown: `web` was reached at 127.0.0.1 and at 10.0.0.7.
    refusals: 0
    ");
    let other_port = with(&[("http", "127.0.0.1:81/v1")], 1e9);
    assert_eq!(between("C4", &here, &other_port), "nothing", "a port does not identify a machine");
}
