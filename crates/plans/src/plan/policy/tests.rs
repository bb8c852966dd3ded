//! Tests of [`load_policy`], with policies in memory.

use insta::assert_snapshot;

use super::*;
use workload::FilesInMemory;
use workload::executor::Executor;
use workload::model::{Flow, ProcessRef, Scenario};

/// The workload of a script: one scenario, 60 s.
fn script() -> Workload {
    let whole = Phase { name: "run".to_owned(), start: Duration::ZERO, end: Duration::from_secs(60) };
    let scenario = Scenario {
        name: "default".to_owned(),
        executor: Executor::ConstantVus { vus: 2, duration: Duration::from_secs(60) },
        arrivals: Default::default(),
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 2,
        graceful_stop: Duration::ZERO,
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow: Flow::Script { function: "default".to_owned() },
    };
    Workload { phases: vec![whole], scenarios: vec![scenario], ..Workload::named("script") }
}

fn read(policy: &str) -> Result<Policy, PlanErrors> {
    let file = FilesInMemory::one("policy.toml", format!("version = 1\n{policy}"));
    load_policy(Path::new("policy.toml"), &file, &|_| None, script())
}

fn errors(policy: &str) -> String {
    read(policy).unwrap_err().to_string()
}

#[test]
fn a_policy_adds_phases_targets_and_objectives_to_a_script() {
    let policy = read(
        r#"
[[phases]]
name = "warm-up"
duration = "10s"
[[phases]]
name = "steady"
[targets.api]
process = { port = 8000 }
[objectives]
fast = "p95(checkout, phase = steady) < 200ms"
few_errors = "error_rate(scenario = default) < 1%"
cpu = "mean(cpu, target = api) < 0.8"
"#,
    )
    .unwrap();
    let Workload { phases, targets, objectives, .. } = policy.workload;
    let windows: Vec<_> =
        phases.iter().map(|p| (p.name.as_str(), p.start.as_secs(), p.end.as_secs())).collect();
    assert_eq!(windows, [("warm-up", 0, 10), ("steady", 10, 60)]);
    assert_eq!(targets["api"].process, Some(ProcessRef::Port(8000)));
    let names: Vec<&str> = objectives.iter().map(|objective| objective.name.as_str()).collect();
    assert_eq!(names, ["fast", "few_errors", "cpu"]);
    assert_eq!(objectives[0].filter.endpoint.as_deref(), Some("checkout"), "named while the script runs");
}

#[test]
fn errors_of_a_policy_name_line_and_key() {
    assert_snapshot!(errors("[objectives]\nfast = \"p95(all, phase = stedy) < 200ms\""), @"policy.toml:3:26: there is no phase `stedy`; there is only `run`");
    assert_snapshot!(errors("[objectives]\nfast = \"p95(all, scenario = buy) < 200ms\""), @"policy.toml:3:29: there is no scenario `buy`; there is only `default`");
    assert_snapshot!(errors("[[phases]]\nname = \"a\"\nduration = \"60s\"\n[[phases]]\nname = \"a\"\nduration = \"1s\""), @r"
    policy.toml:4:12: a phase lasts longer than 0 and ends before the load, which takes 60 s
    policy.toml:6:8: a phase cannot be called `a`: names are unique, not empty, not `setup` or `teardown`
    policy.toml:7:12: the last phase lasts until the end of the load: leave its `duration` out
    ");
    assert_snapshot!(errors("[[scenarios]]\nname = \"a\"\n[target.x]\nurl = \"http://127.0.0.1:1\""), @r"
    policy.toml:2:3: the policy has no key `scenarios`; known are `version`, `targets`, `phases`, `profiles`, `family`, `leak_margin`, `objectives`
    policy.toml:4:2: the policy has no key `target`; did you mean `targets`?
    ");
}
