//! The flags of a script that mean the same in a pod as here.

use k6::summary::SummaryMode;

use super::script::ScriptArguments;

/// Flags, each in one word with its value.
#[derive(Default)]
struct Flags(Vec<String>);

impl Flags {
    fn value(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        self.0.extend(value.map(|value| format!("--{name}={value}")));
    }

    fn each(&mut self, name: &str, values: &[String]) {
        self.0.extend(values.iter().map(|value| format!("--{name}={value}")));
    }

    fn set(&mut self, name: &str, is_set: bool) {
        self.0.extend(is_set.then(|| format!("--{name}")));
    }
}

impl ScriptArguments {
    /// Those that decide what is offered and how it is summed up, but for paths of files, which are others there, and variables,
    /// which may be secret.
    pub(crate) fn flags_for_pods(&self) -> Vec<String> {
        // Every field is here, so that a new one is decided about.
        let ScriptArguments {
            script: _,
            vus,
            duration,
            iterations,
            stages,
            env: _,
            include_system_env_vars,
            tags,
            config: _,
            execution_segment,
            execution_segment_sequence,
            rps,
            max_redirects,
            batch,
            batch_per_host,
            user_agent,
            insecure_skip_tls_verify,
            no_connection_reuse,
            no_vu_connection_reuse,
            local_ips,
            min_iteration_duration,
            throw,
            discard_response_bodies,
            no_setup,
            no_teardown,
            no_thresholds,
            no_usage_report: _,
            blacklist_ips,
            block_hostnames,
            dns,
            system_tags,
            summary_trend_stats,
            summary_time_unit,
            summary_mode,
            summary_export: _,
            no_summary,
            out: _,
            files_under: _,
            policy: _,
            import_cache: _,
            evidence: _,
            k6_exit_codes,
            quiet: _,
            force: _,
            loops,
            workers: _,
            kubernetes: _,
            foreign: _,
            outputs: _,
        } = self;
        let mut flags = Flags::default();
        let numbers = [
            ("vus", vus),
            ("iterations", iterations),
            ("rps", rps),
            ("max-redirects", max_redirects),
            ("batch", batch),
            ("batch-per-host", batch_per_host),
        ];
        numbers.into_iter().for_each(|(name, value)| flags.value(name, *value));
        let texts = [
            ("duration", duration),
            ("execution-segment", execution_segment),
            ("execution-segment-sequence", execution_segment_sequence),
            ("user-agent", user_agent),
            ("local-ips", local_ips),
            ("min-iteration-duration", min_iteration_duration),
            ("dns", dns),
            ("summary-time-unit", summary_time_unit),
        ];
        texts.into_iter().for_each(|(name, value)| flags.value(name, value.as_ref()));
        let lists = [
            ("stage", stages),
            ("tag", tags),
            ("blacklist-ip", blacklist_ips),
            ("block-hostnames", block_hostnames),
            ("system-tags", system_tags),
            ("summary-trend-stats", summary_trend_stats),
        ];
        lists.into_iter().for_each(|(name, values)| flags.each(name, values));
        let switches = [
            ("insecure-skip-tls-verify", insecure_skip_tls_verify),
            ("no-connection-reuse", no_connection_reuse),
            ("no-vu-connection-reuse", no_vu_connection_reuse),
            ("throw", throw),
            ("discard-response-bodies", discard_response_bodies),
            ("no-setup", no_setup),
            ("no-teardown", no_teardown),
            ("no-thresholds", no_thresholds),
            ("no-summary", no_summary),
            ("k6-exit-codes", k6_exit_codes),
        ];
        switches.into_iter().for_each(|(name, is_set)| flags.set(name, *is_set));
        flags.value("include-system-env-vars", *include_system_env_vars);
        flags.value("summary-mode", summary_mode.map(SummaryMode::name));
        flags.value("loops", Some(loops));
        flags.0
    }
}
