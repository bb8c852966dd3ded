//! What the programs of the cluster are configured by.

use std::path::Path;

/// The bridge of the pods and the node's address on it: not a loopback address, which the kubelet refuses.
pub(super) const BRIDGE: &str = "plimsoll0";
pub(super) const NODE_ADDRESS: &str = "10.88.0.1";
pub(super) const NODE_NETWORK: &str = "10.88.0.1/16";
/// The folder with what the node stores.
pub(super) const STATE: &str = "state";
const API: &str = "https://127.0.0.1:6443";
pub(super) const ETCD: &str = "http://127.0.0.1:2379";

pub(super) fn kubeconfig(token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: \"{API}\", insecure-skip-tls-verify: true}}}}]\n\
         users: [{{name: u, user: {{token: \"{token}\"}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         current-context: c\n"
    )
}

/// Some machines withhold the capability to lower `oom_score_adj`, without which runc would fail.
pub(super) fn containerd(folder: &Path, pause: &str) -> String {
    let folder = folder.display();
    format!(
        "version = 2\nroot = \"{folder}/{STATE}/root\"\nstate = \"{folder}/{STATE}/run\"\n[grpc]\n  \
         address = \"{folder}/containerd.sock\"\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"{pause}\"\n  \
         restrict_oom_score_adj = true\n  [plugins.\"io.containerd.grpc.v1.cri\".cni]\n    bin_dir = \"/usr/lib/cni\"\n    \
         conf_dir = \"{folder}/cni\"\n"
    )
}

/// Pods have addresses on the bridge and reach each other by them. This plugin does not enforce a NetworkPolicy.
pub(super) fn network(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "{{\"cniVersion\": \"0.4.0\", \"name\": \"pods\", \"plugins\": [{{\"type\": \"bridge\", \"bridge\": \"{BRIDGE}\", \
         \"isGateway\": true, \"ipMasq\": false, \"ipam\": {{\"type\": \"host-local\", \"dataDir\": \"{folder}/addresses\", \
         \"ranges\": [[{{\"subnet\": \"10.88.0.0/16\", \"gateway\": \"{NODE_ADDRESS}\"}}]], \
         \"routes\": [{{\"dst\": \"0.0.0.0/0\"}}]}}}}, {{\"type\": \"loopback\"}}]}}\n"
    )
}

/// Also for kernels with the first version of control groups.
pub(super) fn kubelet(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: cgroupfs\nfailSwapOn: false\n\
         failCgroupV1: false\ncontainerRuntimeEndpoint: unix://{folder}/containerd.sock\n\
         authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}\nauthorization: {{mode: AlwaysAllow}}\n\
         evictionHard: {{}}\nserializeImagePulls: false\nenforceNodeAllocatable: []\nimageGCHighThresholdPercent: 100\n\
         resolvConf: \"\"\nclusterDomain: cluster.local\nclusterDNS: [{NODE_ADDRESS}]\nreadOnlyPort: 0\n"
    )
}

pub(super) fn names(kubeconfig: &Path) -> String {
    format!(
        ".:53 {{\n  bind {NODE_ADDRESS}\n  kubernetes cluster.local {{\n    kubeconfig {} c\n    pods insecure\n  }}\n}}\n",
        kubeconfig.display()
    )
}
