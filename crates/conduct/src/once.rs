//! `plimsoll run PLAN --once`: a dry run that shows every exchange.

use engine::DryRun;
use evidence::{Exemplar, Outcome as StepOutcome, TerminalText};

use crate::failure::{CommandResult, Failure};
use crate::ready::scheme;
use crate::standard_output;

/// Before each line of a body.
const BODY_MARK: &str = "  | ";

/// Send each step once and show every exchange. 3 when any of them failed.
pub fn once(dry_run: &DryRun) -> CommandResult<u8> {
    let exchanges = dry_run.once().map_err(Failure::own)?;
    let failed = exchanges.iter().filter(|e| e.outcome != StepOutcome::Ok).count();
    let mut text = TerminalText::default();
    for exchange in &exchanges {
        text.append(&show(exchange)).line("");
    }
    let plural = if exchanges.len() == 1 { "" } else { "s" };
    text.line(format_args!("{} exchange{plural}, {failed} failed", exchanges.len()));
    standard_output::print(&text)?;
    Ok(if failed == 0 { 0 } else { 3 })
}

/// Why an exchange failed, and what to write instead of its URL if that has the wrong scheme.
pub fn reasons(exchange: &Exemplar) -> impl Iterator<Item = String> {
    let detail = (!exchange.detail.is_empty()).then(|| exchange.detail.clone());
    detail.into_iter().chain(scheme::hint(exchange))
}

/// One exchange as text, already redacted. The lines of a body are behind a mark, so that none passes for a line of ours.
pub fn show(exchange: &Exemplar) -> TerminalText {
    let mut text = TerminalText::default();
    let ms = exchange.response_time_ns as f64 / 1e6;
    let (scenario, endpoint, outcome) = (&exchange.scenario, &exchange.endpoint, exchange.outcome);
    text.line(format_args!("── {scenario} / {endpoint}: {outcome} in {ms:.2} ms"));
    for reason in reasons(exchange) {
        text.line(format_args!("   {reason}"));
    }
    text.line(format_args!("> {}", exchange.request));
    for (name, value) in &exchange.request_headers {
        text.line(format_args!("> {name}: {value}"));
    }
    text.quote(BODY_MARK, &exchange.request_body);
    match exchange.status {
        Some(status) => text.line(format_args!("< {status}")),
        None => text.line("< no response"),
    };
    for (name, value) in &exchange.response_headers {
        text.line(format_args!("< {name}: {value}"));
    }
    text.quote(BODY_MARK, &exchange.response_body);
    text
}
