//! C6: one side began with more in its stores than the other.

use evidence::{Finding, Scope, SeriesKey, Severity};

use crate::compare::known::{Known, Pair};
use crate::rule::{named, with_figures};
use crate::thresholds::STATE_APART;
use crate::words;

/// The series about what is stored.
const STATE: [&str; 4] = ["pg_table_rows", "pg_table_dead_rows", "pg_table_size", "redis_memory"];
/// A first value from later on says nothing of the start.
const AT_START_S: u32 = 15;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    let is_state = |key: &&SeriesKey| STATE.contains(&&*key.name);
    let shared: Vec<&SeriesKey> =
        base.run.series().iter().filter(is_state).filter(|key| new.run.series().contains(key)).collect();
    let compared: Vec<(&SeriesKey, f64, f64)> =
        shared.iter().filter_map(|key| Some((*key, at_start(base, key)?, at_start(new, key)?))).collect();
    if compared.is_empty() {
        let what = "Whether both began with the same data is unknown: no store was watched on both sides."
            .to_owned();
        return vec![named("C6").finding(Severity::Info, Scope::default(), what)];
    }
    compared.into_iter().filter_map(apart).collect()
}

/// The first value of the series, if it is from the start of the run.
fn at_start(known: &Known<'_>, key: &SeriesKey) -> Option<f64> {
    let samples = known.run.samples(key, 0..AT_START_S).ok()?;
    samples.first().map(|sample| sample.value)
}

fn apart((key, base, new): (&SeriesKey, f64, f64)) -> Option<Finding> {
    let larger = base.abs().max(new.abs());
    let share = (base - new).abs() / larger.max(f64::MIN_POSITIVE);
    if share <= STATE_APART {
        return None;
    }
    let name =
        format!("{} of {}{}{}", key.name, key.target, if key.part.is_empty() { "" } else { " " }, key.part);
    let what = format!(
        "At the start {name} was {} against {}.",
        words::quantity(base, &key.unit),
        words::quantity(new, &key.unit)
    );
    let figures =
        [("baseline", base, &*key.unit), ("here", new, &*key.unit), ("threshold", STATE_APART * 100.0, "%")];
    let finding = named("C6").finding(Severity::Invalid, Scope::default(), what);
    Some(with_figures(finding, &figures))
}
