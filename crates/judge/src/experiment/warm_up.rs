//! Warm-up: both runs of a pair are measured from where the later of them is steady.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::run::{Excerpt, ReadError};
use evidence::{ExperimentFinding, KeyId, Run, Seconds, Severity};
use figures::Figures;
use workload::Workload;

use crate::compare::Side;
use crate::facts::steady_state;

/// The seconds of the run in which each phase is measured, by the phase's name; a phase without any is measured whole.
#[derive(Debug, Default)]
pub(crate) struct Cuts(BTreeMap<String, Seconds>);

/// Where the later of two runs is steady. A phase in which this is not known of both is measured whole.
pub(super) fn cuts(sides: [&Side<'_>; 2]) -> Result<Cuts, ReadError> {
    let mut cuts = BTreeMap::new();
    let [a, b] = sides.map(starts);
    let (a, b) = (a?, b?);
    for (phase, start) in a {
        if let (Some(a), Some(Some(b))) = (start, b.get(&phase)) {
            cuts.insert(phase, a.max(*b)..u32::MAX);
        }
    }
    Ok(Cuts(cuts))
}

/// The latest start of steady state over the endpoints of each phase; none where one of them never is.
fn starts(side: &Side<'_>) -> Result<BTreeMap<String, Option<u32>>, ReadError> {
    let figures = Figures::fold(side.run, side.workload)?;
    let mut starts: BTreeMap<String, Option<u32>> = BTreeMap::new();
    for analysis in steady_state::analyses(side.run, side.workload, &figures)? {
        let start = analysis.state.ok().map(|state| analysis.seconds.start + state.start_s);
        let latest = starts.entry(analysis.key.phase.to_string()).or_insert(start);
        *latest = latest.zip(start).map(|(one, other)| one.max(other));
    }
    Ok(starts)
}

/// That something was cut.
pub(super) fn finding(number: u32, cuts: &Cuts) -> Option<ExperimentFinding> {
    let shown: Vec<String> =
        cuts.0.iter().map(|(phase, seconds)| format!("{phase} from second {}", seconds.start)).collect();
    (!shown.is_empty()).then(|| ExperimentFinding {
        name: "warm-up-cut".to_owned(),
        severity: Severity::Info,
        pairs: vec![number],
        what: format!("Both arms are measured where the later is steady: {}.", shown.join(", ")),
        next: String::new(),
    })
}

impl Cuts {
    /// A phase without what comes before this second of the run.
    pub(crate) fn until(phase: &str, second: u32) -> Cuts {
        Cuts([(phase.to_owned(), second..u32::MAX)].into())
    }

    /// Only these seconds of phases count.
    pub(crate) fn within(seconds: BTreeMap<String, Seconds>) -> Cuts {
        Cuts(seconds)
    }

    /// What is left of these seconds of a phase.
    pub(super) fn of_phase(&self, phase: &str, seconds: Seconds) -> Seconds {
        let kept = self.of(phase);
        let start = seconds.start.max(kept.start);
        start..seconds.end.min(kept.end).max(start)
    }

    fn of(&self, phase: &str) -> Seconds {
        self.0.get(phase).cloned().unwrap_or(0..u32::MAX)
    }

    /// The run without the seconds that are cut.
    pub(crate) fn applied_to_run<'a>(&'a self, run: &'a dyn Run) -> impl Run + 'a {
        Excerpt::new(run, |key: Option<KeyId>, window: Seconds| {
            let key = key.and_then(|key| run.keys().iter().find(|(id, _)| *id == key));
            let kept = key.map_or(0..u32::MAX, |(_, key)| self.of(&key.phase));
            let start = window.start.max(kept.start);
            Ok(start..window.end.min(kept.end).max(start))
        })
    }

    /// The workload, whose phases begin where they are cut.
    pub(crate) fn applied_to(&self, workload: &Workload) -> Workload {
        let mut workload = workload.clone();
        for phase in &mut workload.phases {
            let kept = self.of(&phase.name);
            phase.end = phase.end.min(Duration::from_secs(kept.end.into()));
            phase.start = phase.start.max(Duration::from_secs(kept.start.into())).min(phase.end);
        }
        workload
    }
}
