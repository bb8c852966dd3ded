//! A third-party server: nginx over HTTP/1.1 and HTTP/2, in cleartext, under TLS and over a Unix socket.

use std::net::SocketAddr;

use evidence::{Metric, Outcome};
use peers::nginx::{LARGE_BYTES, Nginx};
use testbed::{Authority, Validity};
use workload::{Connecting, HttpVersion, Step};

use crate::accounting::Accounting;
use crate::drive::drive;
use crate::plan::{Plan, Tuned, WEB, at_rate, get, ms, request, scenario, sequence};

const COUNT: u64 = 10;

fn steps() -> Vec<Step> {
    let mut steps = vec![
        get("hello", "/"),
        request("HEAD", "head", "/large"),
        get("empty", "/empty"),
        get("moved", "/moved"),
        get("large", "/large"),
        request("POST", "upload", "/upload").body(&"y".repeat(1 << 20)),
        get("missing", "/no-such-page"),
    ];
    // The test must not fail on a slow machine.
    steps.iter_mut().for_each(|step| step.timeout = ms(60_000));
    steps
}

/// Check every step's outcome, over connections to `port` with settings that `change` sets.
fn check(port: u16, ca: Option<&str>, change: impl FnOnce(&mut Connecting)) {
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    let plan = Plan::of(address).connecting(WEB, change);
    let plan = ca.into_iter().fold(plan, |plan, ca| plan.secure(WEB, ca));
    let ran = drive(plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence(steps()))).compile());
    let run = ran.assert_sound();
    for step in ["hello", "head", "empty", "moved", "large", "upload"] {
        assert_eq!(run.outcomes(step), [(Outcome::Ok, COUNT)].into(), "{step}");
    }
    assert_eq!(run.outcomes("missing"), [(Outcome::Http4xx, COUNT)].into());
    // The large body was received once for each request, and not for HEAD. On a shared connection bytes are known
    // only in sum.
    let (received, large) = (run.all(Metric::BytesIn), COUNT * LARGE_BYTES as u64);
    assert!((large..large + large / 20).contains(&received), "{received} of {large}");
    assert!(run.times(Metric::Connecting, |_| true).count() > 0);
}

#[test]
fn nginx_works_over_every_protocol() {
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    let (certificate, key) = identity.pem();
    let nginx = Nginx::start(certificate, key).unwrap();
    let ca = authority.pem();
    check(nginx.http1_port(), None, |_| ());
    check(nginx.h2c_port(), None, |c| c.http = HttpVersion::Http2);
    check(nginx.tls_port(), Some(&ca), |_| ());
    check(nginx.tls_port(), Some(&ca), |c| c.http = HttpVersion::Http1);
    let socket = nginx.socket().to_str().unwrap().to_owned();
    check(1, None, |c| c.unix = Some(socket));
}
