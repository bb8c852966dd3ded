//! The lines about the load that k6 shows before a run.

use std::time::Duration;

use workload::model::Executor;

use super::derive::ConsolidatedOptions;
use super::duration::OptionDuration;
use super::requirements::Requirements;
use super::shape::ScenarioShape;

impl ConsolidatedOptions {
    /// The lines about the scenarios, as k6 shows them before a run: what all need, then each by itself. No line ends
    /// with a line break.
    pub fn header(&self) -> Vec<String> {
        let Requirements { max_vus, max_duration, .. } = self.requirements();
        let share = 100.0 * self.part.length();
        let count = self.scenarios.len();
        let scenarios = if count == 1 { "scenario" } else { "scenarios" };
        let whole = format!(
            "     scenarios: ({share:.2}%) {count} {scenarios}, {max_vus} max VUs, {} max duration (incl. graceful stop):",
            go(max_duration)
        );
        let each = |scenario: &ScenarioShape| {
            format!("              * {}: {}", scenario.name, self.described(scenario))
        };
        std::iter::once(whole).chain(self.scenarios.iter().map(each)).collect()
    }

    /// A scenario in words: `10 looping VUs for 30s (gracefulStop: 30s)`.
    pub fn described(&self, scenario: &ScenarioShape) -> String {
        let share = |count: u32| self.part.share(count);
        let (what, own) = match &scenario.executor {
            Executor::ConstantVus { vus, duration } => {
                (format!("{} looping VUs for {}", share(*vus), go(*duration)), None)
            }
            Executor::RampingVus { stages, graceful_ramp_down, .. } => (
                format!(
                    "Up to {} looping VUs for {} over {} stages",
                    share(scenario.max_vus),
                    go(scenario.executor.duration()),
                    stages.len()
                ),
                Some(format!("gracefulRampDown: {}", go(*graceful_ramp_down))),
            ),
            Executor::SharedIterations { vus, iterations, max_duration } => (
                format!(
                    "{} iterations shared among {} VUs",
                    self.part.stripes_by(*vus).share(*iterations),
                    share(*vus)
                ),
                Some(format!("maxDuration: {}", go(*max_duration))),
            ),
            Executor::PerVuIterations { vus, iterations, max_duration } => (
                format!("{iterations} iterations for each of {} VUs", share(*vus)),
                Some(format!("maxDuration: {}", go(*max_duration))),
            ),
            Executor::ConstantArrivalRate { rate, duration } => (
                format!("{:.2} iterations/s for {}", rate * self.share_of_vu_limit(scenario), go(*duration)),
                Some(self.vu_limit(scenario)),
            ),
            Executor::RampingArrivalRate { stages, .. } => (
                format!(
                    "Up to {:.2} iterations/s for {} over {} stages",
                    scenario.executor.peak_rate() * self.part.length(),
                    go(scenario.executor.duration()),
                    stages.len()
                ),
                Some(self.vu_limit(scenario)),
            ),
        };
        let positive =
            |name: &str, time: Duration| (!time.is_zero()).then(|| format!("{name}: {}", go(time)));
        let details = [
            own,
            scenario.exec.as_ref().map(|exec| format!("exec: {exec}")),
            positive("startTime", scenario.start),
            positive("gracefulStop", scenario.graceful_stop),
        ];
        match details.into_iter().flatten().collect::<Vec<_>>() {
            none if none.is_empty() => what,
            details => format!("{what} ({})", details.join(", ")),
        }
    }

    /// k6 shows of a constant rate the share that the virtual users have, and of one that changes that of the segment.
    fn share_of_vu_limit(&self, scenario: &ScenarioShape) -> f64 {
        f64::from(self.part.share(scenario.max_vus)) / f64::from(scenario.max_vus.max(1))
    }

    fn vu_limit(&self, scenario: &ScenarioShape) -> String {
        let [least, most] = [scenario.preallocated_vus, scenario.max_vus].map(|count| self.part.share(count));
        if least == most { format!("maxVUs: {most}") } else { format!("maxVUs: {least}-{most}") }
    }
}

/// A duration as Go writes it.
fn go(duration: Duration) -> OptionDuration {
    OptionDuration::from(duration)
}
