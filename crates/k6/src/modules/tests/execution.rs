//! `k6/execution`.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::{DryRun, Program};
use workload::LoadedPlan;
use workload::model::Executor;
use workload::{Schemas, Workload};

use super::{Lines, calls, compare, expect, load};
use crate::behaviour::{ScriptScenario, ScriptUsers};
use crate::lifecycle::LifecycleError;
use crate::options::{Numbering, ScenarioShape};
use crate::script::{RunSettings, Script, ScriptError};

const IMPORT: &str = "import exec from 'k6/execution';";

/// A run of nothing.
fn dry_run() -> DryRun {
    let plan = LoadedPlan {
        workload: Workload::named("test"),
        tables: BTreeMap::new(),
        schemas: Schemas::default(),
        tls: BTreeMap::new(),
        env: BTreeMap::new(),
    };
    DryRun::new(Program::compile(plan).expect("a plan without steps"))
}

fn shape() -> ScenarioShape {
    ScenarioShape {
        name: "browse".to_owned(),
        exec: Some("run".to_owned()),
        env: BTreeMap::new(),
        tags: BTreeMap::from([("kind".to_owned(), "slow".to_owned())]),
        executor: Executor::SharedIterations { vus: 2, iterations: 4, max_duration: Duration::from_secs(10) },
        start: Duration::ZERO,
        graceful_stop: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 2,
        numbering: Numbering::default(),
    }
}

/// Let a virtual user of [`shape`] make one iteration; returns what it logs.
fn iterate(script: &Script, lines: &Lines) -> Vec<String> {
    let (users, log) = (script.clone(), lines.sink());
    let make = move || -> Box<dyn engine::iteration::UserMaker> {
        Box::new(ScriptUsers::new(&users, ScriptScenario::from(&shape()), log))
    };
    dry_run().iterate_once(make).1.expect("one iteration");
    lines.take()
}

/// Compare what each expression gives in an iteration.
fn expect_in_iteration(cases: &[(&str, &str)]) {
    let lines = Lines::default();
    let script = format!(
        "export const options = {{ vus: 2, duration: '3s' }}; export function run() {{ {} }}",
        calls(cases)
    );
    let script = load(IMPORT, &script, &lines).unwrap();
    let tags = BTreeMap::from([("all".to_owned(), "yes".to_owned())]);
    script.resolve(RunSettings { tags, ..RunSettings::default() });
    compare(cases, &iterate(&script, &lines));
}

#[test]
fn the_init_context_knows_nothing_of_what_runs() {
    expect(
        IMPORT,
        &[
            ("exec.vu.idInTest", "!Error: getting VU information in the init context is not supported"),
            ("exec.vu.tags.x", "!Error: getting VU information in the init context is not supported"),
            (
                "exec.scenario.name",
                "!Error: getting scenario information outside of the VU context is not supported",
            ),
            (
                "exec.instance.vusActive",
                "!Error: getting instance information in the init context is not supported",
            ),
            ("exec.test.options", "!Error: getting test options in the init context is not supported"),
            ("typeof exec.test.abort", r#""function""#),
        ],
    );
}

#[test]
fn an_iteration_knows_its_virtual_user_and_its_scenario() {
    expect_in_iteration(&[
        ("[exec.vu.idInInstance, exec.vu.idInTest]", "[1,1]"),
        ("[exec.vu.iterationInInstance, exec.vu.iterationInScenario]", "[0,0]"),
        ("[exec.scenario.name, exec.scenario.executor]", r#"["browse","shared-iterations"]"#),
        ("[exec.scenario.iterationInInstance, exec.scenario.iterationInTest]", "[0,0]"),
        ("exec.scenario.progress", "0"),
        ("Math.abs(Date.now() - exec.scenario.startTime) < 60000", "true"),
        ("Number.isInteger(exec.scenario.startTime)", "true"),
        ("[exec.instance.vusActive, exec.instance.vusInitialized]", "[1,1]"),
        ("[exec.instance.iterationsCompleted, exec.instance.iterationsInterrupted]", "[0,0]"),
        ("exec.instance.currentTestRunDuration >= 0", "true"),
        (
            "exec.test.options",
            r#"{"scenarios":{"browse":{"executor":"shared-iterations","iterations":4,"maxDuration":"10s","vus":2}},"tags":{"all":"yes"}}"#,
        ),
        ("{ exec.scenario.name = 'x'; }", "!TypeError: no setter for property"),
        ("exec.vu.metrics.metadata", "!Error: exec.vu.metrics.metadata is not supported"),
    ]);
}

#[test]
fn options_beside_scenarios_are_the_scenario_that_they_describe() {
    for (options, scenarios) in [
        (
            "vus: 2, iterations: 3",
            r#"{"default":{"executor":"shared-iterations","iterations":3,"maxDuration":null,"vus":2}}"#,
        ),
        ("vus: 2, duration: '1m'", r#"{"default":{"duration":"1m","executor":"constant-vus","vus":2}}"#),
        (
            "stages: [{ duration: '1s', target: 4 }]",
            r#"{"default":{"executor":"ramping-vus","stages":[{"duration":"1s","target":4}],"startVUs":null}}"#,
        ),
        ("", r#"{"default":{"executor":"per-vu-iterations"}}"#),
        ("vus: 1, scenarios: { a: { executor: 'x' } }", r#"{"a":{"executor":"x"}}"#),
    ] {
        let lines = Lines::default();
        let script = format!(
            "export const options = {{ {options} }}; export function setup() {{ show(() => exec.test.options.scenarios); }}"
        );
        load(IMPORT, &script, &lines).unwrap().set_up(dry_run(), &lines.sink(), |_| ()).unwrap();
        assert_eq!(lines.take(), [scenarios], "{options}");
    }
}

#[test]
fn tags_of_a_virtual_user_are_set_and_deleted() {
    expect_in_iteration(&[
        ("exec.vu.tags", r#"{"all":"yes","group":"","kind":"slow","scenario":"browse"}"#),
        ("{ exec.vu.tags.mine = 1; exec.vu.metrics.tags.b = true; }", "undefined"),
        (
            "[exec.vu.tags.mine, exec.vu.tags.b, 'mine' in exec.vu.tags, exec.vu.tags.none]",
            r#"["1","true",true,null]"#,
        ),
        ("Object.keys(exec.vu.tags).sort()", r#"["all","b","group","kind","mine","scenario"]"#),
        ("delete exec.vu.tags.mine", "true"),
        ("exec.vu.tags.mine", "undefined"),
        ("{ exec.vu.tags.kind = 'fast'; return exec.vu.tags.kind; }", r#""fast""#),
        (
            "{ exec.vu.tags.o = {}; }",
            "!TypeError: invalid value for metric tag 'o': only String, Boolean and Number types are accepted as a metric \
             tag values",
        ),
        (
            "{ delete exec.vu.tags.scenario; }",
            "!Error: the tag 'scenario' was not set by exec.vu.tags: deleting it is not supported",
        ),
    ]);
}

#[test]
fn a_stage_that_is_under_way_is_a_tag() {
    let lines = Lines::default();
    let import = "import exec from 'k6/execution';
        import * as utils from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';";
    let stages =
        "[{ duration: '0s', target: 5 }, { duration: '1h', target: 2 }, { duration: '2h', target: 9 }]";
    let cases = [
        ("utils.getCurrentStageIndex()", "1"),
        ("{ utils.tagWithCurrentStageIndex(); return exec.vu.tags.stage; }", r#""1""#),
        ("{ utils.tagWithCurrentStageProfile(); return exec.vu.tags.stage_profile; }", r#""ramp-down""#),
    ];
    let script = format!(
        "export const options = {{ scenarios: {{ browse: {{ stages: {stages} }} }} }}; export function run() {{ {} }}",
        calls(&cases)
    );
    compare(&cases, &iterate(&load(import, &script, &lines).unwrap(), &lines));
    let without = [(
        "utils.getCurrentStageIndex()",
        r#"!Error: the scenario "browse" has no stages: its executor is shared-iterations"#,
    )];
    let script = format!(
        "export const options = {{ scenarios: {{ browse: {{}} }} }}; export function run() {{ {} }}",
        calls(&without)
    );
    compare(&without, &iterate(&load(import, &script, &lines).unwrap(), &lines));
}

#[test]
fn an_abort_ends_the_iteration_and_says_why() {
    let lines = Lines::default();
    let ends = "export function run() { try { exec.test.abort('why'); } catch (e) { console.log('caught'); }
        finally { console.log('finally'); } }";
    let script = load(IMPORT, ends, &lines).unwrap();
    assert_eq!(script.requests().abort_message(), None);
    assert_eq!(iterate(&script, &lines), Vec::<String>::new());
    assert_eq!(script.requests().abort_message(), Some("test aborted: why"));
}

#[test]
fn an_abort_in_an_async_function_cannot_be_caught() {
    let lines = Lines::default();
    let ends = "export async function run() {
        try { await (async () => { exec.test.abort(); })(); } catch (e) { console.log('caught'); } console.log('after'); }";
    let script = load(IMPORT, ends, &lines).unwrap();
    assert_eq!(iterate(&script, &lines), Vec::<String>::new());
    assert_eq!(script.requests().abort_message(), Some("test aborted"));
}

#[test]
fn an_abort_outside_of_iterations_is_an_error_of_its_own() {
    let lines = Lines::default();
    let aborted = load(IMPORT, "exec.test.abort('in init');", &lines).map(drop);
    assert!(matches!(aborted, Err(ScriptError::Aborted(message)) if message == "test aborted: in init"));
    let script = load(IMPORT, "export function setup() { exec.test.abort('in setup'); }", &lines).unwrap();
    let set_up = script.set_up(dry_run(), &lines.sink(), |_| ()).map(drop);
    assert!(matches!(
        set_up,
        Err(LifecycleError::Script(ScriptError::Aborted(message))) if message == "test aborted: in setup"
    ));
}

#[test]
fn a_test_that_is_marked_as_failed_continues() {
    let lines = Lines::default();
    let marks = "export function run() { exec.test.fail('why'); exec.test.fail(); console.log('after'); }";
    let script = load(IMPORT, marks, &lines).unwrap();
    assert!(!script.requests().is_marked_failed());
    assert_eq!(iterate(&script, &lines), ["test marked as failed: why", "test marked as failed", "after"]);
    assert!(script.requests().is_marked_failed());
}
