//! Targets under TLS, from the question whether they are ready to the report.

use testbed::{Authority, Behaviour, Front, GrpcBehaviour, RunningFront, Site, Target, Validity};

use crate::command::{TestFolder, closed};
use crate::preparation::{PROTO, grpc_plan, waiting};

fn front(protocol: &str, target: &Target) -> (RunningFront, String) {
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    (Front::new(identity).protocol(protocol, target.addr()).start().unwrap(), authority.pem())
}

/// The plan with these TLS settings of its target.
fn trusting(plan: &str, tls: &str) -> String {
    plan.replacen("[[scenarios]]", &format!("tls = {{ {tls} }}\n[[scenarios]]"), 1)
}

#[test]
fn readiness_and_load_use_the_plans_tls_settings() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front("http/1.1", &web);
    let plan = closed(front.addr(), 1).replace("http://", "https://");
    let plan = waiting(&plan, "url = \"${api.url}/ready\", within = \"1s\"");
    let folder = TestFolder::new(&trusting(&plan, "ca = \"ca.pem\""));
    folder.write("ca.pem", &ca);
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--json", "run.json"]).exits_with(0);
    assert_eq!(web.log().iter().filter(|served| served.path == "/ready").count(), 1);
    let report = folder.json("run.json");
    let phases = report["endpoints"][0]["request_phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["blocked", "connecting", "tls_handshaking", "sending", "waiting", "receiving"]);
    assert!(phases[2]["avg_ms"].as_f64().unwrap() > 0.0 && phases[4]["avg_ms"].as_f64().unwrap() > 0.0);
    let connections = &report["connections"][0];
    assert_eq!(connections["target"], "api");
    assert!(connections["tls_handshaking"]["count"].as_u64().unwrap() > 0);

    let wary = TestFolder::new(&plan);
    wary.plimsoll(&["run", "plan.toml", "--quiet"])
        .exits_with(2)
        .stderr_contains(&["target `api`", "UnknownIssuer"]);
    let careless = TestFolder::new(&trusting(&plan, "insecure = true"));
    careless
        .plimsoll(&["run", "plan.toml", "--quiet"])
        .exits_with(0)
        .stderr_contains(&["any certificate is trusted"]);
}

#[test]
fn grpc_calls_and_health_checks_use_tls() {
    let health = "/grpc.health.v1.Health/Check";
    let site = Site::new().at(health, GrpcBehaviour::ok([8, 1])).otherwise(GrpcBehaviour::Echo);
    let rpc = testbed::grpc(site).unwrap();
    let (front, ca) = front("h2", &rpc);
    let address = front.addr();
    let plan = grpc_plan(address).replace(&format!("\"{address}\""), &format!("\"https://{address}\""));
    let folder = TestFolder::new(&trusting(&waiting(&plan, "grpc_health = true"), "ca = \"ca.pem\""));
    folder.write("events.proto", PROTO);
    folder.write("ca.pem", &ca);
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0);
    assert_eq!(rpc.requests(), 51);
}
