//! Why options are refused.

use std::fmt;

/// Where options come from, the lowest precedence first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    ConfigFile,
    /// `export const options` of the script.
    Script,
    /// Variables `K6_*`.
    Environment,
    /// Flags of the command.
    Flags,
}

impl Source {
    /// The name that k6 has for it in warnings.
    pub fn level(self) -> &'static str {
        match self {
            Source::ConfigFile => "json",
            Source::Script => "script",
            Source::Environment => "env",
            Source::Flags => "cli",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::ConfigFile => "configuration file",
            Source::Script => "script",
            Source::Environment => "variable",
            Source::Flags => "flag",
        })
    }
}

/// Why a run with these options cannot begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The value of one option cannot be used.
    #[error("`{option}` ({origin}): {reason}")]
    Value {
        origin: Source,
        /// The option, variable or flag, with the path into it.
        option: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The options as a whole are no object.
    #[error("options ({origin}): must be an object, not {found}")]
    NotAnObject { origin: Source, found: String },
    /// The configuration file is not JSON.
    #[error("configuration file: {0}")]
    NotJson(String),
    /// Two options of one source exclude each other.
    #[error("using `{0}` and `{1}` options simultaneously is not allowed")]
    Conflict(&'static str, &'static str),
    /// `duration` is not above 0.
    #[error("`duration` option should be more than 0")]
    NoDuration,
    /// The options that follow from all sources contradict each other, or ask for too much.
    #[error("There were problems with the specified script configuration:{}", as_list(.0))]
    Problems(Vec<String>),
    /// A threshold cannot be evaluated.
    #[error(transparent)]
    Threshold(#[from] super::thresholds::ThresholdError),
    /// An option that is known and not supported.
    #[error("{option} is not supported: {reason}")]
    Unsupported {
        option: String,
        /// Why, and what to do instead.
        reason: &'static str,
    },
}

impl OptionsError {
    /// The exit code of k6: 255 for flags that it cannot read, 104 for an invalid configuration.
    pub fn exit_code(&self) -> u8 {
        match self {
            OptionsError::Value { origin: Source::Flags, .. } => 255,
            _ => 104,
        }
    }
}

fn as_list(problems: &[String]) -> String {
    problems.iter().map(|problem| format!("\n\t- {problem}")).collect()
}
