//! Profiles of a target in Go, captured by a run and read by Go's own tool.

use peers::go::{Settings, Target, Toolchain};

use crate::command::TestFolder;

fn plan(address: std::net::SocketAddr) -> String {
    format!(
        "version = 1\nprecheck = false\n[targets.shop]\nurl = \"http://{address}\"\n\
         [targets.shop.observe]\npprof = \"http://{address}/debug/pprof\"\n\
         [[phases]]\nname = \"steady\"\nduration = \"4s\"\n\
         [[profiles]]\nat = \"in phase steady\"\nlength = \"2s\"\nkinds = [\"cpu\", \"heap\", \"mutex\"]\n\
         [[scenarios]]\nname = \"play\"\nexecutor = \"constant-arrival-rate\"\nrate = \"50/s\"\n\
         phases = [\"steady\"]\n[[scenarios.steps]]\nname = \"work\"\nget = \"${{shop.url}}/work?ms=10\"\n"
    )
}

#[test]
fn profiles_of_a_run_are_read_by_go_tool_pprof() {
    let target = Target::start(Settings::default()).unwrap();
    let folder = TestFolder::new(&plan(target.address()));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
    let exported = folder.plimsoll(&["export", "run.plimsoll", "--profiles", "out"]);
    exported.exits_with(0);
    let lines: Vec<&str> = exported.stdout.lines().collect();
    assert_eq!(lines.len(), 5 + 2 * 3, "{lines:?}");
    let line = |name: &str| *lines.iter().find(|line| line.starts_with(name)).unwrap();
    assert_eq!(
        line("shop-mutex-cumulative-in-phase-steady-begin.pb.gz"),
        "shop-mutex-cumulative-in-phase-steady-begin.pb.gz  cumulative, since the process began, at 1 s; \
         sampling was off: it contains no samples"
    );
    let cpu = line("shop-cpu");
    let words: Vec<&str> = cpu.split_whitespace().collect();
    assert_eq!(words[1..6], ["1", "s", "to", "3", "s:"], "{cpu}");
    let ok: u64 = words[6].parse().unwrap();
    assert!((90..=110).contains(&ok), "100 requests were due in the window, and {ok} were counted");
    let path = folder.path("out/shop-cpu-in-phase-steady.pb.gz");
    let top = Toolchain::find().unwrap().pprof(&["-top".as_ref(), path.as_os_str()]).unwrap();
    assert!(top.contains("Type: cpu") && top.contains("Duration: 2"), "{top}");

    // The two of the heap come with the commands that subtract them.
    let at = lines.iter().position(|line| line.starts_with("shop-heap-cumulative")).unwrap();
    let [begin, end] =
        ["begin", "end"].map(|end| format!("shop-heap-cumulative-in-phase-steady-{end}.pb.gz"));
    let pair = [
        format!("{begin}  cumulative, since the process began, at 1 s"),
        format!("{end}  cumulative, since the process began, at 3 s"),
        format!("  1 s to 3 s: {ok} requests succeeded, 0 failed; what was added in this time:"),
        format!("    go tool pprof -base out/{begin} out/{end}"),
        format!("    plimsoll profile out/{end} --since out/{begin}"),
    ];
    assert_eq!(lines[at..at + 5], pair);
    let words: Vec<&str> = pair[4].split_whitespace().skip(1).collect();
    let since = [&words[..], &["--type", "alloc_space", "--json", "since.json"]].concat();
    folder.plimsoll(&words).exits_with(0).stdout_contains(&["inuse_space in bytes"]);
    folder.plimsoll(&since).exits_with(0);
    folder.plimsoll(&[words[0], words[1], "--type", "alloc_space", "--json", "whole.json"]).exits_with(0);
    let total = |name: &str| folder.json(name)["top"]["total"].as_i64().unwrap();
    assert!(
        (0..=total("whole.json")).contains(&total("since.json")),
        "a part of what there is since the beginning"
    );

    // The report counts by the same window.
    let report = folder.plimsoll(&["report", "run.plimsoll", "--json", "run.json", "--html", "run.html"]);
    let covers =
        format!("shop cpu, in phase steady, 1 s to 3 s of the run: {ok} requests succeeded, 0 failed.");
    report.exits_with(0).stdout_contains(&["main.rounds", "sampling was off at the target"]);
    let line: String = report.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains(&covers), "{covers}\n{line}");
    let profiles = folder.json("run.json")["profiles"].as_array().unwrap().clone();
    let found = |kind: &str| profiles.iter().find(|profile| profile["kind"] == kind).unwrap();
    assert_eq!((&found("cpu")["ok"], profiles.len()), (&ok.into(), 3));
    assert!(found("heap")["top"]["total"].as_i64().unwrap() >= 0, "what was allocated in the window");
    let html = folder.read("run.html");
    assert!(html.contains("<svg class=\"flame\"") && html.contains("main.rounds"), "a flame graph");
}

/// Two runs of the same load, the second of a program in which one function does four times its work.
#[test]
fn a_function_that_became_costlier_leads_the_movers() {
    let folder = TestFolder::new("");
    for (slowdown, file) in [(1, "before.plimsoll"), (4, "after.plimsoll")] {
        let target = Target::start(Settings { slowdown, ..Settings::default() }).unwrap();
        let plan = plan(target.address())
            .replace("/work?ms=10", "/order?n=200")
            .replace("[\"cpu\", \"heap\", \"mutex\"]", "[\"cpu\"]")
            .replace("length = \"2s\"", "length = \"4s\"")
            .replace("duration = \"4s\"", "duration = \"6s\"")
            .replace("50/s", "40/s");
        folder.write("plan.toml", plan);
        folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", file]).exits_with(0);
    }
    folder.plimsoll(&["compare", "before.plimsoll", "after.plimsoll", "--json", "c.json"]).exits_with(0);
    let moved = folder.json("c.json")["profiles"][0]["moved"].clone();
    assert_eq!(moved["basis"]["by"], "request", "{moved}");
    assert_eq!(moved["total"]["significance"], "moved", "{moved}");
    let first = &moved["movers"][0];
    assert_eq!(
        (&first["name"], &first["change"]["significance"]),
        (&"main.price".into(), &"moved".into()),
        "{moved}"
    );
    let times = first["change"]["new"]["measure"].as_f64().unwrap()
        / first["change"]["base"]["measure"].as_f64().unwrap();
    assert!((2.0..8.0).contains(&times), "four times the work cost {times} times as much");
}

#[test]
fn a_run_without_profiles_names_the_plan_key_for_them() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&crate::command::open(target.addr(), 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
    let covers = folder.plimsoll(&["export", "run.plimsoll", "--profiles", "out"]);
    covers.exits_with(2).stderr_contains(&["run.plimsoll has no profiles: ask for some with `[[profiles]]`"]);
}

/// The testbed serves no profiles. Where perf is not allowed, the run reports that and continues.
#[test]
fn a_target_without_endpoints_is_profiled_by_its_process() {
    let target = Target::start(Settings::default()).unwrap();
    let plan = plan(target.address())
        .replace("[targets.shop.observe]\npprof", "process = { pid = 0 }\n#")
        .replace("pid = 0", &format!("pid = {}", target.pid()))
        .replace(", \"heap\", \"mutex\"", "");
    let folder = TestFolder::new(&plan);
    let ran = folder.plimsoll(&["run", "plan.toml", "-o", "run.plimsoll"]);
    ran.exits_with(0);
    if ran.stderr.contains("the cpu profile at `in phase steady` is missing: `perf") {
        return;
    }
    folder.plimsoll(&["export", "run.plimsoll", "--profiles", "out"]).exits_with(0);
    let path = folder.path("out/shop-cpu-in-phase-steady.pb.gz");
    let top = Toolchain::find().unwrap().pprof(&["-top".as_ref(), path.as_os_str()]).unwrap();
    assert!(top.contains("Type: cpu") && top.contains("main.rounds"), "{top}");
}

#[test]
fn a_wrong_path_of_profiles_is_found_before_the_load() {
    let target = Target::start(Settings::default()).unwrap();
    let plan = plan(target.address()).replacen("precheck = false\n", "", 1);
    let wrong = plan.replacen("/debug/pprof", "/profiles", 1);
    let folder = TestFolder::new(&wrong);
    let refused = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]);
    refused.exits_with(2).stderr_contains(&[
        "`shop` serves no profiles below `observe.pprof`, which is http://",
        "/profiles; ",
        "`/heap?debug=1`: it answers with status 204",
        "at this address profiles are below `/debug/pprof`",
        "--no-precheck",
    ]);
    assert!(!folder.path("run.plimsoll").exists());
    folder.write("plan.toml", plan.replacen("length = \"2s\"", "length = \"1s\"", 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
}
