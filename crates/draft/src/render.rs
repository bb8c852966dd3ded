//! The text of a plan, commented for someone who has not seen one.

use std::time::Duration;

use serde_json::Value;
use workload::template::Value as TemplateValue;

use crate::draft::Draft;
use crate::json::as_templates;
use crate::plan::{BodyDraft, FlowDraft, PlanDraft, StepDraft, StepState, TargetDraft};
use crate::secrets::Variable;
use crate::sent::SentRequest;
use crate::text::Text;
use crate::toml_text::{block, inline_texts, is_short, key, quoted, toml_value};
use crate::url::{is_local, split};

/// How many requests a second a draft offers: few, since how many the target may get is not known.
const REQUESTS_PER_SECOND: usize = 20;

const HEAD: &str = "\
#   plimsoll check FILE         what it would offer, second by second; sends nothing
#   plimsoll run FILE --once    each step once, every exchange shown
#   plimsoll run FILE           the load, and a verdict
# Every key is described by `plimsoll help plan`. Load only what is yours, or what you may load.

version = 1
";

const PHASES: &str = "
[[phases]]
name = \"warm-up\"            # connections open and caches fill; the objectives leave it out
duration = \"10s\"

[[phases]]
name = \"steady\"
duration = \"60s\"
";

const OBJECTIVES: &str = "
# What the run must show: else it ends with exit code 3. `plimsoll check` says how many requests each needs.
[objectives]
few_errors = \"error_rate(all, phase = steady) < 5%\"
fast = \"p95(all, phase = steady) < 500ms\"
# Stricter ones need more requests, that is a higher rate or a longer phase:
# very_few_errors = \"error_rate(all, phase = steady) < 0.1%\"
# tail = \"p99(all, phase = steady) < 1s\"
";

/// The text of `plan`.
pub(crate) fn draft(mut plan: PlanDraft) -> Draft {
    if let [only] = plan.targets.as_mut_slice() {
        // The host of one target need not be in every step.
        only.name = "api".to_owned();
    }
    let steps = plan.steps.iter().filter(|step| step.is_active()).count();
    let is_mix = plan.flow == FlowDraft::Mix && steps > 1;
    let setup: String =
        plan.setup.iter().map(|step| step_text(step, "setup", &plan.targets, false)).collect();
    let body: String =
        plan.steps.iter().map(|step| step_text(step, "steps", &plan.targets, is_mix)).collect();
    let active: Vec<&StepDraft> =
        plan.setup.iter().chain(plan.steps.iter().filter(|step| step.is_active())).collect();
    // Those that only comments use need not be set.
    let is_used = |variable: &&Variable| active.iter().any(|step| reads(step, &variable.name));
    let variables: Vec<Variable> = plan.variables.all().iter().filter(is_used).cloned().collect();
    let sent = active.iter().map(|step| SentRequest::new(step, &plan.targets)).collect();
    let mut out = format!("# Drafted from {} by `plimsoll new`.\n", one_line(&plan.source));
    out.push_str(HEAD);
    out.push_str(&variables_text(&variables));
    plan.targets.iter().for_each(|target| out.push_str(&target_text(target)));
    out.push_str(PHASES);
    out.push_str(&scenario(&plan));
    out.push_str(&setup);
    out.push_str(&body);
    out.push_str(OBJECTIVES);
    Draft {
        text: out,
        steps,
        commented: plan.steps.len() - steps,
        variables,
        files: plan.files,
        choices: Vec::new(),
        sent,
        notes: plan.notes,
    }
}

/// Whether a step uses the environment variable `name`.
fn reads(step: &StepDraft, name: &str) -> bool {
    let body = step.body.text();
    let headers = step.headers.iter().map(|(_, value)| value);
    let texts = [&step.path, &body].into_iter().chain(headers).chain(&step.auth);
    texts.flat_map(Text::values).any(|value| matches!(value, TemplateValue::Env(known) if known == name))
}

fn variables_text(variables: &[Variable]) -> String {
    if variables.is_empty() {
        return String::new();
    }
    let mut out =
        "\n# Secrets are not in this file. Set these environment variables before a run:\n".to_owned();
    for variable in variables {
        out.push_str(&format!("#   {:<16} {}\n", variable.name, one_line(&variable.meaning)));
    }
    out
}

fn target_text(target: &TargetDraft) -> String {
    let mut out = format!("\n[targets.{}]\nurl = {}\n", key(&target.name), quoted(&target.url));
    for (name, value) in &target.keys {
        out.push_str(&format!("{name} = {value}\n"));
    }
    if let Ok(url) = split(&target.url)
        && is_local(&url.host)
    {
        out.push_str(&format!(
            "# process = {{ port = {} }}   # records CPU and memory of the process that listens there\n",
            url.port
        ));
    }
    out
}

fn scenario(plan: &PlanDraft) -> String {
    let steps = plan.steps.iter().filter(|step| step.is_active()).count().max(1);
    let (rate, what) = match plan.flow {
        FlowDraft::Mix => (REQUESTS_PER_SECOND, "requests a second, whatever the target does: an open model"),
        FlowDraft::Sequence if steps == 1 => {
            (REQUESTS_PER_SECOND, "requests a second, whatever the target does: an open model")
        }
        FlowDraft::Sequence => (
            REQUESTS_PER_SECOND.div_ceil(steps),
            "iterations begun a second, whatever the target does: an open model",
        ),
    };
    let flow = match plan.flow {
        FlowDraft::Mix if steps > 1 => {
            "# Each iteration sends one of these steps, drawn by weight: set the weights to what your users do.\n"
        }
        FlowDraft::Sequence if steps > 1 => {
            "# Each iteration sends these steps in order, and ends at the first that fails.\n"
        }
        _ => "",
    };
    format!(
        "\n{flow}[[scenarios]]\nname = \"{}\"\nexecutor = \"constant-arrival-rate\"\nphases = [\"warm-up\", \"steady\"]\n\
         rate = \"{rate}/s\"              # {what}\n",
        plan.scenario
    )
}

fn step_text(step: &StepDraft, list: &str, targets: &[TargetDraft], is_mix: bool) -> String {
    let mut lines = vec![format!("[[scenarios.{list}]]"), format!("name = {}", quoted(&step.name))];
    if is_mix {
        lines.push("weight = 1".to_owned());
    }
    let target = targets.get(step.target).map(|target| target.name.as_str()).unwrap_or_default();
    let url = quoted(&format!("${{{target}.url}}{}", step.path.source()));
    match step.method.as_str() {
        method @ ("GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD") => {
            lines.push(format!("{} = {url}", method.to_ascii_lowercase()));
        }
        method => lines.extend([format!("method = {}", quoted(method)), format!("url = {url}")]),
    }
    let body = BodyText::new(&step.body);
    let mut headers: Vec<_> =
        step.headers.iter().map(|(name, value)| (name.clone(), value.source())).collect();
    if matches!((&step.body, &body), (BodyDraft::Json(_), BodyText::Text(_)))
        && !step.has_header("content-type")
    {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    if !headers.is_empty() {
        lines.push(format!("headers = {}", inline_texts(&headers)));
    }
    let auth = |auth: &Text| format!("auth = {}", quoted(&format!("basic:{}", auth.source())));
    lines.extend(step.auth.as_ref().map(auth));
    lines.extend(step.redirects.map(|most| format!("redirects = {most}")));
    lines.extend(step.timeout.map(|timeout| format!("timeout = \"{}\"", duration(timeout))));
    lines.extend(step.think.map(|think| format!("think = \"{}\"", duration(think))));
    match step.statuses.as_slice() {
        [] => {}
        [one] => lines.push(format!("expect = {{ status = {} }}", one.toml())),
        several => {
            let all: Vec<String> = several.iter().map(|status| status.toml()).collect();
            lines.push(format!("expect = {{ status = [{}] }}", all.join(", ")));
        }
    }
    if !step.extract.is_empty() {
        let entries: Vec<String> = step.extract.iter().map(|extraction| extraction.toml()).collect();
        lines.push(format!("extract = {{ {} }}", entries.join(", ")));
    }
    body.write(&format!("[scenarios.{list}.json]"), &mut lines);
    let mut out = String::from("\n");
    step.comments.iter().for_each(|comment| out.push_str(&format!("# {}\n", one_line(comment))));
    match &step.state {
        StepState::Active => out.push_str(&(lines.join("\n") + "\n")),
        StepState::Commented(why) | StepState::Impossible(why) => {
            out.push_str(&format!("# Not sent: {}\n", one_line(why)));
            lines.join("\n").lines().for_each(|line| out.push_str(&format!("#| {line}\n")));
        }
    }
    out
}

/// A body as the plan has it.
enum BodyText {
    None,
    Json(Value),
    Text(String),
}

impl BodyText {
    /// As JSON only where the plan's reader makes exactly the same text of it.
    fn new(body: &BodyDraft) -> BodyText {
        match body {
            BodyDraft::None => BodyText::None,
            BodyDraft::Text(text) => BodyText::Text(text.source()),
            BodyDraft::Json(text) => match as_templates(text).filter(|value| toml_value(value).is_some()) {
                Some(value) => BodyText::Json(value),
                None => BodyText::Text(text.source()),
            },
        }
    }

    /// Its lines; a long JSON object is a table of its own, the last lines of a step.
    fn write(&self, table: &str, lines: &mut Vec<String>) {
        match self {
            BodyText::None => {}
            BodyText::Text(text) => lines.push(format!("body = {}", block(text))),
            BodyText::Json(value) => match (toml_value(value).unwrap_or_default(), value) {
                (text, Value::Object(fields)) if !is_short(&text) => {
                    lines.push(table.to_owned());
                    let field = |(name, value): (&String, &Value)| {
                        Some(format!("{} = {}", key(name), toml_value(value)?))
                    };
                    lines.extend(fields.iter().filter_map(field));
                }
                (text, _) => lines.push(format!("json = {text}")),
            },
        }
    }
}

fn duration(time: Duration) -> String {
    let ms = time.as_millis();
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

/// Text of others within a comment.
pub(crate) fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect()
}
