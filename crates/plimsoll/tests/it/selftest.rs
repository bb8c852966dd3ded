//! The engine's test of itself: nothing is asserted of this machine, only that what is said fits together.

use crate::command::TestFolder;

#[test]
fn the_self_test_reports_rates_and_start_lag() {
    let folder = TestFolder::new("");
    let ran = folder.plimsoll(&["selftest", "engine", "--seconds", "1", "--json", "selftest.json"]);
    ran.exits_with(0);
    assert!(ran.stdout.contains("What it can be trusted with"), "{}", ran.stdout);
    let found = folder.json("selftest.json");
    let stages = found["stages"].as_array().unwrap();
    for rate in [1_000, 5_000, 20_000] {
        let stage = stages.iter().find(|stage| stage["rate"] == rate).unwrap();
        assert_eq!(stage["scheduled"], rate, "{stage}");
        assert!(stage["start_lag_us"]["p50"].as_f64() <= stage["start_lag_us"]["max"].as_f64(), "{stage}");
    }
    let (known, delay) = (&found["known_delay"], found["known_delay_us"].as_f64().unwrap());
    assert_eq!(known["succeeded"], 500, "{known}");
    let [held, measured] =
        ["held_us", "service_time_us"].map(|histogram| known[histogram]["p50"].as_f64().unwrap());
    assert!(held >= delay && measured >= held, "{known}");
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn the_self_test_of_verdicts_repeats_with_its_seed_and_names_what_there_is() {
    let folder = TestFolder::new("");
    let figures = |file: &str| {
        let ran = folder.plimsoll(&[
            "selftest", "verdicts", "--runs", "20", "--seed", "5", "--only", "steady", "--json", file,
        ]);
        ran.exits_with(0);
        assert!(ran.stdout.contains("PASS: none of"), "{}", ran.stdout);
        folder.json(file)
    };
    let first = figures("first.json");
    assert_eq!(first, figures("second.json"));
    let figure = &first["figures"][0];
    assert_eq!((figure["runs"].as_u64(), figure["limit"].as_f64()), (Some(20), Some(0.05)), "{figure}");
    let ran = folder.plimsoll(&["selftest", "verdicts", "--only", "neighbors"]);
    ran.exits_with(2);
    assert!(ran.stderr.contains("neighbours take half"), "{}", ran.stderr);
}
