//! The limit of virtual users is one for all loops: which loop an arrival falls to does not decide whether it is dropped.

use evidence::Metric;
use testbed::{Behaviour, Served, Site};
use workload::{Pick, Scenario};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun};
use crate::plan::{Plan, at_rate, get, mix, ms, scenario};

/// How many requests the target held at once, at most.
fn most_at_once(log: &[Served]) -> usize {
    let began = log.iter().map(|served| (served.received_ns, 1));
    let ended = log.iter().map(|served| (served.answered_ns.unwrap(), -1));
    let mut changes: Vec<(u64, i64)> = began.chain(ended).collect();
    // Of one instant the ends come first.
    changes.sort_unstable();
    let mut held = 0;
    let held = changes.into_iter().map(|(_, change)| {
        held += change;
        held
    });
    held.max().unwrap_or(0) as usize
}

/// Of `loops`, which get the arrivals in turn, the first gets all that take long.
fn uneven(loops: u16, slow: Behaviour, load: Scenario) -> (Vec<Served>, FinishedRun) {
    let target = testbed::http(Site::new().at("/p1", slow).otherwise(Behaviour::ok())).unwrap();
    let rows = format!("p{{1..{loops}}}");
    let plan = Plan::of(target.addr()).data("rows", &rows, Pick::Sequential).scenario(load);
    let ran = Drive::new(plan.compile()).loops(loops).run();
    (target.log(), ran)
}

#[test]
fn no_arrival_is_dropped_while_another_loop_has_free_virtual_users() {
    for (loops, limit) in [(2, 26), (3, 31)] {
        // Fifteen slow requests are under way at once, more than the first loop's share. What a second of standstill makes due at
        // once is within the limit, too.
        let rate = f64::from(loops) * 5.0;
        let steps = mix([(1, get("row", "/${rows.id}"))]);
        let load = Scenario { max_vus: limit, ..scenario("s", at_rate(rate, ms(4_000)), steps) };
        let (log, ran) = uneven(loops, Behaviour::after(ms(3_000)), load);
        let run = ran.assert_sound();
        assert_eq!(run.all(Metric::Scheduled), 20 * u64::from(loops));
        assert_eq!(run.all(Metric::DroppedCap), 0, "with {loops} loops");
        assert_eq!(run.all(Metric::Started), log.len() as u64);
        let most = most_at_once(&log);
        assert!(most <= limit as usize, "{most} at once with {loops} loops");
    }
}

#[test]
fn no_more_virtual_users_are_busy_than_the_limit_in_all_loops_together() {
    for (loops, limit) in [(2, 5), (3, 7), (4, 3)] {
        let steps = mix([(1, get("row", "/${rows.id}"))]);
        let load = Scenario { max_vus: limit, ..scenario("s", at_rate(150.0, ms(2_000)), steps) };
        let (log, ran) = uneven(loops, Behaviour::after(ms(300)), load);
        let run = ran.assert_sound();
        let dropped = run.all(Metric::DroppedCap) + run.all(Metric::DroppedLate);
        assert_eq!((run.all(Metric::Scheduled), run.all(Metric::Started)), (300, log.len() as u64));
        assert_eq!(dropped, 300 - log.len() as u64);
        assert!(run.all(Metric::DroppedCap) > 0, "the limit of {limit} is reached");
        let most = most_at_once(&log);
        assert!(most <= limit as usize, "{most} at once with a limit of {limit}, {loops} loops");
    }
}
