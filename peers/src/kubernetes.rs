//! Kubernetes: the module that its programs are built from, and the schema of its API, which is part of it.

use std::path::{Path, PathBuf};

use crate::error::PeerError;
use crate::go::Toolchain;

/// The module with the programs of a node and their versions.
pub const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kubernetes");
/// The module with the programs' sources.
const SOURCES: &str = "k8s.io/kubernetes";

/// The schema of its API, as OpenAPI 2: a file of the sources, fetched with them once.
///
/// # Errors
/// When there is no Go, or the sources are neither here nor can be fetched.
pub fn api_schema() -> Result<PathBuf, PeerError> {
    let folder = Toolchain::find()?.module(Path::new(MODULE), SOURCES)?;
    Ok(folder.join("api/openapi-spec/swagger.json"))
}
