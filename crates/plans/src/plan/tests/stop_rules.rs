//! Objectives that stop a run: read from a plan, and what they count.

use std::time::Duration;

use evidence::stop_rule::{Counted, Watched};
use evidence::{Key, Metric, Outcome};
use insta::assert_snapshot;

use super::{errors, good};

const PLAN: &str = "version = 1\n[targets.a]\nurl = \"http://h\"\n[[phases]]\nname = \"warm\"\nduration = \"10s\"\n\
                    [[phases]]\nname = \"hot\"\nduration = \"60s\"\n[[scenarios]]\nname = \"s\"\n\
                    executor = \"constant-vus\"\nvus = 1\nphases = [\"warm\", \"hot\"]\n\
                    [[scenarios.steps]]\nname = \"x\"\nget = \"${a.url}/\"\n\
                    [[scenarios.steps]]\nname = \"y\"\nget = \"${a.url}/\"\n[objectives]\n";

fn plan(objectives: &str) -> String {
    format!("{PLAN}{objectives}")
}

#[test]
fn an_objective_is_a_text_or_a_table() {
    let objectives = "o = \"p95(x) < 50ms\"\nt = { is = \"p95(x) < 50ms\" }\n[objectives.fast]\n\
                      is = \"p95(x, phase = hot) < 50ms\"\nabort_on = \"fail\"\nabort_after = \"30s\"\n\
                      [objectives.sound]\nis = \"error_rate(all) < 1%\"\nabort_on = \"fail\"\n";
    let workload = good(&plan(objectives));
    let after: Vec<_> = workload.objectives.iter().map(|o| o.abort_after).collect();
    assert_eq!(after, [None, None, Some(Duration::from_secs(30)), Some(Duration::ZERO)]);
    let rules = figures::stop_rules(&workload);
    let seen = rules.iter().map(|rule| (&*rule.objective, rule.not_before.as_secs(), rule.watched));
    let expected = [("fast", 40, Watched::Quantile(0.95)), ("sound", 0, Watched::BadShare)];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    assert!((rules[0].holds)(49.9) && !(rules[0].holds)(50.0));
    let scaled = super::load_with(
        &plan(objectives),
        &[],
        &crate::Overrides { time_scale: Some(0.1), ..Default::default() },
    );
    let scaled = figures::stop_rules(&scaled.unwrap().workload);
    assert_eq!(scaled[0].not_before, Duration::from_secs(4));
}

#[test]
fn a_stop_rule_counts_what_the_judge_counts() {
    let counted = |objective: &str, key: Key| {
        let table = format!("o = {{ is = '{objective}', abort_on = 'fail' }}\n");
        let rules = figures::stop_rules(&good(&plan(&table)));
        (rules[0].counted)(&key.scenario("s").phase("hot"))
    };
    let times = |outcome| Key::of(Metric::ResponseTime).endpoint("x").outcome(outcome);
    let dropped = |metric| Key::of(metric);
    let check = |metric, name| Key::of(metric).endpoint("x").tag("check", name);
    for (objective, key, expected) in [
        ("p95(x) < 1ms", times(Outcome::Ok), Counted::Good),
        ("p95(x) < 1ms", times(Outcome::Timeout), Counted::Bad(1)),
        ("p95(x) < 1ms", times(Outcome::Cancelled), Counted::Ignored),
        ("p95(y) < 1ms", times(Outcome::Ok), Counted::Ignored),
        ("p95(x, phase = warm) < 1ms", times(Outcome::Ok), Counted::Ignored),
        ("service_p95(x) < 1ms", times(Outcome::Ok), Counted::Ignored),
        // An arrival that was dropped would have made both steps.
        ("p95(all) < 1ms", dropped(Metric::DroppedCap), Counted::Bad(2)),
        ("p95(x) < 1ms", dropped(Metric::DroppedLate), Counted::Bad(1)),
        ("iteration_p95(all) < 1ms", dropped(Metric::DroppedLate), Counted::Bad(1)),
        ("error_rate(all) < 1%", dropped(Metric::DroppedCap), Counted::Bad(2)),
        ("error_rate(all) < 1%", dropped(Metric::DroppedLate), Counted::Ignored),
        ("check_rate(all, check = \"c\") > 1%", check(Metric::CheckPassed, "c"), Counted::Good),
        ("check_rate(all, check = \"c\") > 1%", check(Metric::CheckFailed, "c"), Counted::Bad(1)),
        ("check_rate(all, check = \"c\") > 1%", check(Metric::CheckFailed, "d"), Counted::Ignored),
    ] {
        assert_eq!(counted(objective, key.clone()), expected, "{objective}: {key:?}");
    }
}

#[test]
fn the_runs_setup_is_no_load_for_a_stop_rule() {
    let plan = plan(
        "e = { is = 'error_rate(all) < 1%', abort_on = 'fail' }\n\
                     c = { is = 'check_rate(all) > 99%', abort_on = 'fail' }\n",
    );
    let rules = figures::stop_rules(&good(&plan));
    let of_setup = |metric| Key::of(metric).scenario("setup").phase("setup").endpoint("x");
    let failed = of_setup(Metric::ResponseTime).outcome(Outcome::Check);
    assert_eq!((rules[0].counted)(&failed), Counted::Ignored);
    assert_eq!((rules[1].counted)(&of_setup(Metric::CheckFailed)), Counted::Ignored);
}

#[test]
fn errors_of_stop_rules_are_reported() {
    let wrong = |objective: &str| errors(&plan(&format!("o = {objective}\n")), &[]);
    assert_snapshot!(wrong("{ is = \"p95(x) < 50ms\", abort_on = \"pass\" }"), @r#"plan.toml:22:40: `abort_on` takes `"fail"`"#);
    assert_snapshot!(wrong("{ is = \"p95(x) < 50ms\", abort_after = \"3s\" }"), @r#"plan.toml:22:43: `abort_after` is the delay of `abort_on = "fail"`, which is missing"#);
    assert_snapshot!(wrong("{ is = \"goodput(all) > 5/s\", abort_on = \"fail\" }"), @r#"plan.toml:22:5: `abort_on` is for times, `error_rate` and `check_rate`; rates a second and observed series are judged when the run is over"#);
    assert_snapshot!(wrong("{ abort_on = \"fail\" }"), @r#"plan.toml:22:1: the objective `o` needs `is`: `is = "p95(list) < 50ms"`"#);
    assert_snapshot!(wrong("{ is = \"p95(x) < 50ms\", abort = \"fail\" }"), @r#"plan.toml:22:29: the objective `o` has no key `abort`; did you mean `abort_on`?"#);
    assert_snapshot!(wrong("3"), @r#"plan.toml:22:5: `o` takes a text in quotes, not integer"#);
}

#[test]
fn the_confidence_of_all_violations_is_a_number_below_one() {
    let with = |value: &str| {
        plan("o = \"p95(x) < 50ms\"\n").replace("version = 1", &format!("version = 1\nfamily = {value}"))
    };
    assert_eq!(good(&with("0.95")).family, Some(0.95));
    assert_snapshot!(errors(&with("95"), &[]), @"plan.toml:2:10: `family` takes a confidence such as `0.95`, from 0.5 on and below 1, not integer");
    assert_snapshot!(errors(&with("1.0"), &[]), @"plan.toml:2:10: `family` takes a confidence such as `0.95`, from 0.5 on and below 1, not 1.0");
}

#[test]
fn the_margin_of_leaks_is_a_share() {
    let with = |value: &str| {
        plan("o = \"p95(x) < 50ms\"\n").replace("version = 1", &format!("version = 1\nleak_margin = {value}"))
    };
    assert_eq!(good(&with("\"2%\"")).leak_margin, Some(0.02));
    assert_snapshot!(errors(&with("2"), &[]), @r#"plan.toml:2:15: `leak_margin` takes a share such as `"1%"`, above 0 % and up to 100 %, not integer"#);
    assert_snapshot!(errors(&with("\"0%\""), &[]), @r#"plan.toml:2:15: `leak_margin` takes a share such as `"1%"`, above 0 % and up to 100 %, not `0%`"#);
}
