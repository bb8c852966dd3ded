//! C6: the stored data at the start of two runs differs.

use evidence::{Finding, RuleId, Scope, SeriesKey, Severity};

use crate::pair::{JudgedRun, Pair};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C6,
    title: "state-not-reset",
    severity: Severity::Invalid,
    tests: "First values, within 15 s, of series on rows, dead rows, table sizes, keys and memory of stores \
            that both runs observed: more than 5 % and more than 100 rows or 1 MiB apart. Without such a series it is reported as unknown.",
    affects: DIFFERENCES,
    why: "A larger table is slower to read, and a warm cache faster: data of the run before affects this one.",
    next: "Reset the stores, or restore a snapshot, before each run.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

/// The largest difference of stored data at the start, as a share …
pub(crate) const STATE_APART: f64 = 0.05;
/// … where it is also more than so many rows or keys …
pub(crate) const STATE_ROWS: f64 = 100.0;
pub(crate) const STATE_BYTES: f64 = 1_048_576.0;

/// The series on stored data.
const STATE: [&str; 4] = ["pg_table_rows", "pg_table_dead_rows", "pg_table_size", "redis_memory"];
/// A first value after this, in seconds, is not one from the start.
const AT_START_S: u32 = 15;

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    let is_state = |key: &&SeriesKey| STATE.contains(&&*key.name);
    let shared: Vec<&SeriesKey> =
        base.run.series().iter().filter(is_state).filter(|key| new.run.series().contains(key)).collect();
    let at_start = |key: &&'_ SeriesKey| {
        Some(StartValues { base: first_value(base, key)?, new: first_value(new, key)? })
    };
    let compared: Vec<(&SeriesKey, StartValues)> =
        shared.into_iter().filter_map(|key| Some((key, at_start(&key)?))).collect();
    if compared.is_empty() {
        let what = "Whether both began with the same data is unknown: no store was observed on both sides."
            .to_owned();
        return vec![RULE.finding(Severity::Info, Scope::default(), what)];
    }
    compared.into_iter().filter_map(|(key, values)| finding(key, values)).collect()
}

/// The first values of a series in two runs.
#[derive(Debug, Clone, Copy)]
struct StartValues {
    base: f64,
    new: f64,
}

/// The first value of the series, if it is from the start of the run.
fn first_value(judged: &JudgedRun<'_>, key: &SeriesKey) -> Option<f64> {
    let samples = judged.run.samples(key, 0..AT_START_S).ok()?;
    samples.first().map(|sample| sample.value)
}

fn finding(key: &SeriesKey, StartValues { base, new }: StartValues) -> Option<Finding> {
    let larger = base.abs().max(new.abs());
    let share = (base - new).abs() / larger.max(f64::MIN_POSITIVE);
    let least = if &*key.unit == "bytes" { STATE_BYTES } else { STATE_ROWS };
    if share <= STATE_APART || (base - new).abs() <= least {
        return None;
    }
    let name =
        format!("{} of {}{}{}", key.name, key.target, if key.part.is_empty() { "" } else { " " }, key.part);
    let what = format!(
        "At the start {name} was {} against {}.",
        brief::quantity(base, &key.unit),
        brief::quantity(new, &key.unit)
    );
    let figures =
        [("baseline", base, &*key.unit), ("here", new, &*key.unit), ("threshold", STATE_APART * 100.0, "%")];
    let finding = RULE.finding(Severity::Invalid, Scope::default(), what);
    Some(with_figures(finding, &figures))
}
