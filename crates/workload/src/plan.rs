//! Plan files: TOML in, a resolved workload out, or every error in it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

use crate::data::Table;
use crate::message::Schemas;
use crate::model::{Flow, Phase, Request, Scenario, Weighted, Workload};
use scenarios::ScenarioDraft;
use section::{Issues, Section, Span};
use steps::StepDraft;

mod call;
mod connecting;
mod data;
mod errors;
mod executors;
mod expect;
mod goals;
mod http;
mod observation;
mod overrides;
mod phases;
mod request;
mod scenarios;
mod section;
mod steps;
mod targets;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use call::MAX_MESSAGES;
pub use connecting::TlsFiles;
pub use errors::{PlanError, PlanErrors};
pub use http::MAX_REDIRECTS;
pub use targets::{authority_of, scheme_of};
pub(crate) use targets::{grpc_authority, http_origin, is_target_text};

/// How files are read. This room reads none itself.
pub trait Files {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// Whatever the reader could not do.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Changes to a plan without editing it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// `--target NAME=URL`: where a target is. A URL (or host and port) as the plan would have it.
    pub targets: BTreeMap<String, String>,
    /// `--time-scale F`: every phase, stage, duration, start and graceful stop becomes F times as long (graceful
    /// stops not shorter than 1 s). Rates, timeouts and think times stay.
    pub time_scale: Option<f64>,
    /// `--load F`: every rate becomes F times as high, every number of virtual users too (rounded, at least 1).
    pub load: Option<f64>,
    /// `--seed N`.
    pub seed: Option<u64>,
}

/// A plan that can be run.
#[derive(Debug, Clone)]
pub struct LoadedPlan {
    /// What to offer.
    pub workload: Workload,
    /// The rows of the data files, by name.
    pub tables: BTreeMap<String, Table>,
    /// The descriptions of gRPC targets.
    pub schemas: Schemas,
    /// What the files of targets' `tls` tables hold, by target: secrets among them, never to be stored.
    pub tls: BTreeMap<String, TlsFiles>,
    /// The environment variables the plan uses, with their values: secrets, never to be stored.
    pub env: BTreeMap<String, String>,
}

impl LoadedPlan {
    /// The services that steps call at targets which nothing describes, by target: these are to be asked
    /// themselves ([`crate::message::reflection`]) before the plan can be run.
    pub fn undescribed(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let steps =
            self.workload.setup.iter().chain(self.workload.scenarios.iter().flat_map(Scenario::steps));
        for step in steps {
            if let Request::Grpc { target, method, .. } = &step.request
                && !self.schemas.describes(target)
            {
                let service = method.split('/').next().unwrap_or_default();
                all.entry(target.clone()).or_default().insert(service.to_owned());
            }
        }
        all
    }
}

/// The largest plan that is read, in bytes.
const MAX_PLAN_BYTES: usize = 4 << 20;
/// Seed of a plan that names none.
const DEFAULT_SEED: u64 = 1;

/// Read the plan at `path`. Paths in it are relative to its folder; `env` yields environment variables.
///
/// # Errors
/// [`PlanErrors`]: everything that is wrong with the plan, at once.
pub fn load(
    path: &Path,
    files: &dyn Files,
    env: &dyn Fn(&str) -> Option<String>,
    overrides: &Overrides,
) -> Result<LoadedPlan, PlanErrors> {
    let file = path.display().to_string();
    let whole = |message: String| PlanErrors(vec![PlanError::whole(&file, message)]);
    let bytes =
        files.read(path).map_err(|error| whole(format!("cannot be read: {error}; check the path")))?;
    if bytes.len() > MAX_PLAN_BYTES {
        return Err(whole(format!("larger than {MAX_PLAN_BYTES} bytes; put data into files of its own")));
    }
    let text = String::from_utf8(bytes).map_err(|error| whole(format!("not UTF-8: {error}")))?;
    let issues = Issues::new(&file, &text);
    let (table, syntax) = DeTable::parse_recoverable(&text);
    for error in &syntax {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        issues.add(&error.span().unwrap_or_default(), format!("not TOML: {message}"));
    }
    let name = path.file_stem().map_or("plan".into(), |stem| stem.to_string_lossy().into_owned());
    let resolved = syntax.is_empty().then(|| {
        let root = Section::new(&issues, "the plan".to_owned(), table.get_ref(), 0..0);
        let around = Around { folder: path.parent().unwrap_or(Path::new("")), files, env, overrides };
        around.resolve(&root, name)
    });
    issues.finish()?;
    resolved.ok_or_else(|| whole("it cannot be used".to_owned()))
}

/// What surrounds a plan.
struct Around<'a> {
    folder: &'a Path,
    files: &'a dyn Files,
    env: &'a dyn Fn(&str) -> Option<String>,
    overrides: &'a Overrides,
}

impl Around<'_> {
    /// The plan, as far as it can be made out; what is wrong is in the section's issues.
    fn resolve(&self, root: &Section<'_>, file_name: String) -> LoadedPlan {
        let issues = root.issues;
        let settings = Settings::read(root, file_name);
        let mut targets = targets::read(root, self.folder, self.files);
        overrides::move_targets(&mut targets.named, self.overrides);
        let data = data::read(root, self.folder, self.files);
        let phases = phases::read(root);
        let setup = steps::read(root, "setup", &targets);
        let drafts = scenarios::read(root, &phases, &targets);
        verify::check_shape(issues, &setup, &drafts);
        let names = verify::Names { issues, data: &data, targets: &targets, env: self.env };
        let env = names.check(&setup, &drafts);

        let capped: BTreeSet<_> =
            drafts.iter().filter(|d| d.max_vus.is_some()).filter_map(|d| d.name.clone()).collect();
        let mut workload = settings.workload(setup, phases, drafts);
        workload.profiles = observation::read_marks(root, &workload.phases, &targets);
        workload.data = data.sources;
        workload.targets = targets.named;
        workload.targets.extend(targets.implied.into_inner());
        for message in overrides::apply(&mut workload, self.overrides) {
            issues.add_whole("command line", message);
        }
        for (name, message) in targets::resolve_ready(&mut workload.targets) {
            issues.add(&key_span(root, "targets", &name), message);
        }
        // A cap that the plan does not name follows the rate, which may have been scaled just now.
        for scenario in workload.scenarios.iter_mut().filter(|scenario| !capped.contains(&scenario.name)) {
            scenario.max_vus = default_cap(scenario);
        }
        for (name, message) in verify::unique_rows(&workload) {
            issues.add(&key_span(root, "data", &name), message);
        }
        workload.objectives = goals::read(root, &workload);
        root.finish();
        LoadedPlan { workload, tables: data.tables, schemas: targets.schemas, tls: targets.tls, env }
    }
}

/// Where the entry `name` of the table `key` is.
fn key_span(root: &Section<'_>, key: &'static str, name: &str) -> Span {
    root.entries(key).into_iter().find(|item| item.key == name).map(|item| item.key_span).unwrap_or_default()
}

/// The cap on virtual users of a scenario that names none. Closed: its virtual users. Open: as many as would
/// be under way at the highest rate if each iteration took its longest time limit, at least 100, at most
/// 10 000: a lower cap would hide the worst waits.
fn default_cap(scenario: &Scenario) -> u32 {
    let longest_s = scenario.flow.steps().map(|step| step.timeout.as_secs_f64()).fold(0.0, f64::max);
    let open = || (scenario.executor.peak_rate() * longest_s).ceil().clamp(100.0, 10_000.0) as u32;
    scenario.executor.peak_vus().unwrap_or_else(|| open().max(scenario.preallocated_vus))
}

/// The keys of the plan itself.
struct Settings {
    name: String,
    seed: u64,
    precheck: bool,
    traceparent: bool,
    secrets: Vec<String>,
}

impl Settings {
    fn read(root: &Section<'_>, file_name: String) -> Settings {
        if let Some(item) = root.need("version", "`version = 1`")
            && item.whole(0..=u64::MAX).is_some_and(|version| version != 1)
        {
            item.wrong("only `version = 1` is known; this plan needs another version of the command");
        }
        let flag = |key| root.get(key).and_then(|item| item.flag()).unwrap_or(false);
        let secrets = root.get("secrets").map(|item| item.items()).unwrap_or_default();
        Settings {
            name: root.get("name").and_then(|item| item.text()).map_or(file_name, str::to_owned),
            seed: root.get("seed").and_then(|item| item.whole(0..=u64::MAX)).unwrap_or(DEFAULT_SEED),
            precheck: flag("precheck"),
            traceparent: flag("traceparent"),
            secrets: secrets.iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
        }
    }

    /// The workload of these settings, without targets, data and objectives.
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
            setup: setup.into_iter().filter_map(|draft| draft.step).collect(),
            objectives: Vec::new(),
            profiles: Vec::new(),
            precheck: self.precheck,
            traceparent: self.traceparent,
            secrets: self.secrets,
        }
    }
}

/// The scenario; none if something is wrong with it, which has been noted.
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
