//! `plimsoll run PLAN --once`: a dry run that shows every exchange.

use std::fmt::Write as _;

use engine::DryRun;
use evidence::{Exemplar, Outcome as StepOutcome};

use crate::failure::{CommandResult, Failure};
use crate::outputs;

/// Send each step once and show every exchange. 3 when any of them failed.
pub(crate) fn once(dry_run: &DryRun) -> CommandResult<u8> {
    let exchanges = dry_run.once().map_err(Failure::own)?;
    let failed = exchanges.iter().filter(|e| e.outcome != StepOutcome::Ok).count();
    let mut text: String = exchanges.iter().map(|e| show(e) + "\n").collect();
    let _ = writeln!(text, "{} exchanges, {failed} failed", exchanges.len());
    outputs::print(&text)?;
    Ok(if failed == 0 { 0 } else { 3 })
}

/// One exchange as text, already redacted.
pub(crate) fn show(exchange: &Exemplar) -> String {
    let mut text = String::new();
    let ms = exchange.response_time_ns as f64 / 1e6;
    let (scenario, endpoint, outcome) = (&exchange.scenario, &exchange.endpoint, exchange.outcome);
    // Writing to a string does not fail.
    let _ = writeln!(text, "── {scenario} / {endpoint}: {outcome} in {ms:.2} ms");
    if !exchange.detail.is_empty() {
        let _ = writeln!(text, "   {}", exchange.detail);
    }
    let _ = writeln!(text, "> {}", exchange.request);
    for (name, value) in &exchange.request_headers {
        let _ = writeln!(text, "> {name}: {value}");
    }
    push_body(&mut text, &exchange.request_body);
    match exchange.status {
        Some(status) => {
            let _ = writeln!(text, "< {status}");
        }
        None => text.push_str("< no response\n"),
    }
    for (name, value) in &exchange.response_headers {
        let _ = writeln!(text, "< {name}: {value}");
    }
    push_body(&mut text, &exchange.response_body);
    text
}

fn push_body(text: &mut String, body: &str) {
    if !body.is_empty() {
        let _ = writeln!(text, "\n{body}\n");
    }
}
