//! A server that freezes: response times of an open model show it, service times of a closed model hide it. On a
//! virtual clock.

use std::time::Duration;

use evidence::Histogram;
use testbed::Freeze;
use workload::schedule::Schedule;

use crate::plan::at_rate;

const FREEZE: Freeze = Freeze { period: Duration::from_secs(10), length: Duration::from_secs(1) };
const RUN: Duration = Duration::from_secs(60);
const SERVICE_NS: u64 = 1_000_000;

/// When a request that reaches the server at `at_ns` is answered.
fn answered_ns(at_ns: u64) -> u64 {
    FREEZE.thaw_ns(FREEZE.thaw_ns(at_ns) + SERVICE_NS)
}

fn quantile_ms(times: &Histogram, q: f64) -> f64 {
    times.quantile(q).finite_us().unwrap() / 1_000.0
}

/// Response times of arrivals on schedule, whatever the server does.
fn open_model(rate: f64) -> Histogram {
    let schedule = Schedule::new(&at_rate(rate, RUN)).unwrap();
    let mut times = Histogram::new();
    for due in (0..schedule.count()).filter_map(|n| schedule.due(n)) {
        let due_ns = due.as_nanos() as u64;
        times.record_ns(answered_ns(due_ns) - due_ns);
    }
    times
}

/// Service times of users that send the next request after the response, at the rate of the open model while the
/// server does not freeze.
fn closed_model(users: u64) -> Histogram {
    let pause_ns = users * 1_000_000_000 / 1_000 - SERVICE_NS;
    let mut times = Histogram::new();
    for user in 0..users {
        let mut at_ns = user * 1_000_000;
        while at_ns < RUN.as_nanos() as u64 {
            let answered_ns = answered_ns(at_ns);
            times.record_ns(answered_ns - at_ns);
            at_ns = answered_ns + pause_ns;
        }
    }
    times
}

/// One tenth of all arrivals are due during a freeze, and their waits are spread evenly between 0 and 1 s. So the
/// slowest hundredth of all is the slowest tenth of those: from 0.9 s on, plus 2 ms for the request that was being
/// served when the freeze began and for the service afterwards.
#[test]
fn response_times_of_an_open_model_show_the_freeze() {
    let times = open_model(1_000.0);
    assert_eq!(times.count(), 60_000);
    assert!((quantile_ms(&times, 0.99) - 902.0).abs() < 2.0, "p99 {} ms", quantile_ms(&times, 0.99));
    assert!((quantile_ms(&times, 0.95) - 501.0).abs() < 2.0, "p95 {} ms", quantile_ms(&times, 0.95));
    assert!((quantile_ms(&times, 0.50) - 1.0).abs() < 0.1);
    assert!((times.max_us().unwrap() as f64 - 1_001_000.0).abs() < 1_500.0);
}

/// Each freeze delays one request of each of the ten users, ten of some nine thousand: far beyond p99.
#[test]
fn service_times_of_a_closed_model_hide_the_freeze() {
    let times = closed_model(10);
    assert!((quantile_ms(&times, 0.99) - 1.0).abs() < 0.1, "p99 {} ms", quantile_ms(&times, 0.99));
    assert!((quantile_ms(&times, 0.998) - 1.0).abs() < 0.1);
    assert!(times.max_us().unwrap() > 900_000, "only the maximum shows it");
    let offered = open_model(1_000.0).count();
    assert!(times.count() < offered * 92 / 100, "no number shows the load that was not offered");
}
