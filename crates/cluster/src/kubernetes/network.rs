//! Who the pods of a run may talk to: each other, the name servers, and what the plan reaches.

use std::net::IpAddr;

use serde_json::{Value, json};
use workload::address::authority_of;
use workload::observation::filled_address;
use workload::{LoadedPlan, ReadyProbe};

use super::{RUN_LABEL, WORKER_PORT};

/// The label that every namespace has, with its name.
const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";

/// A server that the plan names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reached {
    /// A name or an address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Reached {
    /// The servers of the plan's targets, and those by which they are observed.
    pub fn all_of(plan: &LoadedPlan) -> Vec<Reached> {
        let mut all = Vec::new();
        let mut add = |server: Option<Reached>| all.extend(server);
        let of = |(host, port)| Reached { host, port };
        for target in plan.workload.targets.values() {
            add(target.http.as_ref().map(|http| of((http.host.clone(), http.port))));
            add(target.grpc.as_ref().map(|grpc| of((grpc.host.clone(), grpc.port))));
            match target.wait_ready.as_ref().map(|ready| &ready.probe) {
                Some(ReadyProbe::Url(url)) => add(Reached::of_url(url)),
                Some(ReadyProbe::GrpcHealth { authority, .. }) => {
                    add(authority_of(authority, None).ok().map(of))
                }
                None => {}
            }
            target.observe.urls().for_each(|url| add(Reached::of_url(&filled_address(url, &plan.env))));
        }
        all
    }

    /// The host and port of a URL of any scheme that a plan knows.
    pub fn of_url(url: &str) -> Option<Reached> {
        let (scheme, rest) = url.split_once("://")?;
        let default = match scheme {
            "http" => 80,
            "https" => 443,
            "redis" | "rediss" => 6379,
            _ => 5432,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let (_, server) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (host, port) = authority_of(server, Some(default)).ok()?;
        Some(Reached { host, port })
    }
}

/// The rules of a run with this name: nothing comes in but the coordinator, and out goes only what is listed, where there is a list.
pub(super) fn policy_spec(run: &str, reached: Option<&[Reached]>) -> Value {
    let pods = json!({"podSelector": {"matchLabels": {RUN_LABEL: run}}});
    let worker = json!([{"protocol": "TCP", "port": WORKER_PORT}]);
    let names = json!([{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]);
    let mut egress = vec![json!({"to": [pods], "ports": worker}), json!({"ports": names})];
    if reached.is_none() {
        egress.push(json!({}));
    }
    let mut targets: Vec<&Reached> = reached.unwrap_or_default().iter().collect();
    targets.sort();
    targets.dedup();
    for rule in targets.into_iter().flat_map(egress_to) {
        if !egress.contains(&rule) {
            egress.push(rule);
        }
    }
    json!({
        "podSelector": {"matchLabels": {RUN_LABEL: run}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [pods], "ports": worker}],
        "egress": egress,
    })
}

/// A policy sees the port of the pod behind a Service, which is not that of the Service: to servers of the cluster every
/// port is open, to others the one that is named.
fn egress_to(reached: &Reached) -> Vec<Value> {
    let ports = json!([{"protocol": "TCP", "port": reached.port}]);
    let host = reached.host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        // The address of a Service is another than that of its pods too.
        let own = json!({"to": [{"ipBlock": {"cidr": format!("{address}/{bits}")}}], "ports": ports});
        return vec![own];
    }
    let labels: Vec<&str> = host.split('.').collect();
    let namespace =
        |name: &str| json!({"to": [{"namespaceSelector": {"matchLabels": {NAMESPACE_LABEL: name}}}]});
    match labels.as_slice() {
        [_] => vec![json!({"to": [{"podSelector": {}}]})],
        [_, name, "svc", ..] | [_, _, name, "svc", ..] => {
            vec![namespace(name)]
        }
        // A Service of another namespace, or a name of the Internet.
        [_, name] => vec![namespace(name), json!({"ports": ports})],
        _ => vec![json!({"ports": ports})],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_from_urls_of_any_scheme() {
        for (url, server) in [
            ("http://api/v1", Some(("api", 80))),
            ("https://api.example.com:8443/?a=b", Some(("api.example.com", 8443))),
            ("postgresql://me:p@db.shop.svc/x", Some(("db.shop.svc", 5432))),
            ("redis://[::1]", Some(("::1", 6379))),
            ("host=db user=me", None),
        ] {
            let server = server.map(|(host, port)| Reached { host: host.to_owned(), port });
            assert_eq!(Reached::of_url(url), server, "{url}");
        }
    }

    fn rules(host: &str) -> String {
        let rules = egress_to(&Reached { host: host.to_owned(), port: 8000 });
        Value::from(rules).to_string()
    }

    #[test]
    fn servers_of_the_cluster_are_reached_at_any_port_and_others_at_theirs() {
        let port = r#""ports":[{"port":8000,"protocol":"TCP"}]"#;
        let shop = r#"{"to":[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]}"#;
        assert_eq!(rules("api"), r#"[{"to":[{"podSelector":{}}]}]"#);
        for host in ["api.shop.svc", "api.shop.svc.cluster.local", "api-0.api.shop.svc", "API.shop.svc."] {
            assert_eq!(rules(host), format!("[{shop}]"), "{host}");
        }
        assert_eq!(rules("api.shop"), format!("[{shop},{{{port}}}]"));
        assert_eq!(rules("api.example.com"), format!("[{{{port}}}]"));
        assert_eq!(
            rules("10.1.2.3"),
            format!(r#"[{{{port},"to":[{{"ipBlock":{{"cidr":"10.1.2.3/32"}}}}]}}]"#)
        );
        assert_eq!(
            rules("fd00::1"),
            format!(r#"[{{{port},"to":[{{"ipBlock":{{"cidr":"fd00::1/128"}}}}]}}]"#)
        );
    }
}
