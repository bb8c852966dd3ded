//! Compiles `proto/telemetry` in process, so that a build needs no protoc.

use std::path::Path;

const FILE: &str = "telemetry/telemetry.proto";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.join(FILE).display());
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_source_info(true).open_files([FILE])?;
    let set = compiler.file_descriptor_set();
    tonic_prost_build::configure().build_client(false).build_server(false).compile_fds(set)?;
    Ok(())
}
