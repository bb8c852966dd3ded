//! Texts, against those that k6 wrote to standard output.

use k6::summary::{Colours, Detail, legacy, text};

use crate::recording::{Recording, file, names};

/// What the recording's name says of how it was made: `SCRIPT-MODE` or `SCRIPT-MODE-colours`.
fn shown(recording: &Recording) -> String {
    let colours = if recording.name.ends_with("-colours") { Colours::On } else { Colours::Off };
    let summary = recording.summary();
    match recording.name.split('-').nth(1) {
        Some("legacy") => legacy(&summary, colours),
        Some("full") => text(&summary, Detail::Full, colours),
        _ => text(&summary, Detail::Compact, colours),
    }
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
fn every_recorded_summary_is_the_same_byte_for_byte() {
    names().iter().for_each(|name| check(name));
}
