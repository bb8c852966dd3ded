//! The compose files that add TLS: nothing is published but the proxy's port, and every connection is verified.

use serde_json::{Value, json};

use testkit::yaml;

use super::{Variables, assert_known};

/// A compose file, the file that adds TLS to it, the services behind the proxy, and its configuration.
struct Addition {
    base: &'static str,
    tls: &'static str,
    proxy: &'static str,
    replicas: &'static [&'static str],
    /// Their ports for operators.
    operators: &'static [&'static str],
}

const ADDITIONS: [Addition; 3] = [
    Addition {
        base: "compose.yaml",
        tls: "tls.compose.yaml",
        proxy: "proxy/challenge.conf",
        replicas: &["api", "api-two", "events", "events-two"],
        operators: &["8080", "8081"],
    },
    Addition {
        base: "listings.compose.yaml",
        tls: "listings.tls.compose.yaml",
        proxy: "proxy/listings.conf",
        replicas: &["first", "second"],
        operators: &["9093"],
    },
    Addition {
        base: "gateway/compose.yaml",
        tls: "gateway/tls.compose.yaml",
        proxy: "proxy/gateway.conf",
        replicas: &["one", "two"],
        operators: &["8081"],
    },
];

fn services(file: &str) -> Value {
    yaml::documents(file).remove(0)["services"].take()
}

fn environment(service: &Value) -> Variables {
    let pairs = service["environment"].as_object().unwrap().iter();
    pairs.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// What trusts its network is for this machine: the operators' ports of the files without TLS. A service is started
/// without credentials by an explicit setting alone.
#[test]
fn operators_ports_are_local_and_no_file_switches_verification_off() {
    for addition in ADDITIONS {
        let base = services(addition.base);
        for name in addition.replicas {
            let ports = base[name]["ports"].as_array().unwrap().iter();
            let ports = ports.map(|port| port.as_str().unwrap().rsplit_once(':').unwrap());
            let (operators, others): (Vec<_>, Vec<_>) =
                ports.partition(|(_, container)| addition.operators.contains(container));
            assert!(!others.is_empty(), "{name}");
            assert_eq!(operators.len(), 1, "{name}");
            assert!(operators[0].0.starts_with("127.0.0.1:"), "{name}");
            let environment = environment(&base[name]);
            let variable = |name: &str| environment.get(name).map(String::as_str);
            assert!(matches!(variable("AUTH"), None | Some("${AUTH:-on}")), "{name}");
            let header = variable("TEST_IDENTITY_HEADER");
            assert!(matches!(header, None | Some("${TEST_IDENTITY_HEADER:-off}")), "{name}");
            assert_eq!(variable("AUTH_ENABLED"), None, "{name}");
        }
    }
}

/// Where each file of a container comes from.
fn mounted(service: &Value) -> Vec<String> {
    let volumes = service["volumes"].as_array().unwrap().iter();
    volumes.map(|volume| volume.as_str().unwrap().rsplit(':').nth(1).unwrap().to_owned()).collect()
}

#[test]
fn only_the_proxy_is_published() {
    for addition in ADDITIONS {
        let (base, tls) = (services(addition.base), services(addition.tls));
        for (name, service) in base.as_object().unwrap() {
            let is_published = !service["ports"].is_null();
            assert_eq!(is_published, addition.replicas.contains(&name.as_str()), "{name}");
            if is_published {
                assert_eq!(tls[name]["ports"], json!([]), "{name}");
            }
        }
        // A tag makes compose replace the list instead of adding to it.
        let text = yaml::text(addition.tls);
        assert_eq!(text.matches("ports: !reset []").count(), addition.replicas.len());
        assert_eq!(tls["proxy"]["ports"], json!(["443:8443"]));
    }
}

#[test]
fn every_connection_behind_the_proxy_is_verified() {
    for addition in ADDITIONS {
        let (base, tls) = (services(addition.base), services(addition.tls));
        for name in addition.replicas {
            let (before, added) = (environment(&base[name]), environment(&tls[name]));
            if before.contains_key("DB_HOST") {
                assert_eq!(added["DB_SSLMODE"], "verify-full", "{name}");
            }
            if let Some(url) = before.get("REDIS_URL") {
                assert_eq!(added["REDIS_URL"], url.replacen("redis://", "rediss://", 1), "{name}");
            }
            assert_eq!(mounted(&tls[name]), [added["SSL_CERT_FILE"].clone()], "{name}");
        }
    }
    assert_known(environment(&services("tls.compose.yaml")["api"]).into_keys());
}

/// The settings of the server that the file replaces are kept.
#[test]
fn servers_keep_their_settings_and_have_no_port_in_clear_text() {
    for addition in ADDITIONS {
        let (base, tls) = (services(addition.base), services(addition.tls));
        for name in ["postgres", "redis"].into_iter().filter(|name| !base[*name].is_null()) {
            let words = |service: &Value| -> Vec<String> {
                let words = service["command"].as_array().unwrap().iter();
                words.map(|word| word.as_str().unwrap().to_owned()).collect()
            };
            let (before, after) = (words(&base[name]), words(&tls[name]));
            assert_eq!(after[..before.len()], before, "{name}");
            let added = after[before.len()..].join(" ");
            let expected = if name == "redis" { "--port 0 --tls-port 6379" } else { "-c ssl=on" };
            assert!(added.starts_with(expected), "{added}");
            let mounted = mounted(&tls[name]);
            let files = after.iter().filter_map(|word| word.find("/etc/tls/").map(|at| &word[at..]));
            assert!(
                files.clone().count() >= 2
                    && files.into_iter().all(|file| mounted.contains(&file.to_owned()))
            );
        }
    }
}

#[test]
fn the_proxy_has_every_file_that_it_reads_and_names_every_replica() {
    for addition in ADDITIONS {
        let proxy = services(addition.tls)["proxy"].take();
        let configuration = yaml::text(addition.proxy);
        let mounted = mounted(&proxy);
        for file in
            configuration.split(['"', ' ', ';', ',', '\n']).filter(|word| word.starts_with("/etc/tls/"))
        {
            assert!(mounted.contains(&file.to_owned()), "{file}");
        }
        assert!(mounted.contains(&"/etc/nginx/nginx.conf".to_owned()));
        let dependencies = proxy["depends_on"].as_array().unwrap();
        assert!(dependencies.len() >= 2);
        for replica in dependencies {
            assert!(configuration.contains(&format!("server {}:", replica.as_str().unwrap())), "{replica}");
        }
        assert_eq!((&proxy["read_only"], &proxy["cap_drop"][0]), (&true.into(), &"ALL".into()));
    }
}
