//! `deploy/kubernetes/`.

use std::net::SocketAddr;

use serde_json::{Map, Value};
use testkit::yaml;

use super::{LAST_COMMITS_S, Variables, assert_known, is_secret, read, role, settings};
use crate::support::Server;

/// Connections that PostgreSQL keeps for its superuser.
const RESERVED: u64 = 3;
/// One for the maintenance task.
const OTHER_CONNECTIONS: u64 = 1;

/// Every object that a kustomization lists.
fn base() -> Vec<Value> {
    let kustomization = yaml::documents("kubernetes/base/kustomization.yaml").remove(0);
    let files = kustomization["resources"].as_array().unwrap();
    files
        .iter()
        .flat_map(|file| yaml::documents(&format!("kubernetes/base/{}", file.as_str().unwrap())))
        .collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn container(deployment: &Value) -> &Value {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    &containers[0]
}

/// The container's environment: its ConfigMaps, and a placeholder for each secret.
fn variables(objects: &[Value], deployment: &Value) -> Variables {
    let container = container(deployment);
    let secrets = container["env"].as_array().unwrap().iter().map(|entry| {
        assert!(entry["valueFrom"]["secretKeyRef"]["name"].is_string(), "{entry}");
        (entry["name"].as_str().unwrap().to_owned(), "secret".to_owned())
    });
    let configs = container["envFrom"].as_array().unwrap().iter().map(|from| &from["configMapRef"]["name"]);
    configs.flat_map(|config| data(objects, config)).chain(secrets).collect()
}

/// The data of a ConfigMap; a later one of the same name adds to it.
fn data(objects: &[Value], config: &Value) -> Variables {
    let all = of_kind(objects, "ConfigMap").into_iter();
    let found: Vec<&Value> = all.filter(|one| one["metadata"]["name"] == *config).collect();
    assert!(!found.is_empty(), "there is no ConfigMap {config}");
    let pairs = found.iter().flat_map(|one| one["data"].as_object().unwrap());
    pairs.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

fn labels(at: &Value) -> &Map<String, Value> {
    at.as_object().unwrap()
}

/// Deployments whose pods a selector matches.
fn selected<'a>(objects: &'a [Value], selector: &Value) -> Vec<&'a str> {
    let matches = |deployment: &&&Value| {
        let pods = labels(&deployment["spec"]["template"]["metadata"]["labels"]);
        labels(selector).iter().all(|(name, value)| pods.get(name) == Some(value))
    };
    of_kind(objects, "Deployment").iter().filter(matches).map(|found| name(found)).collect()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

#[test]
fn deployments_are_limited_and_locked_down() {
    let objects = base();
    assert_eq!(of_kind(&objects, "Deployment").len(), 2);
    for deployment in of_kind(&objects, "Deployment") {
        let container = container(deployment);
        let one = serde_json::json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!((&container["resources"]["limits"], &container["resources"]["requests"]), (&one, &one));
        let security = &container["securityContext"];
        assert_eq!(security["readOnlyRootFilesystem"], true);
        assert_eq!(security["allowPrivilegeEscalation"], false);
        assert_eq!(security["capabilities"]["drop"][0], "ALL");
        assert_eq!(deployment["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"], true);
    }
}

#[test]
fn variables_are_read_and_secrets_are_references() {
    let objects = base();
    for deployment in of_kind(&objects, "Deployment") {
        assert_known(variables(&objects, deployment).into_keys());
    }
    for config in of_kind(&objects, "ConfigMap") {
        assert!(!config["data"].as_object().unwrap().keys().any(|name| is_secret(name)));
    }
    assert!(of_kind(&objects, "Secret").is_empty());
}

#[test]
fn ports_are_those_that_the_settings_open() {
    let objects = base();
    for deployment in of_kind(&objects, "Deployment") {
        let opened = settings(&variables(&objects, deployment), role(&container(deployment)["args"])).ports;
        let port = |name: &str| -> SocketAddr {
            match name {
                "http" => opened.http,
                "grpc" => opened.grpc,
                "events" => opened.events,
                "admin" => opened.admin,
                other => panic!("{other}"),
            }
        };
        for declared in container(deployment)["ports"].as_array().unwrap() {
            let opened = port(declared["name"].as_str().unwrap());
            assert_eq!(declared["containerPort"], opened.port());
            assert!(opened.ip().is_unspecified(), "only the pod itself would reach it");
        }
        let scraped = &deployment["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"];
        assert_eq!(*scraped, opened.admin.port().to_string());
    }
    let text = serde_json::to_string(&objects).unwrap();
    assert!(["hostPort", "hostNetwork", "nodePort", "Ingress\""].iter().all(|word| !text.contains(word)));
    for service in of_kind(&objects, "Service") {
        assert!(service["spec"]["type"].is_null(), "only the cluster reaches it");
        assert!(service["spec"]["ports"].as_array().unwrap().iter().all(|port| port["name"] != "admin"));
        let to = objects
            .iter()
            .find(|other| other["kind"] == "Deployment" && name(other) == name(service))
            .unwrap();
        for port in service["spec"]["ports"].as_array().unwrap() {
            let declared = container(to)["ports"].as_array().unwrap();
            let target = declared.iter().find(|other| other["name"] == port["targetPort"]).unwrap();
            assert_eq!(port["port"], target["containerPort"]);
        }
    }
}

#[test]
fn selectors_budgets_and_autoscalers_name_one_deployment_each() {
    let objects = base();
    for deployment in of_kind(&objects, "Deployment") {
        let only = [name(deployment)];
        assert_eq!(selected(&objects, &deployment["spec"]["selector"]["matchLabels"]), only);
        assert!(deployment["spec"]["replicas"].is_null(), "set by the autoscaler");
        let spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"].as_array().unwrap();
        assert!(spread.iter().all(|one| selected(&objects, &one["labelSelector"]["matchLabels"]) == only));
        let of = |kind: &str| {
            let found = of_kind(&objects, kind).into_iter().find(|other| name(other) == name(deployment));
            found.unwrap_or_else(|| panic!("no {kind}"))
        };
        assert_eq!(selected(&objects, &of("Service")["spec"]["selector"]), only);
        assert_eq!(selected(&objects, &of("PodDisruptionBudget")["spec"]["selector"]["matchLabels"]), only);
        let autoscaler = &of("HorizontalPodAutoscaler")["spec"];
        assert_eq!(autoscaler["scaleTargetRef"]["kind"], deployment["kind"]);
        assert_eq!(autoscaler["scaleTargetRef"]["name"], deployment["metadata"]["name"]);
        assert_eq!(autoscaler["scaleTargetRef"]["apiVersion"], deployment["apiVersion"]);
        assert_eq!(autoscaler["metrics"][0]["resource"]["name"], "cpu");
    }
}

#[test]
fn pods_have_time_to_drain() {
    let objects = base();
    for deployment in of_kind(&objects, "Deployment") {
        let pause = container(deployment)["lifecycle"]["preStop"]["sleep"]["seconds"].as_u64().unwrap();
        let drain =
            settings(&variables(&objects, deployment), role(&container(deployment)["args"])).drain.as_secs();
        let grace = deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace > pause + drain + LAST_COMMITS_S);
    }
}

/// The connections that `compose.yaml` configures suffice for the largest number of replicas, also during a rolling
/// update.
#[test]
fn postgresql_has_connections_for_the_largest_number_of_replicas() {
    let objects = base();
    let sum = |kind: &str, pointer: &str| -> u64 {
        of_kind(&objects, kind).iter().map(|one| one.pointer(pointer).unwrap().as_u64().unwrap()).sum()
    };
    let replicas = sum("HorizontalPodAutoscaler", "/spec/maxReplicas")
        + sum("Deployment", "/spec/strategy/rollingUpdate/maxSurge");
    let variables = variables(&objects, of_kind(&objects, "Deployment")[0]);
    let number = |name: &str| variables[name].parse::<u64>().unwrap();
    let each = number("DB_WRITERS") + number("DB_READERS") + OTHER_CONNECTIONS;
    let compose = yaml::text("compose.yaml");
    let granted = compose.split_once("max_connections=").unwrap().1;
    let granted: u64 = granted.lines().next().unwrap().parse().unwrap();
    assert!(replicas * each + RESERVED <= granted);
}

#[test]
fn the_example_patches_existing_objects_and_is_complete() {
    let objects = base();
    let overlay = yaml::documents("kubernetes/three-replicas/kustomization.yaml").remove(0);
    assert_eq!(overlay["resources"], serde_json::json!(["../base", "network-policy.yaml"]));
    let patches = overlay["patches"].as_array().unwrap();
    for patch in patches.iter().filter(|patch| patch["target"]["kind"] == "HorizontalPodAutoscaler") {
        let target = &patch["target"];
        let is_target = |one: &&Value| one["kind"] == target["kind"] && target["name"] == name(one);
        assert!(objects.iter().find(is_target).unwrap().pointer("/spec/minReplicas").is_some());
        assert!(patch["patch"].as_str().unwrap().contains("path: /spec/minReplicas\n  value: 3"));
    }
    let is_renamed = |one: &&Value| container(one)["image"] == overlay["images"][0]["name"];
    assert!(of_kind(&objects, "Deployment").iter().all(is_renamed));
    let file = format!("kubernetes/three-replicas/{}", patches[0]["path"].as_str().unwrap());
    let added = yaml::documents(&file);
    let exists = |one: &Value| of_kind(&objects, "ConfigMap").iter().any(|other| name(other) == name(one));
    assert!(added.iter().all(exists));
    let all = [objects.clone(), added].concat();
    let mount = patches.iter().find(|patch| patch["target"]["kind"] == "Deployment").unwrap();
    let folder = mount["patch"].as_str().unwrap().split_once("mountPath: ").unwrap().1;
    let folder = folder.lines().next().unwrap();
    for deployment in of_kind(&objects, "Deployment") {
        assert!(container(deployment)["volumeMounts"].is_null(), "the patch would replace it");
        let variables = variables(&all, deployment);
        assert_eq!(variables["DB_SSLMODE"], "verify-full");
        assert_eq!(variables["SSL_CERT_FILE"], format!("{folder}/authority.pem"));
        assert_known(variables.keys().cloned());
        let read = read(&variables, role(&container(deployment)["args"]));
        assert!(read.is_ok(), "{:?}", read.err());
    }
}

/// Every port of a pod has a rule, and only the operators' rule has the admin port.
#[test]
fn only_named_namespaces_connect_and_only_to_their_ports() {
    let objects = base();
    let policies = yaml::documents("kubernetes/three-replicas/network-policy.yaml");
    for deployment in of_kind(&objects, "Deployment") {
        let policy = policies.iter().find(|policy| name(policy) == name(deployment)).unwrap();
        assert_eq!(selected(&objects, &policy["spec"]["podSelector"]["matchLabels"]), [name(deployment)]);
        assert_eq!(policy["spec"]["policyTypes"], serde_json::json!(["Ingress"]));
        let mut admitted = Vec::new();
        for rule in policy["spec"]["ingress"].as_array().unwrap() {
            let [from] = rule["from"].as_array().unwrap().as_slice() else { panic!("one source: {rule}") };
            let namespace = &from["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"];
            for port in rule["ports"].as_array().unwrap() {
                assert_eq!(port["port"] == "admin", namespace == "monitoring", "{rule}");
                admitted.push(port["port"].clone());
            }
        }
        let declared = container(deployment)["ports"].as_array().unwrap();
        let declared: Vec<Value> = declared.iter().map(|port| port["name"].clone()).collect();
        assert_eq!(admitted, declared);
    }
}

#[tokio::test]
async fn the_admin_port_answers_every_probe() {
    let objects = base();
    let server = Server::start().await;
    let operator = server.admin();
    for deployment in of_kind(&objects, "Deployment") {
        let container = container(deployment);
        for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
            let get = &container[probe]["httpGet"];
            assert_eq!(get["port"], "admin", "{probe}");
            assert_eq!(operator.get(get["path"].as_str().unwrap()).await.0, 200, "{probe}");
        }
        let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations["prometheus.io/path"], "/metrics");
    }
    server.stop().await;
}
