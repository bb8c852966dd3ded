//! What a judged run says of itself, read from the JSON report: the one place that knows its shape.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// The JSON report of an archive, rendered by the tool.
pub(super) fn read(plimsoll: &Path, archive: &Path) -> Result<Value> {
    let output = Command::new(plimsoll)
        .arg("report")
        .arg(archive)
        .args(["--json", "-"])
        .output()
        .context("cannot start plimsoll report")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("plimsoll report gave no JSON ({}): {}", output.status, complaint.trim()))
}

/// Fails when the judge found that the counts contradict each other, or when there is no judgement to ask.
pub(super) fn require_balance(report: &Value) -> Result<()> {
    let findings = report["findings"].as_array().context("the JSON report has no list `findings`")?;
    let unbalanced =
        findings.iter().find(|finding| finding["rule"] == "L6" && finding["severity"] == "invalid");
    match unbalanced {
        Some(finding) => {
            bail!("the run's books do not balance (L6): {}", finding["what"].as_str().unwrap_or(""))
        }
        None => Ok(()),
    }
}

/// Fails unless the books balance and load was offered, started and answered.
pub(super) fn require_sound(report: &Value) -> Result<()> {
    require_balance(report)?;
    let [scheduled, started, dropped, completed] =
        ["scheduled", "started", "dropped", "completed"].map(|name| total(report, name));
    let (scheduled, started, dropped, completed) = (scheduled?, started?, dropped?, completed?);
    ensure!(
        scheduled == started + dropped,
        "{scheduled} scheduled, but {started} started and {dropped} dropped"
    );
    ensure!(completed > 0, "nothing of {scheduled} scheduled arrivals was completed");
    Ok(())
}

fn total(report: &Value, name: &str) -> Result<u64> {
    report["totals"][name].as_u64().with_context(|| format!("the JSON report has no count totals.{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn totals(started: u64) -> Value {
        json!({ "scheduled": 10, "started": started, "dropped": 1, "completed": started })
    }

    #[test]
    fn only_an_invalid_l6_unbalances_the_books() {
        let with = |rule: &str, severity: &str| {
            let report =
                json!({ "findings": [{ "rule": rule, "severity": severity, "what": "1 missing." }] });
            require_balance(&report).map_err(|error| error.to_string())
        };
        assert_eq!(with("L1", "invalid"), Ok(()));
        assert_eq!(with("L6", "caution"), Ok(()));
        assert_eq!(with("L6", "invalid"), Err("the run's books do not balance (L6): 1 missing.".to_owned()));
    }

    #[test]
    fn a_report_without_findings_is_no_proof() {
        let error = require_balance(&json!({})).expect_err("nothing was judged").to_string();
        assert_eq!(error, "the JSON report has no list `findings`");
    }

    #[test]
    fn counts_must_add_up_and_be_there() {
        let check = |report: Value| require_sound(&report).map_err(|error| error.to_string());
        assert_eq!(check(json!({ "findings": [], "totals": totals(9) })), Ok(()));
        let short = check(json!({ "findings": [], "totals": totals(8) }));
        assert_eq!(short, Err("10 scheduled, but 8 started and 1 dropped".to_owned()));
        let none = check(json!({ "findings": [], "totals": {} }));
        assert_eq!(none, Err("the JSON report has no count totals.scheduled".to_owned()));
    }
}
