//! `plimsoll explain`: what a validity rule tests, why it matters, what to do.

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::screen::Stream;
use conduct::standard_output;
use evidence::TerminalText;

use crate::arguments::ExplainArguments;

/// Lines are no wider, however wide the terminal is.
const WIDEST: usize = 100;

pub(crate) fn explain(arguments: &ExplainArguments) -> CommandResult<u8> {
    let mut text = TerminalText::default();
    match &arguments.rule {
        None => judge::RULES.iter().for_each(|rule| {
            text.line(format_args!("{:<4} {}", rule.id, rule.title));
            wrapped(&mut text, &format!("     {}", first_sentence(rule.tests)));
        }),
        Some(name) => {
            let rule = judge::explain(name).ok_or_else(|| unknown(name))?.to_string();
            rule.lines().for_each(|line| wrapped(&mut text, line));
        }
    }
    standard_output::print_paged(&text)?;
    Ok(0)
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// A line in lines of the terminal's width, all indented as it is.
fn wrapped(text: &mut TerminalText, line: &str) {
    let indent = &line[..line.len() - line.trim_start().len()];
    let columns = Stream::Output.width().min(WIDEST).saturating_sub(indent.len());
    for part in report::wrap(line, columns).iter().chain(line.is_empty().then_some(&String::new())) {
        text.line(format_args!("{indent}{part}"));
    }
}

/// What is not a rule, and where it is described: verdicts, and what objectives are about.
const ELSEWHERE: [(&[&str], &str); 2] = [
    (
        &["pass", "fail", "inconclusive", "invalid", "measured"],
        "is a verdict and not a rule: `plimsoll run --help` lists what each exit code means",
    ),
    (
        &["p50", "p90", "p95", "p99", "max", "error_rate", "check_rate", "throughput"],
        "is what an objective is about and not a rule: `plimsoll help objectives`",
    ),
];

fn unknown(name: &str) -> Failure {
    let lower = name.to_lowercase();
    if let Some((_, what)) = ELSEWHERE.iter().find(|(names, _)| names.contains(&&*lower)) {
        return Failure::usage(anyhow!("`{name}` {what}"));
    }
    let hint = judge::nearest_rule(name).map(|near| format!("did you mean {} {}? ", near.id, near.title));
    let hint = hint.unwrap_or_default();
    Failure::usage(anyhow!("there is no rule `{name}`; {hint}`plimsoll explain` lists them all"))
}
