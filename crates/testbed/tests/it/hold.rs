//! What the log says a request was held is what its client waited at least, on the same clock.

use std::thread;
use std::time::Duration;

use testbed::{Behaviour, CannedResponse, Freeze, Outcome, Served, Site, now_ns};

use crate::client::{Client, get};

const HOLD: Duration = Duration::from_millis(20);

/// A client's wait, from before it sent to after it read.
fn waited(behaviour: Behaviour) -> (Duration, Served) {
    let target = testbed::http(behaviour).unwrap();
    let mut client = Client::new(target.addr());
    let sent_ns = now_ns();
    client.get("/");
    let read_ns = now_ns();
    let served = target.log().remove(0);
    assert!(sent_ns <= served.received_ns, "received before it was sent");
    assert!(served.answered_ns.unwrap() <= read_ns, "answered after it was read");
    (Duration::from_nanos(read_ns - sent_ns), served)
}

#[test]
fn a_delay_is_held_at_least_and_the_client_waits_no_less() {
    let (waited, served) = waited(Behaviour::after(HOLD));
    assert!(served.held().unwrap() >= HOLD);
    assert!(waited >= served.held().unwrap());
}

#[test]
fn a_trickle_holds_one_interval_for_each_byte() {
    let answer = CannedResponse::new(200).body("12345");
    let (waited, served) = waited(Behaviour::Trickle { answer, interval: HOLD / 5 });
    assert!(served.held().unwrap() >= HOLD);
    assert!(waited >= served.held().unwrap());
}

#[test]
fn a_queue_of_one_serves_one_after_the_other() {
    let target = testbed::http(Behaviour::capacity(1, HOLD / 10)).unwrap();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| get(&target, "/"));
        }
    });
    let mut answered_ns: Vec<u64> = target.log().iter().filter_map(|served| served.answered_ns).collect();
    answered_ns.sort_unstable();
    let first_ns = target.log()[0].received_ns;
    for (index, at_ns) in answered_ns.iter().enumerate() {
        let least_ns = (index as u64 + 1) * 2_000_000;
        assert!(at_ns - first_ns >= least_ns, "answer {index} came before its turn");
    }
}

#[test]
fn a_frozen_server_answers_no_request_before_it_thaws() {
    // Frozen all the time, it thaws for an instant at the end of each period.
    let freeze = Freeze { period: HOLD, length: HOLD };
    let site = Site::from(Behaviour::ok()).freeze(freeze.period, freeze.length);
    let target = testbed::http(site).unwrap();
    let mut client = Client::new(target.addr());
    for _ in 0..5 {
        client.get("/");
    }
    let log = target.log();
    let start_ns = log[0].received_ns;
    assert!(log[0].held().unwrap() >= HOLD);
    for served in &log {
        let received_ns = served.received_ns - start_ns;
        let answered_ns = served.answered_ns.unwrap() - start_ns;
        assert!(
            answered_ns >= freeze.unfreeze_at_ns(received_ns),
            "{received_ns} was answered at {answered_ns}"
        );
    }
}

#[test]
fn hundreds_of_connections_are_served_and_all_are_in_the_log() {
    let target = testbed::http(Behaviour::after(HOLD)).unwrap();
    let mut clients: Vec<Client> = (0..400).map(|_| Client::new(target.addr())).collect();
    for client in &mut clients {
        client.send(b"GET / HTTP/1.1\r\n\r\n");
    }
    for client in &mut clients {
        assert!(client.answer().starts_with("HTTP/1.1 200 OK\r\n"));
    }
    let log = target.log();
    assert_eq!((log.len(), target.connections()), (400, 400));
    assert!(log.iter().all(|served| served.outcome == Outcome::Answered && served.held().unwrap() >= HOLD));
}
