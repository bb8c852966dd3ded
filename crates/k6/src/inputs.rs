//! What a script is read from, besides the content of its files: the same for every process that runs it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use workload::Files;

use crate::beneath::FilesBeneath;
use crate::options::{Flags, is_option_variable};

/// What a script is read from, besides the content of its files. Secrets are in it: it goes to workers that have proved who
/// they are, and nowhere else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScriptInputs {
    /// The full path of the script; its last part is `-` for standard input.
    pub path: PathBuf,
    /// The options of its command line.
    pub flags: Flags,
    /// Environment variables.
    pub variables: BTreeMap<String, String>,
    /// The names of those that workers do not get.
    pub withheld_variables: Vec<String>,
    /// Whether `__ENV` has them.
    pub has_system_variables: bool,
    /// The folder below which alone files are read.
    pub files_under: Option<PathBuf>,
    /// Whether redirects carry secrets to other origins.
    pub has_k6_redirects: bool,
    /// The folder of modules that are imported by URL.
    pub import_cache: Option<PathBuf>,
    /// The file of options.
    pub config: Option<PathBuf>,
    /// The file that says what it must show besides its thresholds.
    pub policy: Option<PathBuf>,
}

impl ScriptInputs {
    /// These files of this machine as far as the script may read them.
    pub(crate) fn restrict(&self, files: Arc<dyn Files + Send + Sync>) -> Arc<dyn Files + Send + Sync> {
        let Some(folder) = self.files_under.clone() else { return files };
        let exempt = std::iter::once(self.path.clone()).chain(self.import_cache.clone()).collect();
        Arc::new(FilesBeneath { files, folder, exempt })
    }

    /// The same for workers, which get of this machine's environment what sets options, what the policy reads, and where `__ENV`
    /// has them the variables that a text of the script names.
    pub fn for_workers(&self, of_policy: &BTreeMap<String, String>, texts: &[String]) -> ScriptInputs {
        let is_named = |name: &str| texts.iter().any(|text| has_word(text, name));
        let goes_on = |name: &str| {
            is_option_variable(name)
                || of_policy.contains_key(name)
                || self.has_system_variables && is_named(name)
        };
        let all = self.variables.clone().into_iter();
        let (variables, withheld): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.partition(|(name, _)| goes_on(name));
        let withheld_variables =
            if self.has_system_variables { withheld.into_keys().collect() } else { Vec::new() };
        ScriptInputs { variables, withheld_variables, ..self.clone() }
    }

    /// The value of an environment variable.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
}

/// Whether a text has this word, with nothing before or after it that a name could have.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_of_name) && !text[at + word.len()..].starts_with(is_of_name))
}
