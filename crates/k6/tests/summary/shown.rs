//! Texts, against those that k6 wrote to standard output.

use k6::summary::{Colours, SummaryMode, summary_text};

use crate::recording::{Recording, file, names};

/// What the recording's name says of how it was made: `SCRIPT-MODE` or `SCRIPT-MODE-colours`.
fn shown(recording: &Recording) -> String {
    let colours = if recording.name.ends_with("-colours") { Colours::On } else { Colours::Off };
    let mode = recording.name.split('-').nth(1).and_then(SummaryMode::of);
    summary_text(&recording.summary(), mode.unwrap_or_default(), colours)
}

fn check(name: &str) {
    let shown = shown(&Recording::read(name));
    let expected = file(&format!("{name}/stdout.txt"));
    let mut lines = shown.lines().zip(expected.lines()).enumerate();
    if let Some((number, (ours, theirs))) = lines.find(|(_, (ours, theirs))| ours != theirs) {
        panic!("{name}, line {}:\n ours: {ours:?}\n k6's: {theirs:?}", number + 1);
    }
    assert_eq!(shown, expected, "{name}");
}

#[test]
fn every_summary_is_that_of_k6_byte_for_byte() {
    names().iter().for_each(|name| check(name));
}

#[test]
fn a_disabled_summary_is_empty() {
    let summary = Recording::read("shop-compact").summary();
    assert_eq!(summary_text(&summary, SummaryMode::of("disabled").unwrap(), Colours::On), "");
    assert_eq!(SummaryMode::of("brief"), None);
}
