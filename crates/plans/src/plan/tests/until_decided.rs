//! Runs that end as soon as every objective is decided: when they are judged, and what keeps them going.

use insta::assert_snapshot;

use super::{errors, good, load_with};
use crate::Overrides;

/// 10 s in which the rate rises, 240 s of 50/s, 20 s of 50/s.
const PLAN: &str = "version = 1\nuntil_decided = true\n[targets.a]\nurl = \"http://h\"\n\
                    [[phases]]\nname = \"warm\"\nduration = \"10s\"\n[[phases]]\nname = \"hot\"\nduration = \"240s\"\n\
                    [[phases]]\nname = \"late\"\nduration = \"20s\"\n[[scenarios]]\nname = \"s\"\n\
                    executor = \"ramping-arrival-rate\"\nstart_rate = \"0/s\"\nmax_vus = 9\n\
                    stages = [{ to = \"50/s\", over = \"10s\" }, { to = \"50/s\", over = \"260s\" }]\n\
                    [[scenarios.steps]]\nname = \"x\"\nget = \"${a.url}/\"\n[objectives]\n";

fn until(objectives: &str) -> String {
    good(&format!("{PLAN}{objectives}\n")).until_decided.unwrap().to_string()
}

#[test]
fn a_run_is_judged_after_quarters_of_the_time_that_objectives_count() {
    assert_snapshot!(until("a = 'p95(x, phase = hot) < 9ms'"), @"the run ends when every objective passes at two looks in turn, or one is violated: judged at 70 s, 130 s, 190 s and at the end, each time at 98.1 %");
    assert_snapshot!(until("a = 'p95(x, phase = hot) < 9ms'\nb = 'error_rate(all, phase = late) < 1%'"), @"the run ends when every objective passes at two looks in turn, or one is violated: judged at 75 s, 140 s, 205 s and at the end, each time at 98.1 %");
}

#[test]
fn no_look_is_made_in_the_first_minute() {
    assert_snapshot!(until("a = 'p95(x, phase = late) < 9ms'"), @"the run lasts to its planned end, where it is judged at 95 %: a look needs 60 s, and three quarters of the time that objectives count are less");
    let shorter = PLAN.replace("240s", "90s").replace("260s", "110s");
    let until = good(&format!("{shorter}a = 'p95(x, phase = hot) < 9ms'\n")).until_decided.unwrap();
    assert_eq!(until.looks, [std::time::Duration::from_secs(78)], "three quarters of 90 s, after 10 s");
    assert_eq!(
        (until.confidence, until.ended_at(until.looks[0]).as_str()),
        (0.981, "after 75 % of the planned time, decided at 98.1 %")
    );
}

#[test]
fn what_needs_the_whole_run_is_named() {
    let sound = "a = 'p95(x, phase = hot) < 9ms'";
    let more = |objective: &str| until(&format!("{sound}\nb = '{objective}'"));
    assert_snapshot!(more("mean(cpu, target = a) < 0.5"), @"the run lasts to its planned end, where it is judged at 95 %: `b` is about an observed series");
    assert_snapshot!(more("max(x, phase = hot) < 9ms"), @"the run lasts to its planned end, where it is judged at 95 %: `b` is about a mean, a highest or a lowest time, whose limits are not known");
    assert_snapshot!(more("throughput(all, phase = hot) > 9/s"), @"the run lasts to its planned end, where it is judged at 95 %: `b` is about a rate, whose limits are not known");
    assert_snapshot!(more("error_rate(all, phase = hot) <= 0%"), @"the run lasts to its planned end, where it is judged at 95 %: `b` allows no failure in the whole run");
    assert_snapshot!(more("check_rate(all, phase = hot) >= 100%"), @"the run lasts to its planned end, where it is judged at 95 %: `b` allows no failure in the whole run");
    assert_snapshot!(more("p95(x) < 9ms"), @"the run lasts to its planned end, where it is judged at 95 %: `b` counts a time in which the planned load changes: name a phase of constant load");
}

#[test]
fn the_confidence_is_stored_with_the_run() {
    let until = good(&format!("{PLAN}a = 'p95(x, phase = hot) < 9ms'\n")).until_decided.unwrap();
    let stored = serde_json::to_string(&until).unwrap();
    assert!(stored.contains("\"confidence\":0.981"), "{stored}");
    assert_eq!(serde_json::from_str::<workload::UntilDecided>(&stored).unwrap(), until);
}

#[test]
fn a_plan_without_objectives_decides_nothing() {
    let plan = PLAN.replace("[objectives]\n", "");
    assert_snapshot!(errors(&plan, &[]), @"plan.toml:2:17: the run cannot end when its objectives are decided, because the plan has none: add `[objectives]`, or remove this option");
    let overrides = Overrides { until_decided: true, ..Overrides::default() };
    assert_snapshot!(load_with(&plan, &[], &overrides).unwrap_err(), @"command line: the run cannot end when its objectives are decided, because the plan has none: add `[objectives]`, or remove this option");
    assert_snapshot!(errors(&plan.replace("= true", "= 1"), &[]), @"plan.toml:2:17: `until_decided` takes `true` or `false`, not integer");
}
