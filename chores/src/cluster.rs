//! A real Kubernetes on this machine, and runs of the tool in it: the control plane and a node, built from their modules, whose
//! pods are containers. It is apart from the tests because the first build takes long.
//!
//! Everything of the cluster has namespaces of its own (processes, mounts, network), which end with it: nothing is left.

mod components;
mod image;
mod node;
mod runs;
mod settings;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::needs::{self, Need};
use crate::steps;
use components::Components;
use node::Node;
use xtask::workspace::Workspace;

/// What may follow the verb.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// With the programs as they are built
    #[arg(long)]
    built: bool,
    /// Says that this process has the namespaces
    #[arg(long, hide = true)]
    inside: bool,
}

const NEEDS: &[Need] = &[
    needs::program("etcd", "etcd-server", "stores the cluster's objects"),
    needs::program("containerd", "containerd", "runs the containers of pods"),
    needs::program("runc", "runc", "makes containers"),
    needs::file("/usr/lib/cni/bridge", "containernetworking-plugins", "connects pods"),
    needs::program("iptables", "iptables", "is called by the kubelet"),
    needs::program("conntrack", "conntrack", "is called by the kubelet"),
    needs::program("socat", "socat", "is called by the kubelet"),
];

/// Where the kernel has control groups, and what the kubelet calls its own.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
const PODS_GROUP: &str = "kubepods";

/// Builds what is missing, starts the cluster, and runs the tool in it.
///
/// # Errors
/// When something cannot be built or started, or a run ends in another way than it should.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    if options.inside {
        return inside(workspace);
    }
    ensure!(rustix::process::geteuid().is_root(), "a node of Kubernetes needs root");
    needs::provide(NEEDS)?;
    if !options.built {
        let mut build: Command = workspace.cargo();
        build.args(["build", "--locked", "--package", "plimsoll", "--package", "challenge", "--bins"]);
        build.args(workspace.profile());
        steps::step("cluster: build plimsoll and challenge", || steps::run(build))?;
    }
    steps::step("cluster: build Kubernetes and CoreDNS", || Components::build(workspace))?;
    let mut namespaces = Command::new("unshare");
    namespaces.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    namespaces.arg(std::env::current_exe().context("this program's own file is not known")?);
    let ran = steps::run({
        namespaces.args(["cluster", "--inside"]);
        namespaces
    });
    remove_control_groups(Path::new(CONTROL_GROUPS));
    ran
}

fn inside(workspace: &Workspace) -> Result<()> {
    xtask::signals::end_at_once();
    let folder = workspace.scratch("cluster/run")?;
    let components = Components::built(workspace)?;
    let images = steps::step("cluster: images", || image::all(workspace, &folder))?;
    let node = steps::step("cluster: start a node", || Node::start(&components, &folder))?;
    steps::step("cluster: import images", || images.iter().try_for_each(|image| node.import(image)))?;
    let outcome = runs::all(workspace, &node, &folder);
    let stopped = steps::step("cluster: stop the node", || node.stop());
    outcome.and(stopped)
}

/// Those of pods are the only thing that no namespace ends. One that is in use is another kubelet's, and stays.
fn remove_control_groups(root: &Path) {
    let hierarchies = std::fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    for hierarchy in hierarchies.chain([root.to_owned()]) {
        remove_below(&hierarchy.join(PODS_GROUP));
    }
}

fn remove_below(group: &Path) {
    for entry in std::fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    // It is not there, or in use.
    let _ = std::fs::remove_dir(group);
}
