//! The topics of `plimsoll help` besides the verbs: pages of the documentation, for users who have only the program.

const PLAN: &str = include_str!("../../../../docs/plan.md");
const SCRIPT: &str = include_str!("../../../../docs/k6.md");

/// The part of the page on plans that is about objectives.
const OBJECTIVES: &str = "## Objectives\n";

/// The names of the topics.
pub(crate) const TOPICS: [&str; 3] = ["plan", "objectives", "script"];

/// The page of a topic; none of an unknown one.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    match name {
        "plan" => Some(PLAN),
        "objectives" => objectives(),
        "script" => Some(SCRIPT),
        _ => None,
    }
}

fn objectives() -> Option<&'static str> {
    let from = PLAN.find(OBJECTIVES)?;
    let length = PLAN[from + OBJECTIVES.len()..].find("\n## ").map(|end| end + OBJECTIVES.len() + 1);
    Some(&PLAN[from..length.map_or(PLAN.len(), |length| from + length)])
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
}
