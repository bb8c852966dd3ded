//! The parts of a drafted plan.

use std::collections::BTreeSet;
use std::time::Duration;

use workload::template::{Part, Value};

use crate::correlate::{Origin, Reference};
use crate::extract::Extraction;
use crate::secrets::Variables;
use crate::text::Text;

/// A place in a response from which a value of a later step is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The name of the value.
    pub name: String,
    /// The step that sends it.
    pub step: String,
    /// The step whose response has it.
    pub from: String,
    /// Whether other places have it, too.
    pub has_alternatives: bool,
    origin: Origin,
}

impl Choice {
    /// Of the step with this number, of `steps`.
    pub(crate) fn new(step: usize, reference: &Reference, steps: &[StepDraft]) -> Choice {
        let name_of = |step: usize| steps.get(step).map(|step| step.name.clone()).unwrap_or_default();
        Choice {
            name: reference.name.clone(),
            step: name_of(step),
            from: name_of(reference.origin.exchange),
            has_alternatives: reference.alternatives > 0,
            origin: reference.origin.clone(),
        }
    }
}

/// Places of values that have turned out to be wrong.
#[derive(Debug, Clone, Default)]
pub struct Avoided(pub(crate) BTreeSet<Origin>);

impl Avoided {
    /// Add the place of a choice.
    pub fn add(&mut self, choice: &Choice) {
        self.0.insert(choice.origin.clone());
    }
}

/// Which requests of a source become steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// Of a description: those that only read, and whose values are known. Of a recording: those of the site itself,
    /// without static files. Other requests are comments, or left out.
    #[default]
    Safe,
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
    /// What each virtual user sends once.
    pub(crate) setup: Vec<StepDraft>,
    pub(crate) steps: Vec<StepDraft>,
    pub(crate) variables: Variables,
    /// The files that are part of it.
    pub(crate) files: Vec<String>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct TargetDraft {
    pub(crate) name: String,
    /// Scheme, host and port, and perhaps a base path.
    pub(crate) url: String,
    /// Further keys, with their values as TOML, literal in templates.
    pub(crate) keys: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
pub(crate) struct StepDraft {
    pub(crate) name: String,
    pub(crate) method: String,
    /// The index of its target.
    pub(crate) target: usize,
    /// Path and query below the target's URL.
    pub(crate) path: Text,
    pub(crate) headers: Vec<(String, Text)>,
    /// `USER:PASSWORD`.
    pub(crate) auth: Option<Text>,
    pub(crate) body: BodyDraft,
    /// Expected statuses; empty: the default.
    pub(crate) statuses: Vec<ExpectedStatus>,
    pub(crate) extract: Vec<Extraction>,
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
    /// The same, and nothing makes a step of it that is sent.
    Impossible(String),
}

/// A status, or a class of statuses, that a response may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedStatus {
    Exactly(u16),
    /// `2XX` by its first digit.
    Class(u16),
}

impl ExpectedStatus {
    /// `200`, or `2XX` for all that begin with 2.
    pub(crate) fn parse(text: &str) -> Option<ExpectedStatus> {
        let class = text.strip_suffix("XX").or(text.strip_suffix("xx"));
        match class {
            Some(class) => {
                Some(ExpectedStatus::Class(class.parse().ok().filter(|class| (1..=5).contains(class))?))
            }
            None => Some(ExpectedStatus::Exactly(text.parse().ok()?)),
        }
    }

    pub(crate) fn is_success(self) -> bool {
        match self {
            ExpectedStatus::Exactly(status) => (200..400).contains(&status),
            ExpectedStatus::Class(class) => matches!(class, 2 | 3),
        }
    }

    /// As in a plan.
    pub(crate) fn toml(self) -> String {
        match self {
            ExpectedStatus::Exactly(status) => status.to_string(),
            ExpectedStatus::Class(class) => format!("\"{class}XX\""),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BodyDraft {
    None,
    /// JSON, which is sent as such unless a header says otherwise.
    Json(Text),
    Text(Text),
}

impl BodyDraft {
    pub(crate) fn text(&self) -> Text {
        match self {
            BodyDraft::None => Text::default(),
            BodyDraft::Json(text) | BodyDraft::Text(text) => text.clone(),
        }
    }
}

impl StepDraft {
    pub(crate) fn new(method: &str, target: usize, path: Text) -> StepDraft {
        StepDraft {
            name: String::new(),
            method: method.to_owned(),
            target,
            path,
            headers: Vec::new(),
            auth: None,
            body: BodyDraft::None,
            statuses: Vec::new(),
            extract: Vec::new(),
            redirects: None,
            timeout: None,
            think: None,
            comments: Vec::new(),
            state: StepState::Active,
        }
    }

    /// Add a header, its name in lower case, its value without characters that none may contain. One that is there
    /// gets a further value (RFC 9110, section 5.3).
    pub(crate) fn add_header(&mut self, name: &str, value: &Text) {
        let name = name.to_ascii_lowercase();
        let value = value.in_header();
        let separator = if name == "cookie" { "; " } else { ", " };
        match self.headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => {
                known.push_literal(separator);
                known.push(&value);
            }
            None => self.headers.push((name, value)),
        }
    }

    /// Whether it has this header, which is given in lower case.
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// Add `name=value` to the query.
    pub(crate) fn add_query(&mut self, pair: &Text) {
        let has_query =
            self.path.parts().iter().any(|part| matches!(part, Part::Literal(text) if text.contains('?')));
        self.path.push_literal(if has_query { "&" } else { "?" });
        self.path.push(pair);
    }

    /// Whether it uses the value `name` of an earlier response.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let body = self.body.text();
        let texts = self.headers.iter().map(|(_, value)| value).chain([&self.path, &body]);
        texts.flat_map(Text::values).any(|value| matches!(value, Value::Variable(known) if known == name))
    }

    /// Whether it can be sent at all.
    pub(crate) fn is_possible(&self) -> bool {
        !matches!(self.state, StepState::Impossible(_))
    }

    pub(crate) fn is_active(&self) -> bool {
        self.state == StepState::Active
    }
}
