//! C4 of the targets: their limits, and the stores behind them.

use std::collections::BTreeSet;

use evidence::{Finding, Scope, SeriesKey, Severity};

use super::RULE;
use crate::pair::{JudgedRun, Pair, difference};
use figures::number::brief;

/// What the manifest has about a store behind a target: its version, and a digest of its settings.
const STORES: [&str; 2] = ["postgres_version", "postgres_settings"];
/// Series that are limits of a target or of its store.
const LIMITS: [&str; 4] = ["cgroup_cpu_limit", "cpus_allowed", "cgroup_memory_limit", "pg_connections_limit"];
/// Characters of a digest that are shown.
const DIGEST_LENGTH: usize = 12;

pub(super) fn findings(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let names: BTreeSet<&String> = pair.both().iter().flat_map(|run| run.manifest().targets.keys()).collect();
    let mut differences: Vec<String> = names.iter().flat_map(|name| stores(pair, name)).collect();
    differences.extend(limits(pair));
    let mut findings = Vec::new();
    if !differences.is_empty() {
        let what = format!("The environment of the targets differs: {}.", differences.join("; "));
        findings.push(RULE.finding(Severity::Invalid, Scope::default(), what));
    }
    let moved: Vec<String> = names.iter().filter_map(|name| machine(pair, name)).collect();
    if !moved.is_empty() {
        let what = format!("Whether the targets ran on the same machine is unknown: {}.", moved.join("; "));
        findings.push(RULE.finding(Severity::Caution, Scope::default(), what));
    }
    findings
}

fn fact<'p>(run: &'p JudgedRun<'_>, target: &str, key: &str) -> Option<&'p str> {
    run.manifest().targets.get(target)?.get(key).map(String::as_str)
}

/// Differences of stores that both runs recorded. What one run did not record is unknown, and no difference.
fn stores(pair: &Pair<'_, '_>, target: &str) -> Vec<String> {
    let differs = |key: &&str| {
        let [some, other] = pair.both().map(|run| fact(run, target, key));
        let short = |text: &str| text.chars().take(DIGEST_LENGTH).collect::<String>();
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
    let first = |judged: &JudgedRun<'_>, key: &SeriesKey| {
        judged.run.samples(key, judged.run.whole()).ok()?.first().map(|sample| sample.value)
    };
    let is_limit = |key: &&SeriesKey| LIMITS.contains(&&*key.name);
    let differs = |key: &SeriesKey| {
        let (some, other) = (first(pair.base, key)?, first(pair.new, key)?);
        let shown = |value| brief::quantity(value, &key.unit);
        (some != other)
            .then(|| format!("{} of `{}` {} against {}", key.name, key.target, shown(some), shown(other)))
    };
    pair.base.run.series().iter().filter(is_limit).filter_map(differs).collect()
}

/// The hosts at which a target was reached, if they differ. A port does not identify a machine.
fn machine(pair: &Pair<'_, '_>, target: &str) -> Option<String> {
    let host = |run: &JudgedRun<'_>| {
        let address = fact(run, target, "http").or_else(|| fact(run, target, "grpc"))?;
        let address = address.split('/').next()?;
        Some(address.rsplit_once(':').map_or(address, |(host, _)| host).to_owned())
    };
    let [some, other] = pair.both().map(host);
    let (some, other) = (some?, other?);
    (some != other).then(|| format!("`{target}` was reached at {some} and at {other}"))
}
