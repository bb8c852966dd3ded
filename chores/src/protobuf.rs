//! The code and the descriptors that services have of `proto/`. They are committed, so that a build compiles neither a
//! protobuf compiler nor a generator; a test compares them with what the definitions give now.

mod listings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use xtask::workspace::Workspace;

/// Generated files by their paths in the tree.
type Generated = BTreeMap<PathBuf, Vec<u8>>;

/// Generates all files and writes them.
///
/// # Errors
/// When a definition cannot be compiled or a file not be written.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    for (path, content) in generated(workspace.root())? {
        let path = workspace.root().join(path);
        std::fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The files of all services.
fn generated(root: &Path) -> Result<Generated> {
    let proto = root.join("proto");
    let mut files = Generated::new();
    challenge(&proto, &mut files).context("challenge")?;
    gateway(&proto, &mut files).context("gateway")?;
    listings::generate(&proto, &mut files).context("listings")?;
    Ok(files)
}

fn challenge(proto: &Path, files: &mut Generated) -> Result<()> {
    let events = ["accelbyte/iam/account/v1/account.proto", "accelbyte/social/statistic/v1/statistic.proto"];
    for (definitions, descriptors) in [(&events[..], "events.bin"), (&["service.proto"], "players.bin")] {
        let mut compiler = protox::Compiler::new([proto])?;
        compiler.include_imports(true).include_source_info(true).open_files(definitions)?;
        files.insert(place("challenge", descriptors), compiler.encode_file_descriptor_set());
        let code = tonic_prost_build::configure().build_transport(false);
        add_code("challenge", code, compiler.file_descriptor_set(), files)?;
    }
    Ok(())
}

fn gateway(proto: &Path, files: &mut Generated) -> Result<()> {
    let mut compiler = protox::Compiler::new([proto])?;
    compiler.include_source_info(true).open_files(["telemetry/telemetry.proto"])?;
    let code = tonic_prost_build::configure().build_client(false).build_server(false);
    add_code("gateway", code, compiler.file_descriptor_set(), files)
}

/// Adds the code of each package, in a file of the package's name.
fn add_code(
    service: &str,
    code: tonic_prost_build::Builder,
    set: prost_types::FileDescriptorSet,
    files: &mut Generated,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    code.out_dir(folder.path()).compile_fds(set)?;
    for entry in std::fs::read_dir(folder.path())? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("packages have ASCII names")?;
        files.insert(place(service, name), std::fs::read(entry.path())?);
    }
    Ok(())
}

fn place(service: &str, name: &str) -> PathBuf {
    Path::new("services").join(service).join("src/proto").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_files_are_those_that_the_definitions_give() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the root");
        let generated = generated(root).expect("the definitions are valid");
        let mut committed = Generated::new();
        for service in ["challenge", "gateway", "listings"] {
            let folder = place(service, "");
            for entry in std::fs::read_dir(root.join(&folder)).expect("each service has generated code") {
                let entry = entry.expect("a folder can be read");
                let content = std::fs::read(entry.path()).expect("a file can be read");
                committed.insert(folder.join(entry.file_name()), content);
            }
        }
        let names = |files: &Generated| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&committed), names(&generated));
        let stale = |path: &&PathBuf| committed[*path] != generated[*path];
        let stale: Vec<_> = generated.keys().filter(stale).collect();
        assert!(stale.is_empty(), "run `cargo xtask protobuf`: {stale:?} are not what proto/ gives");
    }
}
