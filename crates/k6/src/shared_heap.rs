//! What happens in a heap that virtual users share, in any order, as bytes say it: for tests with hostile orders.

mod scripts;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use self::scripts::{MODULES, SCRIPTS};
use crate::js::fiber::{Fiber, Stacks, Suspender};
use crate::js::{
    Call, Context, Kept, Language, Limits, Loader, ModuleSource, Runtime, Shared, Slice, Thrown, Value,
};

/// Contexts that there may be at once.
const SLOTS: usize = 4;
/// How often a script may run for a while before it is ended.
const MOST_SLICES: u32 = 3;
/// Under a sanitizer a step takes milliseconds, and a case ten seconds at most.
const MOST_STEPS: usize = 400;
/// Promise jobs that run in one step.
const MOST_JOBS: u32 = 200;

/// How a fiber goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resumed {
    GoOn,
    Cancelled,
}

/// What native functions find in a context, and objects hold.
#[derive(Default)]
struct Own {
    suspender: RefCell<Option<Suspender<Resumed, ()>>>,
    is_on_fiber: Cell<bool>,
    is_cancelled: Cell<bool>,
    slices: Cell<u32>,
    /// Nothing may find it so.
    was_freed: Cell<bool>,
}

impl Shared for Own {
    const CLASS: &'static std::ffi::CStr = c"Own";
}

impl Drop for Own {
    fn drop(&mut self) {
        self.was_freed.set(true);
    }
}

impl Own {
    fn of<'js>(call: &Call<'js, '_>) -> Result<&'js Rc<Own>, Thrown> {
        let scope = call.scope();
        let own = scope.data::<Rc<Own>>().ok_or_else(|| scope.throw("the data are gone"))?;
        assert!(!own.was_freed.get(), "a script finds data that were freed");
        Ok(own)
    }

    /// Suspend the fiber; whether it goes on.
    fn wait(&self) -> bool {
        let suspender = self.suspender.borrow().clone();
        if let (true, false, Some(suspender)) = (self.is_on_fiber.get(), self.is_cancelled.get(), suspender) {
            self.is_cancelled.set(suspender.suspend(()) == Resumed::Cancelled);
        }
        !self.is_cancelled.get()
    }
}

/// The modules that scripts import.
struct Modules;

impl Loader for Modules {
    fn resolve(&self, _from: &str, name: &str) -> Result<String, String> {
        Ok(name.to_owned())
    }

    fn load(&self, name: &str) -> Result<ModuleSource, String> {
        let found = MODULES.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| ModuleSource::Text((*text).into())).ok_or_else(|| format!("no module `{name}`"))
    }

    fn run_commonjs<'js>(&self, _name: &str, wrapper: Value<'js>) -> Result<Value<'js>, Thrown> {
        let scope = wrapper.scope();
        let (module, exports) = (scope.object(), scope.object());
        module.set("exports", &exports)?;
        let require = scope.globals().get("require")?;
        wrapper.call(&exports, &[module.clone(), exports.clone(), require])?;
        module.get("exports")
    }
}

/// A context with what else belongs to a virtual user.
struct User {
    kept: Vec<Kept>,
    fiber: Option<Fiber<Resumed, ()>>,
    context: Rc<Context>,
    own: Rc<Own>,
}

impl User {
    fn new(runtime: &Rc<Runtime>, language: Language) -> Option<User> {
        let own = Rc::new(Own::default());
        let context = Rc::new(Context::new(runtime, language, Box::new(own.clone()))?);
        // Where the heap is full, the scripts find fewer of these.
        let _ = context.enter(|scope| {
            let globals = scope.globals();
            globals.set(
                "abort",
                &scope.function("abort", 0, |call| {
                    Own::of(call)?;
                    Err(call.scope().throw_uncatchable("aborted"))
                }),
            )?;
            globals.set(
                "wait",
                &scope.function("wait", 0, |call| match Own::of(call)?.wait() {
                    true => Ok(call.scope().undefined()),
                    false => Err(call.scope().throw_uncatchable("cancelled")),
                }),
            )?;
            globals.set(
                "bytes",
                &scope.function("bytes", 0, |call| {
                    Own::of(call)?;
                    Ok(call.scope().array_buffer(&[7; 300]))
                }),
            )?;
            globals
                .set("hold", &scope.function("hold", 0, |call| call.scope().hold(Own::of(call)?.clone())))?;
            globals.set(
                "note",
                &scope.function("note", 1, |call| {
                    Own::of(call)?;
                    if let Some(held) = call.argument(0).held::<Own>() {
                        assert!(!held.was_freed.get(), "an object holds what was freed");
                    }
                    drop(call.argument(0).bytes());
                    Ok(call.scope().number(call.argument(0).text()?.len() as f64))
                }),
            )?;
            globals.set(
                "require",
                &scope.function("require", 1, |call| call.scope().required(&call.argument(0).text()?)),
            )
        });
        Some(User { kept: Vec::new(), fiber: None, context, own })
    }

    /// Run a script, and what follows from it, outside a fiber.
    fn run(&mut self, script: &str) {
        self.own.slices.set(0);
        let kept = self.context.enter(|scope| {
            let value = scope.run(script, "script");
            let kept = value.map(|value| value.keep());
            drop(scope.take_thrown());
            kept.ok()
        });
        self.kept.extend(kept);
    }

    fn import(&mut self, name: &str) {
        self.own.slices.set(0);
        self.context.enter(|scope| {
            if let Err(Thrown) = scope.import(name) {
                drop(scope.take_exception());
            }
        });
    }

    /// Call the function that was kept last.
    fn call(&mut self, is_freed: bool) {
        self.own.slices.set(0);
        let Some(kept) = self.kept.pop() else { return };
        self.context.enter(|scope| {
            let function = scope.kept(&kept);
            if function.call(&scope.undefined(), &[]).is_err() {
                drop(scope.take_exception());
            }
            for _job in 0..MOST_JOBS {
                match scope.run_job() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(Thrown) => drop(scope.take_thrown()),
                }
            }
        });
        if !is_freed {
            self.kept.push(kept);
        }
    }

    fn begin(&mut self, runtime: &Rc<Runtime>, stacks: &Stacks, script: &'static str) {
        let (None, Ok(stack)) = (&self.fiber, stacks.take()) else { return };
        let (context, own) = (self.context.clone(), self.own.clone());
        own.is_cancelled.set(false);
        self.fiber = Some(Fiber::new(runtime, stack, move |suspender, first| {
            *own.suspender.borrow_mut() = Some(suspender.clone());
            own.is_cancelled.set(first == Resumed::Cancelled);
            context.enter(|scope| {
                if scope.run(script, "fiber").is_err() {
                    drop(scope.take_exception());
                }
                for _job in 0..MOST_JOBS {
                    match scope.run_job() {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(Thrown) => drop(scope.take_thrown()),
                    }
                }
            });
            *own.suspender.borrow_mut() = None;
        }));
    }

    fn resume(&mut self, stacks: &Stacks, with: Resumed) {
        let Some(mut fiber) = self.fiber.take() else { return };
        self.own.slices.set(0);
        self.own.is_on_fiber.set(true);
        fiber.resume(with);
        while with == Resumed::Cancelled && !fiber.is_done() {
            fiber.resume(with);
        }
        self.own.is_on_fiber.set(false);
        match fiber.is_done() {
            true => fiber.recycle(stacks),
            false => self.fiber = Some(fiber),
        }
    }
}

/// Do what the bytes say with contexts of one small heap; whether they say anything. The first byte says how small. Each step is
/// a letter and a byte that says which one.
///
/// # Panics
/// Where a script finds data that were freed. Other findings are those of a sanitizer.
pub fn exercise(bytes: &[u8]) -> bool {
    let Some((size, steps)) = bytes.split_first() else { return false };
    let limits = Limits { heap_bytes: (usize::from(*size) + 1) << 14, stack_bytes: 128 << 10 };
    let Ok(runtime) = Runtime::new(limits) else { return false };
    runtime.load_by(Box::new(Modules));
    let current: Rc<RefCell<Option<Rc<Own>>>> = Rc::default();
    let running = current.clone();
    runtime.on_slice(move || {
        let own = running.borrow().clone();
        let goes_on = own.is_some_and(|own| {
            own.slices.set(own.slices.get() + 1);
            own.slices.get() < MOST_SLICES && own.wait()
        });
        if goes_on { Slice::Continue } else { Slice::End }
    });
    let stacks = Stacks::default();
    let mut users: [Option<User>; SLOTS] = Default::default();
    let (mut at, mut count) = (0, 0_u32);
    for step in steps.chunks_exact(2).take(MOST_STEPS) {
        let which = usize::from(step[1]);
        count += 1;
        match (step[0], &mut users[at]) {
            (b'a', _) => at = which % SLOTS,
            (b'g', _) => runtime.collect(),
            (b'n', slot @ None) => {
                let language =
                    if which % 2 == 0 { Language::WHOLE } else { Language::of_texts([""].into_iter()) };
                *slot = User::new(&runtime, language);
            }
            (action, Some(user)) => {
                *current.borrow_mut() = Some(user.own.clone());
                match action {
                    b'e' => user.run(SCRIPTS[which % SCRIPTS.len()]),
                    b'i' => user.import(MODULES[which % MODULES.len()].0),
                    b'k' => user.call(which % 2 == 0),
                    b'f' => user.begin(&runtime, &stacks, SCRIPTS[which % SCRIPTS.len()]),
                    b'r' => user.resume(&stacks, Resumed::GoOn),
                    b'c' => user.resume(&stacks, Resumed::Cancelled),
                    b'd' => {
                        user.resume(&stacks, Resumed::Cancelled);
                        let kept = std::mem::take(&mut user.kept);
                        users[at] = None;
                        drop(kept);
                    }
                    _ => count -= 1,
                }
            }
            _ => count -= 1,
        }
        *current.borrow_mut() = None;
    }
    for user in users.iter_mut().flatten() {
        *current.borrow_mut() = Some(user.own.clone());
        user.resume(&stacks, Resumed::Cancelled);
    }
    count > 0
}
