//! C5: what was measured is not what will be run.

use evidence::{Finding, Scope, Severity};
use workload::Scheme;

use crate::compare::known::Pair;
use crate::rule::named;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let mut cleartext: Vec<&str> = Vec::new();
    for (name, target) in pair.both().into_iter().flat_map(|known| &known.workload.targets) {
        let http = target.http.as_ref().is_some_and(|origin| origin.scheme == Scheme::Http);
        let grpc = target.grpc.as_ref().is_some_and(|origin| origin.scheme == Scheme::Http);
        if (http || grpc) && !cleartext.contains(&name.as_str()) {
            cleartext.push(name);
        }
    }
    let seen = match cleartext.is_empty() {
        true => String::new(),
        false => format!(
            "{} without TLS; ",
            cleartext.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    let what = format!(
        "Whether rate limits, authentication, logging and retries are those of production is unknown: {seen}run files \
         do not hold a target's own configuration."
    );
    vec![named("C5").finding(Severity::Info, Scope::default(), what)]
}
