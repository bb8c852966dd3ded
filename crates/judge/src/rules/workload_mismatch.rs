//! C2: the requests or the responses of two runs differ.

use std::collections::BTreeMap;

use evidence::{Finding, RuleId, Scope, Severity};
use figures::Row;
use stats::{total_variation, two_mixes};
use workload::{DataFrom, Pick};

use crate::pair::{EndpointPair, JudgedRun, Pair, difference};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule, with_figures};
use crate::rules::error_rates_differ::ERRORS_APART;
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C2,
    title: "workload-mismatch",
    severity: Severity::Invalid,
    tests: "For each phase: mixes of endpoints with a total variation of more than 1 % and at least 20 requests, where the chi-square \
            test gives a probability below 0.001. For each endpoint with hardly any failure: bytes received \
            for a response more than 2 % apart. For the plans: other data files, rows or ways to pick them.",
    affects: DIFFERENCES,
    why: "Other requests or other responses take other times: the difference is the workload's.",
    next: "Run both with the same plan, seed and data, against stores with the same content.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

/// Mixes of endpoints differ when their total variation is larger than this …
pub(crate) const MIX_APART: f64 = 0.01;
/// … which is at least so many requests …
pub(crate) const MIX_REQUESTS: f64 = 20.0;
/// … and the test gives a smaller probability for chance alone.
pub(crate) const MIX_CHANCE: f64 = 0.001;
/// The largest difference of response sizes, as a share …
pub(crate) const BYTES_APART: f64 = 0.02;
/// … and in bytes: a header that was sent on the connection before takes a few bytes less.
pub(crate) const BYTES_OF_FRAMING: f64 = 32.0;

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let mut findings = mixes(pair);
    findings.extend(pair.endpoints().filter_map(|endpoint| bytes(pair, &endpoint)));
    findings.extend(data(pair));
    findings
}

/// Requests of the baseline and of the other run, by scenario and endpoint.
type Mix<'a> = BTreeMap<(&'a str, &'a str), (u64, u64)>;

/// The share of each endpoint, phase by phase, where both runs have the phase.
fn mixes(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let mut phases: BTreeMap<&str, Mix<'_>> = BTreeMap::new();
    for (side, run) in pair.both().into_iter().enumerate() {
        for endpoint in run.facts.figures.endpoints() {
            let endpoints = phases.entry(&endpoint.key.phase).or_default();
            let counts = endpoints.entry((&endpoint.key.scenario, &endpoint.key.endpoint)).or_default();
            *if side == 0 { &mut counts.0 } else { &mut counts.1 } += endpoint.attempted();
        }
    }
    phases.into_iter().filter_map(|(phase, endpoints)| mix(phase, &endpoints)).collect()
}

fn mix(phase: &str, endpoints: &Mix<'_>) -> Option<Finding> {
    let counts: Vec<(u64, u64)> = endpoints.values().copied().collect();
    let apart = total_variation(&counts)?;
    let sums = counts.iter().fold((0, 0), |(a, b), (s, o)| (a + s, b + o));
    let other = apart * sums.0.min(sums.1) as f64;
    if apart <= MIX_APART || other < MIX_REQUESTS || two_mixes(&counts) >= MIX_CHANCE {
        return None;
    }
    let shares = |counts: &(u64, u64)| (counts.0 as f64 / sums.0 as f64, counts.1 as f64 / sums.1 as f64);
    let moved = |counts: &(u64, u64)| (shares(counts).0 - shares(counts).1).abs();
    let ((_, endpoint), most) = endpoints.iter().max_by(|a, b| moved(a.1).total_cmp(&moved(b.1)))?;
    let what = format!(
        "The mix of endpoints in `{phase}` differs by {}: `{endpoint}` is {} of the requests against {}.",
        brief::percent(apart),
        brief::percent(shares(most).0),
        brief::percent(shares(most).1)
    );
    let figures = [("total variation", apart * 100.0, "%"), ("threshold", MIX_APART * 100.0, "%")];
    let scope = Scope { phase: Some(phase.to_owned()), ..Scope::default() };
    Some(with_figures(RULE.finding(Severity::Invalid, scope, what), &figures))
}

/// The size of responses, where nearly all are successes: failures have another size, and a rule of their own.
fn bytes(pair: &Pair<'_, '_>, endpoint: &EndpointPair<'_>) -> Option<Finding> {
    let size = |run: &JudgedRun<'_>, endpoint: &Row| {
        let has_few_failures = endpoint.failed.count() as f64 <= ERRORS_APART * endpoint.ok.count() as f64;
        let bytes = *run.bytes_in.get(&endpoint.key)?;
        (has_few_failures && endpoint.ok.count() > 0).then(|| bytes as f64 / endpoint.responses() as f64)
    };
    let (before, after) = (size(pair.base, endpoint.base)?, size(pair.new, endpoint.new)?);
    let apart = (after / before.max(f64::MIN_POSITIVE)).ln().abs();
    if apart <= BYTES_APART.ln_1p() || (after - before).abs() <= BYTES_OF_FRAMING {
        return None;
    }
    let what = format!(
        "A response of {} has {} bytes against {}.",
        endpoint.base.key.describe(),
        brief::significant(before),
        brief::significant(after)
    );
    let figures = [
        ("bytes, baseline", before, "bytes"),
        ("bytes", after, "bytes"),
        ("threshold", BYTES_APART * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Invalid, endpoint.base.key.scope(), what), &figures))
}

fn origin(from: &DataFrom) -> &str {
    match from {
        DataFrom::File(path) => path,
        DataFrom::Generate(pattern) => pattern,
    }
}

fn picked(pick: Pick) -> &'static str {
    match pick {
        Pick::Sequential => "in order",
        Pick::Random => "at random",
        Pick::Unique => "each once",
    }
}

/// The data sets of the plans.
fn data(pair: &Pair<'_, '_>) -> Option<Finding> {
    let [base, new] = pair.both().map(|run| &run.workload.data);
    let describe = |set: &workload::DataSource| {
        format!("{} rows of {}, {}", set.rows, origin(&set.from), picked(set.pick))
    };
    let names = base.keys().chain(new.keys().filter(|name| !base.contains_key(*name)));
    let differences: Vec<String> = names
        .filter_map(|name| {
            let [some, other] = [base, new].map(|data| data.get(name).map(describe));
            difference(&format!("`{name}`:"), [some.as_deref(), other.as_deref()])
        })
        .collect();
    (!differences.is_empty()).then(|| {
        let what = format!("The data of the plans differ: {}.", differences.join("; "));
        RULE.finding(Severity::Invalid, Scope::default(), what)
    })
}
