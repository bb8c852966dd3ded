//! Ends a run in which no virtual user of a scenario can be set up: there is nothing to measure, and to go on would load the
//! target with nothing but its own refusals. A target that begins to refuse later is data.

use std::collections::HashMap;

use engine::{Command, Control};
use evidence::sink::{Sink, SinkError};
use evidence::{Instance, Key, KeyId, Metric, Observed, Outcome, RunEnd, Tick};
use workload::Workload;
use workload::model::Scenario;

use crate::screen::note;
use crate::stop_watch::{EarlyEnd, EndedBy};

/// For how many seconds virtual users try, from the first failure on.
const GIVE_UP_AFTER_S: u32 = 30;

/// Reads how the setup of virtual users goes.
pub(crate) struct SetupWatch {
    waiting: Vec<ScenarioSetup>,
    keys: HashMap<(Instance, KeyId), Key>,
    control: Control,
    ended_by: EndedBy,
}

/// A scenario of which no virtual user was set up yet.
struct ScenarioSetup {
    scenario: String,
    /// The names of its steps; with the last one a virtual user is set up.
    steps: Vec<String>,
    first_failure_s: Option<u32>,
    last_s: u32,
    failures: Vec<Failures>,
}

/// How often a step failed in this way.
struct Failures {
    step: String,
    outcome: Outcome,
    count: u64,
    /// What was wrong with one of them, in words.
    detail: String,
}

impl SetupWatch {
    pub(crate) fn new(workload: &Workload, control: Control, ended_by: EndedBy) -> SetupWatch {
        let waiting = workload.scenarios.iter().filter_map(ScenarioSetup::of).collect();
        SetupWatch { waiting, keys: HashMap::new(), control, ended_by }
    }

    fn take(&mut self, tick: &Tick) {
        let new = tick.new_keys.iter().filter(|(_, key)| key.metric == Metric::ResponseTime);
        self.keys.extend(new.map(|(id, key)| ((tick.instance, *id), key.clone())));
        for (id, histogram) in tick.histograms() {
            let Some(key) = self.keys.get(&(tick.instance, id)) else { continue };
            let Some(at) = self.waiting.iter().position(|setup| setup.is_about(key)) else { continue };
            match key.outcome.unwrap_or(Outcome::Ok) {
                Outcome::Ok if self.waiting[at].ends_with(key) => {
                    self.waiting.swap_remove(at);
                }
                failure if failure.is_failure() => {
                    self.waiting[at].failed(key, histogram.count(), tick);
                }
                _ => {}
            }
        }
        self.waiting.iter_mut().for_each(|setup| setup.last_s = setup.last_s.max(tick.second));
    }

    /// Why the run cannot go on, if it cannot.
    fn hopeless(&self) -> Option<String> {
        self.waiting.iter().find(|setup| setup.is_given_up()).map(ScenarioSetup::in_words)
    }
}

impl ScenarioSetup {
    fn of(scenario: &Scenario) -> Option<ScenarioSetup> {
        let steps: Vec<String> = scenario.setup.iter().map(|step| step.name.clone()).collect();
        (!steps.is_empty()).then(|| ScenarioSetup {
            scenario: scenario.name.clone(),
            steps,
            first_failure_s: None,
            last_s: 0,
            failures: Vec::new(),
        })
    }

    fn is_about(&self, key: &Key) -> bool {
        *key.scenario == *self.scenario && self.steps.iter().any(|step| **step == *key.endpoint)
    }

    fn ends_with(&self, key: &Key) -> bool {
        self.steps.last().is_some_and(|last| **last == *key.endpoint)
    }

    fn failed(&mut self, key: &Key, count: u64, tick: &Tick) {
        self.first_failure_s.get_or_insert(tick.second);
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        let is_same = |failures: &Failures| *failures.step == *key.endpoint && failures.outcome == outcome;
        if let Some(known) = self.failures.iter_mut().find(|failures| is_same(failures)) {
            known.count += count;
            return;
        }
        let is_example = |e: &&evidence::Exemplar| {
            e.scenario == key.scenario && e.endpoint == key.endpoint && e.outcome == outcome
        };
        let example = tick.exemplars.iter().find(is_example);
        let detail = example.map(|example| example.detail.clone()).unwrap_or_default();
        self.failures.push(Failures { step: key.endpoint.to_string(), outcome, count, detail });
    }

    fn is_given_up(&self) -> bool {
        self.first_failure_s.is_some_and(|first| self.last_s >= first + GIVE_UP_AFTER_S)
    }

    /// `no virtual user of `buy` could be set up within 30 s: `login` failed 61 times (http_4xx: status 401)`.
    fn in_words(&self) -> String {
        let failures = self.failures.iter().map(|failures| {
            let Failures { step, outcome, count, detail } = failures;
            let why = if detail.is_empty() { outcome.to_string() } else { format!("{outcome}: {detail}") };
            format!("`{step}` failed {count} times ({why})")
        });
        let failures: Vec<_> = failures.collect();
        let scenario = &self.scenario;
        format!(
            "no virtual user of `{scenario}` could be set up within {GIVE_UP_AFTER_S} s: {}",
            failures.join(", ")
        )
    }
}

impl Sink for SetupWatch {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        if !self.waiting.is_empty() {
            self.take(tick);
        }
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        if self.control.command() == Command::Run
            && let Some(why) = self.hopeless()
        {
            note(format_args!("stopping: {why}"));
            self.ended_by.set(EarlyEnd::NotSetUp(why));
            self.control.drain();
        }
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload::http::HttpOptions;
    use workload::model::{Expect, Flow, Request, Step};
    use workload::{Arrivals, Executor};

    use super::*;

    fn step(name: &str) -> Step {
        Step {
            name: name.to_owned(),
            request: Request::Http {
                target: "api".to_owned(),
                method: "POST".to_owned(),
                path: Default::default(),
                headers: Vec::new(),
                body: Default::default(),
                options: HttpOptions::default(),
            },
            timeout: Duration::from_secs(1),
            think: Default::default(),
            expect: Expect::default(),
            extract: Vec::new(),
        }
    }

    fn watch() -> SetupWatch {
        let scenario = Scenario {
            name: "buy".to_owned(),
            executor: Executor::ConstantVus { vus: 2, duration: Duration::from_secs(60) },
            arrivals: Arrivals::Even,
            preallocated_vus: 0,
            max_vus: 2,
            start: Duration::ZERO,
            graceful_stop: Duration::ZERO,
            tags: Default::default(),
            setup: vec![step("greet"), step("login")],
            flow: Flow::Sequence(vec![step("pay")]),
        };
        let workload = Workload { scenarios: vec![scenario], ..Workload::named("shop") };
        SetupWatch::new(&workload, Control::new(), EndedBy::default())
    }

    /// A second in which so many requests of a step ended so.
    fn tick(second: u32, step: &str, outcome: Outcome, count: u64) -> Tick {
        let key = Key::of(Metric::ResponseTime).scenario("buy").endpoint(step).outcome(outcome);
        let id = KeyId(match (step, outcome) {
            ("greet", _) => 0,
            (_, Outcome::Ok) => 1,
            _ => 2,
        });
        let mut tick = Tick::default();
        tick.second = second;
        tick.new_keys.push((id, key));
        (0..count).for_each(|_| tick.record_ns(id, 1_000_000));
        tick
    }

    #[test]
    fn a_scenario_that_cannot_be_set_up_is_given_up_and_it_says_why() {
        let mut watch = watch();
        for second in 5..35 {
            watch.tick(&tick(second, "greet", Outcome::Ok, 2)).unwrap();
            watch.tick(&tick(second, "login", Outcome::Http4xx, 2)).unwrap();
            watch.flush().unwrap();
            assert_eq!(watch.control.command(), Command::Run, "second {second}");
        }
        watch.tick(&tick(35, "login", Outcome::Http4xx, 1)).unwrap();
        watch.flush().unwrap();
        assert_eq!(watch.control.command(), Command::Drain);
        let Some(EarlyEnd::NotSetUp(why)) = watch.ended_by.get() else { panic!("{:?}", watch.ended_by) };
        let expected =
            "no virtual user of `buy` could be set up within 30 s: `login` failed 61 times (http_4xx)";
        assert_eq!(why, expected);
    }

    #[test]
    fn a_target_that_set_one_up_may_refuse_the_others_as_long_as_it_likes() {
        let mut watch = watch();
        watch.tick(&tick(0, "login", Outcome::Ok, 1)).unwrap();
        for second in 1..100 {
            watch.tick(&tick(second, "login", Outcome::Http4xx, 2)).unwrap();
            watch.flush().unwrap();
        }
        assert_eq!(watch.control.command(), Command::Run);
    }
}
