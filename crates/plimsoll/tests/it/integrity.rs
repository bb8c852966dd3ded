//! Run files that were changed after their seal: every command that judges one notices it.

use std::fs;
use std::time::Duration;

use archive::{Overwrite, Stored, Writer};
use evidence::manifest::SCHEMA_VERSION;
use evidence::{
    Ending, Exemplar, ExemplarKind, Instant, Judgement, Key, KeyId, Manifest, Metric, Notice, NoticeKind,
    Observed, Outcome, Profile, ProfileKind, Run as _, RunEnd, Sample, Sampling, SeriesKey, Sink as _, Tick,
    Verdict,
};
use rusqlite::Connection;
use workload::{Phase, Workload};

use crate::command::{CommandOutput, TestFolder};

/// A run file whose manifest is the model for others.
const VERSION_1: &[u8] = include_bytes!("../../../archive/tests/files/version-1.plimsoll");
const SECONDS: u32 = 3;
/// The reports besides the terminal's, and the options that ask for them.
const REPORTS: [&str; 4] = ["r.html", "r.md", "r.json", "r.xml"];
const OUTPUTS: [&str; 8] = ["--html", "r.html", "--md", "r.md", "--json", "r.json", "--junit", "r.xml"];
/// One change for each table of evidence, to values that can be read.
const CHANGES: [&str; 13] = [
    "UPDATE manifest SET value = '\"other\"' WHERE name = 'name'",
    "UPDATE keys SET endpoint = 'other' WHERE endpoint = 'get'",
    "UPDATE ticks SET in_flight = in_flight + 1",
    "UPDATE histograms SET count = count + 1",
    "UPDATE counts SET value = value + 1",
    "UPDATE series SET unit = 'other'",
    "UPDATE samples SET value = value / 10",
    "UPDATE exemplars SET detail = 'other'",
    "UPDATE rollups SET total = total + 1",
    "UPDATE run_end SET folded_ticks = 1",
    "UPDATE notices SET text = 'other'",
    "UPDATE profiles SET pprof = x'00'",
    "UPDATE seal SET sha256 = 'other'",
];

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// The manifest of a watch with two objectives: on the CPU of a target, which violates it, and on errors.
fn manifest(folder: &TestFolder) -> Manifest {
    folder.write("model.plimsoll", VERSION_1);
    let model = Stored::open(&folder.path("model.plimsoll")).unwrap().manifest().clone();
    let mut workload: Workload = serde_json::from_value(model.workload.clone()).unwrap();
    workload.scenarios.clear();
    let end = Duration::from_secs(u64::from(SECONDS));
    workload.phases = vec![Phase { name: "run".to_owned(), start: Duration::ZERO, end }];
    let objective = |name, text| workload::objective::parse(name, text).unwrap();
    workload.objectives = vec![
        objective("little_cpu", "mean(cpu, target = shop) < 0.5"),
        objective("few_errors", "error_rate(all) < 1%"),
    ];
    let workload = serde_json::to_value(workload).unwrap();
    Manifest { schema_version: SCHEMA_VERSION, workload, ..model }
}

/// Ten successes in each second, and one exchange of them.
fn tick(second: u32) -> Tick {
    let mut tick = Tick::default();
    tick.second = second;
    let of = |metric| Key::of(metric).scenario("load").endpoint("get").phase("run");
    if second == 0 {
        let ok = of(Metric::ResponseTime).outcome(Outcome::Ok);
        tick.new_keys = vec![(KeyId(0), ok), (KeyId(1), of(Metric::Requests))];
    }
    for _ in 0..10 {
        tick.record_ns(KeyId(0), 2_142_000);
    }
    tick.add(KeyId(1), second, 10);
    tick.exemplars = vec![Exemplar {
        kind: ExemplarKind::Slowest,
        scenario: "load".into(),
        endpoint: "get".into(),
        phase: "run".into(),
        outcome: Outcome::Ok,
        due: at(500_142_000),
        response_time_ns: 2_142_000,
        service_time_ns: 2_142_000,
        request: "GET /x".to_owned(),
        request_headers: Vec::new(),
        request_body: String::new(),
        status: Some(200),
        response_headers: Vec::new(),
        response_body: String::new(),
        detail: String::new(),
        trace_id: None,
    }];
    tick
}

/// A CPU of 0.8 cores and some descriptors, and in the first second a notice and a profile.
fn observed(second: u32) -> Observed {
    let at_end = at(u64::from(second) * 1_000_000_000 + 900_142_000);
    let of = |name, unit, value| (SeriesKey::new(name, "shop", unit), Sample { at: at_end, value });
    let samples = vec![of("cpu", "cores", 0.8), of("fds", "1", 12.0)];
    let mut observed = Observed { samples, ..Observed::default() };
    if second == 0 {
        let (observer, text) = ("shop".to_owned(), "no process listens on TCP port 8000".to_owned());
        observed.notices.push(Notice {
            at: at(5_142),
            observer,
            instance: None,
            kind: NoticeKind::Gone,
            text,
        });
        observed.profiles.push(Profile {
            target: "shop".to_owned(),
            kind: ProfileKind::Cpu,
            mark: "0s".to_owned(),
            begin: Instant::EPOCH,
            end: at(1_000_000_000),
            sampling: Sampling::On,
            bytes: b"anything".to_vec(),
        });
    }
    observed
}

/// Write to `name` all but the end of a run.
fn unsealed(folder: &TestFolder, name: &str) -> Writer {
    let mut writer = Writer::create(&folder.path(name), &manifest(folder), Overwrite::Refuse).unwrap();
    for second in 0..SECONDS {
        writer.tick(&tick(second)).unwrap();
        writer.observed(&observed(second)).unwrap();
    }
    writer.flush().unwrap();
    writer
}

/// A folder with a sealed run in `run.plimsoll`, whose CPU violates its objective.
fn folder() -> TestFolder {
    let folder = TestFolder::new("");
    let end = RunEnd::new(Ending::Completed, SECONDS - 1);
    unsealed(&folder, "run.plimsoll").end(&end).unwrap();
    folder
}

fn digest_of(folder: &TestFolder, name: &str) -> String {
    Stored::open(&folder.path(name)).unwrap().digest().unwrap().to_owned()
}

fn change(folder: &TestFolder, statement: &str) {
    let file = Connection::open(folder.path("run.plimsoll")).unwrap();
    assert!(file.execute(statement, []).unwrap() > 0, "{statement} changes nothing");
}

fn report(folder: &TestFolder) -> CommandOutput {
    folder.plimsoll(&[&["report", "run.plimsoll"], &OUTPUTS[..]].concat())
}

#[test]
fn a_change_in_any_table_of_evidence_makes_the_run_invalid() {
    for statement in CHANGES {
        let folder = folder();
        change(&folder, statement);
        let ran = report(&folder);
        assert_eq!(ran.code, Some(5), "{statement}: {}\n{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("\nINVALID  A1 evidence-changed: "), "{statement}: {}", ran.stdout);
        ran.stdout_contains(&["INVALID  little_cpu", "INVALID  few_errors", "invalid  A1 evidence-changed"]);
        for file in REPORTS {
            let text = folder.read(file);
            assert!(text.contains("evidence-changed") && text.contains("INVALID"), "{statement}: {file}");
        }
        let json = folder.json("r.json");
        assert_eq!((&json["verdict"], &json["findings"][0]["rule"]), (&"INVALID".into(), &"A1".into()));
        let claims = json["claims"].as_array().unwrap();
        assert!(claims.len() == 2 && claims.iter().all(|claim| claim["verdict"] == "INVALID"), "{claims:?}");
    }
}

#[test]
fn a_seal_that_was_removed_from_an_ended_run_is_a_change() {
    let folder = folder();
    change(&folder, "DELETE FROM seal");
    report(&folder).exits_with(5).stdout_contains(&["INVALID  A1 evidence-changed: "]);
}

#[test]
fn an_intact_file_keeps_its_verdict_and_names_its_digest() {
    let folder = folder();
    let digest = digest_of(&folder, "run.plimsoll");
    let ran = report(&folder);
    ran.exits_with(3).stdout_contains(&["FAIL", "run.plimsoll", &digest]);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    assert_eq!(folder.json("r.json")["run"]["digest"], digest);
    for file in ["r.html", "r.md"] {
        assert!(folder.read(file).contains(&digest), "{file}");
    }
    for file in REPORTS {
        assert!(!folder.read(file).contains("evidence-changed"), "{file}");
    }
}

#[test]
fn a_judgement_that_was_appended_is_no_change() {
    let folder = folder();
    let judgement = Judgement {
        rules_version: 1,
        verdict: Verdict::Fail,
        because: "a test".to_owned(),
        assumes: None,
        claims: Vec::new(),
        findings: Vec::new(),
    };
    archive::append_judgement(&folder.path("run.plimsoll"), &judgement, "2026-11-21T10:11:12Z").unwrap();
    let ran = report(&folder);
    ran.exits_with(3);
    assert!(!ran.stdout.contains("A1"), "{}", ran.stdout);
}

#[test]
fn a_run_that_was_never_sealed_is_judged_and_has_no_digest() {
    let folder = TestFolder::new("");
    let writer = unsealed(&folder, "begun.plimsoll");
    // The writer is still open: its files are copied as a kill would leave them.
    for end in ["", "-wal"] {
        let from = folder.path(&format!("begun.plimsoll{end}"));
        fs::copy(from, folder.path(&format!("run.plimsoll{end}"))).unwrap();
    }
    drop(writer);
    let ran = report(&folder);
    ran.exits_with(4).stdout_contains(&["The run was killed", "digest     none: the file has no seal"]);
    assert!(!ran.stdout.contains("A1"), "{}", ran.stdout);
    assert_eq!(folder.json("r.json")["run"]["digest"], serde_json::Value::Null);
    for file in ["r.html", "r.md"] {
        assert!(folder.read(file).contains("none: the file has no seal"), "{file}");
    }
    folder.plimsoll(&["leaks", "run.plimsoll"]).stderr_contains(&["run.plimsoll is not sealed"]);
}

#[test]
fn every_command_that_judges_notices_the_change() {
    let folder = folder();
    fs::copy(folder.path("run.plimsoll"), folder.path("whole.plimsoll")).unwrap();
    let verbs: [&[&str]; 4] = [
        &["compare", "whole.plimsoll", "run.plimsoll"],
        &["compare", "run.plimsoll", "whole.plimsoll"],
        &["leaks", "run.plimsoll"],
        &["export", "run.plimsoll", "--profiles", "out"],
    ];
    let intact = verbs.map(|arguments| folder.plimsoll(arguments));
    fs::remove_dir_all(folder.path("out")).unwrap();
    change(&folder, "UPDATE samples SET value = value / 10");
    for (arguments, intact) in verbs.into_iter().zip(intact) {
        assert!(!intact.stdout.contains("A1"), "{}", intact.stdout);
        let ran = folder.plimsoll(arguments);
        assert_eq!(ran.code, Some(5), "{arguments:?}: {}\n{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.starts_with("INVALID  "), "{arguments:?}: {}", ran.stdout);
        ran.stdout_contains(&["A1 evidence-changed"]);
    }
    assert_eq!(folder.read("out/shop-cpu-0s.pb.gz"), "anything");
}
