//! The files of `deploy/gateway`, compared with the gateway's settings and commands.

use gateway::settings::{DurabilityOptions, Settings};
use gateway::sink::SinkOptions;
use kit::env::Env;
use serde_json::{Value, json};
use testkit::process::assert_command;
use testkit::yaml;

use crate::process::BINARY;

fn settings(service: &Value) -> Settings {
    let variables = service["environment"].as_object().unwrap().iter();
    let pairs: Vec<_> = variables.map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    let documentation = include_str!("../../../../docs/gateway.md");
    for (name, _) in &pairs {
        assert!(documentation.contains(&format!("`{name}`")), "{name} is not documented");
    }
    // What is not given a value here is given one by the caller.
    let given = [("AUTH_JWKS_URL", "https://issuer.test/keys"), ("AUTH_ISSUER", "i")];
    Settings::read(&Env::from_pairs(pairs.into_iter().chain(given))).unwrap()
}

#[test]
fn the_image_exposes_every_port_and_starts_an_existing_command() {
    let text = yaml::text("gateway/Containerfile");
    let instruction = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    let variables = text.lines().filter_map(|line| line.strip_prefix("ENV ")?.split_once('='));
    assert!(
        Settings::read(&Env::from_pairs(variables.clone())).is_err(),
        "without credentials it does not start"
    );
    let variables = variables.chain([("AUTH", "off")]);
    let Settings { ports, durability, sink, .. } = Settings::read(&Env::from_pairs(variables)).unwrap();
    let volume = instruction("VOLUME");
    assert!(matches!(durability, DurabilityOptions::Disk(journal) if journal.folder.starts_with(volume)));
    assert!(matches!(sink, SinkOptions::File(path) if path.starts_with(volume)));
    assert_eq!(instruction("EXPOSE"), format!("{} {}", ports.http.port(), ports.admin.port()));
    assert_command(BINARY, instruction("CMD").trim_matches(['[', ']', '"']));
    assert!(instruction("HEALTHCHECK").ends_with("CMD [\"/gateway\", \"health\"]"));
    assert_command(BINARY, "health");
    assert!(instruction("USER").starts_with("65532"));
}

#[test]
fn compose_starts_two_gateways_that_share_redis_and_no_disk() {
    let compose = yaml::documents("gateway/compose.yaml").remove(0);
    let mut disks = Vec::new();
    for name in ["one", "two"] {
        let service = &compose["services"][name];
        let settings = settings(service);
        assert!(settings.ports.http.ip().is_unspecified() && settings.tokens.is_some());
        assert!(service["environment"]["AUTH_JWKS_URL"].as_str().unwrap().starts_with("${AUTH_JWKS_URL:?"));
        assert!(matches!(&settings.sink, SinkOptions::Redis(list) if list.key == "telemetry:tasks"));
        let volume = service["volumes"][0].as_str().unwrap();
        let (disk, at) = volume.split_once(':').unwrap();
        assert!(
            matches!(&settings.durability, DurabilityOptions::Disk(journal) if journal.folder.to_str() == Some(at))
        );
        disks.push(disk.to_owned());
        let inside: Vec<&str> = service["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|port| port.as_str().unwrap().rsplit(':').next().unwrap())
            .collect();
        assert_eq!(inside, [settings.ports.http.port().to_string(), settings.ports.admin.port().to_string()]);
        assert!(
            service["ports"][1].as_str().unwrap().starts_with("127.0.0.1:"),
            "operators' ports are local"
        );
        let grace = service["stop_grace_period"].as_str().unwrap().strip_suffix('s').unwrap();
        assert!(grace.parse::<u64>().unwrap() > 2 * settings.drain.as_secs());
        assert_eq!(service["healthcheck"]["test"], json!(["CMD", "/gateway", "health"]));
        assert_eq!((&service["read_only"], &service["cap_drop"][0]), (&true.into(), &"ALL".into()));
        assert_command(BINARY, service["command"][0].as_str().unwrap());
    }
    assert_ne!(disks[0], disks[1]);
}
