//! Judges the response to a step, and extracts the values that later steps need.

use std::sync::Arc;

use evidence::Outcome;
use wire::grpc::Framed;

use super::PlanIteration;
use super::decoding::{self, decoded};
use crate::exchange::Response;
use crate::iteration::{Context, Rejection};
use crate::program::{JsonBody, StepContent};

impl PlanIteration {
    /// Judge the response to the current step and extract the values that later steps need. A rejection ends the
    /// iteration.
    pub(super) fn accept(&mut self, response: &Response, context: &mut Context<'_>) -> Result<(), Rejection> {
        let plain = decoded(self.current(), response);
        if let Some(Err(error)) = &plain
            && self.current().expectation.status.accepts(response)
        {
            let reason = format!("the body cannot be read: {error}");
            return Err(Rejection { outcome: Outcome::Protocol, reason });
        }
        let response = plain.as_ref().and_then(|plain| plain.as_ref().ok()).unwrap_or(response);
        let content = &self.current().content;
        let decode = || decode(content, response);
        let body = match content {
            StepContent::Http(_) => JsonBody::text(response),
            StepContent::Grpc(_) => JsonBody::decoded(response, &decode),
        };
        let scope = self.scope(context.now, context.clock, context.counters);
        let checks = &mut *context.checks;
        let mut note = |check, result| checks.push((check, result));
        let verdict = self.current().expectation.judge(response, &scope, &body, &mut note);
        if let Some(outcome) = verdict.outcome {
            return Err(Rejection { outcome, reason: verdict.detail });
        }
        let extractions = &self.current().extractions;
        if extractions.is_empty() {
            return Ok(());
        }
        let extracted: Result<Vec<_>, String> =
            extractions.iter().map(|e| Ok((e.variable, e.take(response, &body)?))).collect();
        let stored = extracted.and_then(|values| self.store(values));
        stored.map_err(|reason| Rejection { outcome: Outcome::Check, reason })
    }

    /// Keep what was extracted; an error when the budget does not cover it. The values from before then stay.
    fn store(&mut self, values: Vec<(usize, Vec<u8>)>) -> Result<(), String> {
        let begun_with = &self.program.steps.setup_variables;
        let own = self.variables.iter().zip(begun_with).filter(|(value, shared)| !Arc::ptr_eq(value, shared));
        let kept: usize = own.map(|(value, _)| value.len()).sum();
        let length = kept + values.iter().map(|(_, value)| value.len()).sum::<usize>();
        self.variables_lease.renew();
        if !self.variables_lease.covers(length) {
            let why = self.variables_lease.refusal().unwrap_or_default();
            return Err(format!("the extracted values, {length} bytes in all, are not kept: {why}"));
        }
        for (variable, value) in values {
            self.variables[variable] = value.into();
        }
        Ok(())
    }
}

/// A gRPC response's message, the last of a stream, as JSON.
fn decode(content: &StepContent, response: &Response) -> Result<serde_json::Value, String> {
    let StepContent::Grpc(call) = content else { return Err("it is not a gRPC message".to_owned()) };
    let framed = Framed::single(&response.body).map_err(|e| e.to_string())?;
    let message = decoding::message(framed, response)?;
    call.method.decode_to_json(&message).map_err(|e| e.to_string())
}
