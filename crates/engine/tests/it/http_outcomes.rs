//! Every fault of an HTTP target gives the right outcome, the run ends, and no fault affects other requests.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use evidence::{Metric, Outcome};
use testbed::{Behaviour, CannedResponse, Ending, Farewell, Framing, Site};
use workload::Retry;

use crate::accounting::Accounting;
use crate::drive::{Drive, HANG, drive};
use crate::plan::{Plan, Tuned, WEB, at_rate, closed, get, ms, scenario, sequence};

/// A healthy endpoint of the same target gets requests at the same time as the faulty one, by the same loop.
fn check(behaviour: Behaviour, expected: Outcome) {
    const COUNT: u64 = 10;
    let target =
        testbed::http(Site::new().at("/bad", behaviour.clone()).at("/good", Behaviour::ok())).unwrap();
    let bad = get("bad", "/bad").within(ms(300));
    let plan = Plan::of(target.addr())
        .connecting(WEB, |c| c.retry = Retry::Never)
        .scenario(scenario("bad", at_rate(50.0, ms(200)), sequence([bad])))
        .scenario(scenario("good", at_rate(100.0, ms(400)), sequence([get("good", "/good")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("bad"), [(expected, COUNT)].into(), "{behaviour:?}");
    assert_eq!(run.outcomes("good"), [(Outcome::Ok, 40)].into(), "beside {behaviour:?}");
    let served = |path: &str| target.log().iter().filter(|s| s.path == path).count() as u64;
    assert_eq!((served("/bad"), served("/good")), (COUNT, 40), "{behaviour:?}");
    let done = |key: &evidence::Key| &*key.scenario == "bad" && key.outcome == Some(expected);
    assert_eq!(run.times(Metric::IterationTime, done).count(), COUNT);
    if expected == Outcome::Timeout {
        let waited = run.times(Metric::ResponseTime, |key| &*key.endpoint == "bad");
        assert!(waited.min_us().unwrap() >= 299_000, "{behaviour:?} timed out early: {waited:?}");
    }
}

#[test]
fn broken_connections_are_resets() {
    check(Behaviour::reset(), Outcome::Reset);
    check(Behaviour::close(), Outcome::Reset);
    check(Behaviour::half_answer(Ending::Close), Outcome::Reset);
    check(Behaviour::half_answer(Ending::Reset), Outcome::Reset);
    check(Behaviour::raw("HTTP/1.1 200 OK\r\ncontent-le", Ending::Close), Outcome::Reset);
    check(
        Behaviour::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", Ending::Close),
        Outcome::Reset,
    );
    check(Behaviour::lie_about_length(5_000_000_000, "short", Ending::Close), Outcome::Reset);
}

#[test]
fn responses_that_are_not_http_are_protocol_errors() {
    check(Behaviour::garbage(), Outcome::Protocol);
    check(Behaviour::raw("SSH-2.0-OpenSSH_9.9\r\n", Ending::Hang), Outcome::Protocol);
    check(
        Behaviour::raw("HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nbody", Ending::Hang),
        Outcome::Protocol,
    );
    check(
        Behaviour::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", Ending::Hang),
        Outcome::Protocol,
    );
    check(
        Behaviour::raw(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)), Ending::Close),
        Outcome::Protocol,
    );
}

/// Chunks of one byte, which take longer to be understood than to be sent: there is always more to read.
#[test]
fn a_response_without_end_keeps_no_loop_from_its_time_limits() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let chunks = b"1\r\nx\r\n".repeat(100_000);
        for mut stream in listener.incoming().flatten() {
            let chunks = chunks.clone();
            thread::spawn(move || {
                let _request = stream.read(&mut [0; 1024]).unwrap();
                let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                let mut sent = stream.write_all(head);
                while sent.is_ok() {
                    sent = stream.write_all(&chunks);
                }
            });
        }
    });
    let endless = get("endless", "/").within(ms(300));
    let plan = Plan::of(address).scenario(scenario("endless", at_rate(10.0, ms(300)), sequence([endless])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    // On a busy machine an arrival may come so late that it is not sent.
    assert!(run.outcomes("endless").into_keys().eq([Outcome::Timeout]), "{:?}", run.outcomes("endless"));
}

#[test]
fn missing_or_slow_responses_are_timeouts() {
    check(Behaviour::never(), Outcome::Timeout);
    check(Behaviour::half_answer(Ending::Hang), Outcome::Timeout);
    check(Behaviour::after(ms(2_000)), Outcome::Timeout);
    let trickle =
        Behaviour::Trickle { answer: CannedResponse::new(200).body("x".repeat(200)), interval: ms(10) };
    check(trickle, Outcome::Timeout);
}

#[test]
fn statuses_have_outcomes_of_their_own() {
    check(Behaviour::status(404), Outcome::Http4xx);
    check(Behaviour::status(429), Outcome::Http429);
    check(Behaviour::status(500), Outcome::Http5xx);
    check(Behaviour::status(503), Outcome::Http503);
}

/// Several statuses of one class at one endpoint: each is counted as often
/// as the target answered with it.
#[test]
fn each_status_is_counted_as_often_as_the_target_answered_it() {
    let statuses = [200, 201, 404, 200, 410, 503, 502, 429, 204, 503].map(Behaviour::status);
    let site = Site::new()
        .at("/mixed", Behaviour::Sequence(statuses.into()))
        .at("/half", Behaviour::half_answer(Ending::Close));
    let target = testbed::http(site).unwrap();
    let plan = Plan::of(target.addr())
        .connecting(WEB, |c| c.retry = Retry::Never)
        .scenario(scenario("mixed", closed(5, ms(400)), sequence([get("mixed", "/mixed")])))
        .scenario(scenario("half", at_rate(50.0, ms(200)), sequence([get("half", "/half")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let mut answered: BTreeMap<String, u64> = BTreeMap::new();
    for served in target.log().iter().filter(|served| served.path == "/mixed") {
        *answered.entry(served.status.unwrap().to_string()).or_default() += 1;
    }
    assert_eq!(answered.len(), 8, "every status was answered: {answered:?}");
    assert_eq!(run.statuses("mixed"), answered);
    let reasons = run.reasons("mixed");
    assert_eq!(reasons["status 503, expected 200 to 399"], answered["503"]);
    assert_eq!(reasons.len(), 5, "{reasons:?}");
    // The head of these had come.
    assert_eq!(run.statuses("half"), [("200".to_owned(), 10)].into());
    assert_eq!(run.reasons("half").values().sum::<u64>(), 10);
}

#[test]
fn unusual_complete_responses_are_ok() {
    check(Behaviour::ok(), Outcome::Ok);
    check(CannedResponse::new(200).framed(Framing::Chunked(3)).into(), Outcome::Ok);
    check(CannedResponse::new(200).framed(Framing::UntilClose).into(), Outcome::Ok);
    check(CannedResponse::new(204).into(), Outcome::Ok);
    check(CannedResponse::new(200).body(vec![b'x'; 3 << 20]).into(), Outcome::Ok);
    check(
        Behaviour::Trickle { answer: CannedResponse::new(200).body("12345"), interval: ms(2) },
        Outcome::Ok,
    );
    check(Behaviour::close_after(1, Farewell::Announced), Outcome::Ok);
    // The response is complete; the bytes after it belong to no request, and the connection is closed.
    check(Behaviour::lie_about_length(3, "bodybody", Ending::Hang), Outcome::Ok);
}

#[test]
fn a_refused_connection_is_an_outcome() {
    let refusal = testbed::refuse().unwrap();
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr())
        .http("closed port", refusal.addr())
        .scenario(scenario("open", at_rate(50.0, ms(400)), sequence([get("open", "/").at("closed port")])))
        .scenario(scenario("users", closed(3, ms(400)), sequence([get("users", "/").at("closed port")])))
        .scenario(scenario("good", at_rate(50.0, ms(400)), sequence([get("good", "/")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("open"), [(Outcome::Refused, 20)].into());
    assert_eq!(run.outcomes("good"), [(Outcome::Ok, 20)].into());
    let users = run.outcomes("users");
    assert_eq!(users.keys().collect::<Vec<_>>(), [&Outcome::Refused]);
    // Virtual users that are refused at once try again at once, and the loop still does its other work.
    assert!(users[&Outcome::Refused] >= 3);
    let sent = run.times(Metric::ServiceTime, |key| &*key.scenario != "good");
    assert!(sent.is_empty(), "nothing was sent, so there is no service time");
}

#[test]
fn a_target_that_stops_during_a_run_gives_resets_and_refusals() {
    let mut target = testbed::http(Behaviour::after(ms(10))).unwrap();
    let plan = Plan::of(target.addr())
        .scenario(scenario("open", at_rate(200.0, ms(1_500)), sequence([get("open", "/open")])))
        .scenario(scenario("users", closed(4, ms(1_500)), sequence([get("users", "/users")])));
    let drive = Drive::new(plan.compile());
    let ran = thread::scope(|scope| {
        let running = scope.spawn(|| drive.run());
        let is_busy = target.wait_for(HANG, |log| log.len() >= 100);
        target.stop();
        assert!(is_busy);
        running.join().unwrap()
    });
    let run = ran.assert_sound();
    let outcomes = run.outcomes("open");
    assert_eq!(outcomes.values().sum::<u64>(), 300, "{outcomes:?}");
    assert!(
        outcomes.keys().all(|o| matches!(o, Outcome::Ok | Outcome::Refused | Outcome::Reset)),
        "{outcomes:?}"
    );
    assert!(outcomes[&Outcome::Refused] > 0 && outcomes[&Outcome::Ok] > 0, "{outcomes:?}");
    let good = run.outcomes("users")[&Outcome::Ok] + outcomes[&Outcome::Ok];
    assert!(good <= target.requests());
}

/// An extracted value may make a request that cannot be put on the wire. Only that request fails, with its reason,
/// and the connection is still used.
#[test]
fn a_request_that_cannot_be_sent_fails_alone() {
    let target = testbed::http(
        Site::new().at("/value", CannedResponse::new(200).json(&serde_json::json!({"v": "a\r\nb"})).into()),
    )
    .unwrap();
    let steps = sequence([get("value", "/value").take("v", "$.v"), get("use", "/use").header("x-v", "${v}")]);
    let plan = Plan::of(target.addr()).scenario(scenario("s", closed(1, ms(500)), steps));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let count = target.requests();
    assert_eq!(run.outcomes("value"), [(Outcome::Ok, count)].into());
    assert_eq!(run.outcomes("use"), [(Outcome::Protocol, count)].into());
    assert!(count > 1);
    let kept = evidence::Run::exemplars(run).unwrap();
    let detail = kept.iter().find(|e| &*e.endpoint == "use").map(|e| e.detail.as_str());
    assert!(detail.is_some_and(|detail| detail.starts_with("the request cannot be sent")), "{detail:?}");
    assert_eq!(target.connections(), 1, "for {count} requests");
}

#[test]
fn bytes_of_incomplete_responses_are_counted() {
    let target = testbed::http(Behaviour::half_answer(Ending::Close)).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(10.0, ms(100)), sequence([get("s", "/")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst".len() as u64;
    assert_eq!((run.all(Metric::Requests), run.all(Metric::BytesIn)), (1, half));
}
