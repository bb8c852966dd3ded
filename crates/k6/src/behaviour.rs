//! The virtual users of a script, for the engine: made on their loop, in heaps that small groups share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::iteration::{Behaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker};

use crate::iteration::{Callable, ScriptIteration};
use crate::js::fiber::Stacks;
use crate::js::{Thrown, Value};
use crate::loading::{Group, new_group};
use crate::metrics::Registry;
use crate::options::ScenarioShape;
use crate::script::{Counted, LogSink, Script, ScriptError};
use crate::vu::{LoopShared, ScenarioFacts, Vu};

/// How many virtual users share a heap: more of them cost less memory each, and stop longer when it is collected.
const GROUP_SIZE: usize = 16;

/// What a scenario of a script runs, and with what.
#[derive(Debug, Clone, Default)]
pub struct ScriptScenario {
    pub name: String,
    /// The function that it calls: `default`, or another one that the script exports.
    pub exec: String,
    /// Variables of `__ENV`, over those of the script.
    pub env: BTreeMap<String, String>,
    /// Tags of all of its values.
    pub tags: BTreeMap<String, String>,
    /// The path of the group that its iterations begin in.
    pub group: String,
    /// Its load; none where it has none of its own, as `setup` and `teardown`.
    pub shape: Option<ScenarioShape>,
}

impl From<&ScenarioShape> for ScriptScenario {
    fn from(shape: &ScenarioShape) -> Self {
        ScriptScenario {
            name: shape.name.clone(),
            exec: shape.function().to_owned(),
            env: shape.env.clone(),
            tags: shape.tags.clone(),
            group: String::new(),
            shape: Some(shape.clone()),
        }
    }
}

/// What the virtual users of a script do.
pub struct ScriptBehaviour {
    script: Script,
    /// In the order of the workload's scenarios.
    scenarios: Vec<ScriptScenario>,
    log: LogSink,
}

impl ScriptBehaviour {
    /// The virtual users of these scenarios, which are in the order of the workload's.
    ///
    /// # Errors
    /// [`ScriptError::Exports`] where the script does not export what a scenario calls.
    pub fn new(
        script: Script,
        scenarios: Vec<ScriptScenario>,
        log: LogSink,
    ) -> Result<ScriptBehaviour, ScriptError> {
        for scenario in &scenarios {
            if !script.functions().contains(&scenario.exec) {
                let why =
                    format!("executor {}: function '{}' not found in exports", scenario.name, scenario.exec);
                return Err(ScriptError::Exports(why));
            }
        }
        Ok(ScriptBehaviour { script, scenarios, log })
    }
}

impl Behaviour for ScriptBehaviour {
    fn on_loop(&self, scenario: LoopScenario) -> Box<dyn UserMaker> {
        let facts = self.scenarios.get(scenario.position).cloned().unwrap_or_default();
        Box::new(ScriptUsers::new(&self.script, facts, self.log.clone()))
    }
}

/// Makes the virtual users of one scenario on one loop.
pub(crate) struct ScriptUsers {
    shared: LoopShared,
    scenario: Rc<ScenarioFacts>,
    stacks: Rc<Stacks>,
    group: Option<Rc<Group>>,
    in_group: usize,
}

impl ScriptUsers {
    pub(crate) fn new(script: &Script, scenario: ScriptScenario, log: LogSink) -> ScriptUsers {
        let ScriptScenario { name, exec, env, tags, group, shape } = scenario;
        let registry = Rc::new(RefCell::new(Registry::new(&name, script.sub_metrics())));
        ScriptUsers {
            shared: LoopShared { script: script.clone(), registry, urls: Rc::default(), log },
            scenario: Rc::new(ScenarioFacts { name, exec, env, tags, group, shape }),
            stacks: Rc::default(),
            group: None,
            in_group: 0,
        }
    }

    /// A virtual user, which calls its function with this JSON, or with what `setup` returned; number 0 is that of functions that are
    /// called once.
    pub(crate) fn made(
        &mut self,
        number: u32,
        argument: Option<&str>,
    ) -> Result<ScriptIteration, ScriptError> {
        let group = match self.group.take().filter(|_| self.in_group < GROUP_SIZE) {
            Some(group) => group,
            None => {
                self.in_group = 0;
                Rc::new(new_group(&self.shared.script)?)
            }
        };
        let vu = Rc::new(Vu::new(self.shared.clone(), self.scenario.clone()));
        vu.number.set(number);
        vu.count(Counted::Made);
        let exec = self.scenario.exec.clone();
        let data = argument.or_else(|| self.shared.script.setup_data()).map(str::to_owned);
        let (context, (function, arguments)) = group.evaluate(&vu, |exports: Value<'_>| {
            let scope = exports.scope();
            let function = exports.get(&exec)?.keep();
            let arguments = match &data {
                Some(json) => vec![scope.parse_json(json, "setup data")?.keep()],
                None => Vec::new(),
            };
            Ok::<_, Thrown>((function, arguments))
        })?;
        // The heap of an evaluation that failed gets no further virtual user.
        self.in_group += 1;
        self.group = Some(group.clone());
        Ok(ScriptIteration::new(group, self.stacks.clone(), vu, Callable { context, function, arguments }))
    }
}

impl UserMaker for ScriptUsers {
    fn virtual_user(&mut self, number: u32) -> Box<dyn Iteration> {
        match self.made(number, None) {
            Ok(iteration) => Box::new(iteration),
            Err(error) => self.broken(&error),
        }
    }
}

impl ScriptUsers {
    /// A virtual user that could not be made.
    pub(crate) fn broken(&self, error: &ScriptError) -> Box<dyn Iteration> {
        // An own failure, such as memory that is missing, keeps its own exit code.
        if matches!(error, ScriptError::Threw(_) | ScriptError::Aborted(_)) {
            self.shared.script.requests().fail_init(error.to_string());
        }
        Box::new(Broken(error.to_string()))
    }
}

/// A virtual user that could not be made: the run cannot go on.
struct Broken(String);

impl Iteration for Broken {
    fn resume(&mut self, _: Event<'_>, _: &mut Context<'_>) -> Progress {
        Progress::Abort(self.0.clone())
    }
}
