mod compiling;
mod memory;
mod outliving;
mod own_properties;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::fiber::{Fiber, Stacks, Suspender};
use super::*;

/// Modules by name.
struct Modules(Vec<(&'static str, ModuleSource)>);

impl Loader for Modules {
    fn resolve(&self, _from: &str, name: &str) -> Result<String, String> {
        Ok(name.to_owned())
    }

    fn load(&self, name: &str) -> Result<ModuleSource, String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, source)| source.clone()).ok_or_else(|| format!("no module `{name}`"))
    }

    fn run_commonjs<'js>(&self, _name: &str, wrapper: Value<'js>) -> Result<Value<'js>, Thrown> {
        let scope = wrapper.scope();
        let (module, exports) = (scope.object(), scope.object());
        module.set("exports", &exports)?;
        wrapper.call(&exports, &[module.clone(), exports.clone(), scope.undefined()])?;
        module.get("exports")
    }
}

const LIMITS: Limits = Limits { heap_bytes: 64 << 20, stack_bytes: 512 << 10 };

fn runtime(modules: Vec<(&'static str, ModuleSource)>) -> Rc<Runtime> {
    let runtime = Runtime::new(LIMITS).expect("memory for a heap");
    runtime.load_by(Box::new(Modules(modules)));
    runtime
}

fn context(runtime: &Rc<Runtime>) -> Context {
    Context::new(runtime, Language::WHOLE, Box::new(())).expect("memory for a context")
}

/// The value of a script, as text; what it throws, with `!` before it.
fn evaluated(context: &Context, script: &str) -> String {
    context.enter(|scope| evaluated_in(scope, script))
}

fn evaluated_in(scope: Scope<'_>, script: &str) -> String {
    match scope.run(script, "test.js") {
        Ok(value) => value.text().map(|text| text.to_string()).unwrap_or_default(),
        Err(Thrown) => format!("!{}", scope.take_exception().message),
    }
}

type Suspending = Suspender<f64, f64>;

/// What a native function of a test finds in its context: how to suspend its fiber.
#[derive(Default)]
struct Suspendable(RefCell<Option<Suspending>>);

impl Shared for Suspendable {
    const CLASS: &'static std::ffi::CStr = c"Suspendable";
}

/// A context with `wait(x)`, which suspends its fiber with a number and returns the one that it is resumed with; a number below
/// zero ends the script.
fn waiting(runtime: &Rc<Runtime>) -> Context {
    let context = Context::new(runtime, Language::WHOLE, Box::new(Suspendable::default()))
        .expect("memory for a context");
    context.enter(|scope| {
        let wait = scope.function("wait", 1, |call| {
            let scope = call.scope();
            let out = call.argument(0).as_number()?;
            let suspendable = scope.data::<Suspendable>().expect("the data of the context");
            let suspender = suspendable.0.borrow().clone().expect("on a fiber");
            match suspender.suspend(out) {
                ended if ended < 0.0 => Err(scope.throw_uncatchable("cancelled")),
                resumed => Ok(scope.number(resumed)),
            }
        });
        scope.globals().set("wait", &wait).unwrap();
    });
    context
}

/// A fiber that runs a script in a context and puts its value into `result`.
fn running(
    context: &Rc<Context>,
    stacks: &Stacks,
    script: &'static str,
) -> (Fiber<f64, f64>, Rc<RefCell<String>>) {
    let result = Rc::new(RefCell::new(String::new()));
    let (inner, written) = (context.clone(), result.clone());
    let fiber = Fiber::new(context.runtime(), stacks.take().unwrap(), move |suspender, _| {
        let (mut value, jobs) = inner.enter(|scope| {
            let suspendable = scope.data::<Suspendable>().expect("the data of the context");
            *suspendable.0.borrow_mut() = Some(suspender.clone());
            let value = evaluated_in(scope, script);
            let mut jobs = 0;
            while scope.run_job().unwrap_or(false) {
                jobs += 1;
            }
            (value, jobs)
        });
        if jobs > 0 {
            value.push_str(&format!(" after {jobs} jobs"));
        }
        *written.borrow_mut() = value;
    });
    (fiber, result)
}

#[test]
fn values_are_made_read_and_called() {
    let runtime = runtime(Vec::new());
    let context = context(&runtime);
    context.enter(|scope| {
        let object = scope.object();
        object.set("text", &scope.string("a\u{1f600}")).unwrap();
        object.set("number", &scope.number(1.5)).unwrap();
        let array = scope.array();
        array.put(0, scope.boolean(true)).unwrap();
        array.put(1, scope.null()).unwrap();
        object.set("array", &array).unwrap();
        assert_eq!(object.json().unwrap().unwrap(), r#"{"text":"a😀","number":1.5,"array":[true,null]}"#);
        assert_eq!(object.keys().unwrap(), ["text", "number", "array"]);
        let back = scope.parse_json(r#"{"a":[1,2]}"#, "data.json").unwrap();
        assert_eq!(back.get("a").unwrap().length().unwrap(), 2);
        let twice = scope.function("twice", 1, |call| {
            let number = call.argument(0).as_number()?;
            Ok(call.scope().number(2.0 * number))
        });
        let result = twice.call(&scope.undefined(), &[scope.number(21.0)]).unwrap();
        assert_eq!(result.as_number().unwrap(), 42.0);
        assert!(twice.call(&scope.undefined(), &[scope.object()]).unwrap().as_number().unwrap().is_nan());
        let bytes = scope.run("new Uint8Array([1, 2, 3, 4]).subarray(1, 3)", "bytes.js").unwrap();
        assert_eq!(bytes.bytes().unwrap(), [2, 3]);
        assert_eq!(scope.array_buffer(b"xyz").bytes().unwrap(), b"xyz");
        assert!(scope.number(1.0).bytes().is_none());
    });
}

#[test]
fn an_exception_has_its_message_and_its_places() {
    let runtime = runtime(Vec::new());
    let context = context(&runtime);
    context.enter(|scope| {
        let Err(Thrown) = scope.run("function f() {\n  undefined.x;\n}\nf();", "place.js") else { panic!() };
        let exception = scope.take_exception();
        assert!(exception.message.starts_with("TypeError: "), "{exception:?}");
        assert!(exception.stack.contains("f (place.js:2"), "{exception:?}");
        let Err(Thrown) = scope.run("throw { toString() { throw 1; } }", "odd.js") else { panic!() };
        assert_eq!(scope.take_exception(), Exception { message: String::new(), stack: String::new() });
        let long = "x".repeat(1_000);
        scope.throw(&long);
        assert_eq!(scope.take_exception().message, format!("Error: {long}"));
    });
}

#[test]
fn a_script_cannot_catch_what_ends_it() {
    let runtime = runtime(Vec::new());
    let context = context(&runtime);
    context.enter(|scope| {
        let end = scope.function("end", 0, |call| Err(call.scope().throw_uncatchable("over")));
        scope.globals().set("end", &end).unwrap();
        let Err(Thrown) = scope.run("try { end(); } catch (e) { 'caught' } finally { 'too' }", "x.js") else {
            panic!()
        };
        assert_eq!(scope.take_exception().message, "Error: over");
    });
}

struct Counted(Rc<Cell<u32>>);

impl Shared for Counted {
    const CLASS: &'static std::ffi::CStr = c"Counted";
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn an_object_holds_a_value_until_it_is_collected() {
    let dropped = Rc::new(Cell::new(0));
    let runtime = runtime(Vec::new());
    let context = context(&runtime);
    context.enter(|scope| {
        let prototype = scope.object();
        let count = scope.function("count", 0, |call| {
            let held = call.this().held::<Counted>();
            held.map(|held| call.scope().number(held.0.get().into()))
                .ok_or_else(|| call.scope().throw_type_error("no Counted"))
        });
        prototype.set("count", &count).unwrap();
        scope.set_class_prototype::<Counted>(prototype).unwrap();
        let object = scope.hold(Rc::new(Counted(dropped.clone()))).unwrap();
        scope.globals().set("held", &object).unwrap();
        assert!(object.held::<Suspendable>().is_none() && scope.object().held::<Counted>().is_none());
        assert!(scope.run("new Map()", "map.js").unwrap().held::<Counted>().is_none());
    });
    assert_eq!(evaluated(&context, "held.count()"), "0");
    assert_eq!(evaluated(&context, "held.count.call(new Date())"), "!TypeError: no Counted");
    assert_eq!(evaluated(&context, "held = { self: held }; held.cycle = held; held = undefined; 1"), "1");
    runtime.collect();
    assert_eq!(dropped.get(), 1);
}

#[test]
fn modules_are_compiled_once_and_loaded_in_each_context() {
    let native: ModuleExports = |scope| {
        let exports = scope.object();
        exports.set("seven", &scope.number(7.0))?;
        Ok(exports)
    };
    let compiling = runtime(Vec::new());
    let library = context(&compiling)
        .enter(|scope| {
            scope.compile("library", "export let n = 0; export function next() { n += 1; return n; }")
        })
        .unwrap();
    let main = "import { next, n } from 'library'; import native, { seven } from 'native';
        next(); export const sum = seven + native.seven + next(); export { n }; export default function () {}";
    let modules = vec![
        ("library", ModuleSource::Bytecode(library)),
        ("native", ModuleSource::Native(native)),
        ("main", ModuleSource::Text(main.into())),
    ];
    let runtime = runtime(modules);
    for context in [context(&runtime), context(&runtime)] {
        context.enter(|scope| {
            let main = scope.import("main").unwrap();
            assert_eq!(main.get("sum").unwrap().as_number().unwrap(), 16.0);
            assert_eq!(main.get("n").unwrap().as_number().unwrap(), 2.0);
            assert!(main.get("default").unwrap().is_function());
            let Err(Thrown) = scope.import("other") else { panic!() };
            assert_eq!(scope.take_exception().message, "Error: no module `other`");
        });
    }
}

#[test]
fn an_import_that_throws_is_an_exception() {
    let main = "import 'missing';";
    let thrower = "\nthrow new Error('at the beginning');";
    let awaiting = "await Promise.resolve(1); throw new Error('after waiting');";
    let modules = [("main", main), ("thrower", thrower), ("awaiting", awaiting), ("wrong", "let = ;")];
    let runtime = runtime(modules.map(|(name, text)| (name, ModuleSource::Text(text.into()))).to_vec());
    for (name, message) in [
        ("main", "Error: no module `missing`"),
        ("thrower", "Error: at the beginning"),
        ("awaiting", "Error: after waiting"),
    ] {
        context(&runtime).enter(|scope| {
            let Err(Thrown) = scope.import(name) else { panic!("{name}") };
            assert_eq!(scope.take_exception().message, message);
        });
    }
    context(&runtime).enter(|scope| {
        let Err(Thrown) = scope.import("wrong") else { panic!() };
        let exception = scope.take_exception();
        assert!(
            exception.message.starts_with("SyntaxError: ") && exception.stack.contains("wrong:1"),
            "{exception:?}"
        );
    });
}

const INTERLEAVED: &str = "
    (function () {
        const depth = (n) => (n === 0 ? wait(1) : depth(n - 1) + 0);
        let sum = 0;
        for (let i = 0; i < 20; i++) {
            sum += [3, 1, 2].map((x) => depth(x * 10)).sort((a, b) => (wait(0), a - b)).length;
            try { depth(5); null.x; } catch (e) { sum += e.stack.split('\\n').length > 0 ? 1 : 0; }
            const garbage = { i }; garbage.self = garbage;
            Promise.resolve(i).then((x) => { sum += wait(2) * 0 + x; });
        }
        return sum;
    })()";

#[test]
fn interleaved_fibers_keep_their_frames_exceptions_and_jobs_apart() {
    let runtime = runtime(Vec::new());
    let stacks = Stacks::default();
    let contexts: Vec<Rc<Context>> = (0..16).map(|_| Rc::new(waiting(&runtime))).collect();
    for _round in 0..3 {
        let mut fibers: Vec<_> =
            contexts.iter().map(|context| running(context, &stacks, INTERLEAVED)).collect();
        let mut turn = 0_usize;
        while fibers.iter().any(|(fiber, _)| !fiber.is_done()) {
            for (number, (fiber, _)) in fibers.iter_mut().enumerate() {
                // Not in the same order every time.
                if !fiber.is_done() && !(turn + number).is_multiple_of(3) {
                    fiber.resume(1.0);
                }
            }
            turn += 1;
            if turn.is_multiple_of(16) {
                runtime.collect();
            }
        }
        for (fiber, result) in fibers {
            assert_eq!(*result.borrow(), "80 after 20 jobs");
            fiber.recycle(&stacks);
        }
    }
}

#[test]
fn a_fiber_is_ended_by_what_its_script_cannot_catch() {
    let runtime = runtime(Vec::new());
    let stacks = Stacks::default();
    let context = Rc::new(waiting(&runtime));
    let script = "try { [1].forEach(() => wait(7)); } catch (e) { 'caught' } finally { wait(8); }";
    let (mut fiber, result) = running(&context, &stacks, script);
    assert_eq!(fiber.resume(0.0), Some(7.0));
    assert_eq!(fiber.resume(-1.0), None);
    assert_eq!((fiber.is_done(), result.borrow().as_str()), (true, "!Error: cancelled"));
    fiber.recycle(&stacks);
    assert_eq!(evaluated(&context, "1 + 1"), "2");
}

#[test]
fn recursion_ends_at_the_end_of_the_stack() {
    let runtime = runtime(Vec::new());
    let stacks = Stacks::default();
    let context = Rc::new(waiting(&runtime));
    let script =
        "let n = 0; function deep() { n++; deep(); } try { deep(); } catch (e) { `${e} ${n > 100}` }";
    let (mut fiber, result) = running(&context, &stacks, script);
    assert_eq!(fiber.resume(0.0), None);
    assert_eq!(*result.borrow(), "RangeError: Maximum call stack size exceeded true");
    fiber.recycle(&stacks);
}

/// Where something on the stack is that runs this.
fn stack_address() -> usize {
    let here = 0_u8;
    std::hint::black_box(&raw const here).addr()
}

#[test]
fn what_needs_much_stack_runs_on_that_of_the_thread() {
    const NEAR: usize = 256 << 10;
    let (runtime, stacks) = (runtime(Vec::new()), Stacks::default());
    let (outside, finished) = (stack_address(), Rc::new(Cell::new(0)));
    let counted = finished.clone();
    let mut fiber = Fiber::new(&runtime, stacks.take().unwrap(), move |suspender, _: f64| {
        for round in 0..3 {
            let on_thread = suspender.on_thread_stack(stack_address);
            assert!(stack_address().abs_diff(outside) > NEAR && on_thread.abs_diff(outside) < NEAR);
            counted.set(round + 1);
            suspender.suspend(0.0);
        }
    });
    for round in 1..=3 {
        assert_eq!(fiber.resume(0.0), Some(0.0));
        assert_eq!(finished.get(), round);
    }
    assert_eq!(fiber.resume(0.0), None);
    fiber.recycle(&stacks);
}

#[test]
fn a_loop_without_end_is_suspended_and_then_ended() {
    let runtime = runtime(Vec::new());
    let stacks = Stacks::default();
    let context = Rc::new(waiting(&runtime));
    let current = context.clone();
    runtime.on_slice(move || {
        let suspender =
            current.enter(|scope| scope.data::<Suspendable>().and_then(|it| it.0.borrow().clone()));
        let resumed = suspender.map_or(-1.0, |suspender| suspender.suspend(3.0));
        if resumed < 0.0 { Slice::End } else { Slice::Continue }
    });
    let (mut fiber, result) = running(&context, &stacks, "try { for (;;) {} } catch (e) { 'caught' }");
    for _turn in 0..3 {
        assert_eq!(fiber.resume(1.0), Some(3.0));
    }
    assert_eq!(fiber.resume(-1.0), None);
    assert_eq!(*result.borrow(), "!InternalError: interrupted");
    fiber.recycle(&stacks);
    runtime.on_slice(|| Slice::Continue);
}

#[test]
fn a_heap_that_is_full_throws() {
    let runtime = runtime(Vec::new());
    let context = context(&runtime);
    let result =
        evaluated(&context, "let s = 'x'; try { for (;;) s = s + s + 'y'; } catch (e) { String(e) }");
    assert!(result.contains("out of memory") || result.contains("string too long"), "{result}");
    let result = evaluated(
        &context,
        "const all = []; try { for (;;) all.push(new Array(1000).fill(1)); } catch (e) { all.length = 0; String(e) }",
    );
    // Where there is no space for the error either, null is thrown.
    assert!(result.contains("out of memory") || result == "null", "{result}");
    assert_eq!(evaluated(&context, "1 + 1"), "2");
}

#[test]
fn a_promise_is_resolved_from_outside() {
    let runtime = runtime(Vec::new());
    let context = context(&runtime);
    context.enter(|scope| {
        let (promise, resolver) = scope.promise().unwrap();
        scope.globals().set("promise", &promise).unwrap();
        assert!(matches!(promise.promise_state(), PromiseState::Pending));
        let waits = scope.run("(async () => (await promise) + 1)()", "async.js").unwrap();
        resolver.fulfil(scope.number(1.0)).unwrap();
        while scope.run_job().unwrap() {}
        let PromiseState::Fulfilled(value) = waits.promise_state() else { panic!() };
        assert_eq!(value.as_number().unwrap(), 2.0);
        let (promise, resolver) = scope.promise().unwrap();
        resolver.reject(scope.string("no")).unwrap();
        assert!(
            matches!(promise.promise_state(), PromiseState::Rejected(why) if &*why.text().unwrap() == "no")
        );
        assert!(matches!(scope.number(1.0).promise_state(), PromiseState::NoPromise));
    });
}
