//! Changes to a plan from the command line, and what reaches the target.

use std::collections::BTreeSet;

use testbed::{Behaviour, Target};

use crate::command::{Place, open, refusal};

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

#[test]
fn the_time_scale_shortens_the_run_and_keeps_the_rate() {
    let target = target();
    let place = Place::new(&open(target.addr(), 20));
    place.plimsoll(&["run", "plan.toml", "-q", "--time-scale", "0.1"]).ended(0);
    assert_eq!(target.requests(), 100);
}

#[test]
fn the_load_factor_multiplies_the_rate() {
    let target = target();
    let place = Place::new(&open(target.addr(), 1));
    place.plimsoll(&["run", "plan.toml", "-q", "--load", "0.4"]).ended(0);
    assert_eq!(target.requests(), 20);
}

#[test]
fn the_target_override_sends_the_load_elsewhere() {
    let (nobody, target) = (refusal(), target());
    let place = Place::new(&open(nobody.addr(), 1));
    let elsewhere = format!("api=http://{}/v2", target.addr());
    place.plimsoll(&["run", "plan.toml", "-q", "--target", &elsewhere]).ended(0);
    let log = target.log();
    assert_eq!(log.len(), 50);
    assert!(log.iter().all(|served| served.path == "/v2/x"), "{:?}", log[0]);
}

#[test]
fn the_seed_decides_what_is_drawn() {
    let drawn = |seed: &str| {
        let target = target();
        let place = Place::new(&open(target.addr(), 1).replace("/x\"", "/x?n=${random(1, 1000000)}\""));
        place.plimsoll(&["run", "plan.toml", "-q", "--seed", seed]).ended(0);
        target.log().into_iter().map(|served| served.query).collect::<BTreeSet<_>>()
    };
    assert_eq!(drawn("7"), drawn("7"));
    assert_ne!(drawn("7"), drawn("8"));
}

#[test]
fn loops_share_one_load() {
    let target = target();
    let place = Place::new(&open(target.addr(), 1));
    place.plimsoll(&["run", "plan.toml", "-q", "--loops", "3"]).ended(0);
    assert_eq!(target.requests(), 50);
}

#[test]
fn factors_that_make_no_sense_are_refused() {
    let place = Place::new(&open(([127, 0, 0, 1], 1).into(), 1));
    for (option, value) in [("--load", "0"), ("--time-scale", "-1"), ("--load", "NaN"), ("--loops", "0")] {
        place.plimsoll(&["run", "plan.toml", option, value]).ended(2).complains(&[option]);
    }
}
