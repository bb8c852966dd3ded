//! The virtual users of a script, for the engine: made on their loop, in heaps that small groups share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use engine::iteration::{Behaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker};

use crate::iteration::{Callable, ScriptIteration};
use crate::js::fiber::Stacks;
use crate::js::{self, Kept, Thrown, Value};
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
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        let facts =
            |scenario: LoopScenario| self.scenarios.get(scenario.position).cloned().unwrap_or_default();
        let facts = scenarios.into_iter().map(facts).collect();
        let makers = ScriptUsers::of_loop(&self.script, facts, self.log.clone());
        makers.into_iter().map(|maker| Box::new(maker) as Box<dyn UserMaker>).collect()
    }
}

/// Makes the virtual users of one scenario on one loop.
pub(crate) struct ScriptUsers {
    shared: LoopShared,
    /// The place of the scenario.
    place: usize,
    made: Rc<MadeUsers>,
}

/// What the makers of one loop have in common.
#[derive(Default)]
struct MadeUsers {
    stacks: Rc<Stacks>,
    newest: RefCell<NewestGroup>,
    /// By their numbers; empty where no scenario follows another one.
    by_number: RefCell<BTreeMap<u32, MadeUser>>,
}

/// The heap of the virtual users that were made last, and how many are in it.
#[derive(Default)]
struct NewestGroup {
    group: Option<Rc<Group>>,
    users: usize,
}

/// A virtual user that a later scenario may get.
#[derive(Clone)]
struct MadeUser {
    group: Rc<Group>,
    vu: Rc<Vu>,
    /// What its script exports. Before the context in this order: it is freed first.
    exports: Rc<Kept>,
    context: Rc<js::Context>,
}

impl ScriptUsers {
    /// Of one scenario.
    pub(crate) fn new(script: &Script, scenario: ScriptScenario, log: LogSink) -> ScriptUsers {
        let mut all = ScriptUsers::of_loop(script, vec![scenario], log);
        all.pop().expect("each scenario has a maker")
    }

    /// Of each of these scenarios on one loop.
    fn of_loop(script: &Script, scenarios: Vec<ScriptScenario>, log: LogSink) -> Vec<ScriptUsers> {
        let names = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
        let registry = Rc::new(RefCell::new(Registry::new(names, script.sub_metrics())));
        let facts = scenarios.into_iter().map(|scenario| {
            let ScriptScenario { name, exec, env, tags, group, shape } = scenario;
            ScenarioFacts { name, exec, env, tags, group, shape }
        });
        let scenarios: Rc<[ScenarioFacts]> = facts.collect();
        let made = Rc::new(MadeUsers::default());
        let urls = Rc::default();
        let shared = LoopShared { script: script.clone(), registry, urls, log, scenarios: scenarios.clone() };
        let users = |place| ScriptUsers { shared: shared.clone(), place, made: made.clone() };
        (0..scenarios.len()).map(users).collect()
    }

    /// A virtual user, which calls its function with this JSON, or with what `setup` returned; number 0 is that of functions that are
    /// called once. One that an earlier scenario has had under this number goes on.
    pub(crate) fn made(
        &mut self,
        number: u32,
        argument: Option<&str>,
    ) -> Result<ScriptIteration, ScriptError> {
        let known = self.made.by_number.borrow().get(&number).cloned();
        let user = match known {
            Some(user) => user,
            None => self.new_user(number)?,
        };
        let script = &self.shared.script;
        let exec = &self.shared.scenarios[self.place].exec;
        let data = argument.or_else(|| script.setup_data());
        let called = user.context.enter(|scope| {
            let function = scope.kept(&user.exports).get(exec);
            let data = data.map(|json| scope.parse_json(json, "setup data")).transpose();
            let called = function.and_then(|function| Ok((function.keep(), data?.map(|data| data.keep()))));
            called.map_err(|Thrown| scope.take_exception())
        });
        let (function, data) = called.map_err(|exception| script.failure(exception))?;
        let arguments = data.into_iter().collect();
        let callable = Callable { context: user.context.clone(), function, arguments };
        Ok(ScriptIteration::new(
            user.group.clone(),
            self.made.stacks.clone(),
            (user.vu.clone(), self.place),
            callable,
        ))
    }

    /// A virtual user of this number, for which the script is evaluated.
    fn new_user(&self, number: u32) -> Result<MadeUser, ScriptError> {
        let NewestGroup { group, users } = self.made.newest.take();
        let (group, users) = match group.filter(|_| users < GROUP_SIZE) {
            Some(group) => (group, users),
            None => (Rc::new(new_group(&self.shared.script)?), 0),
        };
        let vu = Rc::new(Vu::new(self.shared.clone(), self.place));
        vu.number.set(number);
        vu.count(Counted::Made);
        let (context, exports) = group.evaluate(&vu, |exports: Value<'_>| Ok(Rc::new(exports.keep())))?;
        // The heap of an evaluation that failed gets no further virtual user.
        *self.made.newest.borrow_mut() = NewestGroup { group: Some(group.clone()), users: users + 1 };
        let user = MadeUser { group, vu, exports, context: Rc::new(context) };
        if self.shared.scenarios.len() > 1 {
            self.made.by_number.borrow_mut().insert(number, user.clone());
        }
        Ok(user)
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
