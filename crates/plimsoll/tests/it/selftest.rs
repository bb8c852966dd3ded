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
