//! The phases of a request's time: each is at least as long as the target made it, and together they are no longer
//! than the response time.

use evidence::Metric;
use testbed::{Authority, Behaviour, CannedResponse, Ending, Front, Validity};
use workload::{HttpVersion, Reuse, Scenario};

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::h2_peer::{Manner, Peer};
use crate::plan::{Plan, Tuned, WEB, at_rate, get, ms, request, scenario, sequence};

const COUNT: u64 = 10;
const PHASES: [Metric; 6] = [
    Metric::BlockedNs,
    Metric::ConnectingNs,
    Metric::TlsHandshakingNs,
    Metric::SendingNs,
    Metric::WaitingNs,
    Metric::ReceivingNs,
];

fn load(plan: Plan) -> FinishedRun {
    let ran =
        drive(plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([get("get", "/")]))).compile());
    let run = ran.assert_sound();
    let phases_us: u64 = PHASES.iter().map(|metric| run.all(*metric) / 1_000).sum();
    let response = run.times(Metric::ResponseTime, |_| true);
    // The histogram has a resolution of three digits.
    let whole_us = response.mean_us().unwrap() * response.count() as f64 * 1.01;
    assert!(phases_us as f64 <= whole_us, "{phases_us} of {whole_us} µs");
    ran
}

fn sum_ms(ran: &FinishedRun, metric: Metric) -> u64 {
    ran.run.all(metric) / 1_000_000
}

#[test]
fn the_waiting_phase_covers_the_targets_delay() {
    let target = testbed::http(Behaviour::after(ms(20))).unwrap();
    let ran = load(Plan::of(target.addr()));
    assert!(sum_ms(&ran, Metric::WaitingNs) >= 20 * COUNT);
    let connecting =
        ran.run.times(Metric::Connecting, |key| key.tags.get("target").is_some_and(|t| &**t == WEB));
    assert_eq!(connecting.count(), target.connections());
    assert!(ran.run.times(Metric::TlsHandshaking, |_| true).is_empty());
    assert_eq!(ran.run.all(Metric::TlsHandshakingNs), 0);
}

#[test]
fn the_receiving_phase_begins_with_the_head() {
    let body = Behaviour::Trickle { answer: CannedResponse::new(200).body("12345"), interval: ms(10) };
    let target = testbed::http(body).unwrap();
    let ran = load(Plan::of(target.addr()));
    assert!(sum_ms(&ran, Metric::ReceivingNs) >= 40 * COUNT, "{}", sum_ms(&ran, Metric::ReceivingNs));
}

#[test]
fn the_blocked_phase_covers_the_wait_for_a_connection() {
    let target = testbed::http(Behaviour::after(ms(50))).unwrap();
    let ran = load(Plan::of(target.addr()).connecting(WEB, |c| c.connections = Some(1)));
    // Due every 20 ms and served every 50 ms: the nth waits for 30 ms more than the one before.
    let least: u64 = (0..COUNT).map(|nth| nth * 30).sum();
    assert!(sum_ms(&ran, Metric::BlockedNs) >= least * 9 / 10, "{}", sum_ms(&ran, Metric::BlockedNs));
}

#[test]
fn handshakes_are_measured_by_connection_and_by_request() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).protocol("http/1.1", web.addr()).start().unwrap();
    let plan = Plan::of(front.addr())
        .secure(WEB, &authority.pem())
        .connecting(WEB, |c| (c.http, c.reuse) = (HttpVersion::Http1, Some(Reuse::Never)));
    let ran = load(plan);
    for metric in [Metric::Connecting, Metric::TlsHandshaking] {
        assert_eq!(ran.run.times(metric, |_| true).count(), COUNT, "{metric}");
    }
    assert!(ran.run.all(Metric::ConnectingNs) > 0);
    let handshakes = ran.run.times(Metric::TlsHandshaking, |_| true);
    let sum_us = handshakes.mean_us().unwrap() * handshakes.count() as f64;
    let by_request_us = ran.run.all(Metric::TlsHandshakingNs) as f64 / 1e3;
    assert!((sum_us - by_request_us).abs() <= sum_us * 0.01 + 10.0, "{sum_us} {by_request_us}");
}

#[test]
fn a_request_without_a_complete_response_has_no_phases() {
    let target = testbed::http(Behaviour::half_answer(Ending::Close)).unwrap();
    let ran = load(Plan::of(target.addr()));
    assert!(PHASES.iter().all(|metric| ran.run.all(*metric) == 0));
}

/// The bytes of a small request lie between those of two uploads that fill the socket, so that something is always still
/// to be written: the request's own are written long before.
#[test]
fn the_sending_phase_ends_when_the_requests_own_bytes_are_written() {
    let authority = Authority::new();
    for secure in [false, true] {
        let peer = Peer::start(Manner::DeafUntilSecond);
        let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
        let front = Front::new(identity).protocol("h2", peer.addr).start().unwrap();
        let addr = if secure { front.addr() } else { peer.addr };
        let plan = ["web", "other"].into_iter().fold(Plan::new(), |plan, name| {
            let plan = plan.http(name, addr);
            let plan = if secure { plan.secure(name, &authority.pem()) } else { plan };
            plan.connecting(name, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(1)))
        });
        let upload = "x".repeat(8 << 20);
        let last = "x".repeat(64 << 20);
        let steps = [
            request("POST", "first", "/").body(&upload),
            get("small", "/"),
            request("POST", "last", "/").body(&last),
            get("read", "/").at("other"),
        ];
        let plan = steps.into_iter().zip(0..).fold(plan, |plan, (step, nth): (_, u64)| {
            let name = step.name.clone();
            let one = scenario(&name, at_rate(1.0, ms(1)), sequence([step]));
            plan.scenario(Scenario { start: ms(200 * nth), ..one })
        });
        let ran = drive(plan.compile());
        assert_eq!(ran.assert_sound().all(Metric::Requests), 4);
        let waited = ran.run.count(Metric::WaitingNs, |key| &*key.endpoint == "small");
        assert!(waited > 0, "secure: {secure}");
    }
}
