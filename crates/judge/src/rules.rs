//! The rules: one file each, with the rule's id, texts, thresholds and check, named after what the rule says. `imported`
//! has the findings on imported runs, where a rule needs something that the source did not record.
//!
//! A check is a small pure function from facts, or from two runs, to findings. Add a rule as a file here, a line in
//! [`RULES`], and an id in `evidence`.

mod accounting_identity;
mod averaged_percentiles;
mod backlog;
mod baseline_provenance;
mod carry_over;
mod censored_quantile;
mod closed_loop_or_capped;
mod dropped_or_late;
mod end_of_run_cutoff;
mod environment_mismatch;
mod error_rates_differ;
pub(crate) mod evidence_changed;
pub(crate) mod functional_failure_phase;
pub(crate) mod generator_saturated;
mod imported;
mod impossible_or_bimodal;
pub(crate) mod iterations_threw;
mod leak_claim;
mod little_mismatch;
mod load_shape_mismatch;
mod malformed_http;
pub(crate) mod noisy_host;
mod not_measured_is_not_zero;
pub(crate) mod not_one_change;
mod not_steady;
mod not_the_shipped_config;
mod observation_gap;
pub(crate) mod offered_load_not_reached;
pub(crate) mod partial_pass;
mod pooled_phases;
pub(crate) mod prediction_as_result;
mod profile_sample_too_small;
mod profile_window_or_denominator;
mod sent_again;
mod single_run;
mod state_not_reset;
mod survivors_only;
pub(crate) mod too_few_tail_samples;
mod waited_for_connection;
mod warm_up_included;
mod worker_clock;
mod worker_differs;
mod worker_unlike_others;
mod worker_vanished;
mod workload_mismatch;

use evidence::{Finding, RuleId};

use crate::facts::Facts;
use crate::pair::Pair;
use crate::rule::{Check, Rule};

/// Increased whenever a rule, a threshold or the meaning of a claim changes, so that a stored judgement can be
/// distinguished from one that today's rules would give.
pub const RULES_VERSION: u32 = 13;

/// Every rule, in the order in which findings of one severity are shown.
pub const RULES: [&Rule; 44] = [
    &evidence_changed::RULE,
    &offered_load_not_reached::RULE,
    &dropped_or_late::RULE,
    &generator_saturated::RULE,
    &closed_loop_or_capped::RULE,
    &little_mismatch::RULE,
    &accounting_identity::RULE,
    &end_of_run_cutoff::RULE,
    &waited_for_connection::RULE,
    &sent_again::RULE,
    &worker_vanished::RULE,
    &worker_clock::RULE,
    &worker_differs::RULE,
    &worker_unlike_others::RULE,
    &error_rates_differ::RULE,
    &workload_mismatch::RULE,
    &load_shape_mismatch::RULE,
    &environment_mismatch::RULE,
    &not_the_shipped_config::RULE,
    &state_not_reset::RULE,
    &baseline_provenance::RULE,
    &not_one_change::RULE,
    &single_run::RULE,
    &pooled_phases::RULE,
    &censored_quantile::RULE,
    &survivors_only::RULE,
    &impossible_or_bimodal::RULE,
    &averaged_percentiles::RULE,
    &profile_window_or_denominator::RULE,
    &profile_sample_too_small::RULE,
    &not_measured_is_not_zero::RULE,
    &too_few_tail_samples::RULE,
    &noisy_host::RULE,
    &warm_up_included::RULE,
    &not_steady::RULE,
    &functional_failure_phase::RULE,
    &carry_over::RULE,
    &iterations_threw::RULE,
    &backlog::RULE,
    &malformed_http::RULE,
    &observation_gap::RULE,
    &leak_claim::RULE,
    &prediction_as_result::RULE,
    &partial_pass::RULE,
];

/// The findings on one run.
pub(crate) fn on_run(facts: &Facts<'_>) -> Vec<Finding> {
    let check = |rule: &&Rule| match rule.check {
        Check::Run(check) | Check::Both { run: check, .. } => check(facts),
        Check::Pair(_) | Check::Elsewhere => Vec::new(),
    };
    let mut findings: Vec<Finding> = RULES.iter().flat_map(check).chain(imported::check(facts)).collect();
    findings.sort_by_key(|finding| finding.rule);
    findings
}

/// The findings on one run, those of one cause as one. What each affects must be known.
pub(crate) fn joined(facts: &Facts<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    noisy_host::join(facts, findings)
}

/// The findings on two runs that are compared, besides those on each.
pub(crate) fn on_pair(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let check = |rule: &&Rule| match rule.check {
        Check::Pair(check) | Check::Both { pair: check, .. } => check(pair),
        Check::Run(_) | Check::Elsewhere => Vec::new(),
    };
    RULES.iter().flat_map(check).collect()
}

/// The rule of this short name.
pub(crate) fn by_id(id: RuleId) -> &'static Rule {
    RULES[id as usize]
}

/// The rule of this short or long name, in whatever case.
pub fn explain(rule: &str) -> Option<&'static Rule> {
    let name = rule.trim();
    let is_it = |rule: &&&Rule| {
        rule.id.to_string().eq_ignore_ascii_case(name) || rule.title.eq_ignore_ascii_case(name)
    };
    RULES.iter().find(is_it).copied()
}

/// The rule whose short or long name is most similar to `rule`, if any is similar.
pub fn nearest_rule(rule: &str) -> Option<&'static Rule> {
    let name = rule.trim().to_lowercase();
    let similarity = |known: &str| strsim::jaro_winkler(&name, &known.to_lowercase());
    RULES
        .iter()
        .map(|rule| (similarity(&rule.id.to_string()).max(similarity(rule.title)), *rule))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, rule)| rule)
}

#[cfg(test)]
mod tests;
