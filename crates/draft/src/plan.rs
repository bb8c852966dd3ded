//! The parts of a drafted plan.

use std::time::Duration;

use crate::secrets::{Variable, Variables};

/// The text of a plan, and what its user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The plan.
    pub text: String,
    /// How many steps it has.
    pub steps: usize,
    /// How many more are in it as comments.
    pub commented: usize,
    /// The environment variables that it uses.
    pub variables: Vec<Variable>,
    /// What was left out or could not be known, a sentence each.
    pub notes: Vec<String>,
}

/// Which requests of a source become steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// Of a description: those that only read, and whose values are known. Of a recording: those of the site itself,
    /// without static files. Other requests are comments, or left out.
    #[default]
    Safe,
    /// All of them.
    All,
}

/// How the steps of the scenario belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowDraft {
    /// Each iteration sends one, drawn by weight.
    Mix,
    /// Each iteration sends all in order.
    Sequence,
}

#[derive(Debug)]
pub(crate) struct PlanDraft {
    /// What it was drafted of, such as `shop.har`.
    pub(crate) source: String,
    pub(crate) targets: Vec<TargetDraft>,
    pub(crate) scenario: &'static str,
    pub(crate) flow: FlowDraft,
    pub(crate) steps: Vec<StepDraft>,
    pub(crate) variables: Variables,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct TargetDraft {
    pub(crate) name: String,
    /// Scheme, host and port, and perhaps a base path.
    pub(crate) url: String,
    /// Further keys, with their values as TOML.
    pub(crate) keys: Vec<(&'static str, String)>,
}

/// Texts are templates: what is literal in them is escaped.
#[derive(Debug)]
pub(crate) struct StepDraft {
    pub(crate) name: String,
    pub(crate) method: String,
    /// The index of its target.
    pub(crate) target: usize,
    /// Path and query below the target's URL.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) auth: Option<String>,
    pub(crate) body: BodyDraft,
    /// Expected statuses; empty: the default.
    pub(crate) statuses: Vec<u16>,
    pub(crate) redirects: Option<u32>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) think: Option<Duration>,
    /// Lines above it.
    pub(crate) comments: Vec<String>,
    pub(crate) state: StepState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepState {
    Active,
    /// It is in the plan as a comment, for this reason.
    Commented(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BodyDraft {
    None,
    /// JSON whose texts are templates.
    Json(serde_json::Value),
    /// A template.
    Text(String),
}

impl StepDraft {
    pub(crate) fn new(method: &str, target: usize, path: String) -> StepDraft {
        StepDraft {
            name: String::new(),
            method: method.to_owned(),
            target,
            path,
            headers: Vec::new(),
            auth: None,
            body: BodyDraft::None,
            statuses: Vec::new(),
            redirects: None,
            timeout: None,
            think: None,
            comments: Vec::new(),
            state: StepState::Active,
        }
    }

    /// Add a header, its name in lower case, its value without characters that none may contain. One that is there
    /// gets a further value (RFC 9110, section 5.3).
    pub(crate) fn add_header(&mut self, name: &str, mut value: String) {
        let name = name.to_ascii_lowercase();
        value.retain(|c| !c.is_control());
        let separator = if name == "cookie" { "; " } else { ", " };
        match self.headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = format!("{known}{separator}{value}"),
            None => self.headers.push((name, value)),
        }
    }

    /// Whether it has this header, which is given in lower case.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    pub(crate) fn is_active(&self) -> bool {
        self.state == StepState::Active
    }
}
