//! The files in `deploy/`, compared with the service.

mod compose;
mod kubernetes;
mod proxy;
mod tls;

use std::collections::BTreeMap;
use std::path::Path;

use challenge::role::Role;
use challenge::settings::{Settings, SettingsError};
use kit::env::Env;
use peers::document::sources;
use serde_json::Value;
use testkit::process::assert_command;
use testkit::yaml;

use crate::process::BINARY;

/// The longest time that the last commits may take after the drain.
const LAST_COMMITS_S: u64 = 10;

/// The environment of one container.
type Variables = BTreeMap<String, String>;

/// The settings from a container's environment, with the test identity header on and everyone trusted.
fn settings(variables: &Variables, role: Role) -> Settings {
    let mut variables = variables.clone();
    variables.insert("TEST_IDENTITY_HEADER".to_owned(), "on".to_owned());
    variables.insert("AUTH".to_owned(), "off".to_owned());
    read(&variables, role).unwrap()
}

/// The settings from a container's environment alone.
fn read(variables: &Variables, role: Role) -> Result<Settings, SettingsError> {
    let pairs = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    Settings::read(&Env::from_pairs(pairs), role)
}

/// The role of a container's command, which the binary has.
fn role(command: &Value) -> Role {
    let name = command[0].as_str().unwrap();
    assert_command(BINARY, name);
    match name {
        "api" => Role::Api,
        "events" => Role::Events,
        other => panic!("`{other}` does not serve"),
    }
}

/// Each variable is read by the service and documented.
fn assert_known(names: impl IntoIterator<Item = String>) {
    let services = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources = ["challenge/src", "kit/src"].map(|folder| sources(&services.join(folder)).unwrap());
    let sources: String = sources.into_iter().flatten().map(|(_, text)| text).collect();
    let documentation = include_str!("../../../../docs/challenge.md");
    for name in names {
        // The library that finds the system's authorities reads this one.
        let is_read = name == "SSL_CERT_FILE" || sources.contains(&format!("\"{name}\""));
        assert!(is_read, "nothing reads {name}");
        assert!(documentation.contains(&format!("`{name}`")), "{name} is not documented");
    }
}

/// Whether a variable's value must stay out of files.
fn is_secret(name: &str) -> bool {
    ["PASSWORD", "SECRET", "TOKEN"].iter().any(|word| name.contains(word))
}

#[test]
fn the_image_exposes_every_port_and_starts_an_existing_command() {
    let text = yaml::text("Containerfile");
    let after = |word: &str| text.lines().find_map(|line| line.strip_prefix(word)).unwrap().trim();
    let exposed: Vec<u16> = after("EXPOSE").split(' ').map(|port| port.parse().unwrap()).collect();
    let ports = settings(&Variables::new(), Role::All).ports;
    for port in [ports.http, ports.grpc, ports.events, ports.admin] {
        assert!(exposed.contains(&port.port()), "{port}");
    }
    assert_command(BINARY, after("CMD").trim_matches(['[', ']', '"']));
    assert!(after("HEALTHCHECK").ends_with("CMD [\"/challenge\", \"health\"]"));
    assert_command(BINARY, "health");
    assert!(after("USER").starts_with("65532"));
}
