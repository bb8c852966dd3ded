//! A document as JUnit XML: one case for the whole, and one for each part that has a verdict.
//!
//! FAIL is a `failure`; INCONCLUSIVE and INVALID are an `error`: the test has no result. Both fail a CI job. The whole has
//! a case of its own because it can be invalid without any part.

use evidence::{Verdict, visible};

use super::{Block, Case, Document, VerdictBlock};
use crate::card::FindingCard;
use crate::test_suite::{Mishap, TestCase, TestSuite};

/// The document as JUnit XML.
pub fn junit(document: &Document) -> String {
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
    let whole = TestCase {
        name: (*case).to_owned(),
        mishap: Mishap::of(verdict.unwrap_or(Verdict::Measured), word, &message, &lines),
        output: Some(visible(&message).into_owned()),
    };
    let mut properties = vec![("verdict", word.clone())];
    properties.extend(document.properties.iter().map(|(name, of)| (*name, visible(of).into_owned())));
    let suite = TestSuite {
        name: visible(&document.name).into_owned(),
        time: document.length,
        properties,
        cases: std::iter::once(whole).chain(document.cases.iter().map(of)).collect(),
    };
    suite.xml()
}

fn lines(card: &FindingCard) -> impl Iterator<Item = String> {
    card.places.iter().map(|place| format!("{} {}: {}", place.severity, card.name(), place.what))
}

fn of(Case { name, verdict, word, message, because }: &Case) -> TestCase {
    TestCase {
        name: visible(name).into_owned(),
        mishap: Mishap::of(*verdict, word, message, because),
        output: Some(visible(&format!("{word}: {message}")).into_owned()),
    }
}
