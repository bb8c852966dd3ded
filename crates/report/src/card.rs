//! Findings by rule: a rule's texts once, and the places where it found something.

use evidence::{ExperimentFinding, Figure, Finding, RuleId, Scope, Severity};

/// Where a finding without a scope was made.
const WHOLE_RUN: &str = "the whole run";

/// The findings of one rule; at least one.
#[derive(Debug)]
pub(crate) struct FindingCard {
    /// None of a finding of an experiment.
    pub(crate) rule: Option<RuleId>,
    pub(crate) title: String,
    /// The gravest of its findings.
    pub(crate) severity: Severity,
    pub(crate) places: Vec<FindingPlace>,
    /// May be empty.
    pub(crate) why: String,
    /// May be empty.
    pub(crate) next: String,
}

/// Where a rule found something, and what.
#[derive(Debug)]
pub(crate) struct FindingPlace {
    /// Its scope: `phase gameplay · endpoint list`, or `the whole run`; before it the severity where it is less than its
    /// card's. Empty of a finding of an experiment.
    pub(crate) name: String,
    pub(crate) severity: Severity,
    pub(crate) what: String,
    pub(crate) figures: Vec<Figure>,
}

impl FindingCard {
    /// Rule and title.
    pub(crate) fn name(&self) -> String {
        self.rule.map_or_else(|| self.title.clone(), |rule| format!("{rule} {}", self.title))
    }
}

impl FindingPlace {
    /// What was found, and where unless that is everywhere.
    pub(crate) fn in_words(&self) -> String {
        match self.name.as_str() {
            "" | WHOLE_RUN => self.what.clone(),
            name => format!("{name}: {}", self.what),
        }
    }
}

impl From<&ExperimentFinding> for FindingCard {
    fn from(finding: &ExperimentFinding) -> FindingCard {
        let ExperimentFinding { name, severity, what, next, .. } = finding;
        let place = FindingPlace {
            name: String::new(),
            severity: *severity,
            what: what.clone(),
            figures: Vec::new(),
        };
        FindingCard {
            rule: None,
            title: name.clone(),
            severity: *severity,
            places: vec![place],
            why: String::new(),
            next: next.clone(),
        }
    }
}

/// Cards in the order of their first findings.
pub(crate) fn of_run(findings: &[Finding]) -> Vec<FindingCard> {
    cards(findings.iter().map(|finding| (scope(&finding.scope), finding)))
}

/// The same, of findings with the names of their places.
pub(crate) fn cards<'a>(named: impl Iterator<Item = (String, &'a Finding)>) -> Vec<FindingCard> {
    let mut cards: Vec<FindingCard> = Vec::new();
    for (name, finding) in named {
        let Finding { rule, title, severity, what, figures, why, next, .. } = finding;
        let place = FindingPlace { name, severity: *severity, what: what.clone(), figures: figures.clone() };
        match cards.iter_mut().find(|card| card.rule == Some(*rule)) {
            Some(card) => card.places.push(place),
            None => cards.push(FindingCard {
                rule: Some(*rule),
                title: title.clone(),
                severity: *severity,
                places: vec![place],
                why: why.clone(),
                next: next.clone(),
            }),
        }
    }
    for card in &mut cards {
        let gravest = card.places.iter().map(|place| place.severity).min();
        card.severity = gravest.unwrap_or(card.severity);
        for place in card.places.iter_mut().filter(|place| place.severity != card.severity) {
            place.name = format!("{} · {}", place.severity, place.name);
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
    if named.is_empty() { WHOLE_RUN.to_owned() } else { named.join(" · ") }
}
