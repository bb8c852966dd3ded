//! The text of a plan, commented for someone who has not seen one.

use std::time::Duration;

use serde_json::Value;

use crate::body::json_text;
use crate::plan::{BodyDraft, Draft, FlowDraft, PlanDraft, StepDraft, StepState, TargetDraft};
use crate::secrets::Variable;
use crate::toml_text::{block, inline_texts, is_short, key, quoted, toml_value};
use crate::url::{is_local, split};

/// How many requests a second a draft offers: few, since how many the target may get is not known.
const REQUESTS_PER_SECOND: usize = 20;

const HEAD: &str = "\
#   plimsoll check FILE         what it would offer, second by second; sends nothing
#   plimsoll run FILE --once    each step once, every exchange shown
#   plimsoll run FILE           the load, and a verdict
# Every key is described in docs/plan.md. Load only what is yours, or what you may load.

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
    let body: String = plan.steps.iter().map(|step| step_text(step, &plan.targets, is_mix)).collect();
    // Those that only comments use need not be set.
    let is_used = |variable: &&Variable| {
        let value = format!("${{env.{}}}", variable.name);
        body.lines().any(|line| !line.starts_with('#') && line.contains(&value))
    };
    let variables: Vec<Variable> = plan.variables.all().iter().filter(is_used).cloned().collect();
    let mut out = format!("# Drafted from {} by `plimsoll new`.\n", one_line(&plan.source));
    out.push_str(HEAD);
    out.push_str(&variables_text(&variables));
    plan.targets.iter().for_each(|target| out.push_str(&target_text(target)));
    out.push_str(PHASES);
    out.push_str(&scenario(&plan));
    out.push_str(&body);
    out.push_str(OBJECTIVES);
    Draft { text: out, steps, commented: plan.steps.len() - steps, variables, notes: plan.notes }
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

fn step_text(step: &StepDraft, targets: &[TargetDraft], is_mix: bool) -> String {
    let mut lines = vec!["[[scenarios.steps]]".to_owned(), format!("name = {}", quoted(&step.name))];
    if is_mix {
        lines.push("weight = 1".to_owned());
    }
    let target = targets.get(step.target).map(|target| target.name.as_str()).unwrap_or_default();
    let url = quoted(&format!("${{{target}.url}}{}", step.path));
    match step.method.as_str() {
        method @ ("GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD") => {
            lines.push(format!("{} = {url}", method.to_ascii_lowercase()));
        }
        method => lines.extend([format!("method = {}", quoted(method)), format!("url = {url}")]),
    }
    if !step.headers.is_empty() {
        lines.push(format!("headers = {}", inline_texts(&step.headers)));
    }
    lines.extend(step.auth.as_ref().map(|auth| format!("auth = {}", quoted(auth))));
    lines.extend(step.redirects.map(|most| format!("redirects = {most}")));
    lines.extend(step.timeout.map(|timeout| format!("timeout = \"{}\"", duration(timeout))));
    lines.extend(step.think.map(|think| format!("think = \"{}\"", duration(think))));
    match step.statuses.as_slice() {
        [] => {}
        [one] => lines.push(format!("expect = {{ status = {one} }}")),
        several => lines.push(format!("expect = {{ status = {several:?} }}")),
    }
    body_lines(&step.body, &mut lines);
    let mut out = String::from("\n");
    step.comments.iter().for_each(|comment| out.push_str(&format!("# {}\n", one_line(comment))));
    match &step.state {
        StepState::Active => out.push_str(&(lines.join("\n") + "\n")),
        StepState::Commented(why) => {
            out.push_str(&format!("# Not sent: {}\n", one_line(why)));
            lines.join("\n").lines().for_each(|line| out.push_str(&format!("#| {line}\n")));
        }
    }
    out
}

/// The body; a long JSON object is a table of its own, the last lines of a step.
fn body_lines(body: &BodyDraft, lines: &mut Vec<String>) {
    let value = match body {
        BodyDraft::None => return,
        BodyDraft::Text(text) => return lines.push(format!("body = {}", block(text))),
        BodyDraft::Json(value) => value,
    };
    match (toml_value(value), value) {
        (Some(text), Value::Object(fields)) if !is_short(&text) => {
            lines.push("[scenarios.steps.json]".to_owned());
            let field =
                |(name, value): (&String, &Value)| Some(format!("{} = {}", key(name), toml_value(value)?));
            lines.extend(fields.iter().filter_map(field));
        }
        (Some(text), _) => lines.push(format!("json = {text}")),
        (None, value) => lines.push(format!("body = {}", block(&json_text(value)))),
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
