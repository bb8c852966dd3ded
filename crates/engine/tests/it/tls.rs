//! Targets under TLS: the agreed protocol, trust, and the outcomes of failures.

use evidence::Outcome;
use testbed::{
    Authority, Behaviour, CannedResponse, Ending, Front, GrpcBehaviour, RunningFront, Site, Target, Validity,
};
use workload::{HttpVersion, Resumption, Reuse};

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, get, ms, scenario, sequence};

const COUNT: u64 = 10;

/// A front with a certificate for this machine's address, and the authority's PEM.
fn front() -> (Front, String) {
    let authority = Authority::new();
    (Front::new(authority.vouch_for(&["127.0.0.1"], Validity::Now)), authority.pem())
}

fn load(plan: Plan) -> FinishedRun {
    drive(
        plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([get("get", "/").within(ms(2_000))])))
            .compile(),
    )
}

fn detail(ran: &FinishedRun, endpoint: &str) -> String {
    let kept = evidence::Run::exemplars(&ran.run).unwrap();
    kept.iter().find(|e| &*e.endpoint == endpoint).map(|e| e.detail.clone()).unwrap_or_default()
}

/// Check that all requests fail as `tls`, with this text in the detail.
fn check_refused(plan: Plan, expected: &str) {
    let ran = load(plan);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("get"), [(Outcome::Tls, COUNT)].into(), "{expected}");
    let detail = detail(&ran, "get");
    assert!(detail.contains(expected), "{detail:?} does not contain {expected:?}");
}

#[test]
fn http_and_grpc_requests_are_sent_over_tls() {
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

/// Check that `auto` agrees with a front on the first of these protocols, which `target` implements.
fn check_agreed(protocols: &[&str], target: &Target) {
    let (front, ca) = front();
    let front = protocols.iter().fold(front, |front, p| front.protocol(p, target.addr())).start().unwrap();
    let ran = load(Plan::of(front.addr()).secure(WEB, &ca));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into(), "{}", detail(&ran, "get"));
    assert_eq!(target.requests(), COUNT);
}

#[test]
fn the_protocol_that_the_peer_prefers_is_used() {
    check_agreed(&["h2"], &testbed::grpc(GrpcBehaviour::Http(200)).unwrap());
    check_agreed(&["http/1.1"], &testbed::http(Behaviour::ok()).unwrap());
}

#[test]
fn a_peer_without_a_common_protocol_fails_as_tls() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front();
    let front = front.protocol("spdy/3", web.addr()).start().unwrap();
    check_refused(Plan::of(front.addr()).secure(WEB, &ca), "NoApplicationProtocol");
}

#[test]
fn required_http_2_without_the_peers_agreement_fails_as_tls() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front();
    let front = front.protocol("http/1.1", web.addr()).start().unwrap();
    let plan = Plan::of(front.addr()).secure(WEB, &ca).connecting(WEB, |c| c.http = HttpVersion::Http2);
    check_refused(plan, "NoApplicationProtocol");
}

/// How many handshakes of a connection for each request resume a session.
fn resumed(resumption: Resumption) -> u64 {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front();
    let front = front.protocol("http/1.1", web.addr()).start().unwrap();
    let plan = Plan::of(front.addr()).secure(WEB, &ca);
    let ran = load(plan.connecting(WEB, |c| (c.reuse, c.tls.resumption) = (Some(Reuse::Never), resumption)));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((front.handshakes(), web.connections()), (COUNT, COUNT));
    front.resumed()
}

#[test]
fn sessions_are_resumed_unless_the_plan_turns_it_off() {
    assert!(resumed(Resumption::Allowed) > 0, "of {COUNT}");
    assert_eq!(resumed(Resumption::Off), 0);
}

/// A front in front of `web`, with a fault.
fn faulty_front(web: &Target, fault: impl FnOnce(Front) -> Front) -> (RunningFront, String) {
    let (front, ca) = front();
    (fault(front.protocol("http/1.1", web.addr())).start().unwrap(), ca)
}

#[test]
fn untrusted_certificates_fail_with_a_reason() {
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
fn a_client_certificate_is_sent_to_peers_that_require_one() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let clients = Authority::new();
    let (front, ca) = faulty_front(&web, |front| front.asks_clients(&clients));
    check_refused(Plan::of(front.addr()).secure(WEB, &ca), "CertificateRequired");
    let client = clients.vouch_for(&["plimsoll"], Validity::Now);
    let (cert, key) = client.pem();
    let ran = load(Plan::of(front.addr()).secure(WEB, &ca).client_certificate(WEB, cert, key));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, COUNT)].into(), "{}", detail(&ran, "get"));
}

#[test]
fn failed_handshakes_are_outcomes() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (closing, ca) = faulty_front(&web, Front::closes);
    check_refused(Plan::of(closing.addr()).secure(WEB, &ca), "ended the connection during the TLS handshake");
    check_refused(Plan::of(web.addr()).secure(WEB, &ca), "is not TLS");
    let (silent, ca) = faulty_front(&web, Front::is_silent);
    let ran = load(Plan::of(silent.addr()).secure(WEB, &ca));
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Timeout, COUNT)].into());
}

#[test]
fn faults_have_the_same_outcome_under_tls_as_in_cleartext() {
    let check = |behaviour: Behaviour, expected: Outcome| {
        let web = testbed::http(Site::new().at("/", behaviour.clone()).at("/good", Behaviour::ok())).unwrap();
        let (front, ca) = faulty_front(&web, Front::in_pieces);
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
