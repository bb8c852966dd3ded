//! The topics of `plimsoll help` besides the verbs: pages of the documentation, for users who have only the program.

pub(crate) mod blocks;
mod rendered;
mod sections;

use anyhow::Context as _;
use workload::nearest::nearest;

const PLAN: &str = include_str!("../../../../docs/plan.md");
const SCRIPT: &str = include_str!("../../../../docs/k6.md");
const TERMS: &str = include_str!("../../../../docs/terms.md");
const CI: &str = include_str!("../../../../docs/ci.md");
const WORKERS: &str = include_str!("../../../../docs/scale-out.md");

/// The part of the page on plans that is about objectives.
const OBJECTIVES: &str = "## Objectives\n";

/// The names of the topics.
pub(crate) const TOPICS: [&str; 6] = ["plan", "objectives", "ci", "script", "terms", "workers"];

/// What else one may call a topic.
const CALLED: [(&str, &[&str]); 6] = [
    ("script", &["k6", "scripts", "javascript", "js"]),
    ("objectives", &["thresholds", "threshold", "slo", "slos", "objective"]),
    ("terms", &["glossary", "vocabulary"]),
    ("plan", &["plans", "toml"]),
    ("ci", &["exit-codes", "codes", "verdicts", "junit"]),
    ("workers", &["distributed", "scale-out", "--worker"]),
];

/// What else one may call a key of a plan.
const KEYS: [(&str, &[&str]); 3] = [
    ("phases", &["warm-up", "warmup"]),
    ("expect", &["checks", "assertions", "assert", "expectations"]),
    ("data", &["csv", "feeder", "datasets"]),
];

/// What else one may call the verb `explain`, which prints the rules.
pub(super) const RULES: [&str; 3] = ["rules", "rule", "findings"];

/// How help works.
const HELP: &str = "\
# Help

```
plimsoll --help                 all verbs
plimsoll help VERB              a verb and its options, as `plimsoll VERB --help`
plimsoll help TOPIC             a page of the documentation
plimsoll help TOPIC SECTION     a section of it, by its title or by a key of a plan, such as `rate`
plimsoll explain RULE           a rule, such as L1
```

| topic | what |
| --- | --- |
| plan | the keys of a plan; its sections need no topic: `plimsoll help scenarios` |
| objectives | what a run can be asked to show |
| script | k6 scripts |
| terms | the words of reports |
| ci | exit codes, and what a job of CI does with them |
| workers | a load from several machines |
";

/// What a topic is about, in a few words; none of an unknown one.
pub(crate) fn about(topic: &str) -> Option<&'static str> {
    let row = HELP.lines().find_map(|line| line.strip_prefix(&format!("| {topic} | ")))?;
    row.trim_end_matches(" |").split("; ").next()
}

/// The page of a topic; none of an unknown one.
pub(crate) fn topic(name: &str) -> Option<&'static str> {
    match name {
        "plan" => Some(PLAN),
        "objectives" => objectives(),
        "script" => Some(SCRIPT),
        "terms" => Some(TERMS),
        "ci" => Some(CI),
        "workers" => Some(WORKERS),
        _ => None,
    }
}

/// The topic that is called so.
pub(crate) fn called(name: &str) -> Option<&'static str> {
    let own = TOPICS.into_iter().find(|topic| *topic == name);
    own.or_else(|| CALLED.iter().find(|(_, names)| names.contains(&name)).map(|(topic, _)| *topic))
}

/// The key of a plan that is called so elsewhere.
fn of_plans(name: &str) -> Option<&'static str> {
    KEYS.iter().find(|(_, names)| names.contains(&name)).map(|(key, _)| *key)
}

fn objectives() -> Option<&'static str> {
    let from = PLAN.find(OBJECTIVES)?;
    let length = PLAN[from + OBJECTIVES.len()..].find("\n## ").map(|end| end + OBJECTIVES.len() + 1);
    Some(&PLAN[from..length.map_or(PLAN.len(), |length| from + length)])
}

/// What `plimsoll help NAME SECTION` prints: a topic, or a section of one; sections need no topic. Else what there is help on.
pub(super) fn help(name: &str, section: &str) -> anyhow::Result<String> {
    if ["-h", "--help", "help"].contains(&name) {
        return Ok(HELP.to_owned());
    }
    if name.starts_with('p') && name[1..].parse::<f64>().is_ok() {
        anyhow::bail!("`{name}` is what an objective is about: `plimsoll help objectives` describes it");
    }
    if section.is_empty() && judge::explain(name).is_some() {
        anyhow::bail!("`{name}` is a rule: `plimsoll explain {name}` describes it");
    }
    let (topics, asked) = match called(name).and_then(|name| Some((name, topic(name)?))) {
        Some((_, page)) if section.is_empty() => return Ok(page.to_owned()),
        Some((name, _)) => (vec![name], section.to_owned()),
        None => (TOPICS.to_vec(), format!("{name} {section}").trim().to_owned()),
    };
    let asked = of_plans(&asked).map_or(asked, str::to_owned);
    let pages: Vec<&str> = topics.iter().filter_map(|name| topic(name)).collect();
    let titled = pages.iter().find_map(|page| sections::titled(page, &asked)).map(str::to_owned);
    let found = titled.or_else(|| pages.iter().find_map(|page| sections::of_key(page, &asked)));
    found.with_context(|| unknown(&topics, &asked))
}

/// What there is help on, where there is none on `asked` in these topics.
fn unknown(topics: &[&str], asked: &str) -> String {
    let pages: Vec<&str> = topics.iter().filter_map(|name| topic(name)).collect();
    let mut said = match topics {
        [topic] => format!("`plimsoll help {topic}` has no section `{asked}`"),
        _ => format!("there is no topic, section or key `{asked}`"),
    };
    let titles = pages.iter().flat_map(|page| sections::titles(page));
    let names = topics.iter().copied().filter(|_| topics.len() > 1).chain(titles);
    if let Some(near) = nearest(asked, names) {
        said += &format!("; the nearest is `{near}`: `plimsoll help {}`", near.to_lowercase());
    }
    for name in topics {
        let titles = topic(name).map(|page| sections::with_word(page, asked)).unwrap_or_default();
        // Objectives are a section of plans.
        if !titles.is_empty() && *name != "objectives" {
            said += &format!("\n`plimsoll help {name}` has the word in {}", titles.join(", "));
        }
    }
    match topics {
        [_] => {
            said + &format!(
                "\nsections are {}",
                pages.iter().flat_map(|page| sections::titles(page)).collect::<Vec<_>>().join(", ")
            )
        }
        _ => {
            said + &format!(
                "\n`plimsoll --help` lists the verbs; topics are {}, and sections of `plan`: {}",
                TOPICS.join(", "),
                sections::titles(PLAN).join(", ")
            )
        }
    }
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
            ("exit", "codes", "## Exit codes"),
            ("warm-up", "", "## Phases"),
            ("k6", "exit codes", "## Exit codes"),
            ("assertions", "", "## Steps"),
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

    #[test]
    fn words_of_others_lead_to_the_topic() {
        for (name, section, page) in [
            ("k6", "", "script"),
            ("thresholds", "", "objectives"),
            ("codes", "", "ci"),
            ("workers", "", "workers"),
        ] {
            assert_eq!(help(name, section).ok().as_deref(), topic(page), "{name}");
        }
        assert!(
            help("-h", "").is_ok_and(|text| TOPICS.iter().all(|name| text.contains(&format!("| {name} |"))))
        );
    }

    #[test]
    fn a_word_that_is_no_title_shows_no_other_section() {
        for (name, section, said) in [
            ("nonsense", "", "there is no topic, section or key `nonsense`\n"),
            ("scenarois", "", "the nearest is `Scenarios`: `plimsoll help scenarios`"),
            ("abort", "", "`plimsoll help plan` has the word in "),
            ("S4", "", "`S4` is a rule: `plimsoll explain S4`"),
        ] {
            let wrong = help(name, section).expect_err("there is no such section").to_string();
            assert!(wrong.contains(said), "{name}: {wrong}");
        }
        assert!(help("junit", "").expect("a topic").starts_with("# In CI\n"));
        // A key of several tables: all of them.
        let rate = help("plan", "rate").expect("a key");
        assert!(rate.contains("## Scenarios\n") && !rate.contains("## Targets\n"), "{rate}");
    }
}
