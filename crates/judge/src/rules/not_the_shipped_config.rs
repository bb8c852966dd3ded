//! C5: the tested configuration may not be that of production.

use evidence::{Finding, RuleId, Scope, Severity};
use workload::Scheme;

use crate::pair::Pair;
use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C5,
    title: "not-the-shipped-config",
    severity: Severity::Info,
    tests: "Which targets were reached without TLS. Whether rate limits, authentication, logging and retries \
            are those of production is not in a run file, and is reported as unknown.",
    affects: "claims on production",
    why: "A feature that is switched off in the test costs nothing there.",
    next: "Run with the configuration that ships, and state it in the plan's name.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let mut cleartext: Vec<&str> = Vec::new();
    for (name, target) in pair.both().into_iter().flat_map(|run| &run.workload.targets) {
        let http = target.http.as_ref().is_some_and(|origin| origin.scheme == Scheme::Http);
        let grpc = target.grpc.as_ref().is_some_and(|origin| origin.scheme == Scheme::Http);
        if (http || grpc) && !cleartext.contains(&name.as_str()) {
            cleartext.push(name);
        }
    }
    let without_tls = match cleartext.is_empty() {
        true => String::new(),
        false => format!(
            "{} without TLS; ",
            cleartext.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    let what = format!(
        "Whether rate limits, authentication, logging and retries are those of production is unknown: \
         {without_tls}run files do not contain a target's own configuration."
    );
    vec![RULE.finding(Severity::Info, Scope::default(), what)]
}
