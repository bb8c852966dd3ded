//! Heaps that are too small, by every amount.

use super::*;

struct HeldUnit;

impl Shared for HeldUnit {
    const CLASS: &'static std::ffi::CStr = c"HeldUnit";
}

const SCRIPT: &str = "(held) => {
    const all = [held];
    const more = (size) => { for (let n = 0; n < 20; n++) { all.push('x'.repeat(size) + n, { n, all }); } };
    try { more(10); more(1000); throw new Error('y'.repeat(300)); } catch (error) { all.push(error); }
    (async () => { await 1; throw all; })();
    return JSON.stringify(all.map(String)).length;
}";

/// Makes and uses values of each sort.
fn work(scope: Scope<'_>) -> Result<(), Thrown> {
    let object = scope.object();
    scope.set_class_prototype::<HeldUnit>(scope.object())?;
    let held = scope.hold(Rc::new(HeldUnit))?;
    object.set("held", &held)?;
    object.set("text", &scope.string(&"long ".repeat(200)))?;
    object.set_accessors("fact", scope.function("fact", 0, |call| Ok(call.this())), scope.undefined())?;
    let array = scope.array();
    array.put(0, object.clone())?;
    array.put(1, scope.array_buffer(&[7; 500]))?;
    array.put(2, scope.parse_json(r#"{"a": [1, {"b": "c"}]}"#, "json")?)?;
    let (promise, resolver) = scope.promise()?;
    resolver.reject(array.clone())?;
    object.get("fact")?.keys()?;
    let result = scope.run(SCRIPT, "script")?.call(&promise, &[held])?;
    result.text()?;
    let Thrown = scope.throw_uncatchable(&"why ".repeat(100));
    drop(scope.take_exception());
    while scope.run_job()? {}
    drop(scope.take_rejection());
    Ok(())
}

#[test]
fn a_heap_that_is_full_throws_wherever_it_happens() {
    let mut ends = [0, 0];
    for heap_bytes in (1..400_000).step_by(769) {
        let runtime = Runtime::new(Limits { heap_bytes, ..LIMITS }).expect("memory for a runtime");
        let context = Context::new(&runtime, Language::WHOLE, Box::new(())).expect("memory for a context");
        let threw = context.enter(|scope| work(scope).map_err(|Thrown| scope.take_exception()).is_err());
        ends[usize::from(threw)] += 1;
    }
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}
