//! A server in this process, samples, and the files of a sink.

use std::path::Path;

use gateway::server::{Running, start};
use gateway::settings::Settings;
use hyper::StatusCode;
use kit::env::Env;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::http::Client;

/// Any free ports, and no limit on connections by delay: on a machine that builds and tests at once, runnable tasks wait because of
/// other processes.
pub(crate) const PORTS: [(&str, &str); 3] =
    [("WAIT_TARGET_MS", "0"), ("HTTP_PORT", "0"), ("ADMIN_PORT", "0")];

/// A server in this process on ports of its own.
pub(crate) struct Server {
    pub(crate) running: Running,
}

impl Server {
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        let settings =
            Settings::read(&Env::from_pairs(PORTS.into_iter().chain(settings.iter().copied()))).unwrap();
        Self { running: start(&settings).await.unwrap() }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.running.addresses.http)
    }

    pub(crate) fn admin(&self) -> Client {
        Client::new(self.running.addresses.admin)
    }
}

pub(crate) async fn send(client: Client, sample: &Value) -> (StatusCode, Value) {
    client.post("/telemetry", sample).await
}

/// A sample of a device, distinguished from its others by the value.
pub(crate) fn sample(device: &str, value: f64, priority: &str) -> Value {
    json!({
        "device_id": device, "type": "temperature", "value": value, "unit": "C", "priority": priority,
        "timestamp": "2026-01-01T00:00:00.123Z", "metadata": { "location": "hall 1", "firmware_version": "1.2.3" },
    })
}

/// A folder with a file for the sink.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path in it, as text.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// Tasks in the file of the sink.
    pub(crate) fn tasks(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join("tasks")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
