//! What is written into a run file before the load begins.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use evidence::Manifest;
use evidence::manifest::SCHEMA_VERSION;
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
    /// What servers report about themselves, by target.
    pub(crate) servers: &'a Identities,
    /// 0 where no load is offered.
    pub(crate) loops: u16,
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
    let RunDescription { workload, servers, loops } = *run;
    let resolved = serde_json::to_value(workload).map_err(Failure::own)?;
    Ok(UndatedManifest(Manifest {
        schema_version: SCHEMA_VERSION,
        name: workload.name.clone(),
        workload_digest: sha256_hex(resolved.to_string().as_bytes()),
        workload: resolved,
        seed: workload.seed,
        started_at: String::new(),
        targets: (workload.targets.iter())
            .map(|(name, target)| {
                (name.clone(), identity(target, servers.get(name).cloned().unwrap_or_default()))
            })
            .collect(),
        environment: observe::environment(),
        generator: generator(loops),
        source: None,
    }))
}

fn identity(
    target: &workload::model::Target,
    mut identity: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    if let Some(http) = &target.http {
        identity.insert("http".to_owned(), format!("{}:{}{}", http.host, http.port, http.base_path));
    }
    if let Some(grpc) = &target.grpc {
        identity.insert("grpc".to_owned(), format!("{}:{}", grpc.host, grpc.port));
    }
    if let Some(process) = &target.process {
        match observe::identify(watched(process)) {
            Ok(found) => {
                let program = found.get("pid").and_then(|pid| program_digest(pid));
                identity.extend(program.map(|digest| ("exe_sha256".to_owned(), digest)));
                identity.extend(found);
            }
            Err(error) => {
                identity.insert("process".to_owned(), format!("not found: {error}"));
            }
        }
    }
    identity
}

/// SHA-256 of the program that a process runs, so that runs against the same build can be recognised; none where it
/// may not be read, or is larger than any program.
fn program_digest(pid: &str) -> Option<String> {
    const LARGEST: u64 = 1 << 30;
    const PIECE: usize = 1 << 16;
    let file = std::fs::File::open(format!("/proc/{pid}/exe")).ok()?;
    if file.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let mut digest = Sha256::new();
    let mut reader = BufReader::with_capacity(PIECE, file);
    loop {
        let piece = reader.fill_buf().ok()?;
        if piece.is_empty() {
            break;
        }
        digest.update(piece);
        let read = piece.len();
        reader.consume(read);
    }
    Some(hexadecimal(&digest.finalize()))
}

/// The SHA-256 digest of `bytes` in hexadecimal digits.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
