//! The standard gRPC health service, described here so that no server needs reflection for it.

use std::io;
use std::path::Path;

use conduct::plan::Disk;
use workload::Files;

/// The method.
pub(crate) const CHECK: &str = "grpc.health.v1.Health/Check";
/// The answer of a server that is ready.
pub(crate) const SERVING: &str = "SERVING";
/// The virtual file that describes it.
pub(crate) const FILE: &str = "grpc/health/v1/health.proto";

const TEXT: &str = r#"syntax = "proto3";
package grpc.health.v1;
service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }
message HealthCheckRequest { string service = 1; }
message HealthCheckResponse {
  enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
  ServingStatus status = 1;
}
"#;

/// This machine's files, and the virtual one.
pub(crate) struct WithHealth;

impl Files for WithHealth {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.ends_with(FILE) {
            true => Ok(TEXT.as_bytes().to_vec()),
            false => Disk.read(path),
        }
    }
}
