//! A finished draft, and whether the plan that was written sends what was drafted.

use std::collections::BTreeSet;

use workload::template::Value;
use workload::{Step, Workload};

use crate::plan::Choice;
use crate::secrets::Variable;
use crate::sent::SentRequest;

/// The text of a plan, and what its user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The plan.
    pub text: String,
    pub steps: usize,
    /// How many more are in it as comments.
    pub commented: usize,
    /// The environment variables that it uses.
    pub variables: Vec<Variable>,
    /// The files that became part of it, as the source names them.
    pub files: Vec<String>,
    /// The values of its steps that come from responses.
    pub choices: Vec<Choice>,
    /// What its steps send, in their order, setup included.
    pub(crate) sent: Vec<SentRequest>,
    /// What was left out or could not be known, a sentence each.
    pub notes: Vec<String>,
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
