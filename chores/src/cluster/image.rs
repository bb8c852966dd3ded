//! Images of programs as they were built: with the shared libraries that they load, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::dist::image::{ImageName, USER, archive};
use crate::dist::tree::FileTree;
use crate::steps;
use xtask::workspace::Workspace;

/// Pulled from nowhere: the images are imported.
const REGISTRY: &str = "localhost";
const TAG: &str = "cluster";

/// The image of a program, as manifests name it.
pub(super) fn reference(name: &str) -> String {
    format!("{REGISTRY}/{name}:{TAG}")
}

/// Archives of all images that the cluster runs.
pub(super) fn all(workspace: &Workspace, folder: &Path) -> Result<Vec<PathBuf>> {
    let pause = folder.join("pause");
    let mut compile = Command::new("cc");
    compile
        .args(["-static", "-Os", "-o"])
        .arg(&pause)
        .arg(Path::new(peers::kubernetes::MODULE).join("pause.c"));
    steps::run(compile)?;
    let programs = [
        ("pause", pause),
        ("plimsoll", workspace.binary("plimsoll")),
        ("challenge", workspace.binary("challenge")),
    ];
    programs.into_iter().map(|(name, program)| image(name, &program, folder)).collect()
}

fn image(name: &str, program: &Path, folder: &Path) -> Result<PathBuf> {
    let stripped = folder.join(format!("{name}.stripped"));
    let mut strip = Command::new("install");
    strip.args(["--strip", "--mode=755"]).arg(program).arg(&stripped);
    steps::run(strip)?;
    let mut tree =
        FileTree::default().program(format!("usr/bin/{name}"), read(&stripped)?).folder("data", USER, 0o755);
    for library in libraries(&stripped)? {
        tree = tree.program(library.trim_start_matches('/'), read(Path::new(&library))?);
    }
    let bytes = archive(
        &[tree],
        ImageName { reference: &reference(name), tag: TAG, architecture: "amd64" },
        |layers| {
            json!({
                "architecture": "amd64",
                "os": "linux",
                "config": {
                    "User": format!("{USER}:{USER}"),
                    "Entrypoint": [format!("/usr/bin/{name}")],
                    "WorkingDir": "/data",
                    "Env": ["PATH=/usr/bin"],
                },
                "rootfs": {"type": "layers", "diff_ids": layers},
            })
        },
    )?;
    let path = folder.join(format!("{name}.tar"));
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// What the loader loads for a program, itself included; nothing for one that is linked statically.
fn libraries(program: &Path) -> Result<Vec<String>> {
    let output = Command::new("ldd").arg(program).output().context("cannot start ldd")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_static = String::from_utf8_lossy(&output.stderr).contains("not a dynamic executable");
    ensure!(output.status.success() || is_static, "ldd ended with {}", output.status);
    Ok(paths(&text))
}

/// Absolute paths in the output of `ldd`.
fn paths(text: &str) -> Vec<String> {
    let paths = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    paths.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_found() {
        let text = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        assert_eq!(paths(text), ["/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert!(paths("\tstatically linked\n").is_empty());
    }
}
