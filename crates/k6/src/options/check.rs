//! What is wrong with a scenario, before it is converted.

use workload::model::MAX_VUS;
use workload::schedule::{MAX_RATE, MAX_STAGE};

use super::duration::OptionDuration;
use super::scenario::{ExecutorKind, ScenarioOptions, StageOptions};

/// The shortest time for which iterations are started.
const MIN_DURATION: OptionDuration = OptionDuration::from_secs(1);

/// Everything that is wrong with a scenario, one phrase each.
pub(super) fn problems(name: &str, scenario: &ScenarioOptions) -> Vec<String> {
    let mut found = Problems(Vec::new());
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    found.check(
        !name.is_empty() && name.chars().all(is_allowed),
        "the scenario name should contain only numbers, latin letters, underscores, and dashes",
    );
    found.check(scenario.exec.as_deref() != Some(""), "exec value cannot be empty");
    found.not_negative(scenario.start_time, "the startTime can't be negative");
    found.not_negative(scenario.graceful_stop, "the gracefulStop timeout can't be negative");
    match scenario.executor {
        Some(ExecutorKind::ConstantVus) => {
            found.vus(scenario);
            found.duration(scenario.duration, "the duration");
        }
        Some(ExecutorKind::RampingVus) => found.ramping_vus(scenario),
        Some(ExecutorKind::SharedIterations) => found.shared_iterations(scenario),
        Some(ExecutorKind::PerVuIterations) => {
            found.vus(scenario);
            found.check(
                scenario.iterations.is_none_or(|n| n > 0),
                "the number of iterations must be more than 0",
            );
            found.duration(scenario.max_duration.or(Some(MIN_DURATION)), "the maxDuration");
        }
        Some(ExecutorKind::ConstantArrivalRate) => {
            match scenario.rate {
                None => found.add("the iteration rate isn't specified"),
                Some(rate) => found.check(rate > 0, "the iteration rate must be more than 0"),
            }
            found.time_unit(scenario);
            found.duration(scenario.duration, "the duration");
            found.arrival_vus(scenario);
            found.rates(scenario);
        }
        Some(ExecutorKind::RampingArrivalRate) => {
            found.check(
                scenario.start_rate.is_none_or(|rate| rate >= 0),
                "the startRate value can't be negative",
            );
            found.time_unit(scenario);
            found.stages(scenario.stages.as_deref());
            found.arrival_vus(scenario);
            found.rates(scenario);
        }
        None => found.add("it has no executor"),
    }
    found.limits(scenario);
    found.0
}

/// What is wrong, in order.
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    fn check(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            self.add(otherwise);
        }
    }

    fn not_negative(&mut self, duration: Option<OptionDuration>, otherwise: &str) {
        self.check(duration.is_none_or(|duration| duration.0 >= 0), otherwise);
    }

    fn vus(&mut self, scenario: &ScenarioOptions) {
        self.check(scenario.vus.is_none_or(|vus| vus > 0), "the number of VUs must be more than 0");
    }

    fn duration(&mut self, duration: Option<OptionDuration>, name: &str) {
        match duration {
            None => self.add(format!("{name} is unspecified")),
            Some(duration) if duration < MIN_DURATION => {
                self.add(format!("{name} must be at least 1s, but is {duration}"));
            }
            Some(_) => {}
        }
    }

    fn shared_iterations(&mut self, scenario: &ScenarioOptions) {
        self.vus(scenario);
        let (vus, iterations) = (scenario.vus.unwrap_or(1), scenario.iterations.unwrap_or(1));
        if iterations < vus {
            self.add(format!(
                "the number of iterations ({iterations}) can't be less than the number of VUs ({vus})"
            ));
        }
        self.duration(scenario.max_duration.or(Some(MIN_DURATION)), "the maxDuration");
    }

    fn ramping_vus(&mut self, scenario: &ScenarioOptions) {
        let start = scenario.start_vus.unwrap_or(1);
        self.check(start >= 0, "the number of start VUs can't be negative");
        let stages = scenario.stages.as_deref().unwrap_or_default();
        let has_vus = start > 0 || stages.iter().any(|stage| stage.target.is_some_and(|target| target > 0));
        self.check(
            stages.is_empty() || has_vus,
            "either startVUs or one of the stages' target values must be greater than 0",
        );
        self.stages(Some(stages));
        self.not_negative(scenario.graceful_ramp_down, "the gracefulRampDown timeout can't be negative");
    }

    fn stages(&mut self, stages: Option<&[StageOptions]>) {
        let stages = stages.unwrap_or_default();
        self.check(!stages.is_empty(), "at least one stage has to be specified");
        for (number, stage) in (1..).zip(stages) {
            match stage.duration {
                None => self.add(format!("stage {number} doesn't have a duration")),
                Some(duration) if duration.0 < 0 => {
                    self.add(format!("the duration for stage {number} can't be negative"));
                }
                Some(_) => {}
            }
            match stage.target {
                None => self.add(format!("stage {number} doesn't have a target")),
                Some(target) if target < 0 => {
                    self.add(format!("the target for stage {number} can't be negative"))
                }
                Some(_) => {}
            }
        }
    }

    fn time_unit(&mut self, scenario: &ScenarioOptions) {
        self.check(scenario.time_unit.is_none_or(|unit| unit.0 > 0), "the timeUnit must be more than 0");
    }

    fn arrival_vus(&mut self, scenario: &ScenarioOptions) {
        let Some(allocated) = scenario.pre_allocated_vus else {
            return self.add("the number of preAllocatedVUs isn't specified");
        };
        self.check(allocated >= 0, "the number of preAllocatedVUs can't be negative");
        let most = scenario.max_vus.unwrap_or(allocated);
        self.check(most >= allocated, "maxVUs can't be less than preAllocatedVUs");
        // k6 would begin, and start nothing.
        self.check(allocated < 0 || most != 0, "maxVUs must be more than 0");
    }

    /// The limits of this tool, which k6 has not or elsewhere.
    fn limits(&mut self, scenario: &ScenarioOptions) {
        let stages = scenario.stages.iter().flatten();
        let is_ramp_of_vus = scenario.executor == Some(ExecutorKind::RampingVus);
        let targets = stages.clone().filter(|_| is_ramp_of_vus).filter_map(|stage| stage.target);
        let counts = [scenario.vus, scenario.start_vus, scenario.pre_allocated_vus, scenario.max_vus];
        if counts.into_iter().flatten().chain(targets).any(|vus| vus > i64::from(MAX_VUS)) {
            self.add(format!("there can be {MAX_VUS} virtual users at most"));
        }
        let durations = [
            scenario.start_time,
            scenario.graceful_stop,
            scenario.max_duration,
            scenario.duration,
            scenario.graceful_ramp_down,
        ];
        let durations = durations.into_iter().flatten().chain(stages.filter_map(|stage| stage.duration));
        if durations.into_iter().any(|duration| duration > OptionDuration::from(MAX_STAGE)) {
            self.add("nothing can last longer than 30 days");
        }
    }

    fn rates(&mut self, scenario: &ScenarioOptions) {
        let unit = scenario.time_unit.unwrap_or(MIN_DURATION);
        let targets = scenario.stages.iter().flatten().filter_map(|stage| stage.target);
        let rates = [scenario.rate, scenario.start_rate].into_iter().flatten().chain(targets);
        if unit.0 > 0 && rates.into_iter().any(|rate| unit.rate_of(rate) > MAX_RATE) {
            self.add(format!("there can be {MAX_RATE} iterations a second at most"));
        }
    }
}
