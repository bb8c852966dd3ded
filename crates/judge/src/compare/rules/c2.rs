//! C2: other requests were made, or other answers came.

use std::collections::BTreeMap;

use evidence::{Finding, Scope, Severity};
use stats::{total_variation, two_mixes};

use crate::compare::known::{Known, Pair, difference};
use crate::facts::Cell;
use crate::rule::{named, with_figures};
use crate::thresholds::{BYTES_APART, BYTES_OF_FRAMING, ERRORS_APART, MIX_APART, MIX_CHANCE};
use crate::words;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let mut findings = mixes(pair);
    findings.extend(pair.cells().filter_map(|cells| bytes(pair, cells)));
    findings.extend(data(pair));
    findings
}

/// Requests of the baseline and of the other run, by scenario and endpoint.
type Mix<'a> = BTreeMap<(&'a str, &'a str), (u64, u64)>;

/// The share of each endpoint, phase by phase, where both have the phase.
fn mixes(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let mut phases: BTreeMap<&str, Mix<'_>> = BTreeMap::new();
    for (side, known) in pair.both().into_iter().enumerate() {
        for cell in &known.facts.tables.cells {
            let endpoints = phases.entry(&cell.place.phase).or_default();
            let counts = endpoints.entry((&cell.place.scenario, &cell.place.endpoint)).or_default();
            *if side == 0 { &mut counts.0 } else { &mut counts.1 } += cell.asked();
        }
    }
    phases.into_iter().filter_map(|(phase, endpoints)| mix(phase, &endpoints)).collect()
}

fn mix(phase: &str, endpoints: &Mix<'_>) -> Option<Finding> {
    let counts: Vec<(u64, u64)> = endpoints.values().copied().collect();
    let apart = total_variation(&counts)?;
    if apart <= MIX_APART || two_mixes(&counts) >= MIX_CHANCE {
        return None;
    }
    let sums = counts.iter().fold((0, 0), |(a, b), (s, o)| (a + s, b + o));
    let shares = |counts: &(u64, u64)| (counts.0 as f64 / sums.0 as f64, counts.1 as f64 / sums.1 as f64);
    let moved = |counts: &(u64, u64)| (shares(counts).0 - shares(counts).1).abs();
    let ((_, endpoint), most) = endpoints.iter().max_by(|a, b| moved(a.1).total_cmp(&moved(b.1)))?;
    let what = format!(
        "The mix of endpoints in `{phase}` differs by {}: `{endpoint}` is {} of the requests against {}.",
        words::percent(apart),
        words::percent(shares(most).0),
        words::percent(shares(most).1)
    );
    let figures = [("total variation", apart * 100.0, "%"), ("threshold", MIX_APART * 100.0, "%")];
    let scope = Scope { phase: Some(phase.to_owned()), ..Scope::default() };
    Some(with_figures(named("C2").finding(Severity::Invalid, scope, what), &figures))
}

/// How large answers are, where nearly all are successes: errors have a size of their own, and a rule of their own.
fn bytes(pair: &Pair<'_, '_>, (base, new): (&Cell, &Cell)) -> Option<Finding> {
    let size = |(known, cell): (&Known<'_>, &Cell)| {
        let sound = cell.failed.count() as f64 <= ERRORS_APART * cell.ok.count() as f64;
        let bytes = *known.bytes_in.get(&cell.place)?;
        (sound && cell.ok.count() > 0).then(|| bytes as f64 / cell.responses() as f64)
    };
    let (size, other) = (size((pair.base, base))?, size((pair.new, new))?);
    let apart = (other / size.max(f64::MIN_POSITIVE)).ln().abs();
    if apart <= BYTES_APART.ln_1p() || (other - size).abs() <= BYTES_OF_FRAMING {
        return None;
    }
    let what = format!(
        "An answer of {} has {} bytes against {}.",
        base.place.words(),
        words::number(size),
        words::number(other)
    );
    let figures = [
        ("bytes, baseline", size, "bytes"),
        ("bytes", other, "bytes"),
        ("threshold", BYTES_APART * 100.0, "%"),
    ];
    Some(with_figures(named("C2").finding(Severity::Invalid, base.place.scope(), what), &figures))
}

/// Other users, or other rows.
fn data(pair: &Pair<'_, '_>) -> Option<Finding> {
    let [base, new] = pair.both().map(|known| &known.workload.data);
    let said = |set: &workload::DataSource| format!("{} rows, {:?}, {:?}", set.rows, set.pick, set.from);
    let names = base.keys().chain(new.keys().filter(|name| !base.contains_key(*name)));
    let differences: Vec<String> = names
        .filter_map(|name| {
            let [some, other] = [base, new].map(|data| data.get(name).map(said));
            difference(&format!("`{name}`:"), [some.as_deref(), other.as_deref()])
        })
        .collect();
    (!differences.is_empty()).then(|| {
        let what = format!("The data of the plans differ: {}.", differences.join("; "));
        named("C2").finding(Severity::Invalid, Scope::default(), what)
    })
}
