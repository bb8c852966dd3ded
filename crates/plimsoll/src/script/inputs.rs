//! What a script is read from, as its arguments and the environment say.

use std::path::PathBuf;

use conduct::failure::{CommandResult, Failure};
use conduct::workers::TOKEN_VARIABLE;
use k6::ScriptInputs;
use k6::options::Flags;

use crate::arguments::ScriptArguments;

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

/// Modules that are imported by URL, in the user's cache.
pub(crate) fn default_import_cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("plimsoll/imports"))
}

fn flags(arguments: &ScriptArguments) -> Flags {
    let is_false = |name: &str| arguments.given_as_false.iter().any(|given| given == name);
    let set = |flag: bool, name: &str| if flag { Some(true) } else { is_false(name).then_some(false) };
    let ScriptArguments { vus, iterations, rps, max_redirects, batch, batch_per_host, .. } = *arguments;
    let given = arguments;
    Flags {
        vus,
        duration: given.duration.clone(),
        iterations,
        stages: given.stages.clone(),
        execution_segment: given.execution_segment.clone(),
        execution_segment_sequence: given.execution_segment_sequence.clone(),
        paused: set(given.foreign.paused, "paused"),
        http_debug: given.foreign.http_debug.clone(),
        stay_after_run: set(given.foreign.stay_after_run, "linger"),
        no_setup: set(given.no_setup, "no-setup"),
        no_teardown: set(given.no_teardown, "no-teardown"),
        max_redirects,
        batch,
        batch_per_host,
        rps,
        user_agent: given.user_agent.clone(),
        insecure_skip_tls_verify: set(given.insecure_skip_tls_verify, "insecure-skip-tls-verify"),
        no_connection_reuse: set(given.no_connection_reuse, "no-connection-reuse"),
        no_vu_connection_reuse: set(given.no_vu_connection_reuse, "no-vu-connection-reuse"),
        local_ips: given.local_ips.clone(),
        min_iteration_duration: given.min_iteration_duration.clone(),
        throw: set(given.throw, "throw"),
        blacklist_ips: given.blacklist_ips.clone(),
        block_hostnames: given.block_hostnames.clone(),
        summary_trend_stats: given.summary_trend_stats.clone(),
        summary_time_unit: given.summary_time_unit.clone(),
        system_tags: given.system_tags.clone(),
        tags: given.tags.clone(),
        discard_response_bodies: set(given.discard_response_bodies, "discard-response-bodies"),
        dns: given.dns.clone(),
        no_thresholds: set(given.no_thresholds, "no-thresholds"),
        no_usage_report: set(given.no_usage_report, "no-usage-report"),
        env: given.env.clone(),
        scenarios: given.scenarios.clone(),
        once: given.once,
    }
}
