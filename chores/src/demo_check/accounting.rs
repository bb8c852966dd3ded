//! The accounting of a judged run, read from its JSON report: the only file of the demo that knows the report's shape.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// The JSON report of an archive, rendered by the tool.
pub(crate) fn read(plimsoll: &Path, archive: &Path) -> Result<Value> {
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

/// Fails when the judge found that the counts contradict each other, or when the report has no findings.
pub(crate) fn require_consistent(report: &Value) -> Result<()> {
    let findings = report["findings"].as_array().context("the JSON report has no list `findings`")?;
    let unbalanced =
        findings.iter().find(|finding| finding["rule"] == "L6" && finding["severity"] == "invalid");
    match unbalanced {
        Some(finding) => {
            bail!("the run's counts do not add up (L6): {}", finding["what"].as_str().unwrap_or(""))
        }
        None => Ok(()),
    }
}

/// Fails unless the counts add up, the run completed, and every request succeeded.
pub(crate) fn require_sound(report: &Value) -> Result<()> {
    require_consistent(report)?;
    let how = report["run"]["end"]["how"].as_str().unwrap_or("unknown");
    ensure!(how == "completed", "the run did not complete, it was {how}");
    let arrivals = &report["accounting"]["arrivals"];
    let [scheduled, started, cap, late] =
        ["scheduled", "started", "dropped_cap", "dropped_late"].map(|name| count(arrivals, name));
    let (scheduled, started, dropped) = (scheduled?, started?, cap? + late?);
    ensure!(
        scheduled > 0 && scheduled == started + dropped,
        "{scheduled} arrivals scheduled, but {started} started and {dropped} dropped"
    );
    let [requests, ok, failed, cancelled] =
        ["requests", "ok", "failed", "cancelled"].map(|name| count(&report["accounting"], name));
    let (requests, ok, failed, cancelled) = (requests?, ok?, failed?, cancelled?);
    ensure!(
        requests > 0 && requests == ok + failed + cancelled,
        "{requests} requests made, but {ok} ok, {failed} failed and {cancelled} cancelled"
    );
    ensure!(failed == 0, "{failed} of {requests} requests failed: {}", report["accounting"]["by_outcome"]);
    Ok(())
}

fn count(counts: &Value, name: &str) -> Result<u64> {
    counts[name].as_u64().with_context(|| format!("the JSON report's `accounting` has no count `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(started: u64, failed: u64) -> Value {
        let arrivals = json!({ "scheduled": 10, "started": started, "dropped_cap": 1, "dropped_late": 0 });
        let requests = json!({ "arrivals": arrivals, "requests": 9, "ok": 9 - failed, "failed": failed,
            "cancelled": 0, "by_outcome": { "timeout": failed } });
        json!({ "findings": [], "run": { "end": { "how": "completed" } }, "accounting": requests })
    }

    #[test]
    fn only_an_invalid_l6_fails_the_accounting() {
        let with = |rule: &str, severity: &str| {
            let report =
                json!({ "findings": [{ "rule": rule, "severity": severity, "what": "1 missing." }] });
            require_consistent(&report).map_err(|error| error.to_string())
        };
        assert_eq!(with("L1", "invalid"), Ok(()));
        assert_eq!(with("L6", "caution"), Ok(()));
        assert_eq!(with("L6", "invalid"), Err("the run's counts do not add up (L6): 1 missing.".to_owned()));
    }

    #[test]
    fn a_report_without_findings_fails() {
        let error = require_consistent(&json!({})).expect_err("nothing was judged").to_string();
        assert_eq!(error, "the JSON report has no list `findings`");
    }

    #[test]
    fn counts_must_be_present_and_add_up() {
        let check = |report: Value| require_sound(&report).map_err(|error| error.to_string());
        assert_eq!(check(report(9, 0)), Ok(()));
        let short = check(report(8, 0));
        assert_eq!(short, Err("10 arrivals scheduled, but 8 started and 1 dropped".to_owned()));
        let failed = check(report(9, 2));
        assert_eq!(failed, Err("2 of 9 requests failed: {\"timeout\":2}".to_owned()));
        let mut none = report(9, 0);
        none["accounting"]["arrivals"] = Value::Null;
        assert_eq!(check(none), Err("the JSON report's `accounting` has no count `scheduled`".to_owned()));
        let mut killed = report(9, 0);
        killed["run"]["end"]["how"] = "killed".into();
        assert_eq!(check(killed), Err("the run did not complete, it was killed".to_owned()));
    }
}
