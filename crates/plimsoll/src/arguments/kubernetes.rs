//! Arguments of `run --kubernetes`, `manifest` and `fetch`, and of what runs inside pods.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{OutputArguments, OverrideArguments};

pub(super) const MANIFEST_EXAMPLES: &str = "\
Examples:
  plimsoll manifest plan.toml --kubernetes 5 --image registry.example/plimsoll:0.1.0 > run.yaml
  plimsoll manifest plan.toml --kubernetes 5 --image … --files-in claim:plans --name nightly
  plimsoll manifest script.js --kubernetes 5 --image … -e BASE=http://shop   a k6 script, with k6's flags";

pub(super) const FETCH_EXAMPLES: &str = "\
Examples:
  plimsoll run plan.toml --kubernetes 5 --image registry.example/plimsoll:0.1.0 --detach
  plimsoll fetch checkout-3f9ac                   wait for the run, fetch its file, judge it, delete what it left";

/// The heading of options about pods.
const KUBERNETES: &str = "Load from pods of a Kubernetes cluster";

/// How a cluster is reached, as for kubectl.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = KUBERNETES)]
pub(crate) struct ClusterArguments {
    /// The namespace of the run [default: that of kubectl's context]
    #[arg(short, long, hide_short_help = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// kubectl's configuration [default: as for kubectl]
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of kubectl's configuration
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// The pods of a run.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = KUBERNETES)]
pub(crate) struct PodsArguments {
    /// An image that has this version of `plimsoll` in its search path
    #[arg(long, hide_short_help = true, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// CPU request of each pod [default: one CPU for each loop]
    #[arg(long, hide_short_help = true, value_name = "QUANTITY")]
    pub(crate) cpu: Option<String>,
    /// Memory request and limit of each pod
    #[arg(long, hide_short_help = true, value_name = "QUANTITY", default_value = "512Mi")]
    pub(crate) memory: String,
    /// Where the pods read the plan and its files: /FOLDER of the image, or claim:NAME, a PersistentVolumeClaim [default: a ConfigMap]
    ///
    /// The files must be there already, in the same folders below PLACE as here below the folder that contains all of them: with plan.toml
    /// and data/users.csv here, PLACE/plan.toml and PLACE/data/users.csv.
    #[arg(long, hide_short_help = true, value_name = "PLACE", value_parser = files_place)]
    pub(crate) files_in: Option<FilesPlace>,
    /// Write the run file to this PersistentVolumeClaim, so that it survives the loss of the coordinating pod
    #[arg(long, hide_short_help = true, value_name = "CLAIM")]
    pub(crate) run_file_claim: Option<String>,
    /// Time limit in seconds for the pods to start and be ready
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) start_timeout: u32,
}

/// Where files are that no ConfigMap contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FilesPlace {
    /// This folder of the image.
    Image(String),
    /// The volume of this claim.
    Claim(String),
}

fn files_place(text: &str) -> Result<FilesPlace, String> {
    match text.strip_prefix("claim:") {
        Some(name) if !name.is_empty() => Ok(FilesPlace::Claim(name.to_owned())),
        None if text.starts_with('/') => Ok(FilesPlace::Image(text.to_owned())),
        _ => Err("expected /FOLDER of the image, or claim:NAME".to_owned()),
    }
}

/// A run in a cluster instead of here.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = KUBERNETES)]
pub(crate) struct KubernetesArguments {
    /// Offer the load from this many pods; requires --image and kubectl
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000), requires = "image", conflicts_with_all = ["workers", "addresses"])]
    pub(crate) kubernetes: Option<u16>,
    /// Start the run in the cluster and exit; `plimsoll fetch` waits for it and judges it
    #[arg(long, hide_short_help = true, requires = "kubernetes")]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
}

/// What is printed for a repository.
#[derive(Debug, Args)]
pub(crate) struct ManifestArguments {
    /// The plan
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) overrides: OverrideArguments,
    /// Number of pods that offer the load
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1000), requires = "image")]
    pub(crate) kubernetes: u16,
    /// Name of the Kubernetes objects [default: the plan's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The Secret with the run's keys and the values of `${env.…}`, which is not printed [default: the name]
    #[arg(long, value_name = "NAME")]
    pub(crate) secret: Option<String>,
    /// The namespace of the objects [default: none is written]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Loops of each pod
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) loops: u16,
    /// Offer the load without sending each step once before it
    #[arg(long)]
    pub(crate) no_precheck: bool,
    #[command(flatten)]
    pub(crate) pods: PodsArguments,
}

#[derive(Debug, Args)]
pub(crate) struct FetchArguments {
    /// The run's Job
    pub(crate) job: String,
    /// The run file to write [default: the plan's name with the time, `.plimsoll`]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the run file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
}

/// What runs inside pods.
#[derive(Debug, Subcommand)]
pub(crate) enum PodPart {
    /// Offer this pod's part of the load, and coordinate if it is the first
    Offer(PodArguments),
    /// Write the run file to standard output
    Send,
    /// Report that the run file was fetched and may be deleted
    Fetched,
    /// Stop arrivals and drain
    Interrupt,
}

#[derive(Debug, Args)]
pub(crate) struct PodArguments {
    /// Number of pods
    #[arg(long)]
    pub(crate) pods: u16,
    /// The name of the Job and of the Service that names its pods
    #[arg(long)]
    pub(crate) service: String,
    /// The keys of the run
    #[arg(long)]
    pub(crate) keys: PathBuf,
    /// Time limit in seconds for connecting the workers, and again for their readiness
    #[arg(long)]
    pub(crate) start_limit: u32,
    /// How long the run file is kept for fetching, in seconds
    #[arg(long)]
    pub(crate) fetch_limit: u64,
    /// The plan, and further arguments of `plimsoll run`
    #[arg(last = true, required = true)]
    pub(crate) run: Vec<String>,
}
