//! Targets under TLS, from the question whether they are ready to the report.

use testbed::{Authority, Behaviour, Front, GrpcBehaviour, RunningFront, Site, Target, Validity};

use crate::command::{Place, closed};
use crate::preparation::{PROTO, grpc_plan, waiting};

fn front(protocol: &str, target: &Target) -> (RunningFront, String) {
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    (Front::new(identity).speaks(protocol, target.addr()).start().unwrap(), authority.pem())
}

/// The plan with these TLS settings of its target.
fn trusting(plan: &str, tls: &str) -> String {
    plan.replacen("[[scenarios]]", &format!("tls = {{ {tls} }}\n[[scenarios]]"), 1)
}

#[test]
fn a_target_is_asked_and_loaded_as_the_plan_trusts_it() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let (front, ca) = front("http/1.1", &web);
    let plan = closed(front.addr(), 1).replace("http://", "https://");
    let plan = waiting(&plan, "url = \"${api.url}/ready\", within = \"1s\"");
    let place = Place::new(&trusting(&plan, "ca = \"ca.pem\""));
    place.write("ca.pem", &ca);
    place.plimsoll(&["run", "plan.toml", "-q", "--json", "run.json"]).ended(0);
    assert_eq!(web.log().iter().filter(|served| served.path == "/ready").count(), 1);
    let report = place.json("run.json");
    let phases = report["endpoints"][0]["request_phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["blocked", "connecting", "tls_handshaking", "sending", "waiting", "receiving"]);
    assert!(phases[2]["avg_ms"].as_f64().unwrap() > 0.0 && phases[4]["avg_ms"].as_f64().unwrap() > 0.0);
    let connections = &report["connections"][0];
    assert_eq!(connections["target"], "api");
    assert!(connections["tls_handshaking"]["count"].as_u64().unwrap() > 0);

    let wary = Place::new(&plan);
    wary.plimsoll(&["run", "plan.toml", "-q"]).ended(2).complains(&["target `api`", "UnknownIssuer"]);
    let careless = Place::new(&trusting(&plan, "insecure = true"));
    careless.plimsoll(&["run", "plan.toml", "-q"]).ended(0).complains(&["any certificate is trusted"]);
}

#[test]
fn calls_and_their_health_go_under_tls() {
    let health = "/grpc.health.v1.Health/Check";
    let site = Site::new().at(health, GrpcBehaviour::ok([8, 1])).otherwise(GrpcBehaviour::Echo);
    let rpc = testbed::grpc(site).unwrap();
    let (front, ca) = front("h2", &rpc);
    let address = front.addr();
    let plan = grpc_plan(address).replace(&format!("\"{address}\""), &format!("\"https://{address}\""));
    let place = Place::new(&trusting(&waiting(&plan, "grpc_health = true"), "ca = \"ca.pem\""));
    place.write("events.proto", PROTO);
    place.write("ca.pem", &ca);
    place.plimsoll(&["run", "plan.toml", "-q"]).ended(0);
    assert_eq!(rpc.requests(), 51);
}
