//! What the rules of single runs and of two runs say of the pairs, as far as it bears on an experiment.
//!
//! A rule that invalidates differences invalidates the experiment where it fires in at least half of the pairs, unless the difference is
//! meant. What lag and neighbours do is tested instead ([`super::conditions`]); that one pair decides nothing is known.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{ExperimentFinding, RuleId, Severity};

use super::JudgedPair;
use crate::JudgeError;
use crate::compare::{Side, compare};

/// Rules that invalidate a difference: what was sent, answered or counted was not the same.
const INVALIDATING: [RuleId; 7] =
    [RuleId::A1, RuleId::L5, RuleId::L6, RuleId::C2, RuleId::C3, RuleId::C4, RuleId::C7];
/// Rules that are worth to be known.
const SHOWN: [RuleId; 7] =
    [RuleId::L1, RuleId::L3, RuleId::L4, RuleId::C5, RuleId::C6, RuleId::S9, RuleId::T2];

/// What the rules find on a pair.
pub(super) fn findings(number: u32, sides: [&Side<'_>; 2]) -> Result<Vec<ExperimentFinding>, ReadError> {
    let judged = compare(&[*sides[0], *sides[1]], &[]).map_err(|JudgeError::Read(error)| error)?;
    let mut found: Vec<ExperimentFinding> = Vec::new();
    for sided in judged.findings {
        let finding = sided.finding;
        let is_invalidating = INVALIDATING.contains(&finding.rule) && finding.severity == Severity::Invalid;
        let is_shown = SHOWN.contains(&finding.rule) && finding.severity != Severity::Info;
        let name = format!("{} {}", finding.rule, finding.title);
        if (is_invalidating || is_shown) && !found.iter().any(|known| known.name == name) {
            let severity = if is_invalidating { Severity::Invalid } else { Severity::Caution };
            found.push(ExperimentFinding {
                name,
                severity,
                pairs: vec![number],
                what: finding.what,
                next: finding.next,
            });
        }
    }
    Ok(found)
}

/// The findings of all pairs, one for each rule.
pub(super) fn joined(pairs: &[JudgedPair], accept: &[String]) -> Vec<ExperimentFinding> {
    let mut by_name: BTreeMap<&str, Vec<&ExperimentFinding>> = BTreeMap::new();
    for finding in pairs.iter().flat_map(|pair| &pair.findings) {
        by_name.entry(&finding.name).or_default().push(finding);
    }
    by_name
        .into_values()
        .map(|found| {
            let numbers: Vec<u32> = found.iter().flat_map(|finding| finding.pairs.clone()).collect();
            let (many, all) = (numbers.len(), pairs.len());
            let mut joined = found[0].clone();
            let id = joined.name.split(' ').next().unwrap_or_default();
            let is_accepted = accept.iter().any(|rule| rule.eq_ignore_ascii_case(id));
            if joined.severity == Severity::Invalid && (2 * many < all || is_accepted) {
                joined.severity = Severity::Caution;
            }
            if joined.severity != Severity::Info {
                joined.what =
                    format!("In {many} of {all} pairs, first in pair {}: {}", numbers[0], joined.what);
            }
            joined.pairs = numbers;
            joined
        })
        .collect()
}
