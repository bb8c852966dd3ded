//! The ledger on cases of arithmetic. How often it is wrong on queues with a known limit: `simulation::diagnoses`.

use evidence::diagnosis::{Diagnosis, LedgerStanding, ResourceUse};

use super::{BreakRange, LoadWindow, diagnose};

/// A resource of one unit of time per completion, waited for as `wait_s` says of a load.
struct Resource<'a> {
    name: &'a str,
    limit: f64,
    used: &'a dyn Fn(f64) -> f64,
    wait_s: &'a dyn Fn(f64) -> Option<f64>,
}

/// Objectives hold at 90/s and break at 100/s; the response time grows from 10 ms at 60/s to 50 ms at 100/s.
fn diagnosis(resources: &[Resource<'_>]) -> Diagnosis {
    let windows: Vec<LoadWindow> = [20.0, 40.0, 60.0, 80.0, 90.0, 100.0]
        .into_iter()
        .enumerate()
        .map(|(at, load)| LoadWindow {
            completions_per_s: load,
            offered_per_s: None,
            response_s: Some(if load > 60.0 { 0.01 + (load - 60.0) * 0.001 } else { 0.01 }),
            resources: resources
                .iter()
                .map(|resource| ResourceUse {
                    name: resource.name.to_owned(),
                    series: resource.name.to_lowercase(),
                    // Without any scatter the intervals would be points.
                    used: (resource.used)(load) * if at % 2 == 0 { 1.002 } else { 0.998 },
                    limit: Some(resource.limit),
                    wait_s: (resource.wait_s)(load),
                })
                .collect(),
        })
        .collect();
    diagnose(&windows, BreakRange { holds_per_s: 90.0, breaks_per_s: 100.0 })
}

/// 36 of the 40 ms by which the response time grows.
fn most_of_the_growth(load: f64) -> Option<f64> {
    Some((load - 60.0).max(0.0) * 0.0009)
}

fn none(_: f64) -> Option<f64> {
    None
}

fn standing(diagnosis: &Diagnosis, name: &str) -> LedgerStanding {
    diagnosis.ledger.iter().find(|line| line.resource == name).unwrap().standing
}

#[test]
fn a_processor_that_is_used_up_and_waited_for_is_the_limit() {
    let cpu = Resource { name: "CPU", limit: 1.0, used: &|load| 0.01 * load, wait_s: &most_of_the_growth };
    let pool = Resource { name: "pool", limit: 10.0, used: &|load| 0.02 * load, wait_s: &|_| Some(0.0) };
    let found = diagnosis(&[cpu, pool]);
    assert_eq!(found.limit.as_deref(), Some("CPU"), "{found:?}");
    assert_eq!(standing(&found, "pool"), LedgerStanding::Suffices);
    assert!((found.unexplained.unwrap() - 0.1).abs() < 1e-9, "{found:?}");
    insta::assert_snapshot!(found.because, @"CPU: 36 ms of 50 ms are spent waiting for a processor; 1 ÷ 9.98 ms = 100.2/s is the ceiling (99.4/s to 100.9/s); objectives hold at 90/s and break at 100/s.");
}

#[test]
fn a_pool_that_is_held_for_longer_while_the_processor_is_waited_for_is_not_the_limit() {
    let cpu = Resource { name: "CPU", limit: 1.0, used: &|load| 0.01 * load, wait_s: &most_of_the_growth };
    // Held for 10 ms, and for 40 ms once the processor is waited for.
    let held = |load: f64| load * if load > 85.0 { 0.04 } else { 0.01 } + 3.0 * (load / 100.0);
    let pool = Resource { name: "pool", limit: 4.0, used: &held, wait_s: &|load| most_of_the_growth(load) };
    let found = diagnosis(&[cpu, pool]);
    assert_eq!(found.limit.as_deref(), Some("CPU"), "{found:?}");
    assert_eq!(standing(&found, "pool"), LedgerStanding::HeldForLonger);
}

#[test]
fn a_pool_of_four_whose_connections_are_held_for_a_constant_time_is_the_limit() {
    let pool = Resource { name: "pool", limit: 4.0, used: &|load| 0.04 * load, wait_s: &most_of_the_growth };
    let cpu = Resource { name: "CPU", limit: 2.0, used: &|load| 0.0006 * load, wait_s: &none };
    let found = diagnosis(&[cpu, pool]);
    assert_eq!(found.limit.as_deref(), Some("pool"), "{found:?}");
}

#[test]
fn what_was_not_observed_is_not_named_and_the_rest_of_the_growth_is_stated() {
    let cpu = Resource { name: "CPU", limit: 2.0, used: &|load| 0.001 * load, wait_s: &|_| Some(0.0001) };
    let found = diagnosis(&[cpu]);
    assert_eq!(found.limit, None);
    insta::assert_snapshot!(found.because, @"UNDETERMINED: nothing that was observed would be used up where it breaks. 100 % of the growth is in no observed wait.");
}

#[test]
fn of_two_that_are_used_up_at_the_same_load_none_is_named() {
    let cpu = Resource { name: "CPU", limit: 1.0, used: &|load| 0.01 * load, wait_s: &most_of_the_growth };
    let pool = Resource { name: "pool", limit: 4.0, used: &|load| 0.04 * load, wait_s: &most_of_the_growth };
    let found = diagnosis(&[cpu, pool]);
    assert_eq!(found.limit, None);
    insta::assert_snapshot!(found.because, @"UNDETERMINED: CPU, pool would all be used up where it breaks.");
}

#[test]
fn without_a_wait_a_resource_is_named_only_if_the_others_suffice_for_much_more() {
    let with_other = |per_s: f64| {
        let cpu = Resource { name: "CPU", limit: 1.0, used: &|load| 0.01 * load, wait_s: &none };
        let pool = Resource { name: "pool", limit: 1.0, used: &|load| load / per_s, wait_s: &none };
        diagnosis(&[cpu, pool])
    };
    assert_eq!(with_other(200.0).limit.as_deref(), Some("CPU"));
    let near = with_other(120.0);
    assert_eq!(near.limit, None);
    insta::assert_snapshot!(near.because, @"UNDETERMINED: CPU would be used up where it breaks; the wait for it was not observed, and pool may be used up at 119.2/s already.");
}

#[test]
fn two_loads_one_load_and_none_show_no_demand() {
    for loads in 0..=2 {
        let windows: Vec<LoadWindow> = (0..loads)
            .map(|at| LoadWindow {
                completions_per_s: 20.0 + 20.0 * f64::from(at),
                offered_per_s: None,
                response_s: Some(0.01),
                resources: vec![ResourceUse {
                    name: "CPU".to_owned(),
                    series: "cpu".to_owned(),
                    used: 0.2,
                    limit: Some(1.0),
                    wait_s: None,
                }],
            })
            .collect();
        let found = diagnose(&windows, BreakRange { holds_per_s: 90.0, breaks_per_s: 100.0 });
        assert_eq!(found.limit, None, "{found:?}");
        assert!(found.because.starts_with("UNDETERMINED: "), "{found:?}");
    }
}

#[test]
fn requests_that_wait_in_the_queues_of_a_program_do_not_speak_against_its_processors() {
    let short = |load: f64| Some(if load > 60.0 { 0.0005 } else { 0.0 });
    let found = |name: &str| {
        let first = Resource { name, limit: 1.0, used: &|load| 0.01 * load, wait_s: &short };
        let other = Resource { name: "pool", limit: 10.0, used: &|load| 0.02 * load, wait_s: &none };
        diagnosis(&[first, other])
    };
    // Of a pool all waits are observed, of processors those of threads alone.
    assert_eq!(found("CPU").limit.as_deref(), Some("CPU"));
    assert_eq!(found("db").limit, None);
    assert!(found("CPU").because.contains("how long requests wait for it was not observed"));
}
