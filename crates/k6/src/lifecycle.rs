//! What a script does once: `setup` before the load, `teardown` after it, `handleSummary` at the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::iteration::{Iteration, UserMaker};
use engine::{DryRun, EngineError};
use evidence::Tick;

use crate::behaviour::{ScriptScenario, ScriptUsers};
use crate::handle_summary::SummaryOutput;
use crate::iteration::{CallResult, Keeping, Outlet, SingleCall};
use crate::js::Exception;
use crate::script::{LogSink, Script, ScriptError};

/// How long `handleSummary` may take, as in k6.
const SUMMARY_LIMIT: Duration = Duration::from_secs(120);

/// Why `setup`, `teardown` or `handleSummary` did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// It threw, or could not be called.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// It took longer than it may.
    #[error("{}() execution timed out after {} seconds{}", .0.name(), .1.as_secs(), .0.advice())]
    TimedOut(Once, Duration),
    /// It was not called to its end.
    #[error("{}() was interrupted", .0.name())]
    Interrupted(Once),
    /// What `setup` returned cannot be given to virtual users.
    #[error("the result of setup() cannot be written as JSON: {}", .0.in_full())]
    NoJson(Exception),
    /// The engine could not run it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A function of a script that is called once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Once {
    /// `setup`.
    Setup,
    /// `teardown`.
    Teardown,
    /// `handleSummary`.
    HandleSummary,
}

impl Once {
    /// Which option sets how long it may take, where one does.
    fn advice(self) -> &'static str {
        match self {
            Once::Setup => "; setupTimeout sets the limit",
            Once::Teardown => "; teardownTimeout sets the limit",
            Once::HandleSummary => "",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Once::Setup => "setup",
            Once::Teardown => "teardown",
            Once::HandleSummary => "handleSummary",
        }
    }
}

impl Script {
    /// Call `setup`, if there is one. What it returns is given to every virtual user, and what it counts belongs to the run;
    /// `read` gets that also where it threw.
    ///
    /// # Errors
    /// [`LifecycleError`] when it throws.
    pub fn set_up(
        &self,
        dry_run: DryRun,
        log: &LogSink,
        read: impl FnOnce(&[Tick]),
    ) -> Result<DryRun, LifecycleError> {
        if !self.lifecycle().has_setup {
            return Ok(dry_run);
        }
        let (ticks, called) = self.call_once(Once::Setup, None, &dry_run, log);
        read(&ticks);
        self.was_set_up(called?.json());
        Ok(dry_run.set_up_by(ticks))
    }

    /// Call `teardown`, if there is one: what it has counted, also where it threw, and what became of it.
    pub fn tear_down(&self, dry_run: &DryRun, log: &LogSink) -> (Vec<Tick>, Result<(), LifecycleError>) {
        if !self.lifecycle().has_teardown {
            return (Vec::new(), Ok(()));
        }
        let (ticks, called) = self.call_once(Once::Teardown, None, dry_run, log);
        (ticks, called.map(drop))
    }

    /// Call `handleSummary` with `data`, which has k6's shape ([`crate::summary::handle_summary`]). None where the script does not
    /// export it. What it counts belongs to no run.
    ///
    /// # Errors
    /// [`LifecycleError`] when it throws, or returns something else than texts and bytes by name.
    pub fn handle_summary(
        &self,
        data: &serde_json::Value,
        dry_run: &DryRun,
        log: &LogSink,
    ) -> Result<Option<Vec<SummaryOutput>>, LifecycleError> {
        if !self.lifecycle().has_handle_summary {
            return Ok(None);
        }
        let (_, called) = self.call_once(Once::HandleSummary, Some(data.to_string()), dry_run, log);
        called.map(|returned| Some(returned.outputs()))
    }

    /// Call a function with this JSON, or with what `setup` returned.
    fn call_once(
        &self,
        once: Once,
        argument: Option<String>,
        dry_run: &DryRun,
        log: &LogSink,
    ) -> (Vec<Tick>, Result<Returned, LifecycleError>) {
        let outlet: Outlet = Arc::new(Mutex::new(CallResult::NotEnded));
        let (script, log, into) = (self.clone(), log.clone(), outlet.clone());
        let settings = self.settings();
        let limit = match once {
            Once::Setup => settings.setup_limit,
            Once::Teardown => settings.teardown_limit,
            Once::HandleSummary => SUMMARY_LIMIT,
        };
        let keeping = if once == Once::HandleSummary { Keeping::Outputs } else { Keeping::Json };
        let (ticks, ended) = dry_run.iterate_once(move || {
            let (exec, group) = (once.name().to_owned(), format!("::{}", once.name()));
            let facts = ScriptScenario { exec, group, ..ScriptScenario::default() };
            let users = ScriptUsers::new(&script, facts, log);
            Box::new(OneCall { users, argument, call: Some(SingleCall { outlet: into, keeping, limit }) })
        });
        let called = std::mem::replace(
            &mut *outlet.lock().unwrap_or_else(PoisonError::into_inner),
            CallResult::NotEnded,
        );
        let ended = ended.map_err(LifecycleError::from);
        let result = match called {
            CallResult::Returned(data) => ended.map(|()| Returned::Json(data)),
            CallResult::Outputs(outputs) => ended.map(|()| Returned::Outputs(outputs)),
            CallResult::TimedOut => Err(LifecycleError::TimedOut(once, limit)),
            CallResult::NoJson(exception) if once == Once::Setup => Err(LifecycleError::NoJson(exception)),
            // What `teardown` returns is not used.
            CallResult::NoJson(_) => ended.map(|()| Returned::Json(None)),
            CallResult::Threw(exception) => Err(self.failure(exception).into()),
            CallResult::NotEnded => ended.and(Err(LifecycleError::Interrupted(once))),
        };
        (ticks, result)
    }
}

/// What a function has returned.
enum Returned {
    Json(Option<String>),
    Outputs(Vec<SummaryOutput>),
}

impl Returned {
    fn json(self) -> Option<String> {
        match self {
            Returned::Json(json) => json,
            Returned::Outputs(_) => None,
        }
    }

    fn outputs(self) -> Vec<SummaryOutput> {
        match self {
            Returned::Json(_) => Vec::new(),
            Returned::Outputs(outputs) => outputs,
        }
    }
}

/// Makes the one virtual user of a call.
struct OneCall {
    users: ScriptUsers,
    /// What the function is called with, as JSON; what `setup` returned where that is none.
    argument: Option<String>,
    call: Option<SingleCall>,
}

impl UserMaker for OneCall {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        let call = self.call.take().expect("one virtual user is made");
        match self.users.made(0, self.argument.as_deref()) {
            Ok(iteration) => Box::new(iteration.once(call)),
            Err(error) => self.users.broken(&error),
        }
    }
}
