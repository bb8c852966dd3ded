//! The keys of executors, and errors in them.

use super::*;
use workload::capacity::OverloadShape;
use workload::executor::{Arrivals, Executor, VuStage};

/// A plan with one scenario, which has these lines and one step.
fn plan_of(lines: &str) -> String {
    format!(
        "version = 1\n[[scenarios]]\nname = \"x\"\n{lines}\n[[scenarios.steps]]\nname = \"s\"\nget = \"http://h:1/a\"\n"
    )
}

fn executor(lines: &str) -> Executor {
    good(&plan_of(lines)).scenarios.remove(0).executor
}

#[test]
fn closed_models_are_read_with_their_defaults() {
    let ramp =
        "executor = \"ramping-vus\"\nstages = [{ to = 50, over = \"10s\" }, { to = 0, over = \"5s\" }]\n";
    let stages = vec![VuStage { to: 50, over: 10 * S }, VuStage { to: 0, over: 5 * S }];
    let expected = |start_vus, graceful_ramp_down| Executor::RampingVus {
        start_vus,
        stages: stages.clone(),
        graceful_ramp_down,
    };
    assert_eq!(executor(ramp), expected(1, 30 * S));
    assert_eq!(executor(&format!("{ramp}start_vus = 0\ngraceful_ramp_down = \"2s\"")), expected(0, 2 * S));
    assert_eq!(
        executor("executor = \"per-vu-iterations\"\nvus = 3\niterations = 20"),
        Executor::PerVuIterations { vus: 3, iterations: 20, max_duration: 600 * S }
    );
    assert_eq!(
        executor("executor = \"shared-iterations\"\nvus = 3\niterations = 20\nmax_duration = \"9s\""),
        Executor::SharedIterations { vus: 3, iterations: 20, max_duration: 9 * S }
    );
    let workload = good(&plan_of(ramp));
    let scenario = &workload.scenarios[0];
    assert_eq!(
        (scenario.max_vus, scenario.executor.duration(), scenario.graceful_stop),
        (50, 15 * S, 30 * S)
    );
    assert_eq!(workload.phases[0].end, 15 * S);
}

#[test]
fn phases_limit_the_duration_of_iterations() {
    let plan = plan_of("executor = \"shared-iterations\"\nvus = 1\niterations = 2\nphases = [\"b\"]");
    let phases = "[[phases]]\nname = \"a\"\nduration = \"3s\"\n[[phases]]\nname = \"b\"\nduration = \"4s\"\n";
    let scenario = good(&format!("{plan}{phases}")).scenarios.remove(0);
    assert_eq!((scenario.start, scenario.executor.duration()), (3 * S, 4 * S));
    let both = plan.replace("iterations = 2", "iterations = 2\nmax_duration = \"4s\"");
    assert_snapshot!(errors(&format!("{both}{phases}"), &[]), @"plan.toml:7:1: its phases say how long the scenario lasts; leave out one of them");
}

#[test]
fn wrong_keys_and_numbers_are_reported() {
    let reported = |lines: &str| errors(&plan_of(lines), &[]);
    assert_snapshot!(reported("executor = \"ramping-vu\"\nstages = []"), @r"
    plan.toml:4:12: there is no executor `ramping-vu`; did you mean `ramping-vus`?
    plan.toml:5:10: a scenario lasts longer than 0
    ");
    assert_snapshot!(reported("executor = \"ramping-vus\"\nvus = 3\nstages = [{ to = 1, over = \"1s\" }]"), @"plan.toml:5:1: `vus` does not apply to this executor; it takes `start_vus`, `stages` and `graceful_ramp_down`");
    assert_snapshot!(reported("executor = \"ramping-vus\"\nstages = [{ to = \"5/s\", over = \"1s\" }]"), @"plan.toml:5:18: `to` takes a whole number from 0 to 1000000, not string");
    assert_snapshot!(reported("executor = \"ramping-vus\"\nstart_vus = 0\nstages = [{ to = 0, over = \"1s\" }]"), @"plan.toml:6:10: no stage has a virtual user, so nothing would be offered");
    assert_snapshot!(reported("executor = \"ramping-vus\""), @"plan.toml:2:1: a scenario needs `stages`: `stages = [{ to = 50, over = \"10s\" }]`");
    assert_snapshot!(reported("executor = \"shared-iterations\"\nvus = 5\niterations = 4"), @"plan.toml:6:14: 5 virtual users cannot share 4 iterations: each makes one or more; lower `vus`");
    assert_snapshot!(reported("executor = \"per-vu-iterations\"\nvus = 0\niterations = 0"), @r"
    plan.toml:5:7: `vus` takes a whole number from 1 to 1000000, not 0
    plan.toml:6:14: `iterations` takes a whole number from 1 to 1000000000000, not 0
    ");
    assert_snapshot!(reported("executor = \"per-vu-iterations\"\nvus = 1\nduration = \"1s\""), @r"
    plan.toml:2:1: a scenario needs `iterations`: `iterations = 100`
    plan.toml:6:1: `duration` does not apply to this executor; it takes `vus`, `iterations` and `max_duration`
    ");
    assert_snapshot!(reported("executor = \"constant-vus\"\nvus = 1\nduration = \"1s\"\nmax_vus = 5"), @"plan.toml:7:1: `max_vus` applies to arrival rates only; this executor has its own virtual users");
}

#[test]
fn unique_rows_must_suffice_for_the_iterations() {
    let plan = |rows: u32| {
        plan_of("executor = \"per-vu-iterations\"\nvus = 3\niterations = 4").replace("/a", "/${rows.id}")
            + &format!("[data.rows]\ngenerate = \"r{{1..{rows}}}\"\npick = \"unique\"\n")
    };
    assert_eq!(errors(&plan(12), &[]), "nothing");
    assert_snapshot!(errors(&plan(11), &[]), @r#"plan.toml:10:7: data `rows` is unique and has 11 rows, but there are 12 arrivals that need one; add rows or use `pick = "sequential"`"#);
}

#[test]
fn time_and_load_are_scaled() {
    let scaled = |lines: &str, overrides: Overrides| {
        let loaded = load_with(&plan_of(lines), &[], &overrides).unwrap_or_else(|errors| panic!("{errors}"));
        let scenario = loaded.workload.scenarios.into_iter().next().expect("there is one");
        (scenario.executor, scenario.max_vus)
    };
    let time = || Overrides { time_scale: Some(0.1), ..Overrides::default() };
    let load = || Overrides { load: Some(2.5), ..Overrides::default() };
    let ramp =
        "executor = \"ramping-vus\"\nstages = [{ to = 50, over = \"10s\" }, { to = 0, over = \"5s\" }]\n";
    let stage = |to, ms| VuStage { to, over: Duration::from_millis(ms) };
    let expected =
        |start_vus, stages, grace| Executor::RampingVus { start_vus, stages, graceful_ramp_down: grace };
    assert_eq!(scaled(ramp, time()), (expected(1, vec![stage(50, 1_000), stage(0, 500)], 3 * S), 50));
    assert_eq!(scaled(ramp, load()), (expected(3, vec![stage(125, 10_000), stage(0, 5_000)], 30 * S), 125));
    let shared = "executor = \"shared-iterations\"\nvus = 4\niterations = 5\nmax_duration = \"20s\"";
    let expected =
        |vus, iterations, max_duration| Executor::SharedIterations { vus, iterations, max_duration };
    assert_eq!(scaled(shared, time()), (expected(4, 5, 2 * S), 4));
    assert_eq!(scaled(shared, load()), (expected(10, 10, 20 * S), 10));
}

#[test]
fn the_example_of_every_shape_is_a_valid_plan() {
    let plan = load(Path::new("examples/load-shapes.toml"), &Repository, &env, &Overrides::default());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    let table = workload::offer::offer(&plan.workload).render();
    let totals = table.lines().last().expect("it ends with the totals");
    assert_snapshot!(totals, @"all             ~1000  1500  as fast as it goes    500      1000");
}

#[test]
fn random_arrivals_and_preallocated_vus_are_read() {
    let open = "executor = \"constant-arrival-rate\"\nrate = \"5/s\"\nduration = \"1s\"\n";
    let reported = |lines: &str| errors(&plan_of(&format!("{open}{lines}")), &[]);
    let scenario =
        good(&plan_of(&format!("{open}arrivals = \"poisson\"\npreallocated_vus = 700"))).scenarios.remove(0);
    assert_eq!(
        (scenario.arrivals, scenario.preallocated_vus, scenario.max_vus),
        (Arrivals::Poisson, 700, 700)
    );
    assert_snapshot!(reported("arrivals = \"random\""), @"plan.toml:7:12: arrivals are `even` or `poisson`, not `random`");
    assert_snapshot!(reported("preallocated_vus = 9\nmax_vus = 8"), @"plan.toml:7:20: 9 virtual users are more than `max_vus` allows, which is 8");
    let closed = "executor = \"per-vu-iterations\"\nvus = 2\niterations = 1\narrivals = \"poisson\"";
    assert_snapshot!(errors(&plan_of(closed), &[]), @"plan.toml:7:1: `arrivals` applies to arrival rates only; this executor has its own virtual users");
}

#[test]
fn an_overload_needs_no_more_connections_than_a_plan_may_by_default() {
    let overloaded = |lines: &str| {
        let open = "executor = \"constant-arrival-rate\"\nrate = \"3000/s\"\nduration = \"10s\"\n";
        let workload = good(&plan_of(&format!("{open}{lines}")));
        let shape = OverloadShape::around(0.7, &[1.2, 2.0], 10 * S);
        shape.apply_to(&workload, &workload.phases[0]).scenarios[0].max_vus
    };
    assert_eq!(overloaded("max_vus = 400"), 800);
    assert_eq!(overloaded("max_vus = 9000"), 10_000);
    assert_eq!(overloaded("max_vus = 30000"), 30_000, "the plan's own limit stays");
}
