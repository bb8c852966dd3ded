//! Reads the `executor` of a scenario and its keys.

use std::time::Duration;

use super::section::{Item, Section};
use super::window::ScenarioWindow;
use workload::executor::{Executor, MAX_VUS, Stage, VuStage};
use workload::nearest::nearest;
use workload::schedule::MAX_STAGE;

/// The most iterations of a virtual user, or of all that share them.
const MAX_ITERATIONS: u64 = 1_000_000_000_000;
/// The default time limit of a scenario with a number of iterations.
const DEFAULT_MAX_DURATION: Duration = Duration::from_secs(600);
/// How long the iteration of a virtual user that is removed may take by default.
const DEFAULT_RAMP_DOWN: Duration = Duration::from_secs(30);

/// Each executor and its keys.
const EXECUTORS: [(&str, &[&str]); 6] = [
    ("constant-arrival-rate", &["rate", "duration"]),
    ("ramping-arrival-rate", &["start_rate", "stages"]),
    ("constant-vus", &["vus", "duration"]),
    ("ramping-vus", &["start_vus", "stages", "graceful_ramp_down"]),
    ("per-vu-iterations", &["vus", "iterations", "max_duration"]),
    ("shared-iterations", &["vus", "iterations", "max_duration"]),
];
const KEYS: [&str; 9] = [
    "rate",
    "duration",
    "start_rate",
    "stages",
    "vus",
    "start_vus",
    "graceful_ramp_down",
    "iterations",
    "max_duration",
];

/// Read the executor; none if it has an error, which is added to the issues.
pub(super) fn read(section: &Section<'_>, window: Option<&ScenarioWindow>) -> Option<Executor> {
    let item = section.need("executor", "`executor = \"constant-arrival-rate\"`");
    let written = item.as_ref().and_then(|item| item.text());
    // The keys of one that is misspelt are read as those of the one that is meant, so that their errors are said too.
    let kind = written.and_then(|written| nearest_executor(item.as_ref()?, written));
    let keys = EXECUTORS.iter().find(|(name, _)| Some(*name) == kind).map_or(&KEYS[..], |(_, keys)| keys);
    for key in KEYS {
        if let (Some(item), false) = (section.get(key), keys.contains(&key)) {
            // Whoever gives a rate its virtual users means their limit.
            let is_of_rate = keys.iter().any(|key| ["rate", "start_rate"].contains(key));
            let limit = if key == "vus" && is_of_rate { "; its VU limit is `max_vus`" } else { "" };
            let text = format!("`{key}` does not apply to this executor; it takes {}{limit}", listed(keys));
            item.issues.add(&item.key_span, text);
        }
    }
    let reader = ExecutorReader { section, window };
    let executor = match kind? {
        "constant-arrival-rate" => {
            let rate = section.need("rate", "`rate = \"300/s\"`").and_then(|item| positive_rate(&item));
            let duration = window.and_then(|window| window.duration(section));
            Some(Executor::ConstantArrivalRate { rate: rate?, duration: duration? })
        }
        "ramping-arrival-rate" => reader.ramping_arrival_rate(),
        "constant-vus" => {
            let vus = reader.vus();
            let duration = window.and_then(|window| window.duration(section));
            Some(Executor::ConstantVus { vus: vus?, duration: duration? })
        }
        "ramping-vus" => reader.ramping_vus(),
        "per-vu-iterations" => {
            let (vus, iterations, max_duration) = (reader.vus(), reader.iterations(), reader.max_duration());
            Some(Executor::PerVuIterations {
                vus: vus?,
                iterations: iterations?.0,
                max_duration: max_duration?,
            })
        }
        "shared-iterations" => reader.shared_iterations(),
        _ => None,
    };
    executor.filter(|_| kind == written)
}

/// The executor of this name; else the one that is meant, if any is, and the name is added to the issues.
fn nearest_executor(item: &Item<'_>, written: &str) -> Option<&'static str> {
    let names = EXECUTORS.map(|(name, _)| name);
    if let Some(known) = names.into_iter().find(|name| *name == written) {
        return Some(known);
    }
    let near = nearest(written, names);
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", listed(&names)),
    };
    item.wrong(format!("there is no executor `{written}`; {hint}"));
    near
}

/// Report the keys of open models in a scenario with a closed model.
pub(super) fn check_open_keys(section: &Section<'_>, executor: Option<&Executor>) {
    for key in ["arrivals", "preallocated_vus", "max_vus"] {
        if let (Some(item), true) = (section.get(key), executor.is_some_and(|executor| !executor.is_open())) {
            let text =
                format!("`{key}` applies to arrival rates only; this executor has its own virtual users");
            item.issues.add(&item.key_span, text);
        }
    }
}

fn listed(keys: &[&str]) -> String {
    let quoted: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

fn positive_rate(item: &Item<'_>) -> Option<f64> {
    let rate = item.rate()?;
    if rate <= 0.0 {
        item.wrong("a rate is above 0");
        return None;
    }
    Some(rate)
}

/// Reads keys that several executors have in common.
struct ExecutorReader<'s, 'a> {
    section: &'s Section<'a>,
    window: Option<&'s ScenarioWindow>,
}

impl ExecutorReader<'_, '_> {
    fn vus(&self) -> Option<u32> {
        let item = self.section.need("vus", "`vus = 10`")?;
        item.whole(1..=u64::from(MAX_VUS)).map(|vus| vus as u32)
    }

    /// The number of iterations, and its item in the plan.
    fn iterations(&self) -> Option<(u64, Item<'_>)> {
        let item = self.section.need("iterations", "`iterations = 100`")?;
        Some((item.whole(1..=MAX_ITERATIONS)?, item))
    }

    fn max_duration(&self) -> Option<Duration> {
        self.window?.length_of(self.section, "max_duration", Some(DEFAULT_MAX_DURATION))
    }

    fn shared_iterations(&self) -> Option<Executor> {
        let (vus, iterations, max_duration) = (self.vus(), self.iterations(), self.max_duration());
        let (vus, (iterations, item)) = vus.zip(iterations)?;
        if iterations < u64::from(vus) {
            item.wrong(format!(
                "{vus} virtual users cannot share {iterations} iterations: each makes one or more; lower `vus`"
            ));
            return None;
        }
        Some(Executor::SharedIterations { vus, iterations, max_duration: max_duration? })
    }

    fn ramping_arrival_rate(&self) -> Option<Executor> {
        let start_rate = self.section.get("start_rate").map_or(Some(0.0), |item| item.rate());
        let example = "`stages = [{ to = \"300/s\", over = \"10s\" }]`";
        let (item, stages) = self.stages(example, |to| to.rate())?;
        let start_rate = start_rate?;
        if start_rate <= 0.0 && stages.iter().all(|(to, _)| *to <= 0.0) {
            item.wrong("no stage has a rate above 0, so nothing would be offered");
            return None;
        }
        let stages = stages.into_iter().map(|(to, over)| Stage { to, over }).collect();
        Some(Executor::RampingArrivalRate { start_rate, stages })
    }

    fn ramping_vus(&self) -> Option<Executor> {
        let number = |item: &Item<'_>| item.whole(0..=u64::from(MAX_VUS)).map(|vus| vus as u32);
        let start_vus = self.section.get("start_vus").map_or(Some(1), |item| number(&item));
        let grace = self.section.get("graceful_ramp_down");
        let grace = grace.map_or(Some(DEFAULT_RAMP_DOWN), |item| item.duration());
        let (item, stages) = self.stages("`stages = [{ to = 50, over = \"10s\" }]`", number)?;
        let (start_vus, graceful_ramp_down) = start_vus.zip(grace)?;
        if start_vus == 0 && stages.iter().all(|(to, _)| *to == 0) {
            item.wrong("no stage has a virtual user, so nothing would be offered");
            return None;
        }
        let stages = stages.into_iter().map(|(to, over)| VuStage { to, over }).collect();
        Some(Executor::RampingVus { start_vus, stages, graceful_ramp_down })
    }

    /// The stages of a ramp, whose length fits the scenario's window, and their item in the plan.
    fn stages<T>(
        &self,
        example: &str,
        read_to: impl Fn(&Item<'_>) -> Option<T>,
    ) -> Option<(Item<'_>, Vec<(T, Duration)>)> {
        let item = self.section.need("stages", example)?;
        let mut stages = Vec::new();
        for entry in item.items() {
            let stage = entry.section("a stage")?;
            let to = stage.need("to", example).and_then(|item| read_to(&item));
            let over = stage.need("over", "`over = \"10s\"`").and_then(|item| item.duration());
            stage.finish();
            stages.push((to?, over?));
        }
        let length = stages.iter().try_fold(Duration::ZERO, |sum, (_, over)| sum.checked_add(*over))?;
        if length > MAX_STAGE {
            item.wrong("the stages last longer than 30 days");
            return None;
        }
        self.window?.check_length(&item, length)?;
        Some((item, stages))
    }
}
