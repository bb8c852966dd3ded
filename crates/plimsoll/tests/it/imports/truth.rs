//! Two hundred imports of runs whose truth is known, in every format, cut off or contradicting themselves where the format
//! can show it: none is PASS where the run violated the objective, and none FAIL where it met it. The truth is arithmetic on
//! the requests, of which the files were written before they were damaged.

mod details;
mod edit;
mod known_run;
mod lines;
mod summaries;

use serde_json::Value;

use crate::command::TestFolder;
use known_run::KnownRun;

/// Files of a run, by name.
type Files = Vec<(String, String)>;

/// A format, damage that it can show, and the files.
type Damage = (&'static str, fn(&KnownRun) -> Files);

const IMPORTS: usize = 200;
const OBJECTIVES: [&str; 3] = ["error_rate(all) < 2%", "p90(all) < 50ms", "max(all) < 50ms"];

/// The verdict on each objective, and the exit code's.
fn verdicts(files: &Files) -> Vec<String> {
    let folder = TestFolder::new("");
    files.iter().for_each(|(name, text)| folder.write(name, text));
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let asks = OBJECTIVES.iter().flat_map(|objective| ["--ask", objective]);
    let rest = ["-o", "run.plimsoll", "--json", "run.json"];
    let arguments: Vec<&str> = ["import"].into_iter().chain(names).chain(asks).chain(rest).collect();
    let ran = folder.plimsoll(&arguments);
    if ran.code == Some(2) {
        // Refused: no verdict.
        return Vec::new();
    }
    let report = folder.json("run.json");
    let of = |verdict: &Value| verdict.as_str().unwrap().to_owned();
    report["claims"].as_array().unwrap().iter().map(|claim| of(&claim["verdict"])).collect()
}

/// What is wrong with these verdicts.
fn wrong(run: &KnownRun, verdicts: &[String]) -> Vec<String> {
    let judged = OBJECTIVES.iter().zip(verdicts).zip(run.truth());
    judged
        .filter(|((_, verdict), is_met)| **verdict == if *is_met { "FAIL" } else { "PASS" })
        .map(|((objective, verdict), _)| format!("{verdict} {objective}"))
        .collect()
}

#[test]
fn no_damaged_import_of_known_truth_has_a_wrong_verdict() {
    let damages: Vec<Damage> = [lines::DAMAGES, details::DAMAGES, summaries::DAMAGES].concat();
    let mut found = Vec::new();
    let mut open = 0;
    for import in 0..IMPORTS {
        let (name, files) = damages[import % damages.len()];
        // The second and further rounds have other runs.
        let run = KnownRun::new((import + import / damages.len()) as u64);
        let verdicts = verdicts(&files(&run));
        open += usize::from(!verdicts.iter().any(|verdict| verdict == "PASS" || verdict == "FAIL"));
        found.extend(wrong(&run, &verdicts).into_iter().map(|wrong| format!("{import}, {name}: {wrong}")));
    }
    assert_eq!(found, [] as [String; 0], "of {IMPORTS} imports, of which {open} decide nothing");
}

#[test]
fn the_same_runs_undamaged_are_decided_and_rightly() {
    let intact: Vec<Damage> = [lines::INTACT, details::INTACT, summaries::INTACT].concat();
    for (name, files) in intact {
        for seed in 0..KnownRun::KINDS {
            let run = KnownRun::new(seed);
            let verdicts = verdicts(&files(&run));
            assert_eq!(wrong(&run, &verdicts), [] as [String; 0], "{name} {seed}");
            let expected = if run.truth()[0] { "PASS" } else { "FAIL" };
            let decided = verdicts.first().map(String::as_str);
            assert!(name == "hdr-log" || decided == Some(expected), "{name} {seed}: {verdicts:?}");
        }
    }
}
