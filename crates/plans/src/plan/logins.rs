//! Reads `[[login.NAME]]`: steps by which the virtual users of several scenarios log in.

use std::collections::BTreeMap;

use super::section::Section;
use super::steps::{self, StepDraft};
use super::targets::Targets;
use workload::nearest::nearest;
use workload::template::is_name;

/// The steps of each login, by its name.
pub(super) type Logins = BTreeMap<String, Vec<StepDraft>>;

/// Read every login of the plan.
pub(super) fn read(root: &Section<'_>, targets: &Targets) -> Logins {
    let mut logins = Logins::new();
    for item in root.entries("login") {
        let name = item.key.clone();
        if !is_name(&name) {
            root.issues
                .add(&item.key_span, format!("`{name}` cannot name a login; use letters, digits, `_`, `-`"));
        }
        let items = match item.is_array() {
            true => item.items(),
            false => Vec::new(),
        };
        if items.is_empty() {
            root.issues.add(&item.key_span, format!("a login is one step or more: `[[login.{name}]]`"));
        }
        let sections = items.iter().filter_map(|entry| entry.section("a step of a login"));
        logins.insert(name, sections.map(|section| steps::read_step(&section, targets, &[])).collect());
    }
    logins
}

/// The steps of the login that a scenario names, empty if it names none; none if there is no such login.
pub(super) fn of_scenario(section: &Section<'_>, logins: &Logins) -> Option<Vec<StepDraft>> {
    let Some(item) = section.get("login") else { return Some(Vec::new()) };
    let name = item.text()?;
    if let Some(steps) = logins.get(name) {
        return Some(steps.clone());
    }
    let hint = match nearest(name, logins.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("add its steps: `[[login.{name}]]`"),
    };
    item.wrong(format!("there is no login `{name}`; {hint}"));
    None
}
