//! The objects of a run, in the order in which they are made.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::run::{RunObjects, SecretFrom};
use super::{KEYS_ENTRY, KubernetesError, RUN_LABEL, is_name, job, network};

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
        let policy = network::policy_spec(&self.name, self.reached.as_deref());
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
