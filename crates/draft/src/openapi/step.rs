//! One operation as a step.

use serde_json::Value;

use super::login::{Credentials, with_account};
use super::operation::{Operation, is_safe};
use super::parameters::{Parameter, ParameterPlace, parameters};
use super::{request_body, responses, security};
use crate::error::DraftError;
use crate::plan::{StepDraft, StepState};
use crate::secrets::Variables;
use crate::text::Text;
use crate::url::as_sent;

/// A part of a path as it is sent: a `#` in it is none that ends a URL.
fn path_text(part: &str) -> Text {
    Text::literal(&as_sent(part).replace('#', "%23"))
}

impl Operation<'_> {
    /// As a step that logs in.
    pub(super) fn login_step(
        &self,
        target: usize,
        variables: &mut Variables,
    ) -> Result<StepDraft, DraftError> {
        let mut step = self.step(target, variables, &Credentials::new())?;
        request_body::add(self, &mut step, &mut |body| with_account(body, variables))?;
        Ok(step)
    }

    pub(super) fn step(
        &self,
        target: usize,
        variables: &mut Variables,
        credentials: &Credentials,
    ) -> Result<StepDraft, DraftError> {
        let method = self.method.to_ascii_uppercase();
        let parameters = parameters(self)?;
        let mut step = StepDraft::new(&method, target, Text::default());
        let id = self.operation.get("operationId").and_then(Value::as_str);
        step.name = id.map_or_else(|| format!("{method} {}", self.path), str::to_owned);
        let text = |key| self.operation.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        step.comments.extend(text("summary").or(text("description")).map(str::to_owned));
        step.path = self.path_of(&parameters);
        let written = |place: ParameterPlace| {
            let of_place = parameters.iter().filter(move |parameter| parameter.place == place);
            of_place.filter_map(|parameter| Some((parameter, parameter.written.as_ref().ok()?)))
        };
        for (_, pair) in written(ParameterPlace::Query).filter(|(_, pair)| !pair.is_empty()) {
            step.add_query(pair);
        }
        for (parameter, value) in written(ParameterPlace::Header) {
            step.add_header(&parameter.name, value);
        }
        for (_, pair) in written(ParameterPlace::Cookie).filter(|(_, pair)| !pair.is_empty()) {
            step.add_header("cookie", pair);
        }
        let unsendable = request_body::add(self, &mut step, &mut |body| body)?;
        security::add(self, &mut step, variables, credentials)?;
        step.statuses = responses::expected(self.operation);
        step.state = self.state(&step, &parameters, unsendable);
        Ok(step)
    }

    /// The path, with the values of its parameters.
    fn path_of(&self, parameters: &[Parameter]) -> Text {
        let mut path = Text::default();
        let mut rest = self.path;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            path.push(&path_text(before));
            let known = parameters.iter().find(|p| p.place == ParameterPlace::Path && p.name == name);
            match known.map(|parameter| &parameter.written) {
                Some(Ok(value)) => path.push(value),
                _ => path.push_literal("1"),
            }
            rest = after;
        }
        path.push(&path_text(rest));
        let is_absolute = matches!(path.parts().first(), Some(workload::template::Part::Literal(text)) if text.starts_with('/'));
        if is_absolute { path } else { Text::literal("/").then(&path) }
    }

    fn state(&self, step: &StepDraft, parameters: &[Parameter], unsendable: Option<String>) -> StepState {
        let unwritten = parameters.iter().find_map(|parameter| parameter.written.as_ref().err());
        if let Some(why) = unwritten.cloned().or(unsendable) {
            return StepState::Impossible(why);
        }
        let made_up: Vec<&str> = parameters
            .iter()
            .filter(|p| p.place == ParameterPlace::Path && !p.is_known)
            .map(|p| p.name.as_str())
            .collect();
        let deprecated = self.operation.get("deprecated").and_then(Value::as_bool) == Some(true);
        if !is_safe(&step.method) {
            StepState::Commented(format!("{} may change something", step.method))
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
