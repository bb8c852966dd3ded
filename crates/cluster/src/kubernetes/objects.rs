//! The objects of a run, in the order in which they are made.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{
    FilesFrom, KEYS_ENTRY, KubernetesError, OWNER, OWNER_LABEL, RUN_LABEL, Reached, is_name, job, network,
};

/// Everything that the objects of a run are made of.
#[derive(Debug, Clone)]
pub struct RunObjects {
    /// The name of all of them.
    pub name: String,
    /// Their namespace; without one, that of whoever applies them.
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
    /// Further arguments of `plimsoll run`, after the plan.
    pub arguments: Vec<String>,
    /// The keys of the run and the values of `${env.…}`.
    pub secret: SecretFrom,
    /// Whom the pods may talk to besides each other.
    pub reached: Vec<Reached>,
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
        /// Its name.
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

    /// Whoever makes the Secret deletes what was made with it.
    fn owner(&self) -> Option<&'static str> {
        matches!(self, SecretFrom::Made { .. }).then_some(OWNER)
    }
}

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object(pub Value);

impl Object {
    /// Let Kubernetes delete this object when the Job with this name and identity is gone.
    pub fn belong_to(&mut self, job: &str, uid: &str) {
        self.0["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid, "blockOwnerDeletion": false,
        }]);
    }
}

impl RunObjects {
    /// The Job, which is made first, so that everything else can belong to it.
    ///
    /// # Errors
    /// [`KubernetesError::Name`] when the name cannot be used.
    pub fn job(&self) -> Result<Object, KubernetesError> {
        if !is_name(&self.name) {
            return Err(KubernetesError::Name(self.name.clone()));
        }
        Ok(self.object("batch/v1", "Job", &[("spec", job::spec(self))]))
    }

    /// What belongs to the Job: the names of its pods, the files, the secrets, the rules of the network.
    ///
    /// # Errors
    /// [`KubernetesError::TooLarge`] when the files do not fit.
    pub fn belongings(&self) -> Result<Vec<Object>, KubernetesError> {
        let service = json!({
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {RUN_LABEL: self.name},
            "ports": [{"name": "worker", "port": super::WORKER_PORT}],
        });
        let mut objects = vec![self.object("v1", "Service", &[("spec", service)])];
        if let Some(content) = self.files.config_map()? {
            let content: Vec<(&str, Value)> =
                content.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            objects.push(self.object("v1", "ConfigMap", &content));
        }
        if let SecretFrom::Made { keys, environment } = &self.secret {
            let mut entries: Map<String, Value> =
                environment.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
            entries.insert(KEYS_ENTRY.to_owned(), keys.as_str().into());
            let mut content = vec![("type", Value::from("Opaque")), ("stringData", entries.into())];
            let files = self.files.secret_entries();
            if !files.is_empty() {
                let encoded = files.into_iter().map(|(name, bytes)| (name, STANDARD.encode(bytes).into()));
                content.push(("data", encoded.collect::<Map<String, Value>>().into()));
            }
            objects.push(self.object("v1", "Secret", &content));
        }
        let policy = network::policy_spec(&self.name, &self.reached);
        objects.push(self.object("networking.k8s.io/v1", "NetworkPolicy", &[("spec", policy)]));
        Ok(objects)
    }

    /// What the Secret of the run contains, by name; files with their paths.
    pub fn secret_entries(&self) -> Vec<String> {
        let variables = self.secret.variables().into_iter().map(str::to_owned);
        std::iter::once(KEYS_ENTRY.to_owned())
            .chain(variables)
            .chain(self.files.secret_entries().into_keys())
            .collect()
    }

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

    fn object(&self, version: &str, kind: &str, content: &[(&str, Value)]) -> Object {
        let mut metadata = json!({"name": self.name, "labels": self.labels()});
        if let Some(namespace) = &self.namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
        for (name, value) in content {
            object[name] = value.clone();
        }
        Object(object)
    }
}
