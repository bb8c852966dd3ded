//! Nothing of a context outlives its Rust data.

use super::*;

/// A context with `count()`, which adds one to its number.
fn with_count(runtime: &Rc<Runtime>, count: &Rc<Cell<u32>>) -> Context {
    let context = Context::new(runtime, Language::WHOLE, Box::new(count.clone())).expect("memory");
    context.enter(|scope| {
        let count = scope.function("count", 0, |call| {
            let scope = call.scope();
            let count = scope.data::<Rc<Cell<u32>>>().ok_or_else(|| scope.throw("no data"))?;
            count.set(count.get() + 1);
            Ok(scope.number(count.get().into()))
        });
        scope.globals().set("count", &count).unwrap();
    });
    context
}

#[test]
fn jobs_of_a_context_do_not_run_in_another() {
    let runtime = runtime(Vec::new());
    let counts = [Rc::new(Cell::new(0)), Rc::new(Cell::new(0))];
    let [dropped, other] = [&counts[0], &counts[1]].map(|count| with_count(&runtime, count));
    let script = "for (let i = 0; i < 3; i++) Promise.resolve().then(count); count()";
    assert_eq!(evaluated(&dropped, script), "1");
    drop(dropped);
    assert_eq!(Rc::strong_count(&counts[0]), 1, "the data of the context are freed");
    other.enter(|scope| assert!(!scope.run_job().unwrap(), "a job was left"));
    assert_eq!(evaluated(&other, "count()"), "1");
    assert_eq!(counts[0].get(), 1);
}

#[test]
fn jobs_that_follow_what_cannot_be_caught_do_not_run_later() {
    let runtime = runtime(vec![(
        "main",
        ModuleSource::Text(
            "\nPromise.resolve().then(end).then(count); Promise.resolve().then(count);".into(),
        ),
    )]);
    let count = Rc::new(Cell::new(0));
    let context = with_count(&runtime, &count);
    context.enter(|scope| {
        let end = scope.function("end", 0, |call| Err(call.scope().throw_uncatchable("over")));
        scope.globals().set("end", &end).unwrap();
        let Err(Thrown) = scope.import("main") else { panic!("it ends") };
        assert_eq!(scope.take_exception().message, "Error: over");
    });
    drop(context);
    let context = with_count(&runtime, &Rc::default());
    context.enter(|scope| while scope.run_job().unwrap() {});
    assert_eq!(count.get(), 0);
}

#[test]
fn jobs_inside_an_entered_context_are_its_own() {
    let runtime = runtime(Vec::new());
    let counts = [Rc::new(Cell::new(0)), Rc::new(Cell::new(0))];
    let [outer, inner] = [&counts[0], &counts[1]].map(|count| with_count(&runtime, count));
    outer.enter(|scope| {
        scope.run("Promise.resolve().then(count)", "outer.js").unwrap();
        assert_eq!(evaluated(&inner, "Promise.resolve().then(count); 2"), "2");
        while scope.run_job().unwrap() {}
    });
    assert_eq!(counts.map(|count| count.get()), [1, 0]);
}

#[test]
fn what_was_thrown_or_rejected_last_is_freed_when_the_context_is_left() {
    let runtime = runtime(Vec::new());
    let dropped = Rc::new(Cell::new(0));
    let context = context(&runtime);
    for script in ["throw held", "Promise.reject(held); 1"] {
        context.enter(|scope| {
            let held = scope.hold(Rc::new(Counted(dropped.clone()))).unwrap();
            scope.globals().set("held", &held).unwrap();
            let thrown = scope.run(script, "last.js").is_err();
            assert_eq!(thrown, script.starts_with("throw"));
            scope.run("held = undefined", "last.js").unwrap();
        });
    }
    assert_eq!(dropped.get(), 2);
}

#[test]
fn what_is_kept_of_a_dropped_context_finds_no_data() {
    let runtime = runtime(Vec::new());
    let count = Rc::new(Cell::new(0));
    let dropped = with_count(&runtime, &count);
    let (kept, raw) = dropped.enter(|scope| {
        let function = scope.globals().get("count").unwrap();
        (function.keep(), function.raw())
    });
    drop(dropped);
    context(&runtime).enter(|scope| {
        // SAFETY: the value is kept, and of this runtime. No caller outside can use it here.
        let function = unsafe { Value::borrowed(scope, raw) };
        let Err(Thrown) = function.call(&scope.undefined(), &[]) else { panic!("there are no data") };
        assert_eq!(scope.take_exception().message, "Error: no data");
    });
    drop(kept);
    assert_eq!(count.get(), 0);
}

#[test]
#[should_panic(expected = "a kept value is used in its own context")]
fn a_kept_value_is_not_used_in_another_context() {
    let runtime = runtime(Vec::new());
    let kept = context(&runtime).enter(|scope| scope.object().keep());
    context(&runtime).enter(|scope| drop(scope.kept(&kept)));
}

#[test]
fn a_module_that_waits_is_not_freed_while_something_refers_to_it() {
    let waiting = [
        ("never", "\nawait new Promise(() => {});", false),
        ("reachable", "\nawait new Promise((resolve) => { globalThis.go = resolve; });", true),
        ("in time", "\nawait new Promise((resolve) => { resolve(); });", false),
        ("indirect", "\nimport 'reachable';", true),
        ("later", "\nimport('reachable');", true),
        ("synchronous", "\nexport default 1;", false),
    ];
    for (name, _, is_leaked) in waiting {
        let modules = waiting.map(|(name, text, _)| (name, ModuleSource::Text(text.into())));
        let runtime = runtime(modules.to_vec());
        let other = context(&runtime);
        context(&runtime).enter(|scope| drop(scope.import(name).unwrap()));
        assert_eq!(runtime.is_leaked(), is_leaked, "{name}");
        runtime.collect();
        assert_eq!(evaluated(&other, "1 + 1"), "2");
    }
}

#[test]
fn a_module_that_imports_one_that_was_freed_is_not_loaded() {
    // `second` is loaded for `first`, and imports it.
    let modules = [
        (
            "main",
            "\nfor (const name of ['first', 'second', 'outside', 'first', 'good']) await import(name).then(() => { globalThis.found += name; }, (e) => { globalThis.said += `${e.message};`; });",
        ),
        ("first", "\nimport 'second'; import 'good'; import 'missing';"),
        ("second", "\nimport 'first'; export const x = 1;"),
        ("outside", "\nimport 'second';"),
        ("good", "\nexport const y = 1;"),
    ];
    let runtime = runtime(modules.map(|(name, text)| (name, ModuleSource::Text(text.into()))).to_vec());
    let context = context(&runtime);
    assert_eq!(evaluated(&context, "globalThis.said = ''; globalThis.found = ''; 1"), "1");
    context.enter(|scope| drop(scope.import("main").unwrap()));
    let broken = "`second` imports a module that cannot be loaded;";
    assert_eq!(evaluated(&context, "said"), format!("no module `missing`;{broken}{broken}{broken}"));
    assert_eq!(evaluated(&context, "found"), "good");
}

/// What a context without typed arrays throws when it is given bytes after this script, twice, and whether a getter ran.
fn given_bytes(script: &str) -> String {
    let runtime = runtime(Vec::new());
    let context = Context::new(&runtime, Language::of_texts([""].into_iter()), Box::new(())).expect("memory");
    context.enter(|scope| {
        let bytes = scope.function("bytes", 0, |call| Ok(call.scope().array_buffer(b"xyz")));
        scope.globals().set("bytes", &bytes).unwrap();
    });
    assert_eq!(evaluated(&context, &format!("var ran = 0; {script}; 1")), "1");
    let twice = "(() => { try { bytes(); return `${bytes().byteLength} ${ran}`; } catch (e) { return `${e} ${ran}`; } })()";
    evaluated(&context, twice)
}

#[test]
fn a_script_does_not_decide_about_typed_arrays() {
    assert_eq!(given_bytes(""), "3 0");
    assert_eq!(given_bytes("globalThis.ArrayBuffer = undefined"), "3 0");
    assert_eq!(given_bytes("globalThis.ArrayBuffer = {}"), "3 0");
    let getter = |of: &str, name: &str| {
        format!(
            "Object.defineProperty({of}, '{name}', {{ configurable: true, get() {{ ran++; return 1; }} }})"
        )
    };
    assert_eq!(given_bytes(&getter("globalThis", "ArrayBuffer")), "3 0");
    let refused = "TypeError: a script that replaces globals must name ArrayBuffer to have one 0";
    assert_eq!(given_bytes(&getter("globalThis", "Uint8Array")), refused);
    assert_eq!(given_bytes(&getter("Array.prototype", "toString")), refused);
    assert_eq!(given_bytes("delete Array.prototype.toString"), refused);
    assert_eq!(given_bytes("Object.freeze(globalThis)"), refused);
}
