//! The programs of a cluster, built from `peers/kubernetes` and kept: a build takes a quarter of an hour of two processors.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use peers::go::Toolchain;
use sha2::{Digest as _, Sha256};

use crate::steps;
use xtask::workspace::Workspace;

/// Name and package. The first ones share most of what the last ones need.
const PROGRAMS: [(&str, &str); 6] = [
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    ("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
    ("dns", "./dns"),
];
/// Where the programs keep the version that they report.
const VERSION: &str = "k8s.io/component-base/version";
const STAMP: &str = "built-from";

/// The folder with the programs.
pub(super) struct Components(PathBuf);

impl Components {
    /// Builds those that are missing or were built from other versions.
    pub(super) fn build(workspace: &Workspace) -> Result<()> {
        let source = Path::new(peers::kubernetes::MODULE);
        let folder = workspace.kept("cluster/bin")?;
        let sums = fs::read(source.join("go.sum")).context("cannot read the module's digests")?;
        let stamp = hex::encode(Sha256::digest(sums));
        if fs::read_to_string(folder.join(STAMP)).ok().as_deref() != Some(stamp.as_str()) {
            build_all(source, &folder)?;
            fs::write(folder.join(STAMP), stamp).context("cannot note what was built")?;
        }
        Ok(())
    }

    pub(super) fn built(workspace: &Workspace) -> Result<Self> {
        workspace.kept("cluster/bin").map(Self)
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn build_all(source: &Path, folder: &Path) -> Result<()> {
    let version = version(&fs::read_to_string(source.join("go.mod")).context("cannot read the module")?)?;
    let mut parts = version.trim_start_matches('v').split('.');
    let (major, minor) =
        (parts.next().context("no major version")?, parts.next().context("no minor version")?);
    let set = |name: &str, value: &str| format!("-X {VERSION}.{name}={value}");
    let flags =
        ["-s -w".to_owned(), set("gitVersion", &version), set("gitMajor", major), set("gitMinor", minor)];
    for (name, package) in PROGRAMS {
        println!("    {name}");
        let mut build = Toolchain::find()?.with_network();
        build.current_dir(source).env("CGO_ENABLED", "0").args([
            "build",
            "-trimpath",
            "-ldflags",
            &flags.join(" "),
        ]);
        build.arg("-o").arg(folder.join(name)).arg(package);
        steps::run(build)?;
    }
    Ok(())
}

/// The version of Kubernetes that the module requires.
fn version(module: &str) -> Result<String> {
    let line = module.lines().find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    let version = line.context("the module does not require Kubernetes")?.trim().to_owned();
    ensure!(version.starts_with('v'), "`{version}` is not a version");
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_module() {
        let module =
            fs::read_to_string(Path::new(peers::kubernetes::MODULE).join("go.mod")).expect("it is there");
        assert!(version(&module).expect("it is required").starts_with("v1."));
        assert!(version("module x\n").is_err());
    }
}
