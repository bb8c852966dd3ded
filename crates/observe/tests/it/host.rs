//! The machine that the test runs on.

use std::time::Instant as Real;

use evidence::{Instant, SeriesKey};
use observe::{Host, Observer as _};

use crate::child::Peer;

#[test]
fn the_machine_works_at_least_as_much_as_one_of_its_processes() {
    let mut peer = Peer::new();
    let before = peer.cpu("cpu");
    let mut host = Host::new();
    let begun = Real::now();
    let first = host.sample(Instant::EPOCH);
    let used = (peer.cpu("burn 500") - before).as_secs_f64();
    let took = begun.elapsed();
    let second = host.sample(Instant::at(took));
    let value =
        |name: &str| second.iter().find(|(key, _)| &*key.name == name).map(|(_, sample)| sample.value);
    assert!(first.iter().all(|(key, _)| &*key.name != "host_cpu"), "the first look has no rates");
    let cores = value("host_cpu").unwrap();
    // Ticks of 10 ms, and what the process used before the first look.
    assert!(cores * took.as_secs_f64() > used - 0.1, "{cores} cores for {took:?}, one process used {used} s");
    assert!((0.0..=1.0).contains(&value("host_steal").unwrap()));
    assert!(value("host_memory_available").unwrap() > 1e6);
    if std::path::Path::new("/proc/pressure/cpu").exists() {
        assert!(value("host_pressure_cpu").unwrap() >= 0.0);
    }
    assert!(second.iter().all(|(key, _)| &*key.target == "host" && &*key.target != SeriesKey::GENERATOR));
    assert_eq!(host.take_notices(), []);
}
