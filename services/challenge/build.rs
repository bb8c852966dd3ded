//! Compiles the event services' `.proto` files in process, so that a build needs no protoc.

use std::path::Path;

const FILES: [&str; 2] =
    ["accelbyte/iam/account/v1/account.proto", "accelbyte/social/statistic/v1/statistic.proto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    for file in FILES {
        println!("cargo::rerun-if-changed={}", root.join(file).display());
    }
    let descriptors = protox::compile(FILES, [&root])?;
    tonic_prost_build::configure().build_transport(false).compile_fds(descriptors)?;
    Ok(())
}
