//! What a draft's steps are to send, and whether the plan that was written sends it.

use std::collections::BTreeSet;

use workload::template::{Part, Value};
use workload::{Request, Step, Workload};

use crate::plan::{BodyDraft, Draft, StepDraft, TargetDraft};
use crate::text::{Text, normal};
use crate::url::base_path;

/// The request of one step: literal texts, and values in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentRequest {
    method: String,
    path: Vec<Part>,
    headers: Vec<(String, Vec<Part>)>,
    auth: Vec<Part>,
    body: Vec<Part>,
}

impl SentRequest {
    pub(crate) fn of(step: &StepDraft, targets: &[TargetDraft]) -> SentRequest {
        let base = targets.get(step.target).map(|target| base_path(&target.url)).unwrap_or_default();
        let mut headers: Vec<_> =
            step.headers.iter().map(|(name, value)| (name.clone(), value.parts().to_vec())).collect();
        if matches!(step.body, BodyDraft::Json(_)) && !step.has_header("content-type") {
            headers.push(("content-type".to_owned(), Text::literal("application/json").parts().to_vec()));
        }
        headers.sort_by(|a, b| a.0.cmp(&b.0));
        SentRequest {
            method: step.method.clone(),
            path: Text::literal(&base).then(&step.path).parts().to_vec(),
            headers,
            auth: step.auth.as_ref().map(|auth| auth.parts().to_vec()).unwrap_or_default(),
            body: step.body.text().parts().to_vec(),
        }
    }

    fn of_plan(step: &Step) -> Option<SentRequest> {
        let Request::Http { method, path, headers, body, options, .. } = &step.request else { return None };
        let mut headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.clone(), normal(value.parts()))).collect();
        headers.sort_by(|a, b| a.0.cmp(&b.0));
        Some(SentRequest {
            method: method.clone(),
            path: normal(path.parts()),
            headers,
            auth: options.basic_auth.iter().flat_map(|auth| normal(auth.parts())).collect(),
            body: normal(body.parts()),
        })
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        let headers = self.headers.iter().flat_map(|(_, parts)| parts);
        self.path.iter().chain(headers).chain(&self.auth).chain(&self.body).filter_map(Part::value)
    }
}

impl Draft {
    /// Check that `workload`, the plan that was written, sends what was drafted and reads no variable of the environment
    /// that the draft does not name.
    ///
    /// # Errors
    /// What is different.
    pub fn check(&self, workload: &Workload) -> Result<(), String> {
        let declared: BTreeSet<&str> = self.variables.iter().map(|variable| variable.name.as_str()).collect();
        let steps: Vec<&Step> = workload.steps().collect();
        if steps.len() != self.sent.len() {
            return Err(format!("the plan has {} steps instead of {}", steps.len(), self.sent.len()));
        }
        for (step, drafted) in steps.into_iter().zip(&self.sent) {
            let sent =
                SentRequest::of_plan(step).ok_or_else(|| format!("`{}` sends no request", step.name))?;
            for value in sent.values() {
                match value {
                    Value::Env(name) if !declared.contains(name.as_str()) => {
                        return Err(format!(
                            "`{}` reads ${{env.{name}}}, which the draft does not name",
                            step.name
                        ));
                    }
                    _ => {}
                }
            }
            if sent != *drafted {
                return Err(format!("`{}` does not send what the source has", step.name));
            }
        }
        Ok(())
    }
}
