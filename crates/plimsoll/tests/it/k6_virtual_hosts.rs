//! The header `Host` of k6 scripts. What is expected was recorded from k6 v1.8.1.

use testbed::{Authority, Behaviour, CannedResponse, Front, Target, Validity};

use crate::k6_http::{run, site};

/// The header `host` of each request for this path.
fn hosts(target: &Target, path: &str) -> Vec<String> {
    let log = target.log();
    let of_path = log.iter().filter(|served| served.path == path);
    of_path.map(|served| served.header("host").unwrap_or_default().to_owned()).collect()
}

fn redirect(to: &str) -> Behaviour {
    CannedResponse::new(302).header("location", to).into()
}

#[test]
fn a_host_that_a_script_names_is_sent_and_kept_by_relative_redirects_only() {
    let script = "export default function () {
            const host = { headers: { hOsT: ' virtual.test ' } };
            say(http.get(`${B}/x`, host).request.headers.Host);
            http.get(`${B}/x`, { headers: { Host: '' } });
            http.get(`${B}/relative`, host);
            http.get(`${B}/absolute`, host);
            const no_host = http.get(`${B}/x`, { headers: { Host: 'a b' } });
            say(no_host.error_code, no_host.error);
            http.get(`${B}/x`);
        }";
    let away = testbed::http(Behaviour::ok()).unwrap();
    let absolute = format!("http://{}/x", away.addr());
    let site = site().at("/relative", redirect("/x")).at("/absolute", redirect(&absolute));
    let (ran, target) = run(script, site);
    ran.stderr_contains(&["INFO [\"virtual.test\"]", "INFO 1000 http: invalid Host header"]);
    let own = target.addr().to_string();
    assert_eq!(hosts(&target, "/x"), ["virtual.test", &own, "virtual.test", &own]);
    assert_eq!(hosts(&away, "/x"), [away.addr().to_string()]);
    assert_eq!(target.connections(), 1, "whom a request names does not matter to its connection");
}

#[test]
fn a_host_is_sent_under_tls_too() {
    let script = "export const options = { insecureSkipTLSVerify: true };
        export default function () {
            const named = http.get('https://FRONT/x', { headers: { Host: 'virtual.test' } });
            say(named.status, named.tls_version);
        }";
    let target = testbed::http(Behaviour::ok()).unwrap();
    let identity = Authority::new().vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).protocol("http/1.1", target.addr()).start().unwrap();
    let script = script.replace("FRONT", &front.addr().to_string());
    run(&script, site()).0.stderr_contains(&["INFO 200 tls1.3"]);
    assert_eq!(hosts(&target, "/x"), ["virtual.test"]);
}
