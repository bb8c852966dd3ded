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
        let mut flags = Flags::default();
        self.add_values(&mut flags);
        self.add_lists(&mut flags);
        self.add_switches(&mut flags);
        flags.0
    }

    fn add_values(&self, flags: &mut Flags) {
        let numbers = [
            ("vus", self.vus),
            ("iterations", self.iterations),
            ("rps", self.rps),
            ("max-redirects", self.max_redirects),
            ("batch", self.batch),
            ("batch-per-host", self.batch_per_host),
        ];
        numbers.into_iter().for_each(|(name, value)| flags.value(name, value));
        let texts = [
            ("duration", &self.duration),
            ("execution-segment", &self.execution_segment),
            ("execution-segment-sequence", &self.execution_segment_sequence),
            ("user-agent", &self.user_agent),
            ("local-ips", &self.local_ips),
            ("min-iteration-duration", &self.min_iteration_duration),
            ("dns", &self.dns),
            ("summary-time-unit", &self.summary_time_unit),
        ];
        texts.into_iter().for_each(|(name, value)| flags.value(name, value.as_ref()));
        flags.value("include-system-env-vars", self.include_system_env_vars);
        flags.value("summary-mode", self.summary_mode.map(SummaryMode::name));
        flags.value("loops", Some(self.loops));
    }

    fn add_lists(&self, flags: &mut Flags) {
        let lists = [
            ("stage", &self.stages),
            ("scenario", &self.scenarios),
            ("tag", &self.tags),
            ("blacklist-ip", &self.blacklist_ips),
            ("block-hostnames", &self.block_hostnames),
            ("system-tags", &self.system_tags),
            ("summary-trend-stats", &self.summary_trend_stats),
        ];
        lists.into_iter().for_each(|(name, values)| flags.each(name, values));
    }

    fn add_switches(&self, flags: &mut Flags) {
        let switches = [
            ("insecure-skip-tls-verify", self.insecure_skip_tls_verify),
            ("no-connection-reuse", self.no_connection_reuse),
            ("no-vu-connection-reuse", self.no_vu_connection_reuse),
            ("k6-redirects", self.k6_redirects),
            ("throw", self.throw),
            ("discard-response-bodies", self.discard_response_bodies),
            ("no-setup", self.no_setup),
            ("no-teardown", self.no_teardown),
            ("no-thresholds", self.no_thresholds),
            ("no-summary", self.no_summary),
            ("k6-exit-codes", self.k6_exit_codes),
        ];
        switches.into_iter().for_each(|(name, is_set)| flags.set(name, is_set));
    }
}
