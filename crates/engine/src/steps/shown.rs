//! What is said of requests and responses, without their secrets.

use workload::message::EncodeError;
use workload::redact::Redactor;

use super::PlanIteration;
use crate::iteration::Context;

impl PlanIteration {
    /// The current step's message cannot be encoded, so the run ends.
    pub(super) fn abort(&self, error: EncodeError, context: &mut Context<'_>) {
        let endpoint = &self.program.endpoint(self.current().endpoint).name;
        let text = shown(&self.program.redactor, &error.text);
        let error = EncodeError { text, ..error };
        context.abort(&format!("step `{endpoint}` cannot be sent: {error}"));
    }
}

/// The beginning of a text without its secrets. It is cut last: a part of a secret would not be found.
pub(super) fn shown(redactor: &Redactor, text: &str) -> String {
    const MAX_SHOWN_BYTES: usize = 200;
    let mut shown = redactor.text(text).into_owned();
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    shown
}
