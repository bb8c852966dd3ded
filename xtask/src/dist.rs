//! What is shipped: release binaries without symbols, each with its bill of materials, and the digests of all files.

mod materials;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::steps;
use crate::workspace::Workspace;

/// What the verb is for.
pub(crate) const ABOUT: &str =
    "release binaries with their bills of materials (CycloneDX) and SHA-256 digests";
/// What the verb takes.
pub(crate) const USAGE: &str = "[NAME…]";

/// Every binary that is shipped; its package has the same name.
const BINARIES: [&str; 4] = ["plimsoll", "challenge", "gateway", "listings"];
const FOLDER: &str = "dist";
const DIGESTS: &str = "SHA256SUMS";

/// Builds the named binaries, or all of them, into `target/dist`.
///
/// # Errors
/// When there is no such binary, or a build fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.iter().find(|name| !BINARIES.contains(&name.as_str())) {
        bail!("there is no binary `{unknown}`; there are {}", BINARIES.join(", "));
    }
    let is_chosen = |name: &&str| arguments.is_empty() || arguments.iter().any(|chosen| chosen == name);
    let chosen: Vec<&str> = BINARIES.into_iter().filter(is_chosen).collect();
    let folder = workspace.scratch(FOLDER)?;
    let mut digests = String::new();
    for name in chosen {
        steps::step(&format!("dist: {name}"), || {
            ship_binary(workspace, name, &folder.join(name))?;
            let bill = bill_of_materials(workspace, name)?;
            write(&folder.join(materials::file_name(name)), &bill)
        })?;
        for file in [name.to_owned(), materials::file_name(name)] {
            let bytes = fs::read(folder.join(&file)).with_context(|| format!("cannot read {file}"))?;
            digests.push_str(&format!("{}  {file}\n", hex(&Sha256::digest(bytes))));
        }
    }
    write(&folder.join(DIGESTS), &digests)?;
    print!("{digests}");
    println!("dist: in {}", folder.display());
    Ok(())
}

fn ship_binary(workspace: &Workspace, name: &str, to: &Path) -> Result<()> {
    let mut build = workspace.cargo();
    build.args([
        "build",
        "--locked",
        "--release",
        "--package",
        name,
        "--message-format",
        "json-render-diagnostics",
    ]);
    let output = build.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo build ended with {}", output.status);
    let built = executable(&String::from_utf8_lossy(&output.stdout), name)
        .with_context(|| format!("cargo built no binary `{name}`"))?;
    let mut install = Command::new("install");
    install.args(["--strip", "--mode=755"]).arg(&built).arg(to);
    steps::run(install)
}

/// The path of a binary in cargo's messages.
fn executable(messages: &str, name: &str) -> Option<String> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == "bin";
        is_it.then(|| message["executable"].as_str().map(str::to_owned)).flatten()
    })
}

/// Of what is compiled into the binary or runs while it is built.
fn bill_of_materials(workspace: &Workspace, name: &str) -> Result<String> {
    let mut tree = workspace.cargo();
    tree.args(["tree", "--locked", "--package", name, "--edges", "normal,build", "--prefix", "depth"]);
    tree.args(["--format", materials::FORMAT]);
    let output = tree.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo tree ended with {}", output.status);
    let lock = fs::read_to_string(workspace.root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    materials::cyclonedx(&String::from_utf8_lossy(&output.stdout), &lock)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_among_the_messages_of_cargo() {
        let messages = concat!(
            "{\"target\":{\"name\":\"gateway\",\"kind\":[\"lib\"]},\"executable\":null}\n",
            "{\"target\":{\"name\":\"gateway\",\"kind\":[\"bin\"]},\"executable\":\"/t/release/gateway\"}\n",
            "{\"reason\":\"build-finished\"}\n"
        );
        assert_eq!(executable(messages, "gateway").as_deref(), Some("/t/release/gateway"));
        assert_eq!(executable(messages, "plimsoll"), None);
    }

    #[test]
    fn the_bill_of_this_tree_has_every_package_with_its_licence_and_digest() {
        let workspace = Workspace::find().expect("tests run in the workspace");
        let bill = bill_of_materials(&workspace, "plimsoll").expect("cargo can list it");
        let bill: serde_json::Value = serde_json::from_str(&bill).expect("it is JSON");
        let components = bill["components"].as_array().expect("a list");
        let named = |name: &str| components.iter().find(|component| component["name"] == name);
        assert!(named("rusqlite").is_some() && named("engine").is_some() && named("tonic").is_none());
        for component in components {
            assert!(component["licenses"][0]["expression"].is_string(), "{component}");
            let is_foreign = component["purl"].is_string();
            assert_eq!(component["hashes"][0]["content"].is_string(), is_foreign, "{component}");
        }
    }
}
