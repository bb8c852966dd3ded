//! Everything that the objects of a run are made of.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use workload::Workload;

use super::{FilesFrom, OWNER, OWNER_LABEL, RUN_LABEL, Reached};

/// Everything that the objects of a run are made of.
#[derive(Debug, Clone)]
pub struct RunObjects {
    /// The name of all of them.
    pub name: String,
    /// Their namespace; without one, that of the process that applies them.
    pub namespace: Option<String>,
    /// The image of plimsoll, which has it in its search path.
    pub image: String,
    /// How many pods offer the load; the first coordinates as well.
    pub pods: u16,
    /// How many CPUs and how much memory is asked for each pod, as quantities of Kubernetes.
    pub cpu: String,
    /// See `cpu`.
    pub memory: String,
    /// The plan's path among the files.
    pub plan: String,
    /// Where they come from.
    pub files: FilesFrom,
    /// The PersistentVolumeClaim that the run file is written to, under the name of the run; without one it goes with pod 0.
    pub run_file_claim: Option<String>,
    /// Further arguments of `plimsoll run`, after the plan.
    pub arguments: Vec<String>,
    /// The keys of the run and the values of `${env.…}`.
    pub secret: SecretFrom,
    /// Whom the pods may talk to besides each other; none: anyone, because it is not known before.
    pub reached: Option<Vec<Reached>>,
    /// Seconds that pods have to be started and ready.
    pub start_limit_s: u32,
    /// Seconds that the run may take once it has begun, without the time for its file to be fetched.
    pub run_limit_s: u32,
}

/// Where secrets come from.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretFrom {
    /// A Secret that is made of them.
    Made {
        /// The keys of the run, a PEM file.
        keys: String,
        /// Values by name.
        environment: BTreeMap<String, String>,
    },
    /// A Secret that is there: it has the keys as `run.pem`, and these environment variables.
    Existing {
        name: String,
        /// The variables.
        environment: Vec<String>,
    },
}

impl std::fmt::Debug for SecretFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretFrom")
    }
}

impl SecretFrom {
    pub(super) fn variables(&self) -> Vec<&str> {
        match self {
            SecretFrom::Made { environment, .. } => environment.keys().map(String::as_str).collect(),
            SecretFrom::Existing { environment, .. } => environment.iter().map(String::as_str).collect(),
        }
    }

    pub(super) fn name<'a>(&'a self, run: &'a str) -> &'a str {
        match self {
            SecretFrom::Made { .. } => run,
            SecretFrom::Existing { name, .. } => name,
        }
    }

    /// A command that makes the Secret also deletes what it made with it.
    fn owner(&self) -> Option<&'static str> {
        matches!(self, SecretFrom::Made { .. }).then_some(OWNER)
    }
}

impl RunObjects {
    pub(super) fn labels(&self) -> Value {
        let mut labels = json!({
            "app.kubernetes.io/name": "plimsoll",
            "app.kubernetes.io/component": "load",
            RUN_LABEL: self.name,
        });
        if let Some(owner) = self.secret.owner() {
            labels[OWNER_LABEL] = owner.into();
        }
        labels
    }
}

/// When the last scenario or phase ends.
pub fn load_end(workload: &Workload) -> Duration {
    let ends = workload.scenarios.iter().map(|scenario| scenario.start + scenario.executor.duration());
    ends.chain(workload.phases.iter().map(|phase| phase.end)).max().unwrap_or_default()
}
