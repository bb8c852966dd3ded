//! Findings by rule: a rule's texts once, and the places where it found something.

use evidence::{Finding, RuleId, Scope, Severity};

/// The findings of one rule; at least one.
#[derive(Debug)]
pub(crate) struct FindingCard<'a> {
    pub(crate) rule: RuleId,
    pub(crate) title: &'a str,
    /// The gravest of its findings.
    pub(crate) severity: Severity,
    pub(crate) places: Vec<FindingPlace<'a>>,
    pub(crate) why: &'a str,
    pub(crate) next: &'a str,
}

/// Where a rule found something, and what.
#[derive(Debug)]
pub(crate) struct FindingPlace<'a> {
    /// Its scope: `phase gameplay · endpoint list`, or `the whole run`; before it the severity where it is less than its
    /// card's.
    pub(crate) name: String,
    pub(crate) finding: &'a Finding,
}

/// Cards in the order of their first findings.
pub(crate) fn of_run(findings: &[Finding]) -> Vec<FindingCard<'_>> {
    cards(findings.iter().map(|finding| FindingPlace { name: scope(&finding.scope), finding }))
}

/// The same, of places that are named already.
pub(crate) fn cards<'a>(places: impl Iterator<Item = FindingPlace<'a>>) -> Vec<FindingCard<'a>> {
    let mut cards: Vec<FindingCard<'a>> = Vec::new();
    for place in places {
        let Finding { rule, title, severity, why, next, .. } = place.finding;
        match cards.iter_mut().find(|card| card.rule == *rule) {
            Some(card) => card.places.push(place),
            None => cards.push(FindingCard {
                rule: *rule,
                title,
                severity: *severity,
                places: vec![place],
                why,
                next,
            }),
        }
    }
    for card in &mut cards {
        let gravest = card.places.iter().map(|place| place.finding.severity).min();
        card.severity = gravest.unwrap_or(card.severity);
        for place in card.places.iter_mut().filter(|place| place.finding.severity != card.severity) {
            place.name = format!("{} · {}", place.finding.severity, place.name);
        }
    }
    cards
}

/// A scope as text: `phase gameplay · endpoint list`, or `the whole run`.
pub(crate) fn scope(scope: &Scope) -> String {
    let parts = [
        ("phase", &scope.phase),
        ("scenario", &scope.scenario),
        ("endpoint", &scope.endpoint),
        ("objective", &scope.objective),
        ("series", &scope.series),
    ];
    let named: Vec<String> =
        parts.iter().filter_map(|(kind, name)| Some(format!("{kind} {}", name.as_ref()?))).collect();
    if named.is_empty() { "the whole run".to_owned() } else { named.join(" · ") }
}
