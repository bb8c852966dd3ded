//! Variables in the place of flags of `k6 run` that are not given.

use std::collections::BTreeMap;

use k6::summary::SummaryMode;

use super::script::ScriptArguments;

const TRUE: [&str; 6] = ["true", "TRUE", "True", "t", "T", "1"];

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
