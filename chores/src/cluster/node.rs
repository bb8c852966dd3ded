//! The control plane and one node, as processes of this chore.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::components::Components;
use super::image;
use super::settings::{self, BRIDGE, ETCD, NODE_ADDRESS, NODE_NETWORK};
use crate::steps;
use xtask::child::Running;

/// How long each part may take until it answers.
const READY_WITHIN: Duration = Duration::from_secs(120);
const STOP_WITHIN: Duration = Duration::from_secs(30);
/// Known to the processes of this cluster alone, which listen in a network of their own.
const TOKEN: &str = "plimsoll-cluster";

/// A running cluster.
pub(super) struct Node {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    socket: PathBuf,
    /// In the order in which they were started.
    running: Vec<Running>,
}

impl Node {
    /// Starts everything in `folder`, and waits until the node is ready.
    pub(super) fn start(components: &Components, folder: &Path) -> Result<Self> {
        let kubeconfig = folder.join("kubeconfig");
        let node = Self {
            kubectl: components.program("kubectl"),
            kubeconfig: kubeconfig.clone(),
            socket: folder.join("containerd.sock"),
            running: Vec::new(),
        };
        write(&kubeconfig, &settings::kubeconfig(TOKEN))?;
        prepare(folder)?;
        node.with_control_plane(components, folder)?.with_node(components, folder)
    }

    fn with_control_plane(mut self, components: &Components, folder: &Path) -> Result<Self> {
        let (keys, tokens) = (folder.join("service-accounts.pem"), folder.join("tokens.csv"));
        write(&tokens, &format!("{TOKEN},admin,admin,\"system:masters\"\n"))?;
        let mut generate = Command::new("openssl");
        generate.args(["genrsa", "-out"]).arg(&keys).arg("2048").stderr(Stdio::null());
        steps::run(generate)?;
        let mut etcd = Command::new("etcd");
        etcd.arg("--data-dir").arg(folder.join(settings::STATE).join("etcd")).args([
            "--listen-client-urls",
            ETCD,
            "--advertise-client-urls",
            ETCD,
        ]);
        self.add("etcd", etcd.arg("--unsafe-no-fsync"), folder)?;
        let mut api = Command::new(components.program("kube-apiserver"));
        api.args([
            "--bind-address=127.0.0.1",
            "--secure-port=6443",
            "--service-cluster-ip-range=10.96.0.0/16",
        ]);
        api.arg(format!("--etcd-servers={ETCD}")).arg(format!("--advertise-address={NODE_ADDRESS}"));
        api.args([
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
            "--service-account-issuer=https://plimsoll",
        ]);
        // Logs and commands in pods would otherwise look the node's name up.
        api.arg("--kubelet-preferred-address-types=InternalIP")
            .arg(flag("cert-dir", &folder.join("certificates")));
        api.arg(flag("service-account-key-file", &keys)).arg(flag("service-account-signing-key-file", &keys));
        self.add("kube-apiserver", api.arg(flag("token-auth-file", &tokens)), folder)?;
        self.until("the API server answers", &["get", "--raw", "/readyz"], |_| true)?;
        let mut controllers = Command::new(components.program("kube-controller-manager"));
        controllers
            .arg(flag("kubeconfig", &self.kubeconfig))
            .arg(flag("service-account-private-key-file", &keys));
        controllers.args(["--use-service-account-credentials=true", "--leader-elect=false"]);
        self.add(
            "kube-controller-manager",
            controllers.arg("--controllers=*,-node-ipam-controller"),
            folder,
        )?;
        let mut scheduler = Command::new(components.program("kube-scheduler"));
        scheduler.arg(flag("kubeconfig", &self.kubeconfig)).arg("--leader-elect=false");
        self.add("kube-scheduler", &mut scheduler, folder)?;
        Ok(self)
    }

    fn with_node(mut self, components: &Components, folder: &Path) -> Result<Self> {
        let [runtime, kubelet, names] =
            ["containerd.toml", "kubelet.yaml", "Corefile"].map(|name| folder.join(name));
        write(&runtime, &settings::containerd(folder, &image::reference("pause")))?;
        let mut containerd = Command::new("containerd");
        self.add("containerd", containerd.arg("--config").arg(&runtime), folder)?;
        ensure!(
            peers::poll::until(READY_WITHIN, || self.socket.exists()),
            "containerd is not ready; see its log"
        );
        write(&kubelet, &settings::kubelet(folder))?;
        let mut command = Command::new(components.program("kubelet"));
        command.arg(flag("config", &kubelet)).arg(flag("kubeconfig", &self.kubeconfig));
        command
            .arg(flag("root-dir", &folder.join(settings::STATE).join("kubelet")))
            .arg(flag("cert-dir", &folder.join("kubelet-certificates")));
        command.arg("--hostname-override=node").arg(format!("--node-ip={NODE_ADDRESS}"));
        self.add("kubelet", &mut command, folder)?;
        write(&names, &settings::names(&self.kubeconfig))?;
        let mut dns = Command::new(components.program("dns"));
        self.add("dns", dns.arg("-conf").arg(&names), folder)?;
        self.until("the node is ready", &["get", "nodes"], |text| text.contains(" Ready"))?;
        self.until("pods can be made", &["get", "serviceaccount", "default"], |_| true)?;
        Ok(self)
    }

    fn add(&mut self, name: &'static str, command: &mut Command, folder: &Path) -> Result<()> {
        let path = folder.join(format!("{name}.log"));
        let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let mut started = Command::new(command.get_program());
        started.args(command.get_args()).current_dir(folder).stdin(Stdio::null());
        started.stdout(log.try_clone().context("cannot share a log")?).stderr(log).process_group(0);
        self.running.push(Running::start(name, started)?);
        Ok(())
    }

    /// Asks until the answer is as expected.
    pub(super) fn until(&self, what: &str, question: &[&str], is_it: impl Fn(&str) -> bool) -> Result<()> {
        let mut last = String::new();
        let is_there = peers::poll::until(READY_WITHIN, || match self.kubectl(question) {
            Ok(text) => {
                last.clone_from(&text);
                is_it(&text)
            }
            Err(error) => {
                last = error.to_string();
                false
            }
        });
        ensure!(is_there, "within {} s it is not so that {what}: {last}", READY_WITHIN.as_secs());
        Ok(())
    }

    /// What kubectl prints.
    pub(super) fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.kubectl);
        let output = command.arg(flag("kubeconfig", &self.kubeconfig)).args(arguments).output();
        let output = output.context("cannot start kubectl")?;
        let why = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {} failed: {why}", arguments.join(" "));
        String::from_utf8(output.stdout).context("kubectl printed no text")
    }

    /// A command that finds kubectl and this cluster.
    pub(super) fn reached_by(&self, mut command: Command) -> Command {
        let folder = self.kubectl.parent().unwrap_or(Path::new("."));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command.env("KUBECONFIG", &self.kubeconfig);
        command
    }

    /// Makes an image known to the node.
    pub(super) fn import(&self, archive: &Path) -> Result<()> {
        let mut import = Command::new("ctr");
        import
            .arg("--address")
            .arg(&self.socket)
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(archive);
        steps::run(import)
    }

    /// Deletes what runs, and stops everything, in the opposite order of its start.
    pub(super) fn stop(mut self) -> Result<()> {
        self.kubectl(&["delete", "jobs,deployments,pods", "--all", "--all-namespaces", "--timeout=60s"])?;
        while let Some(running) = self.running.pop() {
            running.stop(STOP_WITHIN)?;
        }
        Ok(())
    }
}

/// The network of the pods, and memory for what the node stores: it ends with the mounts, and containers can be layered on it
/// where this tree is on layers itself.
fn prepare(folder: &Path) -> Result<()> {
    let mount = |arguments: &[&str]| {
        let mut command = Command::new("mount");
        command.args(arguments);
        steps::run(command)
    };
    let state = folder.join(settings::STATE);
    fs::create_dir_all(&state).context("cannot make a folder")?;
    mount(&["-t", "tmpfs", "-o", "size=75%", "state", &state.display().to_string()])?;
    // The kubelet mounts for containers what it was given.
    mount(&["--make-rshared", "/"])?;
    let cni = folder.join("cni");
    fs::create_dir_all(&cni).context("cannot make a folder")?;
    write(&cni.join("pods.conflist"), &settings::network(folder))?;
    let ip = |arguments: &[&str]| {
        let mut command = Command::new("ip");
        command.args(arguments);
        steps::run(command)
    };
    ip(&["link", "set", "lo", "up"])?;
    ip(&["link", "add", BRIDGE, "type", "bridge"])?;
    ip(&["address", "add", NODE_NETWORK, "dev", BRIDGE])?;
    ip(&["link", "set", BRIDGE, "up"])
}

fn flag(name: &str, value: &Path) -> String {
    format!("--{name}={}", value.display())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
