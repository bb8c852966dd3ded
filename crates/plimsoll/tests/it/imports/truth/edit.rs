//! Damage to the text of a file.

use super::known_run::KnownRun;

/// Without the lines that `is_it` selects.
pub(super) fn without(text: &str, is_it: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| !is_it(line)).map(|line| format!("{line}\n")).collect()
}

/// With every line that `is_it` selects changed.
pub(super) fn changed(text: &str, is_it: impl Fn(&str) -> bool, change: impl Fn(&str) -> String) -> String {
    let line = |line: &str| if is_it(line) { change(line) } else { line.to_owned() };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// Without the last few characters of the lines that `is_it` selects.
pub(super) fn cut_lines(text: &str, is_it: impl Fn(&str) -> bool) -> String {
    changed(text, is_it, |line| line[..line.len() - 3].to_owned())
}

/// Cut off in the middle of a line, somewhere before the end.
pub(super) fn cut_off(run: &KnownRun, text: &str) -> String {
    let at = text.len() * (20 + run.number(70) as usize) / 100;
    let end = text[..at].rfind('\n').unwrap();
    text[..end + 12].to_owned()
}

/// With the first occurrence of `old` replaced; it has to be there.
pub(super) fn with(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old} is not in {text:.300}");
    text.replacen(old, new, 1)
}
