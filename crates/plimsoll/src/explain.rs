//! `plimsoll explain`: what a validity rule tests, why it matters, what to do.

use anyhow::anyhow;
use evidence::TerminalText;

use crate::arguments::ExplainArguments;
use crate::failure::{CommandResult, Failure};
use crate::outputs;

pub(crate) fn explain(arguments: &ExplainArguments) -> CommandResult<u8> {
    let mut text = TerminalText::default();
    match &arguments.rule {
        None => judge::RULES.iter().for_each(|rule| {
            text.line(format_args!("{:<4} {}", rule.id, rule.title));
        }),
        Some(name) => {
            text.quote("", &judge::explain(name).ok_or_else(|| unknown(name))?.to_string());
        }
    }
    outputs::print(&text)?;
    Ok(0)
}

fn unknown(name: &str) -> Failure {
    let hint = judge::nearest_rule(name).map(|near| format!("did you mean {} {}? ", near.id, near.title));
    let hint = hint.unwrap_or_default();
    Failure::usage(anyhow!("there is no rule `{name}`; {hint}`plimsoll explain` lists them all"))
}
