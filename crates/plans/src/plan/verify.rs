//! Checks that need the whole plan: names, values, sums.

use std::collections::{BTreeMap, BTreeSet};

use super::data::DataSets;
use super::scenarios::ScenarioDraft;
use super::section::{Issues, Span};
use super::steps::StepDraft;
use super::targets::Targets;
use super::value_use::ValueUse;
use workload::model::{Pick, Request, Scenario, Step, Target, Workload};
use workload::nearest::nearest;
use workload::redact::env_value;
use workload::row_picker::RowTaker;
use workload::template::Value;

/// What the values in templates may refer to.
pub(super) struct ValueNames<'a> {
    pub(super) issues: &'a Issues<'a>,
    pub(super) data: &'a DataSets,
    pub(super) targets: &'a Targets,
    pub(super) env: &'a dyn Fn(&str) -> Option<String>,
}

impl ValueNames<'_> {
    /// Check every step of the plan; returns the environment variables that it uses, with their values.
    pub(super) fn check(&self, setup: &[StepDraft], scenarios: &[ScenarioDraft]) -> BTreeMap<String, String> {
        let mut env = BTreeMap::new();
        for ValueUse { value, span, .. } in &self.targets.uses {
            if let Value::Env(name) = value {
                self.check_env(name, span, &mut env);
            }
        }
        let mut known = BTreeSet::new();
        self.check_sequence(setup, &mut known, &mut env);
        for scenario in scenarios {
            let mut known = known.clone();
            if scenario.has_unknown_login {
                known.extend(variables(scenario));
            }
            self.check_sequence(&scenario.setup, &mut known, &mut env);
            if is_mix(scenario) {
                // Each step of a mix is an iteration: it has no values that another step extracted.
                for step in &scenario.steps {
                    self.check_step(step, &known, &mut env);
                }
            } else {
                self.check_sequence(&scenario.steps, &mut known, &mut env);
            }
        }
        env
    }

    /// Check steps that can use the values extracted by the steps before them.
    fn check_sequence(
        &self,
        steps: &[StepDraft],
        known: &mut BTreeSet<String>,
        env: &mut BTreeMap<String, String>,
    ) {
        for step in steps {
            self.check_step(step, known, env);
            known.extend(step.extracts.iter().cloned());
        }
    }

    fn check_step(&self, step: &StepDraft, known: &BTreeSet<String>, env: &mut BTreeMap<String, String>) {
        for ValueUse { value, span, is_of_default } in &step.uses {
            match value {
                Value::Variable(name) if !known.contains(name) => {
                    let sender = step.name.as_deref().filter(|_| *is_of_default);
                    self.issues.add(span, self.unknown_variable(name, known, sender));
                }
                Value::Data { set, column } => self.check_data(set, column, span),
                Value::Env(name) => self.check_env(name, span, env),
                _ => {}
            }
        }
    }

    fn check_env(&self, name: &str, span: &Span, env: &mut BTreeMap<String, String>) {
        if let Some(value) = self.issues.check(span, env_value(name, self.env)) {
            env.insert(name.to_owned(), value);
        }
    }

    /// `sender` is the step that sends the value in a header of its target or scenario.
    fn unknown_variable(&self, name: &str, known: &BTreeSet<String>, sender: Option<&str>) -> String {
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.data.names.iter().any(|set| set == name) => {
                format!("a value of data `{name}` is written `${{{name}.COLUMN}}`")
            }
            None if (self.env)(name).is_some()
                || name.chars().all(|c| c.is_ascii_uppercase() || c == '_') =>
            {
                format!("a variable of the environment is `${{env.{name}}}`")
            }
            None => format!("extract it in an earlier step: `extract = {{ {name} = \"$.path\" }}`"),
        };
        match sender {
            Some(step) => {
                format!("no step before `{step}`, which sends this header, extracts `{name}`; {hint}")
            }
            None => format!("no step before this one extracts `{name}`; {hint}"),
        }
    }

    fn check_data(&self, set: &str, column: &str, span: &Span) {
        if let Some(table) = self.data.tables.get(set) {
            if table.column(column).is_some() {
                return;
            }
            let columns = table.columns();
            let hint = match nearest(column, columns.iter().map(String::as_str)) {
                _ if columns.len() == 1 && columns[0].contains([';', '\t']) => {
                    format!(
                        "its only column is `{}`: columns are separated by commas",
                        columns[0].replace('\t', "\\t")
                    )
                }
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has `{}`", columns.join("`, `")),
            };
            self.issues.add(span, format!("data `{set}` has no column `{column}`; {hint}"));
        } else if self.data.names.iter().any(|name| name == set) {
            // Its error is reported where it is read.
        } else if self.targets.named.contains_key(set) {
            self.issues
                .add(span, format!("`${{{set}.{column}}}` is allowed only at the beginning of a step's url"));
        } else {
            let known = self.data.names.iter().map(String::as_str);
            let hint = match nearest(set, known) {
                _ if set.eq_ignore_ascii_case("env") => {
                    format!("a variable of the environment is `${{env.{column}}}`")
                }
                _ if set == "data" => "columns are `${NAME.column}`, without `data.`".to_owned(),
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("add `[data.{set}]`"),
            };
            self.issues.add(span, format!("there is no data `{set}`; {hint}"));
        }
    }
}

/// The names of the extracted values that the scenario uses.
fn variables(scenario: &ScenarioDraft) -> impl Iterator<Item = String> {
    let uses = scenario.setup.iter().chain(&scenario.steps).flat_map(|step| &step.uses);
    uses.filter_map(|ValueUse { value, .. }| match value {
        Value::Variable(name) => Some(name.clone()),
        _ => None,
    })
}

/// Whether the scenario's steps are a mix: they have weights.
pub(super) fn is_mix(scenario: &ScenarioDraft) -> bool {
    scenario.steps.iter().any(|step| step.weight.is_some())
}

/// Check that names are distinct, and weights.
pub(super) fn check_shape(issues: &Issues<'_>, setup: &[StepDraft], scenarios: &[ScenarioDraft]) {
    let mut names = BTreeSet::new();
    for scenario in scenarios {
        if let Some(name) = &scenario.name
            && !names.insert(name.as_str())
        {
            issues.add(&scenario.span, format!("there are two scenarios `{name}`; rename one"));
        }
        for step in scenario.setup.iter().filter(|step| step.weight.is_some()) {
            issues.add(&step.span, "a step of a set-up has no weight; all are made, in order");
        }
        if is_mix(scenario) {
            for step in scenario.steps.iter().filter(|step| step.weight.is_none()) {
                let text = "this step has no `weight`, others of the scenario have; give all steps one (a mix) or none (a sequence)";
                issues.add(&step.span, text);
            }
        }
        check_distinct(issues, scenario.setup.iter().chain(&scenario.steps));
    }
    for step in setup.iter().filter(|step| step.weight.is_some()) {
        issues.add(&step.span, "a step of the set-up has no weight; all are made, in order");
    }
    check_distinct(issues, setup.iter());
}

fn check_distinct<'a>(issues: &Issues<'_>, steps: impl Iterator<Item = &'a StepDraft>) {
    let mut names = BTreeSet::new();
    for step in steps {
        if let Some(name) = &step.name
            && !names.insert(name.as_str())
        {
            issues.add(&step.span, format!("there are two steps `{name}` here; rename one"));
        }
    }
}

/// Names of data with too few unique rows, and what is wrong.
pub(super) fn unique_rows(workload: &Workload) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    for (name, source) in workload.data.iter().filter(|(_, source)| source.pick == Pick::Unique) {
        let takers: Vec<_> = workload.row_takers(name).collect();
        let endless = takers.iter().find_map(|(taker, rows)| match taker {
            RowTaker::Arrivals(index) if rows.is_none() => workload.scenarios.get(index.0),
            _ => None,
        });
        if let Some(endless) = endless {
            let text = format!(
                "data `{name}` is unique, but scenario `{}` makes as many iterations as it can; use `pick = \"sequential\"`, an arrival rate or a number of iterations",
                endless.name
            );
            wrong.push((name.clone(), text));
            continue;
        }
        let needed = takers.iter().filter_map(|(_, rows)| *rows).fold(0u64, u64::saturating_add);
        if needed > source.rows {
            let has_others = takers.iter().any(|(taker, _)| !matches!(taker, RowTaker::Arrivals(_)));
            let who = if has_others { "arrivals, virtual users and setups" } else { "arrivals" };
            let text = format!(
                "data `{name}` is unique and has {} rows, but there are {needed} {who} that need one; add rows or use `pick = \"sequential\"`",
                source.rows
            );
            wrong.push((name.clone(), text));
        }
    }
    wrong
}

/// Check that an order of connections has an effect: not where each virtual user of all scenarios has its own.
pub(super) fn check_orders(issues: &Issues<'_>, orders: &BTreeMap<String, Span>, workload: &Workload) {
    for (name, span) in orders {
        let Some(Target { connecting, .. }) = workload.targets.get(name) else { continue };
        if connecting.reuse.is_some() || connecting.connections.is_some() {
            continue;
        }
        let sends_to = |step: &Step| matches!(&step.request, Request::Http { target, .. } if target == name);
        let uses = |scenario: &&Scenario| scenario.setup.iter().chain(scenario.flow.steps()).any(sends_to);
        let mut users = workload.scenarios.iter().filter(uses).peekable();
        if let Some(first) = users.peek().copied()
            && users.all(|scenario| !scenario.executor.is_open())
        {
            issues.add(
                span,
                format!(
                    "`connection_order` has no effect: each virtual user of scenario `{}` has its own connections; add `reuse = \"pool\"`, or leave it out",
                    first.name
                ),
            );
        }
    }
}
