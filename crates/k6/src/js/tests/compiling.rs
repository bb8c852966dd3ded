//! What is compiled where the heap has no space for it, in every way that there is.

use super::*;

/// Bytes of a heap that is large enough for most.
const LIMIT: usize = 8 << 20;

/// Each `$n` of a text, `count` times.
fn repeated(text: &str, count: usize) -> String {
    (0..count).map(|number| text.replace("$n", &number.to_string())).collect()
}

/// Statements of all sorts that compile to more than they are, and do nothing.
fn statements(count: usize) -> String {
    repeated(
        "function f$n(a, {b = [1,,2], ...c}) { for (const d of b) { a ??= `x${d}y${a}`; } return /(a|b$n)+?[^c-d]/giu.test(a); }
         class C$n { #p = $n; static { this.q = 'q$n'; } get p() { return this.#p; } async *m() { yield* [await 1]; } }
         var o$n = { a$n: 1.5, ['k' + $n]: () => () => o$n?.a$n, __proto__: null }; l$n: { break l$n; }
         try { switch ($n) { case -1: throw String.raw`r${$n}`; default: } } catch ({ message }) { message; } finally { ; }\n",
        count,
    )
}

/// Has the script end when it was asked more often than so whether it goes on; how often it was.
fn end_after(runtime: &Runtime, most: u32) -> Rc<Cell<u32>> {
    let slices = Rc::new(Cell::new(0));
    let counted = slices.clone();
    runtime.on_slice(move || {
        counted.set(counted.get() + 1);
        if counted.get() > most { Slice::End } else { Slice::Continue }
    });
    slices
}

/// A way to compile the global `text`, after which the value is 7.
const WAYS: [(&str, &str); 8] = [
    ("eval", "(0, eval)(text + '; 7')"),
    ("direct eval", "(function (own) { const other = 3; return eval(text + '; own + other'); })(4)"),
    ("direct eval, strict", "(() => { 'use strict'; let own = 7; return eval(text + '; own'); })()"),
    ("Function", "new Function('a', text + '; return a')(7)"),
    ("Function, uncalled", "new Function(text).length + 7"),
    (
        "GeneratorFunction",
        "Object.getPrototypeOf(function* () {}).constructor(text + '; yield 7')().next().value",
    ),
    ("AsyncFunction", "Object.getPrototypeOf(async () => {}).constructor(text), 7"),
    (
        "AsyncGeneratorFunction",
        "const { constructor } = Object.getPrototypeOf(async function* () {}); constructor(text), 7",
    ),
];

/// What one way comes to in a heap of this size, beside what the context takes. And how much it took while it compiled.
fn compiled(script: &str, text: &str, heap_bytes: usize) -> (String, usize) {
    let runtime = Runtime::new(Limits { heap_bytes, ..LIMITS }).expect("memory for a heap");
    runtime.load_by(Box::new(Modules(vec![
        ("big", ModuleSource::Text(format!("{text}; export const seven = 7;").into())),
        ("common", ModuleSource::Text(format!("{text}; exports.seven = 7;").into())),
        ("imports", ModuleSource::Text("import { seven } from 'common'; export { seven };".into())),
    ])));
    let context = context(&runtime);
    let result = context.enter(|scope| {
        runtime.without_limit(|| scope.globals().set("text", &scope.string(text))).unwrap();
        let value = scope.run(script, "test.js").and_then(|value| {
            while scope.run_job()? {}
            let value = match value.promise_state() {
                PromiseState::Fulfilled(value) => value,
                PromiseState::Rejected(reason) => return Err(scope.throw_value(reason)),
                // There was no space for settling it.
                PromiseState::Pending => return Ok("!".to_owned()),
                PromiseState::NoPromise => value,
            };
            Ok(value.text()?.to_string())
        });
        value.unwrap_or_else(|Thrown| format!("!{}", scope.take_exception().message))
    });
    (result, runtime.limit().most_bytes.get())
}

/// Compile it in heaps of every size, of which some have too little space.
fn compile_in_every_heap(name: &str, script: &str) {
    let text = statements(12);
    let (result, most) = compiled(script, &text, 64 << 20);
    assert_eq!(result, "7", "{name}");
    let mut ends = [0, 0];
    for heap_bytes in (most / 8..most + most / 2).step_by(most / 150) {
        let (result, _) = compiled(script, &text, heap_bytes);
        // Where there is no space for the error either, null is thrown; or there is none for its text, or half of that.
        let is_full = result.starts_with('!')
            && (result.ends_with("out of memory") || ["!", "!null", "!InternalError"].contains(&&*result));
        assert!(is_full || result == "7", "{name}, {heap_bytes}: {result}");
        ends[usize::from(is_full)] += 1;
    }
    assert!(ends.iter().all(|count| *count > 5), "{name}: {ends:?}");
}

#[test]
fn what_is_compiled_in_a_heap_that_is_full_throws_or_is_right() {
    for (name, script) in WAYS {
        compile_in_every_heap(name, script);
    }
}

#[test]
fn modules_in_a_heap_that_is_full_throw_or_are_right() {
    for name in ["big", "imports"] {
        compile_in_every_heap(name, &format!("import('{name}').then((module) => module.seven)"));
    }
}

#[test]
fn regular_expressions_in_a_heap_that_is_full_throw_or_are_right() {
    // What is short in bytecode has long names, so that only the space for names is refused in some heaps.
    let names = repeated(&format!("(?<{}$n>a)?", "n".repeat(100)), 100);
    let text = format!("{}|{names}", "x".repeat(4_000));
    let scripts = [
        "Object.keys(new RegExp(text, 'u').exec('abc').groups).length",
        "Object.keys('abc'.match(text).groups).length",
        "const r = /a/; r.compile(text); Object.keys(r.exec('abc').groups).length",
        "Object.keys(new (class extends RegExp {})(new RegExp(text), 'g').exec('abc').groups).length",
    ];
    for script in scripts {
        let (result, _) = compiled(script, &text, LIMIT);
        assert_eq!(result, "100");
        for heap_bytes in (110_000..260_000).step_by(491) {
            let (result, _) = compiled(script, &text, heap_bytes);
            assert!(result.starts_with('!') || result == "100", "{script}, {heap_bytes}: {result}");
        }
    }
}

#[test]
fn regular_expressions_are_made_of_what_they_were_made_of() {
    let context = context(&runtime(Vec::new()));
    let of = |script: &str| evaluated(&context, script);
    assert_eq!(
        of("`${new RegExp('a/b', 'gi')} ${RegExp(/x/y)} ${new RegExp(/x/y, 'm')} ${new RegExp()}`"),
        "/a\\/b/gi /x/y /x/m /(?:)/"
    );
    assert_eq!(
        of("const r = /a/g; [RegExp(r) === r, new RegExp(r) === r, r.compile('b') === r, String(r)]"),
        "true,false,true,/b/"
    );
    assert_eq!(of("String(new RegExp({ toString() { return eval('`x`'); } }, new String('u')))"), "/x/u");
    assert_eq!(
        of("String(new RegExp(['a', 1], { toString: () => String(new RegExp('g').source) }))"),
        "/a,1/g"
    );
    assert_eq!(
        of(
            "class R extends RegExp { get x() { return 1; } } const s = new R('a+'); [s.x, s.exec('baa')[0], s instanceof R]"
        ),
        "1,aa,true"
    );
    assert_eq!(
        of(
            "['a1b2'.match('[0-9]')[0], 'a1b2'.search('b'), 'a1b2'.split(/\\d/), [...'aXbX'.matchAll('X')].length]"
        ),
        "1,2,a,b,,2"
    );
    assert_eq!(of("try { new RegExp('(') } catch (e) { `${e}` }"), "SyntaxError: expecting ')'");
    assert_eq!(of("try { new RegExp(Symbol()) } catch (e) { e.name }"), "TypeError");
    assert_eq!(of("try { new RegExp('a', { toString() { throw 5; } }) } catch (e) { e }"), "5");
    // Nothing may run while QuickJS compiles.
    let script = "const q = /a/; Object.defineProperty(q, Symbol.match, { get() { return 1; } }); try { new RegExp(q, 'g') } catch (e) { `${e}` }";
    assert_eq!(of(script), "TypeError: a RegExp is made of what calls code");
    assert_eq!(of("let n = 0; for (let i = 0; i < 30000; i++) n += new RegExp('a').test('a'); n"), "30000");
}

#[test]
fn evaluated_code_is_limited() {
    let fill = "const all = []; for (;;) all.push(new Array(1000).fill(1));";
    for (name, script) in WAYS.iter().filter(|(name, _)| !["Function, uncalled"].contains(name)) {
        let script = script.replace("constructor(text)", "constructor(text)().next?.()");
        let runtime = runtime(Vec::new());
        let context = context(&runtime);
        let slices = end_after(&runtime, 1000);
        let result = context.enter(|scope| {
            let text = format!("{fill} var unused");
            scope.globals().set("text", &scope.string(&text)).unwrap();
            let value = evaluated_in(scope, &script);
            while scope.run_job().unwrap_or(false) {}
            value
        });
        assert!(slices.get() < 1000, "{name}: {result}");
    }
}

#[test]
fn direct_eval_has_what_is_around_it() {
    let context = context(&runtime(Vec::new()));
    let of = |script: &str| evaluated(&context, script);
    assert_eq!(of("(function (a) { let b = 2; eval('b += a; var c = b'); return [b, c]; })(5)"), "7,7");
    assert_eq!(
        of("(function () { 'use strict'; let b = 1; eval('var c = 1; b = 3'); return [b, typeof c]; })()"),
        "3,undefined"
    );
    assert_eq!(of("(function () { return eval('() => arguments[0] + this.x')(); }).call({ x: 2 }, 3)"), "5");
    assert_eq!(
        of("new (class { constructor() { this.n = eval('new.target.name'); } static name = 'N' })().n"),
        "N"
    );
    assert_eq!(
        of("var x = 'global'; (() => { let x = 'local'; return [eval('x'), (0, eval)('x')]; })()"),
        "local,global"
    );
    assert_eq!(of("eval('1;') + eval('if (true) { 2 }') + eval(3)"), "6");
    assert_eq!(of("eval('eval(\"eval(\\'4\\')\")')"), "4");
    assert_eq!(of("[1, 2].map((n) => eval(`n + ${n}`))"), "2,4");
    assert_eq!(of("let t = 0; for (let i = 0; i < 30000; i++) t += eval('i % 2'); t"), "15000");
    assert_eq!(
        of("new Function('a', 'b', 'return a + b').toString()"),
        "function anonymous(a,b\n) {\nreturn a + b\n}"
    );
}

#[test]
fn errors_of_compiled_code_have_their_lines() {
    let context = context(&runtime(Vec::new()));
    let error = |script: &str| {
        let script = format!(
            "try {{ {script} }} catch (error) {{ `${{error}} ${{error.stack.split('\\n')[0].trim()}}` }}"
        );
        evaluated(&context, &script)
    };
    assert_eq!(
        error("eval('1;\\n\\n let = ;')"),
        "SyntaxError: unexpected token in expression: ';' at <input>:3:8"
    );
    assert_eq!(error("(0, eval)('\\n}')"), "SyntaxError: unexpected token in expression: '}' at <input>:2:1");
    assert_eq!(
        error("eval('\\n null.x')"),
        "TypeError: cannot read property 'x' of null at <eval> (<input>:2:2)"
    );
    assert_eq!(error("eval('(?')").split(' ').next(), Some("SyntaxError:"));
    let deep = format!("eval('{}')", "[".repeat(100_000));
    assert_eq!(error(&deep).split(" at").next(), Some("RangeError: Maximum call stack size exceeded"));
}

#[test]
fn a_script_that_only_evaluates_is_interrupted() {
    for script in [
        "for (;;) new RegExp('a')",
        "for (;;) eval('1')",
        "for (;;) (0, eval)('1')",
        "for (;;) new Function('1')",
        "for (;;) eval('x =')",
    ] {
        let runtime = runtime(Vec::new());
        let context = context(&runtime);
        let slices = end_after(&runtime, 2);
        let script = script.replace("eval('x =')", "try { eval('x =') } catch { }");
        assert_eq!(evaluated(&context, &script), "!InternalError: interrupted", "{script}");
        assert_eq!(slices.get(), 3, "{script}");
    }
}

#[test]
fn nothing_of_a_script_is_called_by_an_error() {
    let context = context(&runtime(Vec::new()));
    let script = "let calls = 0;
        Error.prepareStackTrace = () => { calls++; return 1; };
        Error.stackTraceLimit = { valueOf() { calls++; return 10; } };
        try { eval('let ='); } catch (error) { [typeof error.stack, calls]; }";
    assert_eq!(evaluated(&context, script), "string,0");
}

/// What a text takes beyond the limit of its heap while it is compiled, and what it comes to.
fn beyond_limit(text: &str) -> (usize, String) {
    beyond_limit_by("new Function(text); 7", text)
}

fn beyond_limit_by(script: &str, text: &str) -> (usize, String) {
    let runtime = Runtime::new(Limits { heap_bytes: LIMIT, ..LIMITS }).expect("memory for a heap");
    let context = context(&runtime);
    let result = context.enter(|scope| {
        runtime.without_limit(|| scope.globals().set("text", &scope.string(text))).unwrap();
        evaluated_in(scope, script)
    });
    (runtime.limit().most_bytes.get().saturating_sub(LIMIT), result)
}

#[test]
fn what_compiles_takes_at_most_twice_the_limit() {
    let many = |text: &str, bytes: usize| repeated(text, bytes / text.len());
    let texts = [
        format!("[{}]", ",".repeat(4_000_000)),
        many("()=>0,", 400_000) + "0",
        many("`${1}`,", 1_000_000) + "0",
        many("/a$n/,", 400_000) + "0",
        format!("class C {{ {} }}", many("#p$n;", 400_000)),
        format!("({{ {} }})", many("a$n:1,", 400_000)),
        format!("f({})", many("...0,", 2_000_000)),
        many("x$n=>{try{}finally{}};", 400_000),
        many("$n?.[$n]??", 400_000) + "0",
        format!("return /{}/u", "\\p{L}".repeat(100_000)),
        // Every function has all variables around it.
        format!("let {} z; {}", repeated("a$n,", 3_000), "()=>eval();".repeat(2_000)),
    ];
    for text in texts {
        let (beyond, result) = beyond_limit(&text);
        assert!(result.ends_with("out of memory") && beyond < LIMIT, "{text:.20}: {result}, {beyond} bytes");
    }
}

#[test]
fn a_regular_expression_takes_at_most_twice_the_limit() {
    let named = repeated("(?<n$n>\\p{L})|", 100) + &"\\p{Lu}?".repeat(100_000);
    for (text, flags) in [("\\p{L}".repeat(100_000), "iv"), (named, "u"), ("(?=a{2,3})?".repeat(700_000), "")]
    {
        let (beyond, result) = beyond_limit_by(&format!("new RegExp(text, '{flags}'); 7"), &text);
        assert!(result.ends_with("out of memory"), "{text:.20}: {result:.200}");
        assert!(beyond < LIMIT, "{text:.20}: {result:.200}, {beyond} bytes");
    }
}

#[test]
fn what_compiles_takes_beyond_the_limit_what_nested_functions_share() {
    const DEPTH: usize = 100;
    const VARIABLES: usize = 8_000;
    // 8, in an array that grows by half.
    const BYTES_A_VARIABLE: usize = 12;
    let (declared, used) = (repeated("a$n,", VARIABLES), repeated("a$n;", VARIABLES));
    let (begin, end) = ("()=>{".repeat(DEPTH), "};".repeat(DEPTH));
    let (beyond, result) = beyond_limit(&format!("let {declared} z; {begin}{used}{end}"));
    assert!(result.ends_with("out of memory"), "{result}");
    assert!(beyond < LIMIT + DEPTH * VARIABLES * BYTES_A_VARIABLE, "{beyond} bytes");
}

#[test]
fn a_module_of_megabytes_compiles() {
    let text = repeated(&format!("const c$n = () => {{ {} }};\n", statements(10)), 1_000);
    let (result, _) = compiled("import('big').then((module) => module.seven)", &text, 1 << 30);
    assert_eq!((text.len() > 4 << 20, &*result), (true, "7"));
}
