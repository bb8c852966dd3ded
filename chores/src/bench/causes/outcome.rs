//! What became of a case, and what two naive rules name from the same ledger: a line of the file of results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::draw::Case;

/// From this share on the rule of high use calls a resource the limit.
const HIGH_USE: f64 = 0.9;

/// One case, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) number: usize,
    pub(super) service: String,
    pub(super) cause: String,
    pub(super) severity: u64,
    pub(super) shape: String,
    /// The names that are right; none: UNDETERMINED is.
    pub(super) right: Vec<String>,
    pub(super) ledger: Option<String>,
    pub(super) highest_use: Option<String>,
    pub(super) high_use: Option<String>,
    pub(super) because: String,
    /// From the start of the servers to the answer.
    pub(super) seconds: u64,
}

/// What a rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Right,
    Another,
    Nothing,
}

/// By which rule a limit is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Ledger,
    HighestUse,
    HighUse,
}

impl Rule {
    pub(super) const ALL: [(Rule, &'static str); 3] =
        [(Rule::Ledger, "ledger"), (Rule::HighestUse, "highest use"), (Rule::HighUse, "use of 90 % or more")];
}

impl Outcome {
    /// What the rule did.
    pub(super) fn named(&self, rule: Rule) -> Named {
        let name = match rule {
            Rule::Ledger => &self.ledger,
            Rule::HighestUse => &self.highest_use,
            Rule::HighUse => &self.high_use,
        };
        match name {
            None => Named::Nothing,
            Some(name) if self.right.contains(name) => Named::Right,
            Some(_) => Named::Another,
        }
    }

    /// Whether a limit can be named.
    pub(super) fn is_observed(&self) -> bool {
        !self.right.is_empty()
    }
}

/// The outcome that a report of `plimsoll diagnose` shows.
pub(super) fn of(case: &Case<'_>, report: &Value, seconds: u64) -> Outcome {
    let diagnosis = &report["diagnosis"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Outcome {
        number: case.number,
        service: case.planted.service.clone(),
        cause: case.planted.cause.clone(),
        severity: case.severity,
        shape: case.shape.name(),
        right: case.planted.named.clone(),
        ledger: text(&diagnosis["limit"]),
        highest_use: highest_use(diagnosis, 0.0),
        high_use: highest_use(diagnosis, HIGH_USE),
        because: text(&diagnosis["because"]).unwrap_or_default(),
        seconds,
    }
}

/// The resource with the highest use where it breaks, if that is at least `least`.
fn highest_use(diagnosis: &Value, least: f64) -> Option<String> {
    let lines = diagnosis["ledger"].as_array().into_iter().flatten();
    let shares = lines.filter_map(|line| {
        let share = line["used_at_break"].as_f64()? / line["limit"].as_f64()?;
        Some((share, line["resource"].as_str()?))
    });
    let (share, name) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share >= least).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_naive_rules_read_the_ledger() {
        let line = |name: &str, used: f64, limit: Option<f64>| json!({ "resource": name, "used_at_break": used, "limit": limit });
        let ledger = json!({ "ledger": [line("CPU", 0.9, Some(2.0)), line("pool", 2.0, Some(4.0)), line("locks", 9.0, None)] });
        assert_eq!(highest_use(&ledger, 0.0).as_deref(), Some("pool"));
        assert_eq!(highest_use(&ledger, 0.5).as_deref(), Some("pool"));
        assert_eq!(highest_use(&ledger, 0.9), None);
    }
}
