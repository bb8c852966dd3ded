//! Flags of `k6 run`, with their variables, that Plimsoll has no use for: accepted as far as they change nothing, else refused.

use std::collections::BTreeMap;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ForeignArguments {
    #[arg(short, long, hide = true)]
    pub(crate) paused: bool,
    #[arg(short = 'l', long = "linger", hide = true)]
    pub(crate) stay_after_run: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "headers")]
    pub(crate) http_debug: Option<String>,
    #[arg(short, long, hide = true)]
    address: Option<String>,
    #[arg(long, hide = true)]
    profiling_enabled: bool,
    #[arg(long, hide = true)]
    pub(crate) no_color: bool,
    #[arg(short = 't', long = "type", hide = true)]
    kind: Option<String>,
    #[arg(long, hide = true)]
    compatibility_mode: Option<String>,
    #[arg(long, hide = true)]
    traces_output: Option<String>,
    #[arg(long, hide = true)]
    secret_source: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    new_machine_readable_summary: Option<String>,
}

/// A flag that may have some values only.
struct Limited<'a> {
    flag: &'static str,
    variable: &'static str,
    given: &'a Option<String>,
    /// What changes nothing.
    accepted: &'static [&'static str],
    /// Why other values are refused.
    reason: &'static str,
}

impl ForeignArguments {
    fn limited(&self) -> [Limited<'_>; 5] {
        let flag =
            |flag, variable, given, accepted, reason| Limited { flag, variable, given, accepted, reason };
        let modes = &["base", "extended", "experimental_enhanced"];
        let summary = "--summary-export and handleSummary have k6's older form";
        let secrets = "pass secrets with --env";
        [
            flag(
                "--type",
                "K6_TYPE",
                &self.kind,
                &["js"],
                "archives are not read: unpack it and run its script",
            ),
            flag(
                "--compatibility-mode",
                "K6_COMPATIBILITY_MODE",
                &self.compatibility_mode,
                modes,
                "there is no such mode",
            ),
            flag(
                "--traces-output",
                "K6_TRACES_OUTPUT",
                &self.traces_output,
                &["none"],
                "no traces are written",
            ),
            flag("--secret-source", "K6_SECRET_SOURCE", &self.secret_source, &[], secrets),
            flag(
                "--new-machine-readable-summary",
                "K6_NEW_MACHINE_READABLE_SUMMARY",
                &self.new_machine_readable_summary,
                &["false"],
                summary,
            ),
        ]
    }

    /// What cannot be done, with the flag or the variable that asks for it; none where all of it can.
    pub(crate) fn refusal(&self, variables: &BTreeMap<String, String>) -> Option<String> {
        self.limited().iter().find_map(|limited| {
            let of_variable = variables
                .get(limited.variable)
                .filter(|text| !text.is_empty())
                .map(|text| (limited.variable, text));
            let (name, value) = limited.given.as_ref().map(|text| (limited.flag, text)).or(of_variable)?;
            let is_accepted = limited.accepted.contains(&value.as_str());
            (!is_accepted).then(|| format!("{name} '{value}' is not supported: {}", limited.reason))
        })
    }

    /// What has no effect, a sentence each.
    pub(crate) fn notes(&self) -> Vec<&'static str> {
        let given = [
            (
                self.address.as_ref().is_some_and(|address| !address.is_empty()),
                "--address has no effect: there is no REST API",
            ),
            (self.profiling_enabled, "--profiling-enabled has no effect: there is no REST API"),
        ];
        given.iter().filter(|(is_given, _)| *is_given).map(|(_, note)| *note).collect()
    }
}
