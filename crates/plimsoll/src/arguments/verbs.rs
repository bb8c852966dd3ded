//! Verbs that are not typed.

/// The verb that `run` is with a script: it has k6's flags.
pub(crate) const SCRIPT_VERB: &str = "run-script";
/// The verb that `manifest` is with a script.
pub(super) const SCRIPT_MANIFEST_VERB: &str = "manifest-script";
