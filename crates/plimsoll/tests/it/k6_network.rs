//! What k6 scripts say of connections: whose they are, where they lead, their TLS. What is expected was recorded from k6 v1.8.1.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::json;
use testbed::{Authority, Behaviour, Front, GrpcBehaviour, Target, Validity};

use crate::command::{CommandOutput, TestFolder};

fn web() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

/// A folder with a script and its options, and the script run with `__ENV.BASE`.
fn run(body: &str, options: &serde_json::Value, base: &str) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new("");
    let script = format!(
        "import http from 'k6/http'; import exec from 'k6/execution'; import {{ sleep }} from 'k6';
        export const options = {options};
        const BASE = __ENV.BASE;
        function show(r) {{ console.log(`${{r.status}} ${{r.error_code}} ${{r.error}} ${{r.proto}}`); }}
        export default function () {{ {body} }}"
    );
    folder.write("script.js", script);
    let base = format!("BASE={base}");
    let ran = folder.plimsoll(&[
        "run",
        "script.js",
        "-e",
        &base,
        "--evidence",
        "run.plimsoll",
        "--summary-export",
        "summary.json",
        "--quiet",
    ]);
    (folder, ran)
}

fn http(address: SocketAddr) -> String {
    format!("http://{address}")
}

/// Arrivals that overlap, because iterations last longer than the time between two of them.
fn overlapping(more: serde_json::Value) -> serde_json::Value {
    let mut options = json!({ "scenarios": { "open": { "executor": "constant-arrival-rate", "rate": 20,
        "duration": "1s", "preAllocatedVUs": 3, "maxVUs": 3 } } });
    options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    options
}

const TWO_REQUESTS: &str =
    "http.get(`${BASE}/${exec.vu.idInTest}`); http.get(`${BASE}/${exec.vu.idInTest}`); sleep(0.2);";

#[test]
fn each_virtual_user_of_an_open_scenario_keeps_a_connection_of_its_own() {
    let target = web();
    run(TWO_REQUESTS, &overlapping(json!({})), &http(target.addr())).1.exits_with(0);
    let log = target.log();
    let users: BTreeSet<&str> = log.iter().map(|served| served.path.as_str()).collect();
    let pairs: BTreeSet<_> = log.iter().map(|served| (&served.path, served.connection)).collect();
    assert!(users.len() > 1, "{users:?}");
    assert_eq!((pairs.len(), target.connections()), (users.len(), users.len() as u64));
}

#[test]
fn connections_are_not_kept_where_options_say_so() {
    let target = web();
    let (folder, ran) =
        run(TWO_REQUESTS, &overlapping(json!({ "noVUConnectionReuse": true })), &http(target.addr()));
    ran.exits_with(0);
    let iterations = folder.json("summary.json")["metrics"]["iterations"]["count"].as_u64();
    assert_eq!(Some(target.connections()), iterations);

    let target = web();
    run(TWO_REQUESTS, &overlapping(json!({ "noConnectionReuse": true })), &http(target.addr()))
        .1
        .exits_with(0);
    assert_eq!(target.connections(), target.requests());
    let log = target.log();
    assert!(log.iter().all(|served| served.header("connection") == Some("close")));
}

#[test]
fn a_virtual_user_keeps_as_many_idle_connections_as_a_batch_may_use_of_a_host() {
    let target = testbed::http(Behaviour::after(std::time::Duration::from_millis(50))).unwrap();
    let body = "for (let i = 0; i < 2; i++) { http.batch(Array(4).fill(BASE)); }";
    let options = json!({ "iterations": 1, "batchPerHost": 4 });
    run(body, &options, &http(target.addr())).1.exits_with(0);
    assert_eq!(target.connections(), 4);
}

#[test]
fn hosts_lead_elsewhere_and_what_is_blocked_is_not_called() {
    let target = web();
    let address = target.addr().to_string();
    let body = "show(http.get('http://a.test/a')); show(http.get('http://x.b.test:8/b'));
        show(http.get('http://c.test')); show(http.get('http://127.0.0.9/')); show(http.get('http://d.test/'));";
    let options = json!({ "iterations": 1, "hosts": { "a.test": address, "*.b.test:8": address, "d.test": "127.0.0.9" },
        "blockHostnames": ["*c.test"], "blacklistIPs": ["127.0.0.8/31"] });
    let (folder, ran) = run(body, &options, "");
    ran.exits_with(0).stderr_contains(&[
        "200 0  HTTP/1.1",
        "0 1111 hostname is blocked",
        "0 1110 ip is blacklisted",
    ]);
    assert_eq!(folder.json("summary.json")["metrics"]["http_req_failed"]["passes"], 3);
    let hosts: Vec<_> = target.log().iter().map(|served| served.header("host").unwrap().to_owned()).collect();
    assert_eq!(hosts, ["a.test", "x.b.test:8"]);
}

#[test]
fn virtual_users_connect_from_the_addresses_of_the_options_in_turn() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peers = thread::spawn(move || {
        let serve = |stream: io::Result<TcpStream>| {
            let mut stream = stream.unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap();
            let user = String::from_utf8_lossy(&request[..read]).split(' ').nth(1).unwrap().to_owned();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            (user, stream.peer_addr().unwrap().ip().to_string())
        };
        listener.incoming().take(4).map(serve).collect::<BTreeSet<_>>()
    });
    let folder = TestFolder::new("");
    let script = "import http from 'k6/http';
        export const options = { noConnectionReuse: true,
            scenarios: { a: { executor: 'per-vu-iterations', vus: 4, iterations: 1 } } };
        export default function () { http.get(`${__ENV.BASE}/${__VU}`); }";
    folder.write("script.js", script);
    let base = format!("BASE={}", http(address));
    let fixed = ["run", "script.js", "-e", &base, "--evidence", "run.plimsoll", "--quiet"];
    folder.plimsoll(&[&fixed[..], &["--local-ips", "127.0.0.2,127.0.0.8/30"]].concat()).exits_with(0);
    let expected = [("/1", "127.0.0.2"), ("/2", "127.0.0.9"), ("/3", "127.0.0.10"), ("/4", "127.0.0.2")];
    assert_eq!(peers.join().unwrap(), expected.map(|(user, ip)| (user.to_owned(), ip.to_owned())).into());
    folder
        .plimsoll(&[&fixed[..], &["--local-ips", "nope"]].concat())
        .exits_with(255)
        .stderr_contains(&["nope is not a valid IP"]);
}

#[test]
fn a_name_is_looked_up_by_the_policy_of_the_options() {
    let target = web();
    let base = format!("http://localhost:{}", target.addr().port());
    let options =
        json!({ "iterations": 1, "dns": { "policy": "onlyIPv4", "select": "first", "ttl": "inf" } });
    run("show(http.get(BASE));", &options, &base).1.exits_with(0).stderr_contains(&["200 0  HTTP/1.1"]);
    let options = json!({ "iterations": 1, "dns": { "ttl": "0", "policy": "onlyIPv4" } });
    run("show(http.get(BASE));", &options, &base).1.exits_with(0).stderr_contains(&["200 0  HTTP/1.1"]);
}

#[test]
fn certificates_are_verified_unless_options_say_otherwise_and_sessions_are_not_resumed() {
    let (target, authority) = (web(), Authority::new());
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).protocol("http/1.1", target.addr()).start().unwrap();
    let base = format!("https://{}", front.addr());
    let body = "show(http.get(BASE));";
    run(body, &json!({ "iterations": 1 }), &base).1.exits_with(3).stderr_contains(&["INFO 0 1"]);
    assert_eq!(target.requests(), 0);
    let options = json!({ "iterations": 4, "insecureSkipTLSVerify": true, "noConnectionReuse": true });
    run(body, &options, &base).1.exits_with(0).stderr_contains(&["200 0  HTTP/1.1"]);
    assert_eq!((target.requests(), front.resumed()), (4, 0));
}

#[test]
fn the_server_chooses_http_2_where_it_can() {
    let target = testbed::grpc(GrpcBehaviour::ok([])).unwrap();
    let identity = Authority::new().vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).protocol("h2", target.addr()).start().unwrap();
    let options = json!({ "iterations": 1, "insecureSkipTLSVerify": true });
    let (_, ran) = run("show(http.post(BASE, ''));", &options, &format!("https://{}", front.addr()));
    ran.exits_with(0).stderr_contains(&["HTTP/2.0"]);
}

#[test]
fn clients_identify_themselves_whatever_the_domains_of_the_certificate() {
    let (target, authority) = (web(), Authority::new());
    let front = Front::new(authority.vouch_for(&["127.0.0.1"], Validity::Now));
    let front = front.protocol("http/1.1", target.addr()).asks_clients(&authority).start().unwrap();
    let (other, own) = (
        Authority::new().vouch_for(&["client"], Validity::Now),
        authority.vouch_for(&["client"], Validity::Now),
    );
    let auth = |cert: &str, key: &str| json!({ "cert": cert, "key": key, "domains": ["elsewhere.test"] });
    let run_with = |auth: Vec<serde_json::Value>| {
        let options = json!({ "iterations": 1, "insecureSkipTLSVerify": true, "tlsAuth": auth });
        run("show(http.get(BASE));", &options, &format!("https://{}", front.addr())).1
    };
    run_with(Vec::new()).exits_with(3).stderr_contains(&["INFO 0 1"]);
    // The first one that the server accepts is sent.
    let both = vec![auth(other.pem().0, other.pem().1), auth(own.pem().0, own.pem().1)];
    run_with(both).exits_with(0).stderr_contains(&["200 0  HTTP/1.1"]);
    run_with(vec![auth(own.pem().0, other.pem().1)])
        .exits_with(104)
        .stderr_contains(&["tlsAuth: the client certificate"]);
    run_with(vec![auth(own.pem().0, "-----BEGIN ENCRYPTED PRIVATE KEY-----")])
        .exits_with(104)
        .stderr_contains(&["an encrypted key in tlsAuth is not supported"]);
}

#[test]
fn versions_and_cipher_suites_are_offered_as_options_say() {
    let target = web();
    let identity = Authority::new().vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).protocol("http/1.1", target.addr()).start().unwrap();
    let base = format!("https://{}", front.addr());
    for (version, suites, code, text) in [
        (json!("tls1.2"), json!([]), 0, "200 0"),
        (json!({ "min": "tls1.1" }), json!(["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"]), 0, "200 0"),
        // The key of the server is one of ECDSA.
        (json!("tls1.2"), json!(["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]), 3, "INFO 0 1"),
        (json!("tls1.2"), json!(["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]), 0, "200 0"),
        (json!("tls1.1"), json!([]), 104, "tlsVersion without either is not supported"),
        (
            json!(""),
            json!(["TLS_RSA_WITH_AES_128_CBC_SHA"]),
            104,
            "TLS_RSA_WITH_AES_128_CBC_SHA in tlsCipherSuites",
        ),
    ] {
        let options = json!({ "iterations": 1, "insecureSkipTLSVerify": true, "tlsVersion": version, "tlsCipherSuites": suites });
        run("show(http.get(BASE));", &options, &base).1.exits_with(code).stderr_contains(&[text]);
    }
}

#[test]
fn requests_of_all_virtual_users_are_as_many_a_second_as_options_allow() {
    let target = web();
    let options = json!({ "vus": 3, "iterations": 6, "rps": 20 });
    run("http.get(BASE);", &options, &http(target.addr())).1.exits_with(0);
    let mut received: Vec<u64> = target.log().iter().map(|served| served.received_ns).collect();
    received.sort_unstable();
    assert_eq!(received.len(), 6);
    // They begin 50 ms apart; the first may be received later after its begin than the last.
    assert!(received[5] - received[0] > 2 * 50_000_000, "{received:?}");
}

#[test]
fn a_script_with_more_virtual_users_than_files_can_be_opened_is_refused() {
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        "export const options = { scenarios: { open: { executor: 'constant-arrival-rate', rate: 1, duration: '1s',
            preAllocatedVUs: 1, maxVUs: 200 } } };
        export default function () {}",
    );
    let ran = folder.plimsoll_after("ulimit -n 100", &["run", "script.js", "--quiet"]);
    ran.exits_with(2).stderr_contains(&["200 connections", "264 open files"]);
}

#[test]
fn requests_past_the_limit_on_servers_are_the_generators_and_no_failures_of_the_target() {
    let target = web();
    let options = json!({ "vus": 1, "iterations": 1, "noConnectionReuse": true,
        "hosts": { "*.shops.test": target.addr().to_string() } });
    let body =
        "for (let n = 0; n < 4100; n++) { http.get(`http://h${n}.shops.test/`, { tags: { name: 'all' } }); }";
    let (folder, ran) = run(body, &options, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let summary: serde_json::Value = serde_json::from_str(&folder.read("summary.json")).unwrap();
    assert_eq!((&summary["metrics"]["http_reqs"]["count"], target.requests()), (&json!(4096), 4096));
    assert_eq!(summary["metrics"]["http_req_failed"]["passes"], 0);
    let report = |file| folder.plimsoll(&["report", file]).stdout;
    let is_said =
        |report: &str| report.contains("4 requests were not sent") && report.contains("4096 servers");
    assert!(is_said(&report("run.plimsoll")), "{}", report("run.plimsoll"));
    let kept = ["--evidence", "workers.plimsoll", "--quiet"];
    folder.plimsoll(&[&["run", "script.js", "--workers", "2"], &kept[..]].concat()).exits_with(0);
    assert_eq!(target.requests(), 2 * 4096);
    assert!(is_said(&report("workers.plimsoll")), "{}", report("workers.plimsoll"));
}
