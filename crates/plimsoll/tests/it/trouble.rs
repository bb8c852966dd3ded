//! What goes wrong in mid-run is data, and the run is judged; what cannot be recorded is our failure.

use testbed::{Behaviour, CannedResponse, Site, Target};

use crate::command::{HANG, TestFolder, closed, open, recorded_seconds};

const FEW_ERRORS: &str = "[objectives]\nfew_errors = \"error_rate(all) < 1%\"\n";

/// Run the plan against `target`, and stop that once it has had 20 requests.
fn stopped_half_way(plan: &str, target: &mut Target) -> (TestFolder, crate::command::CommandOutput) {
    let folder = TestFolder::new(plan);
    let run = folder.start(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--json", "run.json"]);
    assert!(target.wait_for(HANG, |log| log.len() >= 20));
    target.stop();
    (folder, run.end())
}

#[test]
fn a_target_that_dies_in_mid_run_fails_its_objective() {
    let mut target = testbed::http(Behaviour::ok()).unwrap();
    let (folder, ran) = stopped_half_way(&(closed(target.addr(), 3) + FEW_ERRORS), &mut target);
    ran.exits_with(3).stdout_contains(&["FAIL", "few_errors", "refused"]);
    let report = folder.json("run.json");
    assert_eq!((&report["verdict"], &report["run"]["end"]["how"]), (&"FAIL".into(), &"completed".into()));
    let outcomes = &report["accounting"]["by_outcome"];
    assert!(outcomes["refused"].as_u64() > Some(0) && outcomes["ok"].as_u64() > Some(0), "{outcomes}");
    let sealed = folder.plimsoll(&["report", "run.plimsoll"]);
    sealed.exits_with(3).stdout_contains(&["FAIL", "refused"]);
    assert_eq!(folder.files("-wal"), [""; 0], "a sealed run is one file");
}

/// The watched process ends and is started again on the same port, with counters at 0.
#[test]
fn a_target_that_restarts_in_mid_run_leaves_gaps_and_no_rate_below_zero() {
    let mut target = peers::go::Target::start(peers::go::Settings::default()).unwrap();
    let (address, port) = (target.address(), target.address().port());
    let watched = format!(
        "process = {{ port = {port} }}\n[targets.api.observe]\n\
         prometheus = {{ url = \"http://{address}/metrics\", keep = [\"go_memstats_*_total\"] }}\n[[scenarios]]"
    );
    let folder = TestFolder::new(&open(address, 12).replacen("[[scenarios]]", &watched, 1));
    let mut running =
        folder.start(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--json", "run.json"]);
    let file = folder.path("run.plimsoll");
    running.until("rates are seen", || recorded_seconds(&file) >= 5);
    let before = target.pid();
    target.restart().unwrap();
    running.end().exits_with(0);
    let findings = folder.json("run.json")["findings"].to_string();
    let restarted = format!("was {before} and is {} now: it was restarted", target.pid());
    assert!(findings.contains(&restarted) && findings.contains("began anew"), "{findings}");
    let file = rusqlite::Connection::open(&file).unwrap();
    let count = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM samples WHERE value < 0"), 0);
    let rates =
        "SELECT count(*) FROM samples JOIN series USING (series) WHERE name = 'cpu' AND target = 'api'";
    assert!((5..12).contains(&count(rates)), "{} looks have a rate", count(rates));
}

/// Bytes that are no profile, at a mark: they are kept and named, and the run continues.
#[test]
fn bytes_that_are_no_profile_are_a_finding() {
    let cut = CannedResponse::new(200).body([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 2, 3]);
    let site = Site::new().at("/debug/pprof/heap", cut.into()).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let asked = format!(
        "[targets.api.observe]\npprof = \"http://{}/debug/pprof\"\n\
         [[profiles]]\nat = \"1s\"\nlength = \"1s\"\nkinds = [\"cpu\", \"heap\"]\n[[scenarios]]",
        target.addr()
    );
    let folder = TestFolder::new(&open(target.addr(), 3).replacen("[[scenarios]]", &asked, 1));
    folder
        .plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--json", "run.json"])
        .exits_with(0);
    let findings = folder.json("run.json")["findings"].to_string();
    for kind in ["cpu", "heap"] {
        assert!(findings.contains(&format!("the {kind} profile at `1s` cannot be read")), "{findings}");
    }
}

#[test]
fn an_open_load_continues_after_the_target_died() {
    let mut target = testbed::http(Behaviour::ok()).unwrap();
    let (folder, ran) = stopped_half_way(&(open(target.addr(), 3) + FEW_ERRORS), &mut target);
    // A machine that stalls the generator makes it INVALID, which is correct too.
    assert!(matches!(ran.code, Some(3 | 5)), "{ran:?}");
    let report = folder.json("run.json");
    let arrivals = &report["accounting"]["arrivals"];
    assert_eq!(arrivals["scheduled"], 150);
    assert!(report["accounting"]["by_outcome"]["refused"].as_u64() > Some(0), "{report}");
    let rules: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert!(!rules.contains(&"L6"), "the counts must add up: {rules:?}");
    assert!(rules.contains(&"T4"), "{rules:?}");
}

#[test]
fn a_target_that_always_fails_violates_its_error_objective() {
    let target = testbed::http(Behaviour::status(500)).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 1) + FEW_ERRORS));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet"]);
    ran.exits_with(3).stdout_contains(&["FAIL", "few_errors", "http_5xx", "100"]);
}

#[test]
fn a_full_disk_ends_the_run_with_an_error_and_a_readable_file() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 60) + FEW_ERRORS));
    // The kernel's limit on the size of a file replaces a full disk: the write-ahead log exceeds it.
    let full = "trap '' XFSZ; ulimit -f 600";
    let ran = folder.plimsoll_after(full, &["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]);
    ran.exits_with(1).stderr_contains(&[
        "plimsoll: the run was not recorded to its end",
        "space",
        "plimsoll report run.plimsoll",
    ]);
    assert!(recorded_seconds(&folder.path("run.plimsoll")) > 0);
    let kept = folder.plimsoll(&["report", "run.plimsoll"]);
    kept.exits_with(4).stdout_contains(&["INCONCLUSIVE", "killed"]);
}

#[test]
fn a_missing_output_folder_is_reported_before_the_load() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "no/such/folder/run.plimsoll"]);
    ran.exits_with(2).stderr_contains(&["no/such/folder/run.plimsoll"]);
    assert_eq!(target.requests(), 0);
}
