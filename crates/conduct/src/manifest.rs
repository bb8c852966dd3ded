//! What is written into a run file before the load begins.

use std::collections::BTreeMap;

use evidence::Manifest;
use evidence::manifest::{SCHEMA_VERSION, Worker};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use workload::Workload;
use workload::model::ProcessRef;

use crate::clock::rfc3339;
use crate::failure::{CommandResult, Failure};

/// What is known about each target, by name.
pub(crate) type Identities = BTreeMap<String, BTreeMap<String, String>>;

/// What a manifest is made of.
pub(crate) struct RunDescription<'a> {
    /// The workload without secrets.
    pub(crate) workload: &'a Workload,
    /// What answers at each target.
    pub(crate) identities: &'a Identities,
    /// 0 where no load is offered.
    pub(crate) loops: u16,
    /// The processes that offer the load, where those are others.
    pub(crate) workers: &'a [Worker],
}

/// The manifest of a run that has no clock yet. To identify targets takes time, which must not be the run's.
pub(crate) struct UndatedManifest(Manifest);

impl UndatedManifest {
    /// The manifest of the run that begins at this time.
    pub(crate) fn dated(self, epoch: Timestamp) -> Manifest {
        Manifest { started_at: rfc3339(epoch), ..self.0 }
    }
}

/// The manifest of a run but for its time.
pub(crate) fn manifest(run: &RunDescription<'_>) -> CommandResult<UndatedManifest> {
    let RunDescription { workload, identities, loops, workers } = *run;
    let resolved = serde_json::to_value(workload).map_err(Failure::own)?;
    let digest = sha256_hex(resolved.to_string().as_bytes());
    Ok(UndatedManifest(Manifest {
        schema_version: SCHEMA_VERSION,
        name: workload.name.clone(),
        workload_digest: digest,
        workload: resolved,
        seed: workload.seed,
        started_at: String::new(),
        targets: (workload.targets.iter())
            .map(|(name, target)| {
                (name.clone(), with_addresses(target, identities.get(name).cloned().unwrap_or_default()))
            })
            .collect(),
        environment: observe::environment(),
        generator: generator(loops),
        source: None,
        workers: workers.to_vec(),
    }))
}

/// The digest of a workload without secrets.
#[cfg(feature = "full")]
pub(crate) fn workload_digest(workload: &Workload) -> CommandResult<String> {
    let resolved = serde_json::to_value(workload).map_err(Failure::own)?;
    Ok(sha256_hex(resolved.to_string().as_bytes()))
}

fn with_addresses(
    target: &workload::model::Target,
    mut identity: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    if let Some(http) = &target.http {
        identity.insert("http".to_owned(), format!("{}:{}{}", http.host, http.port, http.base_path));
    }
    if let Some(grpc) = &target.grpc {
        identity.insert("grpc".to_owned(), format!("{}:{}", grpc.host, grpc.port));
    }
    identity
}

/// The SHA-256 digest of `bytes` in hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A process as the observers name it.
pub(crate) fn watched(process: &ProcessRef) -> observe::ProcessRef {
    match process {
        ProcessRef::Pid(pid) => observe::ProcessRef::Pid(*pid),
        ProcessRef::Port(port) => observe::ProcessRef::Port(*port),
    }
}

fn generator(loops: u16) -> BTreeMap<String, String> {
    let open_files = observe::limits();
    BTreeMap::from([
        ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("loops".to_owned(), loops.to_string()),
        (
            "open_files_soft".to_owned(),
            open_files.soft.map_or_else(|| "unlimited".to_owned(), |n| n.to_string()),
        ),
        ("pid".to_owned(), std::process::id().to_string()),
    ])
}
