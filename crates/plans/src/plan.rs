//! Plan files: TOML in, a resolved workload out, or all errors of the plan at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

use folder::PlanFolder;
use scenarios::ScenarioDraft;
use section::{Issues, Section, Span};
use steps::StepDraft;
use workload::executor::MOST_DEFAULT_VUS;
use workload::model::{Flow, Phase, Scenario, Weighted, Workload};
use workload::{Files, LoadedPlan};

pub use capacity::{load_capacity, searched_in, slos_for, slos_of};
pub use errors::{PlanError, PlanErrors};
pub use experiment::{ArmsAsked, ExperimentOverrides, load_experiment, metrics_for, metrics_for_measured};
pub use objectives::asked;
pub use policy::{Policy, load_policy};

mod call;
mod capacity;
mod connecting;
mod data;
mod default_headers;
mod errors;
mod executors;
mod expect;
mod experiment;
mod folder;
mod http_defaults;
mod logins;
mod objectives;
mod observation;
mod overrides;
mod phases;
mod policy;
mod request;
mod scenarios;
mod section;
mod slot_profiles;
mod step_reader;
mod steps;
mod targets;
#[cfg(test)]
mod tests;
mod think;
mod value_use;
mod verify;
mod window;

/// Changes to a plan without editing it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// `--target NAME=URL`: the URL (or host and port) of a target, in the form of the plan.
    pub targets: BTreeMap<String, String>,
    /// `--time-scale F`: every phase, stage, duration, start and graceful stop becomes F times as long (graceful
    /// stops not shorter than 1 s). Rates, timeouts and think times are unchanged.
    pub time_scale: Option<f64>,
    /// `--load F`: every rate becomes F times as high, every number of virtual users too (rounded, at least 1).
    pub load: Option<f64>,
    /// `--seed N`.
    pub seed: Option<u64>,
    /// `--until-decided`: the run ends as soon as every objective is decided or one is violated.
    pub until_decided: bool,
    /// `--abort-on-fail`: each objective that can be watched ends the run as soon as it fails, without a delay unless the
    /// plan gives one.
    pub abort_on_fail: bool,
}

/// The largest plan, in bytes.
const MAX_PLAN_BYTES: usize = 4 << 20;
const DEFAULT_SEED: u64 = 1;

const NOTHING_TO_DECIDE: &str = "the run cannot end when its objectives are decided, because the plan has none: add `[objectives]`, or remove this option";
const NOTHING_TO_ABORT_ON: &str =
    "no objective of the plan can end the run: those on times, `error_rate` and `check_rate` can";

/// Read the plan at `path`. Paths in it are relative to its folder; `env` looks up environment variables.
///
/// # Errors
/// [`PlanErrors`]: all errors of the plan at once.
pub fn load(
    path: &Path,
    files: &dyn Files,
    env: &dyn Fn(&str) -> Option<String>,
    overrides: &Overrides,
) -> Result<LoadedPlan, PlanErrors> {
    let name = path.file_stem().map_or("plan".into(), |stem| stem.to_string_lossy().into_owned());
    parsed(path, files, "the plan", |root, folder| PlanReader { folder, env, overrides }.resolve(root, name))
}

/// Read the file at `path`, which is called `what`.
fn parsed<T>(
    path: &Path,
    files: &dyn Files,
    what: &str,
    read: impl FnOnce(&Section<'_>, PlanFolder<'_>) -> T,
) -> Result<T, PlanErrors> {
    let file = path.display().to_string();
    let whole = |message: String| PlanErrors(vec![PlanError::whole(&file, message)]);
    let bytes =
        files.read(path).map_err(|error| whole(format!("cannot be read: {error}; check the path")))?;
    if bytes.len() > MAX_PLAN_BYTES {
        return Err(whole(format!("larger than {MAX_PLAN_BYTES} bytes; put data into separate files")));
    }
    let text = String::from_utf8(bytes).map_err(|error| whole(format!("not UTF-8: {error}")))?;
    let issues = Issues::new(&file, &text);
    let (table, syntax) = DeTable::parse_recoverable(&text);
    if !syntax.is_empty() && text.trim_start().starts_with('{') {
        return Err(whole(JSON.to_owned()));
    }
    if !syntax.is_empty() && is_yaml(path, &text) {
        return Err(whole(YAML.to_owned()));
    }
    // What follows the first error is often a consequence of it.
    let place = |error: &&toml::de::Error| error.span().map_or(0, |span| span.start);
    if let Some(error) = syntax.iter().min_by_key(place) {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        let span = error.span().unwrap_or_default();
        let hint =
            of_other_syntax(path, &text, span.start).map(|hint| format!("; {hint}")).unwrap_or_default();
        issues.add(&span, format!("not TOML: {message}{hint}"));
    }
    let resolved = syntax.is_empty().then(|| {
        let root = Section::new(&issues, what.to_owned(), table.get_ref(), 0..0);
        let folder = PlanFolder { path: path.parent().unwrap_or(Path::new("")), files };
        read(&root, folder)
    });
    issues.finish()?;
    resolved.ok_or_else(|| whole("it cannot be used".to_owned()))
}

const JSON: &str = "it is JSON, and plans are TOML: `plimsoll new` makes a plan of an OpenAPI description or a HAR, `plimsoll help plan` \
                    describes plans";
const YAML: &str = "it is YAML, and plans are TOML: `plimsoll new URL` writes one to begin with, `plimsoll help plan` describes it";

/// What to write instead, where the line with the error has what TOML writes in another way.
fn of_other_syntax(path: &Path, text: &str, at: usize) -> Option<&'static str> {
    let at = text.floor_char_boundary(at);
    let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let before = text[begin..at].trim_end();
    if line.contains(['“', '”', '‘', '’']) {
        return Some("curly quotes are not quotes in TOML: write `\"`");
    }
    if text[at..].trim_start().starts_with(':') || before.ends_with(':') {
        return Some("TOML writes `=` for `:`");
    }
    if before.ends_with('=') && text[at..].lines().next().is_none_or(|rest| rest.trim().is_empty()) {
        return Some("the value after `=` is missing");
    }
    if path.extension().is_none_or(|ending| ending != "toml") {
        return Some("a plan is a TOML file: `plimsoll new URL` writes one to begin with");
    }
    let has_inner = before.contains('"') && line.matches('"').count() > 2 && !line.contains("\\\"");
    has_inner.then_some("a text that contains quotes has single ones around it: `'{\"id\": 7}'`")
}

/// Whether a text that is not TOML is YAML, by its name or its first line.
fn is_yaml(path: &Path, text: &str) -> bool {
    let is_named = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let mut lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let first = lines.next().unwrap_or_default();
    is_named || first.trim_end() == "---" || first.split_once(':').is_some_and(|(key, _)| is_key(key))
}

/// Reads a plan, with its files, the environment and the overrides.
struct PlanReader<'a> {
    folder: PlanFolder<'a>,
    env: &'a dyn Fn(&str) -> Option<String>,
    overrides: &'a Overrides,
}

impl PlanReader<'_> {
    /// The plan, as far as it has no errors, which are added to the section's issues.
    fn resolve(&self, root: &Section<'_>, file_name: String) -> LoadedPlan {
        let issues = root.issues;
        let settings = Settings::read(root, file_name);
        let mut targets = targets::read(root, self.folder);
        overrides::move_targets(&mut targets.named, self.overrides);
        let data = data::read(root, self.folder);
        let phases = phases::read(root);
        let setup = steps::read(root, "setup", &targets, &[]);
        let logins = logins::read(root, &targets);
        let drafts = scenarios::read(root, &phases, &targets, &logins);
        verify::check_shape(issues, &setup, &drafts);
        let names = verify::ValueNames { issues, data: &data, targets: &targets, env: self.env };
        let env = names.check(&setup, &drafts);

        let with_vu_limit: BTreeSet<_> =
            drafts.iter().filter(|d| d.max_vus.is_some()).filter_map(|d| d.name.clone()).collect();
        let until_decided = settings.until_decided || self.overrides.until_decided;
        let mut workload = settings.workload(setup, phases, drafts);
        workload.profiles = observation::read_marks(root, &workload.phases, &targets.named);
        workload.data = data.sources;
        workload.targets = targets.named;
        workload.targets.extend(targets.implied.into_inner());
        for message in overrides::apply(&mut workload, self.overrides) {
            issues.add_whole("command line", message);
        }
        for (name, message) in targets::resolve_ready(&mut workload.targets) {
            issues.add(&key_span(root, "targets", &name), message);
        }
        // The default of the VU limit depends on the rate, which the overrides may have scaled.
        for scenario in workload.scenarios.iter_mut().filter(|s| !with_vu_limit.contains(&s.name)) {
            scenario.max_vus = default_max_vus(scenario);
        }
        verify::check_orders(issues, &targets.orders, &workload);
        for (name, message) in verify::unique_rows(&workload) {
            issues.add(&key_span(root, "data", &name), message);
        }
        workload.objectives = objectives::read(root, &workload);
        overrides::scale_delays(&mut workload.objectives, self.overrides);
        if self.overrides.abort_on_fail && !overrides::abort_on_fail(&mut workload.objectives) {
            issues.add_whole("command line", NOTHING_TO_ABORT_ON.to_owned());
        }
        if until_decided && workload.objectives.is_empty() {
            match root.get("until_decided").filter(|_| !self.overrides.until_decided) {
                Some(item) => item.wrong(NOTHING_TO_DECIDE),
                None => issues.add_whole("command line", NOTHING_TO_DECIDE.to_owned()),
            }
        }
        workload.until_decided = until_decided.then(|| workload.planned_looks());
        root.finish();
        LoadedPlan { workload, tables: data.tables, schemas: targets.schemas, tls: targets.tls, env }
    }
}

/// The place of the entry `name` of the table `key`.
fn key_span(root: &Section<'_>, key: &'static str, name: &str) -> Span {
    root.entries(key).into_iter().find(|item| item.key == name).map(|item| item.key_span).unwrap_or_default()
}

/// The default VU limit of a scenario. Closed model: its virtual users. Open model: the number under way at the
/// highest rate if each iteration took its longest time limit, at least 100, at most 10 000: a lower limit would hide
/// the longest waits.
fn default_max_vus(scenario: &Scenario) -> u32 {
    let longest_s = scenario.flow.steps().map(|step| step.timeout.as_secs_f64()).fold(0.0, f64::max);
    let open = || {
        (scenario.executor.peak_rate() * longest_s).ceil().clamp(100.0, f64::from(MOST_DEFAULT_VUS)) as u32
    };
    scenario.executor.peak_vus().unwrap_or_else(|| open().max(scenario.preallocated_vus))
}

fn check_version(root: &Section<'_>) {
    let Some(item) = root.need("version", "`version = 1`") else { return };
    if item.is_text() {
        item.wrong("`version` is a number: write `version = 1`, without quotes");
    } else if item.whole(0..=u64::MAX).is_some_and(|version| version != 1) {
        item.wrong("only `version = 1` is known; this file needs another version of the command");
    }
}

/// The top-level keys of a plan.
struct Settings {
    name: String,
    seed: u64,
    precheck: bool,
    traceparent: bool,
    secrets: Vec<String>,
    family: Option<f64>,
    until_decided: bool,
    leak_margin: Option<f64>,
}

impl Settings {
    fn read(root: &Section<'_>, file_name: String) -> Settings {
        check_version(root);
        let flag = |key| root.get(key).and_then(|item| item.flag()).unwrap_or(false);
        let secrets = root.get("secrets").map(|item| item.items()).unwrap_or_default();
        Settings {
            name: root.get("name").and_then(|item| item.text()).map_or(file_name, str::to_owned),
            seed: root.get("seed").and_then(|item| item.whole(0..=u64::MAX)).unwrap_or(DEFAULT_SEED),
            precheck: root.get("precheck").and_then(|item| item.flag()).unwrap_or(true),
            traceparent: flag("traceparent"),
            family: root.get("family").and_then(|item| item.confidence()),
            until_decided: flag("until_decided"),
            leak_margin: root.get("leak_margin").and_then(|item| item.margin()),
            secrets: secrets.iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
        }
    }

    /// The workload with these settings, without targets, data and objectives.
    fn workload(self, setup: Vec<StepDraft>, phases: Vec<Phase>, drafts: Vec<ScenarioDraft>) -> Workload {
        let scenarios: Vec<_> = drafts.into_iter().filter_map(resolve_scenario).collect();
        let end = scenarios.iter().map(|s| s.start + s.executor.duration()).max().unwrap_or_default();
        let whole = Phase { name: phases::DEFAULT_PHASE.to_owned(), start: Duration::ZERO, end };
        Workload {
            name: self.name,
            seed: self.seed,
            targets: BTreeMap::new(),
            data: BTreeMap::new(),
            phases: if phases.is_empty() { vec![whole] } else { phases },
            scenarios,
            interleaved: None,
            setup: setup.into_iter().filter_map(|draft| draft.step).collect(),
            objectives: Vec::new(),
            family: self.family,
            until_decided: None,
            leak_margin: self.leak_margin,
            profiles: Vec::new(),
            precheck: self.precheck,
            traceparent: self.traceparent,
            secrets: self.secrets,
        }
    }
}

/// The scenario; none if it has an error, which is in the issues.
fn resolve_scenario(draft: ScenarioDraft) -> Option<Scenario> {
    let weighted = |draft: StepDraft| Some(Weighted { weight: draft.weight.unwrap_or(1), step: draft.step? });
    let flow = match verify::is_mix(&draft) {
        true => Flow::Mix(draft.steps.into_iter().filter_map(weighted).collect()),
        false => Flow::Sequence(draft.steps.into_iter().filter_map(|draft| draft.step).collect()),
    };
    let (name, executor) = draft.name.zip(draft.executor)?;
    Some(Scenario {
        preallocated_vus: draft.preallocated_vus,
        max_vus: draft.max_vus.unwrap_or_default(),
        name,
        executor,
        arrivals: draft.arrivals,
        start: draft.start,
        graceful_stop: draft.graceful_stop,
        tags: draft.tags,
        setup: draft.setup.into_iter().filter_map(|draft| draft.step).collect(),
        flow,
    })
}
