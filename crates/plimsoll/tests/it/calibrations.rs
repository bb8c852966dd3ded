//! `plimsoll calibrate`, what `plimsoll ab` does with it, and `plimsoll ab --bisect`.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testbed::Behaviour;

use crate::command::{TestFolder, closed, refusal};

/// Long enough to exceed the noise on a busy machine.
const SLOW: Duration = Duration::from_millis(150);

/// A plan, and an experiment with arms at these addresses, which run already.
fn experiment(addresses: [SocketAddr; 2], gate: &str) -> TestFolder {
    let folder = TestFolder::new(&closed(addresses[0], 1));
    let [a, b] = addresses.map(|address| format!("targets = {{ api = \"http://{address}\" }}"));
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.a]\n{a}\n[arms.b]\n{b}\n[design]\nlooks = [5]\nbudget = \"5s\"\n[gate]\n{gate}\n"
        ),
    );
    folder
}

#[test]
fn a_calibration_is_kept_and_says_what_an_experiment_can_see_before_it_begins() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(); 2], "p50 = \"p50(get)\"");
    let home = format!("export XDG_CACHE_HOME={}", folder.path("cache").display());
    let calibrated = folder.plimsoll_after(
        &home,
        &["calibrate", "ex.toml", "--pairs", "5", "-o", "a.ab", "--json", "noise.json", "--quiet"],
    );
    calibrated
        .exits_with(0)
        .stdout_contains(&[
            "CALIBRATED",
            "5 pairs of A against A",
            "5 pairs know a standard deviation to × 1.",
            "60 min",
        ])
        .stderr_contains(&["`plimsoll ab` uses it from now on"]);
    let noise = folder.json("noise.json");
    assert_eq!(noise["metrics"][0]["of"], "p50(get)");
    assert!(noise["metrics"][0]["deviation"].as_f64().unwrap() > 0.0, "{noise}");
    assert_eq!(noise["metrics"][0]["within_run"], Value::Null, "a second has no parts");

    // Both are refused for their budget, after what they could see.
    let announced = folder.plimsoll_after(&home, &["ab", "ex.toml"]);
    announced
        .exits_with(2)
        .stderr_contains(&["with 5 pairs (standard deviation uncertain by a factor of 1.", "  p50: "]);
    let other = folder.plimsoll_after(&home, &["ab", "ex.toml", "--slot", "2s"]);
    other.exits_with(2).stderr_contains(&["no calibration of this host and workload"]);

    let old = noise.to_string().replace(noise["made_at"].as_str().unwrap(), "2020-01-01T00:00:00.000Z");
    folder.write("old.json", old);
    let old = folder.plimsoll(&["ab", "ex.toml", "--calibration", "old.json"]);
    old.exits_with(2).stderr_contains(&["more than 14 days ago", "no calibration"]);
    folder.write("old.json", "{}");
    let none = folder.plimsoll(&["ab", "ex.toml", "--calibration", "old.json"]);
    none.exits_with(2).stderr_contains(&["old.json is not a calibration"]);
}

#[test]
fn a_calibration_says_whether_the_reference_probe_is_used_and_an_experiment_does_as_it_says() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = experiment([target.addr(); 2], "p50 = \"p50(get)\"");
    let calibrated = folder.plimsoll(&[
        "calibrate",
        "ex.toml",
        "--pairs",
        "8",
        "-o",
        "a.ab",
        "--json",
        "noise.json",
        "--calibration",
        "kept.json",
        "--quiet",
    ]);
    calibrated
        .exits_with(0)
        .stdout_contains(&["Standard deviation with the reference probe", "of that without"]);
    let mut noise = folder.json("noise.json");
    let gain = noise["metrics"][0]["probe"].clone();
    assert!(
        gain["deviation"].as_f64().unwrap() > 0.0 && gain["ratio_limit"].as_f64().unwrap() > 0.0,
        "{gain}"
    );
    let exported = folder.plimsoll(&["export", "a.ab/pair-01-a.plimsoll", "--csv", "csv"]);
    exported.exits_with(0);
    assert!(folder.read("csv/series.csv").contains("host_probe"));

    // What it would say of a host on which the probe helps.
    noise["metrics"][0]["probe"]["is_enough"] = Value::Bool(true);
    noise["metrics"][0]["probe"]["slope"] = 0.75.into();
    folder.write("kept.json", noise.to_string());
    let text = folder.read("ex.toml").replace("budget = \"5s\"", "budget = \"10m\"");
    folder.write("ex.toml", text.clone());
    let arguments =
        ["ab", "ex.toml", "--calibration", "kept.json", "-o", "b.ab", "--json", "b.json", "--quiet"];
    folder.plimsoll(&arguments).stderr_contains(&["the reference probe corrects p50 by 0.75 of its change"]);
    let metric = folder.json("b.json")["judgement"]["metrics"][0].clone();
    let (probe, values) = (&metric["probe"], metric["values"].as_array().unwrap());
    let by_pair: Vec<f64> =
        probe["by_pair"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
    let corrected = values
        .iter()
        .zip(&by_pair)
        .map(|(sides, probe)| (sides[1].as_f64().unwrap() / sides[0].as_f64().unwrap()).ln() - 0.75 * probe);
    let mean = corrected.sum::<f64>() / 5.0;
    assert!((metric["effect"].as_f64().unwrap() - mean.exp_m1()).abs() < 1e-9, "{metric}");

    folder.write("ex.toml", text.replace("looks = [5]", "looks = [5]\nprobe = \"off\""));
    let off = folder.plimsoll(&[
        "ab",
        "ex.toml",
        "--calibration",
        "kept.json",
        "-o",
        "c.ab",
        "--json",
        "c.json",
        "--quiet",
    ]);
    assert!(!off.stderr.contains("reference probe"));
    assert_eq!(folder.json("c.json")["judgement"]["metrics"][0]["probe"], Value::Null);
}

#[test]
fn a_plan_is_calibrated_with_the_command_that_starts_its_targets() {
    let refused = refusal();
    let folder = TestFolder::new(&closed(refused.addr(), 1));
    let ran = folder.plimsoll(&["calibrate", "plan.toml", "--start", "exit 3", "--quiet"]);
    ran.exits_with(2).stderr_contains(&["of pair 1 could not be made ready", "exit status: 3"]);
    let ex = experiment([refused.addr(); 2], "p50 = \"p50(get)\"");
    let ran = ex.plimsoll(&["calibrate", "ex.toml", "--start", "x"]);
    ran.exits_with(2).stderr_contains(&["already has commands"]);
}

#[test]
fn a_step_of_a_bisection_ends_with_the_exit_code_that_git_takes() {
    let fast = testbed::http(Behaviour::ok()).unwrap();
    let slow = testbed::http(Behaviour::after(SLOW)).unwrap();
    let step = |folder: &TestFolder, more: &[&str]| {
        let mut arguments = vec!["ab", "--bisect", "ex.toml", "--quiet", "--budget", "10m"];
        arguments.extend(more);
        folder.plimsoll(&arguments)
    };
    let bad = experiment([fast.addr(), slow.addr()], "p50 = \"p50(get)\"");
    step(&bad, &["--build", "echo built"]).exits_with(1).stderr_contains(&["built", "this commit is bad"]);
    let same = experiment([fast.addr(); 2], "errors = { of = \"error_rate(all)\", margin = \"50%\" }");
    step(&same, &[]).exits_with(0).stderr_contains(&["this commit is good"]);
    step(&same, &["--build", "exit 4"]).exits_with(125).stderr_contains(&["this commit is skipped"]);
    let text = same.read("ex.toml").replace("[arms.b]\n", "[arms.b]\nstart = \"exit 7\"\n");
    same.write("ex.toml", text.replacen("targets", "start = \"exit 7\"\ntargets", 1));
    step(&same, &["-o", "none.ab"]).exits_with(125).stderr_contains(&["could not be made ready"]);
    same.write("ex.toml", "version = 2\n");
    step(&same, &[]).exits_with(128);
}
