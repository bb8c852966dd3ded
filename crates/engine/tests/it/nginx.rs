//! A third-party server: nginx over HTTP/1.1 and HTTP/2, in cleartext, under TLS and over a Unix socket.

use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use evidence::{Metric, Outcome};
use peers::nginx::{LARGE_BYTES, Nginx};
use peers::poll;
use testbed::{Authority, Validity};
use workload::{Connecting, Executor, HttpVersion, Step};

use crate::accounting::Accounting;
use crate::drive::{HANG, drive};
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

#[test]
fn each_request_to_a_server_that_ends_connections_after_two_requests_is_answered_and_processed_once() {
    const ITERATIONS: u64 = 400;
    let folder = RefCell::new(PathBuf::new());
    let nginx = Nginx::start_configured(|its_folder, ports: [u16; 3]| {
        *folder.borrow_mut() = its_folder.to_owned();
        format!(
            "pid nginx.pid;\nevents {{}}\nhttp {{\n  access_log access.log;\n  keepalive_requests 2;\n  \
             server {{ listen 127.0.0.1:{}; listen 127.0.0.1:{} http2; listen 127.0.0.1:{}; \
             location / {{ return 200 \"hello\"; }} }}\n}}\n",
            ports[0], ports[1], ports[2]
        )
    });
    let nginx = nginx.unwrap();
    let plan = Plan::of(([127, 0, 0, 1], nginx.h2c_port()).into());
    let plan = plan.connecting(WEB, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(1)));
    let executor = Executor::SharedIterations { vus: 8, iterations: ITERATIONS, max_duration: ms(600_000) };
    let step = request("POST", "step", "/").within(ms(60_000));
    let ran = drive(plan.scenario(scenario("s", executor, sequence([step]))).compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("step"), [(Outcome::Ok, ITERATIONS)].into());
    assert!(run.all(Metric::Retried) > 0);
    // The server writes its log after its response.
    let log = folder.borrow().join("access.log");
    let logged = || fs::read_to_string(&log).unwrap_or_default().lines().count() as u64;
    assert!(poll::until(HANG, || logged() >= ITERATIONS));
    assert_eq!(logged(), ITERATIONS);
}
