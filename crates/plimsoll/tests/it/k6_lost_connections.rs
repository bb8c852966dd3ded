//! Connections that a server ends, as k6 scripts see them. What is expected was recorded from k6 v1.8.1.

use testbed::{Authority, Behaviour, Ending, Front, Validity};

use crate::k6_http::{run, site};

#[test]
fn a_connection_that_is_closed_differs_from_one_that_is_reset() {
    let script = "export default function () {
            for (const name of ['close', 'cut-head', 'cut-body', 'reset', 'reset-body']) {
                const r = http.get(`${B}/${name}`);
                say(`${name}:`, r.status, r.error_code, r.error);
            }
        }";
    let site = site()
        .at("/close", Behaviour::close())
        .at("/cut-head", Behaviour::raw("HTTP/1.1 200", Ending::Close))
        .at("/cut-body", Behaviour::half_answer(Ending::Close))
        .at("/reset", Behaviour::reset())
        .at("/reset-body", Behaviour::half_answer(Ending::Reset));
    run(script, site).0.stderr_contains(&[
        "/close\\\": EOF\"",
        "INFO close: 0 1000 EOF  ",
        "INFO cut-head: 0 1000 unexpected EOF  ",
        "WARN Request Failed  error=\"unexpected EOF\"",
        "INFO cut-body: 0 1000 unexpected EOF  ",
        "INFO reset: 0 1220 read: connection reset by peer  ",
        "INFO reset-body: 0 1220 read: connection reset by peer  ",
    ]);
}

#[test]
fn an_alert_of_tls_is_named() {
    let authority = Authority::new();
    let target = testbed::http(Behaviour::ok()).unwrap();
    let front = Front::new(authority.vouch_for(&["127.0.0.1"], Validity::Now)).asks_clients(&authority);
    let front = front.protocol("http/1.1", target.addr()).start().unwrap();
    let script = "export const options = { insecureSkipTLSVerify: true, tlsVersion: 'tls1.2' };
        export default function () {
            const r = http.get('https://FRONT/');
            say(r.status, r.error_code, r.error);
        }";
    let script = script.replace("FRONT", &front.addr().to_string());
    run(&script, site()).0.stderr_contains(&["INFO 0 1010 remote error: tls: certificate required"]);
}
