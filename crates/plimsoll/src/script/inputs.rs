//! What a script is read from, besides the content of its files: the same for every process that runs it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use conduct::failure::{CommandResult, Failure};
use conduct::workers::TOKEN_VARIABLE;
use k6::options::{Flags, is_option_variable};
use serde::{Deserialize, Serialize};
use workload::Files;

use super::beneath::FilesBeneath;
use crate::arguments::ScriptArguments;

/// What a script is read from, besides the content of its files. Secrets are in it: it goes to workers that have proved who
/// they are, and nowhere else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ScriptInputs {
    /// The full path of the script; its last part is `-` for standard input.
    pub(super) path: PathBuf,
    pub(super) flags: Flags,
    /// Environment variables.
    pub(super) variables: BTreeMap<String, String>,
    /// The names of those that workers do not get.
    pub(super) withheld_variables: Vec<String>,
    /// Whether `__ENV` has them.
    pub(super) has_system_variables: bool,
    pub(super) files_under: Option<PathBuf>,
    /// Whether redirects carry secrets to other origins.
    pub(super) has_k6_redirects: bool,
    pub(super) import_cache: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
    pub(super) policy: Option<PathBuf>,
}

impl ScriptInputs {
    /// What these arguments and this process's environment say.
    pub(super) fn of(arguments: &ScriptArguments) -> CommandResult<ScriptInputs> {
        let files_under = arguments.files_under.as_ref().map(std::path::absolute).transpose();
        let own = |name: &str| name == TOKEN_VARIABLE;
        Ok(ScriptInputs {
            path: std::path::absolute(&arguments.script).map_err(Failure::usage)?,
            flags: flags(arguments),
            variables: std::env::vars().filter(|(name, _)| !own(name)).collect(),
            withheld_variables: Vec::new(),
            has_system_variables: arguments.include_system_env_vars != Some(false),
            files_under: files_under.map_err(Failure::usage)?,
            has_k6_redirects: arguments.k6_redirects,
            import_cache: arguments.import_cache.clone().or_else(default_import_cache),
            config: arguments.config.clone(),
            policy: arguments.policy.clone(),
        })
    }

    /// These files of this machine as far as the script may read them.
    pub(super) fn restrict(&self, files: Arc<dyn Files + Send + Sync>) -> Arc<dyn Files + Send + Sync> {
        let Some(folder) = self.files_under.clone() else { return files };
        let exempt = std::iter::once(self.path.clone()).chain(self.import_cache.clone()).collect();
        Arc::new(FilesBeneath { files, folder, exempt })
    }

    /// The same for workers, which get of this machine's environment what sets options, what the policy reads, and where `__ENV`
    /// has them the variables that a text of the script names.
    pub(super) fn for_workers(&self, of_policy: &BTreeMap<String, String>, texts: &[String]) -> ScriptInputs {
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
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }
}

/// Whether a text has this word, with nothing before or after it that a name could have.
fn has_word(text: &str, word: &str) -> bool {
    let is_of_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_of_name) && !text[at + word.len()..].starts_with(is_of_name))
}

/// Modules that are imported by URL, in the user's cache.
fn default_import_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("plimsoll/imports"))
}

fn flags(arguments: &ScriptArguments) -> Flags {
    let set = |flag: bool| flag.then_some(true);
    let ScriptArguments { vus, iterations, rps, max_redirects, batch, batch_per_host, .. } = *arguments;
    let given = arguments;
    Flags {
        vus,
        duration: given.duration.clone(),
        iterations,
        stages: given.stages.clone(),
        execution_segment: given.execution_segment.clone(),
        execution_segment_sequence: given.execution_segment_sequence.clone(),
        paused: set(given.foreign.paused),
        http_debug: given.foreign.http_debug.clone(),
        stay_after_run: set(given.foreign.stay_after_run),
        no_setup: set(given.no_setup),
        no_teardown: set(given.no_teardown),
        max_redirects,
        batch,
        batch_per_host,
        rps,
        user_agent: given.user_agent.clone(),
        insecure_skip_tls_verify: set(given.insecure_skip_tls_verify),
        no_connection_reuse: set(given.no_connection_reuse),
        no_vu_connection_reuse: set(given.no_vu_connection_reuse),
        local_ips: given.local_ips.clone(),
        min_iteration_duration: given.min_iteration_duration.clone(),
        throw: set(given.throw),
        blacklist_ips: given.blacklist_ips.clone(),
        block_hostnames: given.block_hostnames.clone(),
        summary_trend_stats: given.summary_trend_stats.clone(),
        summary_time_unit: given.summary_time_unit.clone(),
        system_tags: given.system_tags.clone(),
        tags: given.tags.clone(),
        discard_response_bodies: set(given.discard_response_bodies),
        dns: given.dns.clone(),
        no_thresholds: set(given.no_thresholds),
        no_usage_report: set(given.no_usage_report),
        env: given.env.clone(),
    }
}
