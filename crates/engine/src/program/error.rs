//! Why a plan cannot be compiled.

use super::template::UnknownName;

/// Why a plan cannot be run. Plans are validated when they are loaded, so most of these errors mean that a workload
/// was made in another way.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The name of a host has no address.
    #[error("target `{target}`: cannot find the address of {host}: {source}; check how it is spelt")]
    Dns {
        target: String,
        /// The host that was looked up.
        host: String,
        /// The error of the lookup.
        source: std::io::Error,
    },
    /// The TLS settings of a target cannot be used.
    #[error("target `{target}`: {what}")]
    Tls { target: String, what: String },
    /// The workload has no target of this name for the step's protocol.
    #[error("step `{step}`: there is no {kind} target `{target}`")]
    NoTarget {
        step: String,
        /// `HTTP` or `gRPC`.
        kind: &'static str,
        target: String,
    },
    /// A template uses a name that is not defined.
    #[error("step `{step}`: {source}")]
    Name {
        step: String,
        /// The undefined name.
        source: UnknownName,
    },
    /// A pattern, path, code or message that does not compile.
    #[error("step `{step}`: {what}")]
    Pattern {
        step: String,
        /// What is wrong with it.
        what: String,
    },
}
