//! Compiles the `.proto` files in process, so that a build needs no protoc, and writes their descriptors for reflection.

use std::path::Path;

const EVENTS: [&str; 2] =
    ["accelbyte/iam/account/v1/account.proto", "accelbyte/social/statistic/v1/statistic.proto"];
const PLAYERS: [&str; 1] = ["service.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    for (files, descriptors) in [(&EVENTS[..], "events.bin"), (&PLAYERS, "players.bin")] {
        compile(files, &Path::new(&out).join(descriptors))?;
    }
    Ok(())
}

fn compile(files: &[&str], descriptors: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    for file in files {
        println!("cargo::rerun-if-changed={}", root.join(file).display());
    }
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true).include_source_info(true).open_files(files)?;
    std::fs::write(descriptors, compiler.encode_file_descriptor_set())?;
    let set = compiler.file_descriptor_set();
    tonic_prost_build::configure().build_transport(false).compile_fds(set)?;
    Ok(())
}
