//! `deploy/compose.yaml`.

use challenge::role::Role;
use serde_json::Value;

use testkit::yaml;

use super::{LAST_COMMITS_S, Variables, assert_known, is_secret, role, settings};

fn compose() -> Value {
    yaml::documents("compose.yaml").remove(0)
}

/// `${NAME:-default}` and `${NAME:?why}` as compose substitutes them, with `given` for a variable without default.
fn substituted(text: &str, given: &str) -> String {
    let Some(inside) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return text.to_owned();
    };
    inside.split_once(":-").map_or(given, |(_, default)| default).to_owned()
}

fn variables(service: &Value) -> Variables {
    let environment = service["environment"].as_object().unwrap();
    environment
        .iter()
        .map(|(name, value)| (name.clone(), substituted(value.as_str().unwrap(), "given")))
        .collect()
}

/// The container's side of `ports`, and the host's address where one is named.
fn published(service: &Value) -> Vec<(u16, Option<String>)> {
    let ports = service["ports"].as_array().unwrap().iter().map(|port| port.as_str().unwrap());
    ports
        .map(|port| {
            let (host, container) = port.rsplit_once(':').unwrap();
            let address = host.rsplit_once(':').map(|(address, _)| address.to_owned());
            (container.parse().unwrap(), address)
        })
        .collect()
}

#[test]
fn compose_limits_each_service_to_one_cpu_and_one_gigabyte() {
    let compose = compose();
    for (service, cpus, memory) in [("api", "1", "1G"), ("events", "1", "1G"), ("postgres", "4", "4G")] {
        let limits = &compose["services"][service]["deploy"]["resources"]["limits"];
        assert_eq!((&limits["cpus"], &limits["memory"]), (&cpus.into(), &memory.into()), "{service}");
    }
}

#[test]
fn compose_sets_only_variables_that_the_service_reads_and_no_secret() {
    let compose = compose();
    for service in ["api", "events"] {
        let environment = compose["services"][service]["environment"].as_object().unwrap();
        assert_known(environment.keys().cloned());
    }
    for (name, service) in compose["services"].as_object().unwrap() {
        for (variable, value) in service["environment"].as_object().unwrap() {
            let value = value.as_str().unwrap();
            let has_no_default = value.starts_with("${") && substituted(value, "").is_empty();
            assert!(!is_secret(variable) || has_no_default, "{name}: {variable}");
        }
    }
}

#[test]
fn compose_publishes_the_ports_that_the_settings_open_and_keeps_operators_ports_local() {
    let compose = compose();
    let api = settings(&variables(&compose["services"]["api"]), Role::Api).ports;
    let events = settings(&variables(&compose["services"]["events"]), Role::Events).ports;
    let local = Some("127.0.0.1".to_owned());
    assert_eq!(
        published(&compose["services"]["api"]),
        [(api.http.port(), None), (api.grpc.port(), None), (api.admin.port(), local.clone())]
    );
    assert_eq!(
        published(&compose["services"]["events"]),
        [(events.events.port(), None), (events.admin.port(), local)]
    );
    assert!(api.http.ip().is_unspecified() && events.admin.ip().is_unspecified());
}

/// Replicas differ only in the host's ports.
#[test]
fn compose_starts_two_replicas_of_each_role_on_one_database() {
    let compose = compose();
    for (name, other) in [("api", "api-two"), ("events", "events-two")] {
        let [mut one, mut two] = [name, other].map(|name| compose["services"][name].clone());
        assert_eq!(
            published(&one).iter().map(|(port, address)| (*port, address.is_some())).collect::<Vec<_>>(),
            published(&two).iter().map(|(port, address)| (*port, address.is_some())).collect::<Vec<_>>()
        );
        let [first, second] =
            [&mut one, &mut two].map(|service| service.as_object_mut().unwrap().remove("ports").unwrap());
        let first = first.as_array().unwrap();
        assert!(second.as_array().unwrap().iter().all(|port| !first.contains(port)));
        assert_eq!(one, two);
    }
}

#[test]
fn compose_starts_existing_commands_after_the_database_and_waits_for_their_drain() {
    let compose = compose();
    for name in ["api", "events"] {
        let service = &compose["services"][name];
        assert_eq!(service["healthcheck"]["test"], serde_json::json!(["CMD", "/challenge", "health"]));
        assert_eq!(service["depends_on"]["postgres"]["condition"], "service_healthy");
        let grace = service["stop_grace_period"].as_str().unwrap().strip_suffix('s').unwrap();
        let drain = settings(&variables(service), role(&service["command"])).drain.as_secs();
        assert!(grace.parse::<u64>().unwrap() > drain + LAST_COMMITS_S, "{name}");
        assert_eq!((&service["read_only"], &service["cap_drop"][0]), (&true.into(), &"ALL".into()));
    }
    assert!(compose["services"]["postgres"]["healthcheck"]["test"][1] == "pg_isready");
}

#[test]
fn values_are_substituted_as_compose_does() {
    for (text, expected) in
        [("plain", "plain"), ("${A:-b}", "b"), ("${A:-}", ""), ("${A:?why}", "given"), ("${A}", "given")]
    {
        assert_eq!(substituted(text, "given"), expected);
    }
}
