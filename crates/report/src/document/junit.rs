//! A document as JUnit XML: one case for the whole, and one for each part that has a verdict.
//!
//! FAIL is a `failure`; INCONCLUSIVE and INVALID are an `error`: the test has no result. Both fail a CI job, unless what is
//! undecided is to be `skipped`. The whole always has a case, so that each run has the same ones; where a part says the same, it passes.

use evidence::{Verdict, visible};

use super::{Block, Case, Document, VerdictBlock};
use crate::card::FindingCard;
use crate::test_suite::{Mishap, TestCase, TestSuite, Undecided};

/// The document as JUnit XML.
pub fn junit(document: &Document, undecided: Undecided) -> String {
    let VerdictBlock { verdict, word, answer, because, case, .. } = &document.verdict;
    let message = match answer {
        Some(answer) => format!("{answer}. {because}"),
        None => because.clone(),
    };
    let findings =
        document.sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
            Block::Findings(of) => Some(&of.cards),
            _ => None,
        });
    let lines: Vec<String> = findings.flatten().flat_map(lines).collect();
    let parts: Vec<TestCase> = document.cases.iter().map(|case| of(case, undecided)).collect();
    let mishap = Mishap::of(verdict.unwrap_or(Verdict::Measured), undecided, word, (&message, &lines));
    let mut whole =
        TestCase { name: (*case).to_owned(), mishap, output: Some(visible(&message).into_owned()) };
    if whole.mishap.is_some() && parts.iter().any(|part| part.kind() == whole.kind()) {
        let unsaid = lines.iter().filter(|line| !parts.iter().any(|part| part.says(line))).cloned();
        let said = std::iter::once(format!("{word}: {message}")).chain(unsaid);
        let output: Vec<_> = said.map(|line| visible(&line).into_owned()).collect();
        whole = TestCase { mishap: None, output: Some(output.join("\n")), ..whole };
    }
    let mut properties = vec![("verdict", word.clone())];
    properties.extend(document.properties.iter().map(|(name, of)| (*name, visible(of).into_owned())));
    let suite = TestSuite {
        name: visible(&document.name).into_owned(),
        time: document.length,
        properties,
        cases: std::iter::once(whole).chain(parts).collect(),
    };
    suite.xml()
}

fn lines(card: &FindingCard) -> impl Iterator<Item = String> {
    card.places.iter().map(|place| format!("{} ({}): {}", card.name(), place.severity, place.what))
}

fn of(Case { name, verdict, word, message, because }: &Case, undecided: Undecided) -> TestCase {
    let mishap = Mishap::of(*verdict, undecided, word, (message, because));
    let lines = std::iter::once(format!("{word}: {message}")).chain(because.iter().cloned());
    let lines = lines.map(|line| visible(&line).into_owned());
    let output = mishap.is_none().then(|| lines.collect::<Vec<_>>().join("\n"));
    TestCase { name: visible(name).into_owned(), mishap, output }
}
