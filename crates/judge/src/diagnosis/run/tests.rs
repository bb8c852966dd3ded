//! Runs with several levels of load, of a service whose limit is known.

use evidence::diagnosis::LedgerStanding;
use evidence::{Instant, Notice, NoticeKind, Observed, Sink as _};
use workload::{Executor, Stage};

use super::*;
use crate::diagnosis::{UseWindow, uses};
use crate::testing::{Load, STAIR_S, TestRun, stairs};

/// A pool of four that each request holds for 20 ms, so that 200 a second are carried; and its processor, which is nearly idle.
const RATES: [u64; 7] = [40, 80, 120, 160, 190, 240, 300];

/// So many requests a second in each level, of which 196 are answered, in 20 ms and with a wait that begins at 120.
fn loads() -> Vec<Load> {
    let load = |rate: &u64| {
        let ok = (*rate).min(196);
        let wait_us = if ok > 120 { (ok - 120) * 400 } else { 0 };
        let us = 20_000 + if *rate > 196 { 400_000 } else { wait_us };
        Load { us, dropped_vu_limit: rate - ok, ..Load::ok(ok) }
    };
    RATES.iter().map(load).collect()
}

/// The run of those levels, with what `observed` says of a level and the share by which a second differs from the mean.
fn observed(mut run: TestRun, series: &[(&str, &dyn Fn(f64) -> f64)]) -> TestRun {
    run.edit(|manifest| {
        manifest.environment.insert("cores".to_owned(), "2".to_owned());
    });
    for (name, of) in series {
        let unit = if name.ends_with("total") { "s/s" } else { "1" };
        let key = evidence::SeriesKey::new(name, "inventory", unit);
        for (at, rate) in (0u32..).zip(RATES) {
            let value = of((rate as f64).min(196.0));
            for second in at * STAIR_S..(at + 1) * STAIR_S {
                let is_constant = *name == "db_max";
                let scatter = if is_constant {
                    1.0
                } else {
                    [1.01, 0.99, 1.02, 0.97, 1.01, 1.0, 0.985][second as usize % 7]
                };
                run.observe(&key, second..second + 1, value * scatter);
            }
        }
    }
    run
}

/// A second waits for the pool what the response time is above 20 ms.
fn waits(load: f64) -> f64 {
    if load > 195.0 { 196.0 * 0.4 } else { load * (load - 120.0).max(0.0) * 0.4e-3 }
}

fn pool_of_four() -> TestRun {
    let in_use = |load: f64| load * 0.02;
    let series: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("db_in_use", &in_use),
        ("db_max", &|_| 4.0),
        ("db_wait_seconds_total", &waits),
        ("cpu", &|load| load * 0.0003),
    ];
    observed(stairs(&loads()), &series)
}

fn diagnosis(run: &TestRun) -> Diagnosis {
    of_run(&run.run, &run.workload, &run.judge()).unwrap()
}

#[test]
fn the_pool_of_a_service_is_named_by_one_run_with_steps_of_load() {
    let found = diagnosis(&pool_of_four());
    assert_eq!(found.limit.as_deref(), Some("db of inventory"), "{found:#?}");
    insta::assert_snapshot!(found.because, @"db of inventory: 275 ms of 297 ms are spent waiting for one of 4; 4 ÷ 20 ms = 200.5/s is the ceiling (200.3/s to 200.6/s); objectives hold at 190/s and break at 240/s; CPU of inventory is at 3 %.");
    insta::assert_snapshot!(found.confirm.unwrap(), @"Raise db of inventory from 4 to 6 and search again with `plimsoll capacity`: if it is the limit, the service then carries 300.4/s or more.");
    let breaks: Vec<bool> = found.levels.iter().map(|level| level.breaks).collect();
    assert_eq!(
        breaks,
        [false, false, false, false, false, true, true],
        "48 ms at 190/s are less than 3 · 20 ms"
    );
    let cpu = found.ledger.iter().find(|line| line.series == "cpu").unwrap();
    assert_eq!(cpu.standing, LedgerStanding::Suffices);
}

#[test]
fn an_objective_of_the_plan_says_where_it_breaks() {
    let with = |objective: &str| diagnosis(&pool_of_four().with_objective("fast", objective)).range_per_s;
    let range = with("p95(list, phase = level-0) < 30ms").unwrap();
    assert!((range[0] - 120.0).abs() < 0.1 && (range[1] - 160.0).abs() < 0.1, "{range:?}");
    let loose = with("p95(list) < 10s").unwrap();
    assert!((loose[1] - 240.0).abs() < 0.1, "less than offered is answered: {loose:?}");
}

#[test]
fn one_level_shows_waits_and_names_nothing() {
    let run = observed(
        stairs(&[Load { us: 48_000, ..Load::ok(40) }]),
        &[("db_in_use", &|_| 4.0), ("db_max", &|_| 4.0), ("db_wait_seconds_total", &|_| 40.0 * 0.028)],
    );
    let found = diagnosis(&run);
    assert_eq!(found.limit, None);
    insta::assert_snapshot!(found.because, @"UNDETERMINED: one level of load: waits are shown, a limit cannot be named; `plimsoll diagnose PLAN` arranges the levels.");
    let [line] = &found.ledger[..] else { panic!("{found:?}") };
    assert!((line.wait_s.unwrap() - 0.028).abs() < 0.001, "{line:?}");
    assert_eq!((line.demand_s, line.capacity_per_s), (None, None));
}

#[test]
fn a_run_without_a_break_says_what_would_be_used_up_first() {
    let rates = [40, 60, 80, 100].map(Load::ok);
    let run =
        observed(stairs(&rates), &[("db_in_use", &|load| load.min(120.0) * 0.02), ("db_max", &|_| 4.0)]);
    let found = diagnosis(&run);
    assert_eq!((found.limit, found.range_per_s), (None, None));
    assert!(
        found.because.starts_with("UNDETERMINED: no level of load breaks, up to 100/s."),
        "{}",
        found.because
    );
}

#[test]
fn a_run_that_the_generator_limited_is_refused() {
    let mut late = loads();
    late[5] = Load { dropped_generator_late: 44, dropped_vu_limit: 0, ..late[5] };
    let mut run = stairs(&late);
    run.workload.objectives.clear();
    let found = diagnosis(&run);
    assert!(found.refused.is_some() && found.because.starts_with("INVALID: "), "{}", found.because);
    let mut busy = pool_of_four();
    busy.loop_cpu(0, [(3 * STAIR_S..4 * STAIR_S, 0.97)]);
    let found = diagnosis(&busy);
    insta::assert_snapshot!(found.because, @"INVALID: the generator was at its limit at 160/s: what the target carries is not known.");
}

#[test]
fn a_generator_at_its_limit_above_the_break_changes_nothing() {
    let mut run = pool_of_four();
    run.loop_cpu(0, [(6 * STAIR_S..7 * STAIR_S, 0.97)]);
    let found = diagnosis(&run);
    assert_eq!(found.limit.as_deref(), Some("db of inventory"), "{found:#?}");
}

#[test]
fn what_a_target_used_around_its_restart_is_not_read() {
    let mut run = pool_of_four();
    // A pool that looks full at a low load, until the service is restarted.
    let at = Instant::from_nanos(u64::from(STAIR_S + 12) * 1_000_000_000);
    let (observer, text) = ("inventory".to_owned(), "it was restarted".to_owned());
    let notice = Notice { at, observer, instance: None, kind: NoticeKind::Restarted, text };
    run.run.observed(&Observed { notices: vec![notice], ..Observed::default() }).unwrap();
    let window = evidence::Window::new(&(STAIR_S + 10..STAIR_S + 15));
    let at = UseWindow { window, completions_per_s: 80.0, response_s: None };
    assert_eq!(uses(&run.run, &run.workload, at).unwrap(), []);
    assert_eq!(diagnosis(&run).limit.as_deref(), Some("db of inventory"));
}

#[test]
fn a_service_that_is_not_observed_is_undetermined_and_its_concurrency_is_seen_from_outside() {
    let found = diagnosis(&stairs(&loads()));
    assert_eq!(found.limit, None);
    insta::assert_snapshot!(found.because, @"UNDETERMINED: no resource of the target was observed.");
    insta::assert_snapshot!(found.observe.join("\n"), @r"
    Observe the target: its process (`process = { port = 8000 }` of `[targets.NAME]`), and its metrics (`observe.prometheus`), which show its pools.
    From outside: 196/s are completed however many are offered, and one takes 20.1 ms without load, so that about 3.9 are in progress at a time. Look for a pool, workers or a lock of that size.
    ");
}

#[test]
fn a_process_that_is_idle_under_load_may_be_another() {
    let run = observed(stairs(&loads()), &[("cpu", &|_| 0.001)]);
    let found = diagnosis(&run);
    assert_eq!(found.limit, None);
    let doubt = "CPU of inventory is idle under load: is the observed process the one that answers?";
    assert!(found.observe.iter().any(|sentence| sentence == doubt), "{:?}", found.observe);
}

#[test]
fn levels_after_an_overload_do_not_count() {
    let mut back = loads();
    back.push(Load { us: 900_000, ..Load::ok(40) });
    let run = stairs(&back);
    let found = diagnosis(&run);
    assert_eq!(found.levels.len(), RATES.len(), "{:?}", found.levels);
}

#[test]
fn a_ramp_is_cut_into_levels() {
    let mut run = TestRun::unobserved();
    let seconds = 120;
    run.workload.phases = vec![workload::Phase {
        name: "ramp".to_owned(),
        start: std::time::Duration::ZERO,
        end: std::time::Duration::from_secs(seconds),
    }];
    for second in 0..seconds {
        run.offer_in("ramp", second as u32, "list", Load::ok(21 + 2 * second));
    }
    let duration = std::time::Duration::from_secs(seconds);
    let stages = vec![Stage { to: 260.0, over: duration }];
    run.workload.scenarios[0].executor = Executor::RampingArrivalRate { start_rate: 20.0, stages };
    run.run.finish(evidence::RunEnd::new(evidence::Ending::Completed, seconds as u32 - 1));
    let found = diagnosis(&run);
    assert_eq!(found.levels.len(), 12, "{:?}", found.levels);
    assert!((found.levels[0].completions_per_s - 30.0).abs() < 1e-9, "{:?}", found.levels[0]);
}

#[test]
fn steps_within_a_phase_are_levels_and_steep_ramps_between_them_are_none() {
    assert_eq!(levels_of_steps(2, 20, &[40, 80, 120]), [40.0, 80.0, 120.0]);
    assert_eq!(levels_of_steps(0, 4, &[40, 80, 120, 200, 240]), [40.0, 80.0, 120.0, 200.0, 240.0]);
}

/// The completions a second of the levels of a run whose load rises by steps, each reached over and held for so many seconds.
fn levels_of_steps(over: u64, held: u64, rates: &[u32]) -> Vec<f64> {
    let mut run = TestRun::unobserved();
    let second = std::time::Duration::from_secs;
    let end = (over + held) * rates.len() as u64;
    run.workload.phases =
        vec![workload::Phase { name: "steps".to_owned(), start: second(0), end: second(end) }];
    let stages = rates.iter().flat_map(|rate| [(over, *rate), (held, *rate)]);
    let stages = stages.map(|(over, to)| Stage { to: f64::from(to), over: second(over) }).collect();
    let executor = Executor::RampingArrivalRate { start_rate: f64::from(rates[0]), stages };
    let schedule = workload::Schedule::new(&executor).unwrap();
    for at in 0..end {
        let arrivals = schedule.arrivals_between(second(at), second(at + 1));
        run.offer_in("steps", at as u32, "list", Load::ok(arrivals));
    }
    run.workload.scenarios[0].executor = executor;
    run.run.finish(evidence::RunEnd::new(evidence::Ending::Completed, end as u32 - 1));
    diagnosis(&run).levels.iter().map(|level| level.completions_per_s.round()).collect()
}

#[test]
fn a_target_whose_processors_other_programs_have_is_said_to_be_held_back() {
    let with_delay = |delay: f64| {
        let run = observed(
            stairs(&loads()),
            &[("cpu", &|load| load * 0.002), ("run_delay", &|load| load * 0.002 * delay)],
        );
        let sentences = diagnosis(&run).observe;
        sentences.iter().any(|sentence| sentence.contains("other programs had them"))
    };
    assert!(with_delay(0.8) && !with_delay(0.05));
}

#[test]
fn answers_of_requests_that_were_due_before_do_not_raise_what_was_offered() {
    let mut run = stairs(&[40, 80, 120, 160].map(Load::ok));
    // A stall just before the window of the lowest level.
    for second in 6..10 {
        let key = evidence::Key::of(evidence::Metric::ResponseTime)
            .scenario("play")
            .phase("level-0")
            .endpoint("list");
        run.run.record(&key.outcome(evidence::Outcome::Ok), second, 20_000, 40);
    }
    let figures = Figures::fold(&run.run, &run.workload).unwrap();
    let levels = parts::levels(&run.run, &run.workload, &figures).unwrap();
    let offered: Vec<f64> = levels.iter().filter_map(|level| level.offered_per_s).collect();
    assert_eq!(offered, [40.0, 80.0, 120.0, 160.0]);
}
