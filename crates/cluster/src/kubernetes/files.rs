//! Where the plan and the files that it reads come from in a pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::KubernetesError;

/// How many bytes the files of a ConfigMap have at most. The API's own limit is 1 MiB with their names.
pub const CONFIG_MAP_BYTES: usize = 1_000_000;
/// The folder in a pod with the plan.
const PLAN_FOLDER: &str = "/run/plimsoll/plan";

/// Where they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesFrom {
    /// Objects that are made of them: content by path, relative and without `..`.
    Objects {
        /// In a ConfigMap.
        open: BTreeMap<String, Arc<[u8]>>,
        /// In the Secret of the run: private keys.
        secret: BTreeMap<String, Arc<[u8]>>,
    },
    /// They are in the image, below this folder.
    Image(String),
    /// They are on the volume of this PersistentVolumeClaim, from its root.
    Claim(String),
}

impl FilesFrom {
    /// The path of a file in a pod.
    pub fn path(&self, relative: &str) -> String {
        match self {
            FilesFrom::Image(folder) => format!("{}/{relative}", folder.trim_end_matches('/')),
            FilesFrom::Objects { .. } | FilesFrom::Claim(_) => format!("{PLAN_FOLDER}/{relative}"),
        }
    }

    /// The volume with them, if there is one, and where a container has it. `secret` is the name of the run's Secret.
    pub(super) fn volume(&self, config_map: &str, secret: &str) -> Option<(Value, Value)> {
        let source = match self {
            FilesFrom::Image(_) => return None,
            FilesFrom::Claim(name) => {
                json!({"name": "plan", "persistentVolumeClaim": {"claimName": name, "readOnly": true}})
            }
            FilesFrom::Objects { open, secret: keys } => {
                let mut sources = vec![json!({"configMap": {"name": config_map, "items": items(open)}})];
                if !keys.is_empty() {
                    sources.push(json!({"secret": {"name": secret, "items": items(keys)}}));
                }
                json!({"name": "plan", "projected": {"sources": sources}})
            }
        };
        Some((source, json!({"name": "plan", "mountPath": PLAN_FOLDER, "readOnly": true})))
    }

    /// The files that the Secret of the run contains, with the names that they have in it.
    pub(super) fn secret_entries(&self) -> BTreeMap<String, Arc<[u8]>> {
        let FilesFrom::Objects { secret, .. } = self else { return BTreeMap::new() };
        let numbered = secret.iter().enumerate();
        numbered.map(|(number, (path, content))| (entry(number, path), content.clone())).collect()
    }

    /// What the ConfigMap contains: text as such, so that a review shows it.
    pub(super) fn config_map(&self) -> Result<Option<Map<String, Value>>, KubernetesError> {
        let FilesFrom::Objects { open: files, .. } = self else { return Ok(None) };
        // Binary content takes four bytes for three.
        let stored = |content: &[u8]| match text_of(content) {
            Some(text) => text.len(),
            None => content.len().div_ceil(3) * 4,
        };
        let bytes = files.values().map(|content| stored(content)).sum();
        if bytes > CONFIG_MAP_BYTES {
            let largest = files.iter().max_by_key(|(_, content)| stored(content));
            let largest = largest.map(|(path, _)| path.clone()).unwrap_or_default();
            return Err(KubernetesError::TooLarge { bytes, largest });
        }
        let (mut text, mut binary) = (Map::new(), Map::new());
        for (number, (path, content)) in files.iter().enumerate() {
            match text_of(content) {
                Some(plain) => text.insert(entry(number, path), plain.into()),
                None => binary.insert(entry(number, path), STANDARD.encode(content).into()),
            };
        }
        let mut both = Map::new();
        for (name, entries) in [("data", text), ("binaryData", binary)] {
            if !entries.is_empty() {
                both.insert(name.to_owned(), entries.into());
            }
        }
        Ok(Some(both))
    }
}

fn items(files: &BTreeMap<String, Arc<[u8]>>) -> Vec<Value> {
    let numbered = files.keys().enumerate();
    numbered.map(|(number, path)| json!({"key": entry(number, path), "path": path})).collect()
}

/// Text that a YAML document can contain unchanged.
fn text_of(content: &[u8]) -> Option<&str> {
    let is_plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    std::str::from_utf8(content).ok().filter(|text| text.chars().all(is_plain))
}

/// The name of a file in a ConfigMap or Secret: it has no `/`, and the number makes it unique.
fn entry(number: usize, path: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = path.rsplit('/').next().unwrap_or(path);
    let name: String = name.chars().map(|c| if is_allowed(c) { c } else { '_' }).take(200).collect();
    format!("{number}-{name}")
}
