//! Targets under TLS: what is agreed on, what is trusted, and what fails how.

use evidence::Outcome;
use testbed::{
    Authority, Behaviour, CannedResponse, Ending, Front, GrpcBehaviour, RunningFront, Site, Target, Validity,
};
use workload::{HttpVersion, Reuse};

use crate::balance::Accounting;
use crate::drive::{Ran, drive};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, get, ms, scenario, sequence};

const COUNT: u64 = 10;

/// A front that this machine's address is vouched for, and the authority's PEM.
fn front() -> (Front, String) {
    let authority = Authority::new();
    (Front::new(authority.vouch_for(&["127.0.0.1"], Validity::Now)), authority.pem())
}

fn load(plan: Plan) -> Ran {
    drive(
        plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([get("get", "/").within(ms(2_000))])))
            .compile(),
    )
}

fn detail(ran: &Ran, endpoint: &str) -> String {
    let kept = evidence::Run::exemplars(&ran.run).unwrap();
    kept.iter().find(|e| &*e.endpoint == endpoint).map(|e| e.detail.clone()).unwrap_or_default()
}

/// The requests all fail as `tls`, and this is said of one.
fn check_refused(plan: Plan, said: &str) {
    let ran = load(plan);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("get"), [(Outcome::Tls, COUNT)].into(), "{said}");
    let detail = detail(&ran, "get");
    assert!(detail.contains(said), "{detail:?} does not say {said:?}");
}

#[test]
fn requests_and_calls_go_over_tls() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let rpc = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let (front, ca) = front();
    let front =
        front.protocol("h2", rpc.addr()).protocol("http/1.1", web.addr()).in_pieces().start().unwrap();
    let plan = Plan::of(front.addr())
        .secure(WEB, &ca)
        .connecting(WEB, |c| c.http = HttpVersion::Http1)
        .grpc(RPC, front.addr())
        .secure(RPC, &ca)
        .scenario(scenario("calls", at_rate(50.0, ms(200)), sequence([call("Good", "y")])));
    let ran = load(plan);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("get"), [(Outcome::Ok, COUNT)].into(), "{}", detail(&ran, "get"));
    assert_eq!(run.outcomes("Good"), [(Outcome::Ok, COUNT)].into(), "{}", detail(&ran, "Good"));
    assert_eq!((web.requests(), rpc.requests()), (COUNT, COUNT));
    assert_eq!(front.handshakes(), web.connections() + rpc.connections());
}

/// What `auto` finds in a front that prefers these protocols, the first spoken by `target`.
fn agreed(protocols: &[&str], target: &Target) {
    let (front, ca) = front();
    let front = protocols.iter().fold(front, |front, p| front.protocol(p, target.addr())).start().unwrap();
    let ran = load(Plan::of(front.addr()).secure(WEB, &ca));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into(), "{}", detail(&ran, "get"));
    assert_eq!(target.requests(), COUNT);
}

#[test]
fn what_the_peer_prefers_is_spoken() {
    agreed(&["h2"], &testbed::grpc(GrpcBehaviour::Http(200)).unwrap());
    agreed(&["http/1.1"], &testbed::http(Behaviour::ok()).unwrap());
}

#[test]
fn a_peer_that_agrees_on_nothing_is_refused() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front();
    let front = front.protocol("spdy/3", web.addr()).start().unwrap();
    check_refused(Plan::of(front.addr()).secure(WEB, &ca), "NoApplicationProtocol");
}

#[test]
fn http_2_that_the_peer_does_not_agree_to_is_refused() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front();
    let front = front.protocol("http/1.1", web.addr()).start().unwrap();
    let plan = Plan::of(front.addr()).secure(WEB, &ca).connecting(WEB, |c| c.http = HttpVersion::Http2);
    check_refused(plan, "NoApplicationProtocol");
}

#[test]
fn sessions_are_resumed() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front();
    let front = front.protocol("http/1.1", web.addr()).start().unwrap();
    let ran = load(Plan::of(front.addr()).secure(WEB, &ca).connecting(WEB, |c| c.reuse = Reuse::Never));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((front.handshakes(), web.connections()), (COUNT, COUNT));
    assert!(front.resumed() > 0, "of {COUNT}");
}

/// A front in front of `web`, which does everything but what is tested.
fn spoiled(web: &Target, spoil: impl FnOnce(Front) -> Front) -> (RunningFront, String) {
    let (front, ca) = front();
    (spoil(front.protocol("http/1.1", web.addr())).start().unwrap(), ca)
}

#[test]
fn peers_that_cannot_be_trusted_are_refused_in_words() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let authority = Authority::new();
    let front = |names: &[&str], validity| {
        let identity = authority.vouch_for(names, validity);
        Front::new(identity).protocol("http/1.1", web.addr()).start().unwrap()
    };
    let good = front(&["127.0.0.1"], Validity::Now);
    check_refused(Plan::of(good.addr()).secure(WEB, &Authority::new().pem()), "issuer is unknown");
    let expired = front(&["127.0.0.1"], Validity::Expired);
    check_refused(Plan::of(expired.addr()).secure(WEB, &authority.pem()), "expired");
    let wrong = front(&["shop.test"], Validity::Now);
    check_refused(Plan::of(wrong.addr()).secure(WEB, &authority.pem()), "not valid for name");
    assert_eq!(web.requests(), 0);
    for front in [&good, &expired, &wrong] {
        let plan = Plan::of(front.addr()).secure(WEB, &Authority::new().pem());
        let ran = load(plan.connecting(WEB, |c| c.tls.insecure = true));
        assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into());
    }
}

#[test]
fn peers_that_want_to_know_us_are_told() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let clients = Authority::new();
    let (front, ca) = spoiled(&web, |front| front.asks_clients(&clients));
    check_refused(Plan::of(front.addr()).secure(WEB, &ca), "CertificateRequired");
    let us = clients.vouch_for(&["plimsoll"], Validity::Now);
    let ran = load(Plan::of(front.addr()).secure(WEB, &ca).known_as(WEB, us.pem()));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into(), "{}", detail(&ran, "get"));
}

#[test]
fn handshakes_that_fail_are_data() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (closing, ca) = spoiled(&web, Front::closes);
    check_refused(Plan::of(closing.addr()).secure(WEB, &ca), "ended the connection during the TLS handshake");
    check_refused(Plan::of(web.addr()).secure(WEB, &ca), "is no TLS");
    let (silent, ca) = spoiled(&web, Front::is_silent);
    let ran = load(Plan::of(silent.addr()).secure(WEB, &ca));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Timeout, COUNT)].into());
}

#[test]
fn what_fails_in_cleartext_fails_alike_under_tls() {
    let check = |behaviour: Behaviour, expected: Outcome| {
        let web = testbed::http(Site::new().at("/", behaviour.clone()).at("/good", Behaviour::ok())).unwrap();
        let (front, ca) = spoiled(&web, Front::in_pieces);
        let plan = Plan::of(front.addr()).secure(WEB, &ca).scenario(scenario(
            "good",
            at_rate(50.0, ms(400)),
            sequence([get("good", "/good")]),
        ));
        let ran = load(plan);
        let run = ran.assert_sound();
        assert_eq!(run.outcomes("get"), [(expected, COUNT)].into(), "{behaviour:.80?}");
        assert_eq!(run.outcomes("good"), [(Outcome::Ok, 20)].into(), "beside {behaviour:?}");
    };
    check(Behaviour::half_answer(Ending::Close), Outcome::Reset);
    check(Behaviour::garbage(), Outcome::Protocol);
    check(Behaviour::never(), Outcome::Timeout);
    check(Behaviour::status(503), Outcome::Http503);
    check(
        Behaviour::Trickle { answer: CannedResponse::new(200).body("12345"), interval: ms(2) },
        Outcome::Ok,
    );
    let trickle =
        Behaviour::Trickle { answer: CannedResponse::new(200).body("x".repeat(500)), interval: ms(10) };
    check(trickle, Outcome::Timeout);
    check(CannedResponse::new(200).body(vec![b'x'; 5_000]).into(), Outcome::Ok);
}
