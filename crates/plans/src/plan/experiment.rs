//! Reads experiment files.

mod together;

use std::collections::BTreeMap;
use std::path::Path;

use super::objectives::KnownNames;
use super::section::{Item, Section};
use super::{Overrides, PlanErrors, check_version, load, parsed, slot_profiles};
use workload::experiment::{Arm, BadStarts, Design, Experiment, GateMetric, MOST_METRICS, Probe, Timing};
use workload::files::Files;
use workload::model::Workload;
use workload::objective::{self, Measure, Quantity, Statistic};

/// Which arms an experiment needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmsAsked {
    Both,
    /// `a`, which is compared with itself; a `b` is read and left out.
    Baseline,
}

/// What the reader of an experiment is given besides the file.
pub struct ExperimentOverrides<'a> {
    /// Which arms it needs.
    pub arms: ArmsAsked,
    /// What is wrong with a list of looks, if anything is.
    pub check_looks: &'a dyn Fn(&[u32]) -> Result<(), String>,
    /// Looks up environment variables, which the plan may use.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// Read the experiment at `path`, and its plan. Paths in it are relative to its folder.
///
/// # Errors
/// [`PlanErrors`]: all errors of the experiment at once, or those of its plan.
pub fn load_experiment(
    path: &Path,
    files: &dyn Files,
    given: &ExperimentOverrides<'_>,
) -> Result<Experiment, PlanErrors> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    // The names in the gate are those of the plan, so that the plan is read first.
    let named = parsed(path, files, "the experiment", |root, _| plan_name(root));
    let plan = named.ok().flatten().map(|name| folder.join(name));
    let workload = match &plan {
        Some(plan) => Some(load(plan, files, given.env, &Overrides::default())?.workload),
        None => None,
    };
    parsed(path, files, "the experiment", |root, _| {
        check_version(root);
        root.need("plan", "`plan = \"plan.toml\"`").and_then(|item| item.text());
        let arms = arms(root, workload.as_ref(), given.arms);
        let (mut design, timing) = design(root, given);
        design.profiles = workload.as_ref().and_then(|workload| slot_profiles::read(root, workload));
        let metrics;
        (metrics, design.bad_starts) = gate(root, workload.as_ref());
        root.finish();
        let name = path.file_stem().map_or("experiment".into(), |stem| stem.to_string_lossy().into_owned());
        Experiment { name, plan: plan.unwrap_or_default(), folder, arms, design, metrics, timing }
    })
}

/// What a plan is compared by: what is asked for, or what is usual, with the error rate in either case.
///
/// # Errors
/// A message about the first that cannot be used.
pub fn metrics_for(workload: &Workload, asked: &[String]) -> Result<Vec<GateMetric>, String> {
    metrics_among(workload, &KnownNames::with_endpoints(workload), &planned_endpoints(workload), asked)
}

/// The same for runs without a plan: their endpoints, the most used first, and their scenarios.
///
/// # Errors
/// A message about the first that cannot be used.
pub fn metrics_for_measured(
    workload: &Workload,
    endpoints: &[String],
    scenarios: &[String],
    asked: &[String],
) -> Result<Vec<GateMetric>, String> {
    let known = KnownNames::measured(workload, endpoints, scenarios);
    // Another tool's name may have a quotation mark, which the text of a metric cannot quote.
    let endpoints: Vec<&str> =
        endpoints.iter().map(String::as_str).filter(|name| !name.contains('"')).collect();
    metrics_among(workload, &known, &endpoints, asked)
}

fn metrics_among(
    workload: &Workload,
    known: &KnownNames,
    endpoints: &[&str],
    asked: &[String],
) -> Result<Vec<GateMetric>, String> {
    let metric = |text: &String| -> Result<GateMetric, String> {
        let quantity = objective::parse_quantity(text, &|name| known.is_endpoint(name));
        let quantity = quantity.map_err(|error| format!("`{text}`: {}", error.message))?;
        match wrong_names(known, &quantity).into_iter().next() {
            Some(wrong) => Err(format!("{text}: {wrong}")),
            None => Ok(GateMetric::new(text, text, quantity)),
        }
    };
    let asked: Vec<GateMetric> = asked.iter().map(metric).collect::<Result<_, _>>()?;
    let metrics = complete(asked, workload, endpoints);
    match metrics.len() {
        0..=MOST_METRICS => Ok(metrics),
        many => Err(too_many(many)),
    }
}

fn plan_name(root: &Section<'_>) -> Option<String> {
    root.get("plan").filter(Item::is_text).and_then(|item| item.text()).map(str::to_owned)
}

fn arms(root: &Section<'_>, workload: Option<&Workload>, asked: ArmsAsked) -> [Arm; 2] {
    let Some(item) = root.need("arms", "`[arms.a]` and `[arms.b]`, each with `start = \"./service\"`") else {
        return Default::default();
    };
    let Some(section) = item.section("`arms`") else { return Default::default() };
    let read = |key: &'static str| {
        let item = section.need(key, "a comparison has the arms `a`, the baseline, and `b`")?;
        arm(&item.section(&format!("arm `{key}`"))?, workload)
    };
    let a = read("a").unwrap_or_default();
    let arms = match asked {
        ArmsAsked::Both => [a, read("b").unwrap_or_default()],
        ArmsAsked::Baseline => {
            section.get("b");
            [a.clone(), a]
        }
    };
    section.finish();
    arms
}

pub(super) fn arm(section: &Section<'_>, workload: Option<&Workload>) -> Option<Arm> {
    let usual = Arm::default();
    let command = |key| {
        let item = section.get(key)?;
        let text = item.text()?;
        if text.trim().is_empty() {
            item.wrong(format!("`{key}` is a command for sh, and empty; leave it out if there is none"));
        }
        Some(text.to_owned())
    };
    let texts = |key| -> BTreeMap<String, String> {
        let entry = |item: Item<'_>| Some((item.key.clone(), item.text()?.to_owned()));
        section.entries(key).into_iter().filter_map(entry).collect()
    };
    for item in section.entries("targets") {
        if let Some(workload) = workload.filter(|workload| !workload.targets.contains_key(&item.key)) {
            let known: Vec<String> = workload.targets.keys().map(|name| format!("`{name}`")).collect();
            item.wrong(format!("the plan has no target `{}`; there are {}", item.key, known.join(", ")));
        }
    }
    let arm = Arm {
        start: command("start"),
        env: texts("env"),
        ready: section.get("ready").and_then(|item| ready(&item)),
        ready_within: section.get("ready_within").and_then(|i| i.duration()).unwrap_or(usual.ready_within),
        reset: command("reset"),
        stop_within: section.get("stop_within").and_then(|i| i.duration()).unwrap_or(usual.stop_within),
        targets: texts("targets"),
        cpus: None,
    };
    section.finish();
    Some(arm)
}

fn ready(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    if !["http://", "https://"].iter().any(|scheme| text.starts_with(scheme)) {
        item.wrong("`ready` is a URL that answers 2xx, such as \"http://127.0.0.1:8000/healthz\"");
    }
    Some(text.to_owned())
}

fn design(root: &Section<'_>, given: &ExperimentOverrides<'_>) -> (Design, Timing) {
    let usual = Design::default();
    let sides = together::sides(root);
    let section = root.get("design").and_then(|item| item.section("`design`"));
    let (together, timing) = together::read(section.as_ref(), sides);
    let Some(section) = section else { return (Design { together, ..usual }, timing) };
    if let Some(mode) = section.get("mode")
        && mode.text().is_some_and(|text| text != "pairs")
    {
        mode.wrong("`mode` takes `\"pairs\"`: the arms run in turn");
    }
    let looks = section.get("looks").map(|item| {
        let number = |item: Item<'_>| item.whole(1..=1_000).and_then(|n| u32::try_from(n).ok());
        let looks: Vec<u32> = item.items().into_iter().filter_map(number).collect();
        if let Err(wrong) = (given.check_looks)(&looks) {
            item.wrong(wrong);
        }
        looks
    });
    let longer_than_0 = |key| {
        let item = section.get(key)?;
        let duration = item.duration()?;
        if duration.is_zero() {
            item.wrong(format!("`{key}` is longer than 0"));
        }
        Some(duration)
    };
    let accept = section.get("accept").map(|item| item.items()).unwrap_or_default();
    let design = Design {
        slot: longer_than_0("slot"),
        looks: looks.unwrap_or(usual.looks),
        budget: longer_than_0("budget"),
        seed: section.get("seed").and_then(|item| item.whole(0..=u64::MAX)).unwrap_or(usual.seed),
        level: section.get("level").and_then(|item| level(&item)).unwrap_or(usual.level),
        exclusion: usual.exclusion,
        accept: accept.iter().filter_map(|item| item.text().map(str::to_owned)).collect(),
        bad_starts: None,
        profiles: None,
        together,
        probe: section.get("probe").and_then(|item| probe(&item)).unwrap_or(usual.probe),
    };
    if let Some(item) = section.get("probe")
        && design.probe == Probe::On
        && design.together.is_some()
    {
        item.wrong(
            "`probe = \"on\"` is for arms that run in turn: at the same moment both have the same machine; use one of them",
        );
    }
    section.finish();
    (design, timing)
}

fn probe(item: &Item<'_>) -> Option<Probe> {
    match item.text()? {
        "auto" => Some(Probe::Auto),
        "on" => Some(Probe::On),
        "off" => Some(Probe::Off),
        _ => {
            item.wrong(
                "`probe` takes `\"auto\"`: the reference probe corrects what a calibration has shown it to help; `\"on\"`: processor \
                 time in any case; or `\"off\"`",
            );
            None
        }
    }
}

/// The chance of a false alarm.
fn level(item: &Item<'_>) -> Option<f64> {
    let level = item.margin()?;
    if level > 0.05 {
        item.wrong("`level` is the chance of a false alarm, at most 5 %");
    }
    Some(level)
}

fn gate(root: &Section<'_>, workload: Option<&Workload>) -> (Vec<GateMetric>, Option<BadStarts>) {
    let (starts, entries): (Vec<_>, Vec<_>) =
        root.entries("gate").into_iter().partition(|item| item.key == "bad_starts");
    let bad_starts = starts.first().and_then(bad_starts);
    let Some(workload) = workload else { return (Vec::new(), bad_starts) };
    let known = KnownNames::with_endpoints(workload);
    let last = entries.last().map(|item| item.key_span.clone());
    let asked = entries.iter().filter_map(|item| metric(item, &known)).collect();
    let metrics = complete(asked, workload, &planned_endpoints(workload));
    if let Some(span) = last.filter(|_| metrics.len() > MOST_METRICS) {
        root.issues.add(&span, too_many(metrics.len()));
    }
    (metrics, bad_starts)
}

/// The share of B's starts that may be bad, or a table with it and with what is bad.
fn bad_starts(item: &Item<'_>) -> Option<BadStarts> {
    let usual = BadStarts::WORSE_BY;
    let Some(section) = item.is_table().then(|| item.section("`bad_starts`")).flatten() else {
        return item.margin().map(|at_most| BadStarts { at_most, worse_by: usual });
    };
    let at_most = section.need("at_most", "`at_most = \"10%\"`").and_then(|item| item.margin());
    let worse_by = section.get("worse_by").and_then(|item| item.margin()).unwrap_or(usual);
    section.finish();
    Some(BadStarts { at_most: at_most?, worse_by })
}

/// A metric as the file writes it: a text, or a table with that text, its margin and what is better.
fn metric(item: &Item<'_>, known: &KnownNames) -> Option<GateMetric> {
    let section = item.is_table().then(|| item.section(&format!("the metric `{}`", item.key))).flatten();
    let of = match &section {
        Some(section) => section.need("of", "`of = \"p95(list)\"`")?,
        None => {
            return quantity(item, known).map(|(text, quantity)| GateMetric::new(&item.key, &text, quantity));
        }
    };
    let section = section?;
    let found = quantity(&of, known);
    let margin = section.get("margin").and_then(|item| item.margin());
    let better = section.get("better").and_then(|item| better(&item));
    section.finish();
    let (text, quantity) = found?;
    let usual = GateMetric::new(&item.key, &text, quantity);
    Some(GateMetric {
        margin: margin.unwrap_or(usual.margin),
        is_better_higher: better.unwrap_or(usual.is_better_higher),
        ..usual
    })
}

fn better(item: &Item<'_>) -> Option<bool> {
    match item.text()? {
        "higher" => Some(true),
        "lower" => Some(false),
        _ => {
            item.wrong("`better` takes `\"lower\"` or `\"higher\"`");
            None
        }
    }
}

/// What is measured, with its text.
fn quantity(item: &Item<'_>, known: &KnownNames) -> Option<(String, Quantity)> {
    let text = item.text()?;
    let parsed = objective::parse_quantity(text, &|name| known.is_endpoint(name));
    let quantity = item.issues.check_lines(&item.span(), parsed)?;
    let wrong = wrong_names(known, &quantity);
    wrong.iter().for_each(|wrong| item.wrong(wrong.as_str()));
    wrong.is_empty().then(|| (text.to_owned(), quantity))
}

/// The metrics asked for, or the usual ones where none is; the error rate is always among them, because times of requests
/// that succeeded cannot be compared where more of the others failed.
fn complete(mut asked: Vec<GateMetric>, workload: &Workload, endpoints: &[&str]) -> Vec<GateMetric> {
    let phase = longest_phase(workload);
    if asked.is_empty() {
        asked = usual(workload, endpoints, phase.as_deref());
    }
    let is_error_rate = |metric: &GateMetric| {
        matches!(metric.quantity, Quantity::Measure { measure: Measure::ErrorRate, .. })
    };
    if !asked.iter().any(is_error_rate) {
        asked.push(of("errors", "error_rate(all", phase.as_deref()));
    }
    asked
}

/// A metric from the beginning of its text.
fn of(name: &str, beginning: &str, phase: Option<&str>) -> GateMetric {
    let phase = phase.map(|phase| format!(", phase = \"{phase}\"")).unwrap_or_default();
    let source = format!("{beginning}{phase})");
    let quantity = objective::parse_quantity(&source, &|_| true);
    let quantity =
        quantity.unwrap_or(Quantity::Measure { measure: Measure::ErrorRate, filter: Default::default() });
    GateMetric::new(name, &source, quantity)
}

/// The endpoints of a plan, in its order.
fn planned_endpoints(workload: &Workload) -> Vec<&str> {
    let mut endpoints: Vec<&str> = Vec::new();
    for step in workload.scenarios.iter().flat_map(|scenario| scenario.flow.steps()) {
        if !endpoints.contains(&step.name.as_str()) {
            endpoints.push(&step.name);
        }
    }
    endpoints
}

/// p50 and p95 of the first three endpoints and the processor time of a request, where a process is observed.
fn usual(workload: &Workload, endpoints: &[&str], phase: Option<&str>) -> Vec<GateMetric> {
    const ENDPOINTS: usize = 3;
    let times = endpoints.iter().take(ENDPOINTS).flat_map(|endpoint| {
        ["p50", "p95"].map(|q| of(&format!("{endpoint} {q}"), &format!("{q}(\"{endpoint}\""), phase))
    });
    let observed = workload.targets.iter().find(|(_, target)| target.process.is_some());
    let cpu = observed.map(|(name, _)| of("cpu", &format!("cpu_per_request(target = \"{name}\""), phase));
    times.chain(cpu).collect()
}

/// The longest phase; none where there is only one.
fn longest_phase(workload: &Workload) -> Option<String> {
    let longest = workload.phases.iter().max_by_key(|phase| phase.end - phase.start)?;
    (workload.phases.len() > 1).then(|| longest.name.clone())
}

fn too_many(many: usize) -> String {
    format!(
        "{many} metrics, the error rate among them, are more than {MOST_METRICS}: each weakens the others; what is left out \
         here is still compared, and decides nothing"
    )
}

fn wrong_names(known: &KnownNames, quantity: &Quantity) -> Vec<String> {
    let unknown = match quantity {
        Quantity::Measure { measure, filter } => known.check_names(measure, filter),
        Quantity::Cost { target, phase, .. } => {
            let (statistic, name) = (Statistic::Mean, "cpu".to_owned());
            let measure = Measure::Series { statistic, name, target: target.clone() };
            let filter = objective::Filter { phase: phase.clone(), ..objective::Filter::default() };
            known.check_names(&measure, &filter)
        }
    };
    unknown.into_iter().map(|unknown| unknown.message).collect()
}
