//! One operation as a step.

use serde_json::Value;

use super::operation::{Operation, is_safe};
use super::parameters::{Parameter, parameters};
use super::{request_body, security};
use crate::error::DraftError;
use crate::plan::{StepDraft, StepState};
use crate::secrets::Variables;
use crate::url::{as_sent, literal};

/// A part of a path as it is sent: a `#` in it is none that ends a URL.
fn path_text(part: &str) -> String {
    as_sent(part).replace('#', "%23")
}

impl Operation<'_> {
    pub(super) fn step(&self, variables: &mut Variables) -> Result<StepDraft, DraftError> {
        let method = self.method.to_ascii_uppercase();
        let parameters = parameters(self)?;
        let mut step = StepDraft::new(&method, 0, String::new());
        let id = self.operation.get("operationId").and_then(Value::as_str);
        step.name = id.map_or_else(|| format!("{method} {}", self.path), str::to_owned);
        let text = |key| self.operation.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        step.comments.extend(text("summary").or(text("description")).map(str::to_owned));
        step.path = self.path_of(&parameters);
        let pairs: Vec<String> =
            parameters.iter().filter(|p| p.place == "query").flat_map(Parameter::pairs).collect();
        if !pairs.is_empty() {
            step.path.push(if step.path.contains('?') { '&' } else { '?' });
            step.path.push_str(&pairs.join("&"));
        }
        for parameter in parameters.iter().filter(|p| p.place == "header") {
            step.add_header(&parameter.name, parameter.text());
        }
        let cookies = parameters.iter().filter(|p| p.place == "cookie");
        let cookies: Vec<String> = cookies.map(|p| format!("{}={}", p.name, p.text())).collect();
        if !cookies.is_empty() {
            step.add_header("cookie", cookies.join("; "));
        }
        let unsendable = request_body::add(self, &mut step)?;
        security::add(self, &mut step, variables)?;
        step.statuses = self.statuses();
        step.state = self.state(&step, &parameters, unsendable);
        Ok(step)
    }

    /// The path, with the values of its parameters.
    fn path_of(&self, parameters: &[Parameter]) -> String {
        let mut path = String::new();
        let mut rest = self.path;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            path.push_str(&literal(&path_text(before)));
            let known = parameters.iter().find(|p| p.place == "path" && p.name == name);
            path.push_str(&known.map_or_else(|| "1".to_owned(), Parameter::encoded_text));
            rest = after;
        }
        path.push_str(&literal(&path_text(rest)));
        if path.starts_with('/') { path } else { format!("/{path}") }
    }

    /// The documented statuses of success; empty if there is none.
    fn statuses(&self) -> Vec<u16> {
        let responses = self.operation.get("responses").and_then(Value::as_object);
        let statuses = responses.into_iter().flat_map(|responses| responses.keys());
        statuses
            .filter_map(|status| status.parse().ok())
            .filter(|status| (200..400).contains(status))
            .collect()
    }

    fn state(&self, step: &StepDraft, parameters: &[Parameter], unsendable: Option<String>) -> StepState {
        let made_up: Vec<&str> =
            parameters.iter().filter(|p| p.place == "path" && !p.is_known).map(|p| p.name.as_str()).collect();
        let deprecated = self.operation.get("deprecated").and_then(Value::as_bool) == Some(true);
        if !is_safe(&step.method) {
            StepState::Commented(format!("{} may change something", step.method))
        } else if let Some(why) = unsendable {
            StepState::Commented(why)
        } else if !made_up.is_empty() {
            let names = made_up.join("`, `");
            StepState::Commented(format!("the description has no example of `{names}`: put in a real value"))
        } else if deprecated {
            StepState::Commented("it is deprecated".to_owned())
        } else {
            StepState::Active
        }
    }
}
