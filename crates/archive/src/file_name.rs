//! The default name of a run file.

/// The file name extension of run files, without its dot.
pub const EXTENSION: &str = "plimsoll";

/// The longest part of a plan's name that goes into a file name, in characters.
const LONGEST_NAME: usize = 80;

/// `demo-20261121T101112Z.plimsoll`, from the plan's name and the start in RFC 3339, UTC.
///
/// Where the start is not known, only from the name. Whatever is not a letter, digit, `_` or `.` in the name becomes `-`; fractions of a second are dropped.
///
/// ```
/// assert_eq!(archive::file_name("demo", "2026-11-21T10:11:12.5Z"), "demo-20261121T101112Z.plimsoll");
/// ```
pub fn file_name(plan_name: &str, started_at: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' || c == '.' { c } else { '-' };
    let name: String = plan_name.chars().take(LONGEST_NAME).map(plain).collect();
    let name = name.trim_matches(|c| c == '-' || c == '.');
    let name = if name.is_empty() { "run" } else { name };
    let whole_seconds = started_at.split(['.', 'Z', '+']).next().unwrap_or_default();
    let time: String = whole_seconds.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    if time.is_empty() {
        return format!("{name}.{EXTENSION}");
    }
    format!("{name}-{time}Z.{EXTENSION}")
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_plan_name_never_leaves_the_folder() {
        let at = "2026-11-21T10:11:12+00:00";
        for (plan, expected) in [
            ("my plan: spike", "my-plan--spike-20261121T101112Z.plimsoll"),
            ("../../etc/passwd", "etc-passwd-20261121T101112Z.plimsoll"),
            ("", "run-20261121T101112Z.plimsoll"),
            ("été", "été-20261121T101112Z.plimsoll"),
        ] {
            assert_eq!(file_name(plan, at), expected);
        }
        assert_eq!(file_name("summary", "start not known"), "summary.plimsoll");
        assert!(file_name(&"é".repeat(10_000), at).len() < 255);
    }
}
