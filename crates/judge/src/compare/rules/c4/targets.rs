//! C4 of what was tested: what its machine allowed it, and the stores behind it.

use std::collections::BTreeSet;

use evidence::{Finding, Scope, SeriesKey, Severity};

use crate::compare::known::{Known, Pair, difference};
use crate::rule::named;
use crate::words;

/// What the manifest tells of a store behind a target: its version, and a digest of its settings.
const STORES: [&str; 2] = ["postgres_version", "postgres_settings"];
/// Series that are settings: what a target or its store may use.
const LIMITS: [&str; 3] = ["cgroup_cpu_limit", "cgroup_memory_limit", "pg_connections_limit"];
/// So much of a digest tells two apart.
const SHORT: usize = 12;

pub(super) fn findings(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let names: BTreeSet<&String> =
        pair.both().iter().flat_map(|known| known.manifest().targets.keys()).collect();
    let mut differences: Vec<String> = names.iter().flat_map(|name| stores(pair, name)).collect();
    differences.extend(limits(pair));
    let mut findings = Vec::new();
    if !differences.is_empty() {
        let what = format!("What was tested had another environment: {}.", differences.join("; "));
        findings.push(named("C4").finding(Severity::Invalid, Scope::default(), what));
    }
    let elsewhere: Vec<String> = names.iter().filter_map(|name| machine(pair, name)).collect();
    if !elsewhere.is_empty() {
        let what =
            format!("Whether the targets ran on the same machine is unknown: {}.", elsewhere.join("; "));
        findings.push(named("C4").finding(Severity::Caution, Scope::default(), what));
    }
    findings
}

fn fact<'p>(known: &'p Known<'_>, target: &str, key: &str) -> Option<&'p str> {
    known.manifest().targets.get(target)?.get(key).map(String::as_str)
}

/// Stores that both runs tell of. What one does not tell is unknown, and no difference.
fn stores(pair: &Pair<'_, '_>, target: &str) -> Vec<String> {
    let differs = |key: &&str| {
        let [some, other] = pair.both().map(|known| fact(known, target, key));
        let short = |text: &str| text.chars().take(SHORT).collect::<String>();
        let (some, other) = (some?, other?);
        let shown =
            [some, other].map(|text| if key.ends_with("settings") { short(text) } else { text.to_owned() });
        (some != other)
            .then(|| difference(&format!("{key} of `{target}`"), [Some(&shown[0]), Some(&shown[1])]))
            .flatten()
    };
    STORES.iter().filter_map(differs).collect()
}

fn limits(pair: &Pair<'_, '_>) -> Vec<String> {
    let first = |known: &Known<'_>, key: &SeriesKey| {
        known.run.samples(key, known.run.whole()).ok()?.first().map(|sample| sample.value)
    };
    let is_limit = |key: &&SeriesKey| LIMITS.contains(&&*key.name);
    let differs = |key: &SeriesKey| {
        let (some, other) = (first(pair.base, key)?, first(pair.new, key)?);
        let shown = |value| words::quantity(value, &key.unit);
        (some != other)
            .then(|| format!("{} of `{}` {} against {}", key.name, key.target, shown(some), shown(other)))
    };
    pair.base.run.series().iter().filter(is_limit).filter_map(differs).collect()
}

/// Where a target was reached, if that was elsewhere on the other side; its port says nothing of the machine.
fn machine(pair: &Pair<'_, '_>, target: &str) -> Option<String> {
    let host = |known: &Known<'_>| {
        let address = fact(known, target, "http").or_else(|| fact(known, target, "grpc"))?;
        let address = address.split('/').next()?;
        Some(address.rsplit_once(':').map_or(address, |(host, _)| host).to_owned())
    };
    let [some, other] = pair.both().map(host);
    let (some, other) = (some?, other?);
    (some != other).then(|| format!("`{target}` was reached at {some} and at {other}"))
}
