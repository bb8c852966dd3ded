//! Calls of `kubectl`. Each has a group of its own, so that a Ctrl-C at the terminal ends none of them.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context as _, anyhow};
use cluster::kubernetes::{CONTAINER, OWNER, OWNER_LABEL, Object, RUN_LABEL, RunObjects};
use conduct::failure::{CommandResult, Failure};
use evidence::visible;
use serde_json::{Value, json};

const PROGRAM: &str = "kubectl";
/// A question that is not answered within this time is asked again.
const REQUEST_TIMEOUT: &str = "--request-timeout=20s";
/// How long pods have to end after they were deleted, longer than they are given.
const DELETED_WITHIN: &str = "--timeout=120s";
/// Every kind that a run has.
const KINDS: &str = "job,service,configmap,secret,networkpolicy";

/// How a cluster is reached, as for kubectl.
#[derive(Debug, Default, Clone)]
pub struct ClusterAccess {
    /// The namespace of the run; none: that of kubectl's context.
    pub namespace: Option<String>,
    /// kubectl's configuration; none: as for kubectl.
    pub kubeconfig: Option<PathBuf>,
    /// The context of kubectl's configuration.
    pub context: Option<String>,
}

/// kubectl, for one cluster and namespace.
pub(crate) struct Kubectl {
    flags: Vec<String>,
}

impl Kubectl {
    pub(crate) fn new(cluster: &ClusterAccess) -> Kubectl {
        let kubeconfig = cluster.kubeconfig.as_ref().map(|path| path.display().to_string());
        let named =
            [("namespace", &cluster.namespace), ("context", &cluster.context), ("kubeconfig", &kubeconfig)];
        let flags =
            named.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
        Kubectl { flags: flags.collect() }
    }

    /// That there is a kubectl; nothing is asked of the cluster.
    pub(crate) fn require(&self) -> CommandResult<()> {
        self.start(&["version", "--client"], Stdio::null())?
            .wait_with_output()
            .map(drop)
            .map_err(Failure::own)
    }

    /// The flags that name the cluster, as they follow a command.
    pub(crate) fn flags_text(&self) -> String {
        self.flags.iter().map(|flag| format!(" {flag}")).collect()
    }

    /// Make the Job, and then what belongs to it: Kubernetes deletes that with the Job, however this command ends.
    pub(crate) fn make(&self, objects: &RunObjects) -> CommandResult<()> {
        // Before anything is made.
        let (job, mut belongings) =
            (objects.job().map_err(Failure::usage)?, objects.belongings().map_err(Failure::usage)?);
        let uid = self.create(&job.0)?;
        belongings.iter_mut().for_each(|object| object.belong_to(&objects.name, &uid));
        let items: Vec<Value> = belongings.into_iter().map(|Object(object)| object).collect();
        self.create(&json!({"apiVersion": "v1", "kind": "List", "items": items})).map(drop)
    }

    /// Make an object, and return its identity; or the objects of a list.
    fn create(&self, object: &Value) -> CommandResult<String> {
        let identity = "--output=jsonpath={.metadata.uid}";
        let mut child = self.start(&["create", "--filename=-", identity, REQUEST_TIMEOUT], Stdio::piped())?;
        let mut input = child.stdin.take().context("its input is not there").map_err(Failure::own)?;
        // If it ends before it has read everything, it says why.
        let _ = input.write_all(object.to_string().as_bytes());
        drop(input);
        let output = child.wait_with_output().map_err(Failure::own)?;
        let text = succeeded(output, "the objects of the run cannot be made").map_err(Failure::usage)?;
        String::from_utf8(text).map_err(Failure::own)
    }

    /// Delete a run with everything that belongs to it, and wait until it is gone.
    pub(crate) fn delete(&self, job: &str) -> CommandResult<()> {
        let selector = format!("--selector={RUN_LABEL}={job},{OWNER_LABEL}={OWNER}");
        let arguments =
            ["delete", KINDS, &selector, "--ignore-not-found", "--cascade=foreground", DELETED_WITHIN];
        self.text(&arguments).map(drop).map_err(|error| {
            let hint = format!(
                "{job} is not deleted from the cluster: `kubectl delete job {job}{}` does it",
                self.flags_text()
            );
            Failure::own(error.context(hint))
        })
    }

    pub(crate) fn job(&self, name: &str) -> CommandResult<Value> {
        self.json(&["get", "job", name]).map_err(Failure::usage)
    }

    /// The Job and its pods, as one list.
    pub(crate) fn job_and_pods(&self, job: &str) -> anyhow::Result<Value> {
        self.json(&["get", "job,pod", &format!("--selector={RUN_LABEL}={job}")])
    }

    /// What is shown of the Job itself, such as that a quota refuses its pods.
    pub(crate) fn events_of(&self, job: &str) -> anyhow::Result<Value> {
        let selector = format!("--field-selector=involvedObject.kind=Job,involvedObject.name={job}");
        self.json(&["get", "events", &selector])
    }

    /// What the container of a pod has printed.
    pub(crate) fn log(&self, pod: &str) -> anyhow::Result<String> {
        let text = self.text(&["logs", pod, &format!("--container={CONTAINER}"), REQUEST_TIMEOUT])?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Ask the command in a pod for something.
    pub(crate) fn in_pod(&self, pod: &str, what: &str) -> CommandResult<()> {
        let output = self.start_in_pod(pod, what)?.wait_with_output().map_err(Failure::own)?;
        succeeded(output, "the pod cannot be asked").map(drop).map_err(Failure::own)
    }

    /// The same, for its output.
    pub(crate) fn start_in_pod(&self, pod: &str, what: &str) -> CommandResult<Child> {
        let container = format!("--container={CONTAINER}");
        self.start(&["exec", pod, &container, "--", "plimsoll", "pod", what], Stdio::null())
    }

    fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let text = self.text(&[arguments, &["--output=json", REQUEST_TIMEOUT]].concat())?;
        serde_json::from_slice(&text).context("kubectl printed no JSON")
    }

    fn text(&self, arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
        let child =
            self.start(arguments, Stdio::null()).map_err(|failure| anyhow!("{}", &*failure.text()))?;
        succeeded(child.wait_with_output()?, &format!("kubectl {}", arguments[0]))
    }

    fn start(&self, arguments: &[&str], input: Stdio) -> CommandResult<Child> {
        // What is after `--` is for the pod.
        let (own, rest) =
            arguments.split_at(arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len()));
        let mut command = Command::new(PROGRAM);
        command.args(own).args(&self.flags).args(rest);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let hint = "kubectl cannot be started, and clusters are reached by it: https://kubernetes.io/docs/tasks/tools/";
        command.spawn().context(hint).map_err(Failure::usage)
    }
}

/// What a call printed, or what it says is wrong.
pub(crate) fn succeeded(output: Output, what: &str) -> anyhow::Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(anyhow!("{what}: {}", visible(&lines.join("; "))))
}
