//! The topics of `plimsoll help` besides the verbs: pages of the documentation, for users who have only the program.

pub(crate) mod blocks;
mod rendered;
mod sections;

use anyhow::Context as _;

const PLAN: &str = include_str!("../../../../docs/plan.md");
const SCRIPT: &str = include_str!("../../../../docs/k6.md");
const TERMS: &str = include_str!("../../../../docs/terms.md");

/// The part of the page on plans that is about objectives.
const OBJECTIVES: &str = "## Objectives\n";

/// The names of the topics.
pub(crate) const TOPICS: [&str; 4] = ["plan", "objectives", "script", "terms"];

/// The page of a topic; none of an unknown one.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    match name {
        "plan" => Some(PLAN),
        "objectives" => objectives(),
        "script" => Some(SCRIPT),
        "terms" => Some(TERMS),
        _ => None,
    }
}

fn objectives() -> Option<&'static str> {
    let from = PLAN.find(OBJECTIVES)?;
    let length = PLAN[from + OBJECTIVES.len()..].find("\n## ").map(|end| end + OBJECTIVES.len() + 1);
    Some(&PLAN[from..length.map_or(PLAN.len(), |length| from + length)])
}

/// What `plimsoll help NAME SECTION` prints: a topic, or a section of one; the sections of `plan` need no topic. Else what
/// there is help on.
pub(super) fn help(name: &str, section: &str) -> anyhow::Result<String> {
    let (page, asked) = match topic(name) {
        Some(page) if section.is_empty() => return Ok(page.to_owned()),
        Some(page) => (page, section.to_owned()),
        None => (PLAN, format!("{name} {section}")),
    };
    if topic(name).is_none() && name.starts_with('p') && name[1..].parse::<f64>().is_ok() {
        anyhow::bail!("`{name}` is what an objective is about: `plimsoll help objectives` describes it");
    }
    let found = sections::find(page, asked.trim()).or_else(|| sections::of_key(page, asked.trim()));
    found.map(str::to_owned).with_context(|| {
        let known = sections::titles(page).join(", ");
        match topic(name) {
            Some(_) => format!("`plimsoll help {name}` has no section `{section}`; there are: {known}"),
            None => format!(
                "there is no help on `{name}`: `plimsoll --help` lists the verbs; topics are {}, and sections of `plan`: {known}",
                TOPICS.join(", ")
            ),
        }
    })
}

/// The page of a topic or a section, laid out for a terminal of this width.
pub(super) fn laid_out(page: &str, (style, width): (report::Style, usize)) -> evidence::TerminalText {
    rendered::rendered(page, style, width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topic_of_objectives_is_their_section() {
        let text = topic("objectives").expect("the page has the section");
        assert!(text.starts_with(OBJECTIVES) && text.matches("\n## ").count() == 0, "{text}");
        assert!(text.contains("error_rate"), "{text}");
        assert_eq!(topic("run"), None);
    }

    #[test]
    fn sections_are_found_by_what_one_calls_them() {
        for (name, section, title) in [
            ("plan", "scenarios", "## Scenarios"),
            ("scenarios", "", "## Scenarios"),
            ("plan", "Think time", "### Think time"),
            ("think", "time", "### Think time"),
            ("plan", "scenario", "## Scenarios"),
            ("extract", "", "## Steps"),
            ("plan", "", "# Plan files"),
        ] {
            let page = help(name, section).unwrap_or_else(|wrong| panic!("{name} {section}: {wrong}"));
            assert!(page.starts_with(&format!("{title}\n")), "{name} {section}: {page}");
            let shown = laid_out(&page, (report::Style::Plain, 100)).to_string();
            assert!(!shown.contains("](") && !shown.contains('`'), "links and code are texts: {shown}");
        }
        assert!(!help("plan", "scenarios").unwrap_or_default().contains("\n## "), "a section ends");
        for (name, section) in [("plan", "zzz"), ("zzz", "")] {
            assert!(
                help(name, section).is_err_and(|said| said.to_string().contains("Scenarios")),
                "{name} {section}"
            );
        }
    }
}
