//! Variables in the place of flags of `k6 run` that are not given.

use std::collections::BTreeMap;

use k6::options::is_option_variable;
use k6::summary::SummaryMode;

use super::script::ScriptArguments;

const TRUE: [&str; 6] = ["true", "TRUE", "True", "t", "T", "1"];

/// Variables that are read here or, as those of outputs, where what they are for is.
const READ: [&str; 20] = [
    "K6_COMPATIBILITY_MODE",
    "K6_CONFIG",
    "K6_CONSOLE_OUTPUT",
    "K6_CSV_FILENAME",
    "K6_CSV_TIME_FORMAT",
    "K6_INCLUDE_SYSTEM_ENV_VARS",
    "K6_LOG_FORMAT",
    "K6_LOG_OUTPUT",
    "K6_NEW_MACHINE_READABLE_SUMMARY",
    "K6_NO_COLOR",
    "K6_NO_SUMMARY",
    "K6_NO_USAGE_REPORT",
    "K6_OUT",
    "K6_SECRET_SOURCE",
    "K6_SUMMARY_EXPORT",
    "K6_SUMMARY_MODE",
    "K6_TRACES_OUTPUT",
    "K6_TYPE",
    "K6_CSV_SAVE_INTERVAL",
    "K6_PROFILING_ENABLED",
];

/// A sentence about variables of k6 that are set and that nothing reads, nor the script with this text; none without any.
pub(crate) fn without_effect(variables: &BTreeMap<String, String>, script: &str) -> Option<String> {
    let is_read = |name: &str| READ.contains(&name) || is_option_variable(name) || script.contains(name);
    let set = variables.iter().filter(|(name, text)| name.starts_with("K6_") && !text.is_empty());
    let names: Vec<&str> = set.map(|(name, _)| name.as_str()).filter(|name| !is_read(name)).collect();
    let verb = match names.len() {
        0 => return None,
        1 => "has",
        _ => "have",
    };
    let is_dashboard = |name: &&str| name.starts_with("K6_WEB_DASHBOARD");
    let instead = match names.iter().any(is_dashboard) {
        true => ": --live serves the report of the run so far, and --html writes it",
        false => "",
    };
    Some(format!("{} {verb} no effect{instead}", names.join(", ")))
}

impl ScriptArguments {
    /// With what variables say where flags do not.
    ///
    /// # Errors
    /// The variable whose value cannot be used.
    pub(crate) fn complete(&mut self, variables: &BTreeMap<String, String>) -> Result<(), String> {
        let of = |name: &str| variables.get(name).filter(|text| !text.is_empty());
        let is_set = |name: &str| of(name).is_some_and(|text| TRUE.contains(&text.as_str()));
        self.no_summary |= is_set("K6_NO_SUMMARY");
        self.foreign.no_color |= of("K6_NO_COLOR").or_else(|| of("NO_COLOR")).is_some();
        let or_variable =
            |flag: &mut Option<String>, name: &str| *flag = flag.take().or_else(|| of(name).cloned());
        or_variable(&mut self.log.log_output, "K6_LOG_OUTPUT");
        or_variable(&mut self.log.log_format, "K6_LOG_FORMAT");
        or_variable(&mut self.log.console_output, "K6_CONSOLE_OUTPUT");
        self.config = self.config.take().or_else(|| of("K6_CONFIG").map(Into::into));
        self.summary_export = self.summary_export.take().or_else(|| of("K6_SUMMARY_EXPORT").map(Into::into));
        if let Some(text) = of("K6_SUMMARY_MODE").filter(|_| self.summary_mode.is_none()) {
            let mode = SummaryMode::from_name(text);
            self.summary_mode =
                Some(mode.ok_or_else(|| format!("K6_SUMMARY_MODE '{text}' is not a mode of the summary"))?);
        }
        if let Some(text) =
            of("K6_INCLUDE_SYSTEM_ENV_VARS").filter(|_| self.include_system_env_vars.is_none())
        {
            self.include_system_env_vars = Some(TRUE.contains(&text.as_str()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_nothing_reads_are_named() {
        let of = |names: &[&str], script: &str| {
            let set = |name: &&str| ((*name).to_owned(), "1".to_owned());
            without_effect(&names.iter().map(set).collect(), script)
        };
        assert_eq!(of(&["K6_VUS", "K6_OUT", "HOME"], ""), None);
        assert_eq!(of(&["K6_MINE"], "console.log(__ENV.K6_MINE)"), None);
        let both = of(&["K6_INFLUXDB_ADDR", "K6_OTEL_SERVICE_NAME"], "").expect("both are named");
        assert_eq!(both, "K6_INFLUXDB_ADDR, K6_OTEL_SERVICE_NAME have no effect");
        let dashboard = of(&["K6_WEB_DASHBOARD"], "").expect("it is named");
        assert!(dashboard.starts_with("K6_WEB_DASHBOARD has no effect: --live"), "{dashboard}");
    }
}
