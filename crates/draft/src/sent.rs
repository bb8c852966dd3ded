//! What a step is to send, by its draft and by a plan.

use workload::template::{Part, Value};
use workload::{Request, Step};

use crate::plan::{BodyDraft, StepDraft, TargetDraft};
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
    pub(crate) fn new(step: &StepDraft, targets: &[TargetDraft]) -> SentRequest {
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

    pub(crate) fn of_plan(step: &Step) -> Option<SentRequest> {
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

    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let headers = self.headers.iter().flat_map(|(_, parts)| parts);
        self.path.iter().chain(headers).chain(&self.auth).chain(&self.body).filter_map(Part::value)
    }
}
