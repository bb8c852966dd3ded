//! What a script does once: `setup` before the load, `teardown` after it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::iteration::{Iteration, UserMaker};
use engine::{DryRun, EngineError};
use evidence::Tick;

use crate::behaviour::{ScriptScenario, ScriptUsers};
use crate::iteration::{CallResult, Outlet};
use crate::js::Exception;
use crate::script::{LogSink, Script, ScriptError};

/// Why `setup` or `teardown` did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// It threw, or could not be called.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// It took longer than it may.
    #[error("{}() execution timed out after {} seconds; {}Timeout sets the limit", .0.name(), .1.as_secs(), .0.name())]
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
}

impl Once {
    fn name(self) -> &'static str {
        match self {
            Once::Setup => "setup",
            Once::Teardown => "teardown",
        }
    }
}

impl Script {
    /// Call `setup`, if there is one. What it returns is given to every virtual user, and what it counts belongs to the run.
    ///
    /// # Errors
    /// [`LifecycleError`] when it throws.
    pub fn set_up(&self, dry_run: DryRun, log: &LogSink) -> Result<DryRun, LifecycleError> {
        if !self.lifecycle().has_setup {
            return Ok(dry_run);
        }
        let (ticks, called) = self.call_once(Once::Setup, &dry_run, log);
        self.was_set_up(called?);
        Ok(dry_run.set_up_by(ticks))
    }

    /// Call `teardown`, if there is one: what it has counted, also where it threw, and what became of it.
    pub fn tear_down(&self, dry_run: &DryRun, log: &LogSink) -> (Vec<Tick>, Result<(), LifecycleError>) {
        if !self.lifecycle().has_teardown {
            return (Vec::new(), Ok(()));
        }
        let (ticks, called) = self.call_once(Once::Teardown, dry_run, log);
        (ticks, called.map(drop))
    }

    fn call_once(
        &self,
        once: Once,
        dry_run: &DryRun,
        log: &LogSink,
    ) -> (Vec<Tick>, Result<Option<String>, LifecycleError>) {
        let outlet: Outlet = Arc::new(Mutex::new(CallResult::NotEnded));
        let (script, log, into) = (self.clone(), log.clone(), outlet.clone());
        let settings = self.settings();
        let limit = match once {
            Once::Setup => settings.setup_limit,
            Once::Teardown => settings.teardown_limit,
        };
        let (ticks, ended) = dry_run.iterate_once(move || {
            let (exec, group) = (once.name().to_owned(), format!("::{}", once.name()));
            let facts = ScriptScenario { exec, group, ..ScriptScenario::default() };
            Box::new(OneCall { users: ScriptUsers::new(&script, facts, log), into, limit })
        });
        let called = std::mem::replace(
            &mut *outlet.lock().unwrap_or_else(PoisonError::into_inner),
            CallResult::NotEnded,
        );
        let ended = ended.map_err(LifecycleError::from);
        let result = match called {
            CallResult::Returned(data) => ended.map(|()| data),
            CallResult::TimedOut => Err(LifecycleError::TimedOut(once, limit)),
            CallResult::NoJson(exception) if once == Once::Setup => Err(LifecycleError::NoJson(exception)),
            // What `teardown` returns is not used.
            CallResult::NoJson(_) => ended.map(|()| None),
            CallResult::Threw(exception) => Err(self.failure(exception).into()),
            CallResult::NotEnded => ended.and(Err(LifecycleError::Interrupted(once))),
        };
        (ticks, result)
    }
}

/// Makes the one virtual user of a call.
struct OneCall {
    users: ScriptUsers,
    into: Outlet,
    limit: Duration,
}

impl UserMaker for OneCall {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        match self.users.made(0) {
            Ok(iteration) => Box::new(iteration.into(self.into.clone(), self.limit)),
            Err(error) => self.users.broken(&error),
        }
    }
}
