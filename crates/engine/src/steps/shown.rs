//! What is said of requests and responses, without their secrets.

use workload::message::EncodeError;
use workload::redact::Redactor;

use super::PlanIteration;

impl PlanIteration {
    /// Why the current step's message cannot be sent.
    pub(super) fn unsendable(&self, error: EncodeError) -> String {
        let endpoint = &self.program.endpoint(self.current().endpoint).name;
        let text = shown(&self.program.redactor, &error.text);
        format!("step `{endpoint}` cannot be sent: {}", EncodeError { text, ..error })
    }
}

/// The beginning of a text without its secrets. It is cut last: a part of a secret would not be found.
pub(super) fn shown(redactor: &Redactor, text: &str) -> String {
    const MAX_SHOWN_BYTES: usize = 200;
    let mut shown = redactor.text(text).into_owned();
    shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
    shown
}
