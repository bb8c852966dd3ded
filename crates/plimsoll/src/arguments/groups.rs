//! The verbs in groups, as the help of `plimsoll` lists them.

use clap::Command;

use super::topics::TOPICS;

/// Heading and verbs of each group.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Test", &["run", "http", "grpc", "new", "check", "quick"]),
    ("Judge", &["report", "compare", "leaks", "explain"]),
    ("Experiment", &["ab", "capacity", "diagnose", "calibrate"]),
    ("Data", &["import", "export", "profile", "monitor"]),
    ("Tools", &["worker", "manifest", "fetch", "fetch-imports", "selftest", "completions", "man", "help"]),
];

/// The verbs in the order of the groups.
pub(crate) fn verbs() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied())
}

/// Blanks before a verb, and between the longest one and its description.
const MARGIN: usize = 2;
const GAP: usize = 2;
/// The columns of a line.
const WIDTH: usize = 80;

/// The command line, whose help lists its verbs in groups.
pub(super) fn grouped(command: Command) -> Command {
    let verbs = listed(&command);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}Options:\n{{options}}{{after-help}}"
    ))
}

/// Every verb that is not hidden, with what it does.
fn listed(command: &Command) -> String {
    let widest = GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max().unwrap_or_default();
    let line = |verb: &&str| {
        let about = match command.find_subcommand(verb) {
            Some(found) if found.is_hide_set() => return None,
            Some(found) => found.get_about().map(ToString::to_string).unwrap_or_default(),
            None => {
                format!("Print the help of a verb, or of a topic: {}", TOPICS.join(", "))
            }
        };
        let indent = MARGIN + widest + GAP;
        let lines = wrapped(&about, WIDTH - indent).join(&format!("\n{:indent$}", ""));
        Some(format!("{:MARGIN$}{verb:<width$}{lines}\n", "", width = widest + GAP))
    };
    let group = |(heading, verbs): &(&str, &[&str])| {
        let lines: String = verbs.iter().filter_map(line).collect();
        if lines.is_empty() { lines } else { format!("{heading}:\n{lines}\n") }
    };
    GROUPS.iter().map(group).collect()
}

/// A text in lines of at most so many columns.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.is_empty() || line.len() + 1 + word.len() <= columns) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn every_verb_is_in_one_group() {
        let command = Arguments::command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(Command::get_name);
        let mut verbs: Vec<&str> = verbs.chain(["help"]).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        grouped.retain(|name| command.find_subcommand(name).is_none_or(|verb| !verb.is_hide_set()));
        verbs.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(verbs, grouped);
    }
}
