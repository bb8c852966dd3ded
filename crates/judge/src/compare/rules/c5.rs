//! C5: the tested configuration may not be that of production.

use evidence::{Finding, Scope, Severity};
use workload::Scheme;

use crate::compare::judged_run::Pair;
use crate::rule::rule_by_id;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
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
    vec![rule_by_id("C5").finding(Severity::Info, Scope::default(), what)]
}
