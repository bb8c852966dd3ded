use super::*;

/// An object with two properties of its own; how often they were made is counted.
struct Lazy {
    made: Rc<Cell<u32>>,
    dropped: Rc<Cell<u32>>,
}

impl Shared for Lazy {
    const CLASS: &'static std::ffi::CStr = c"Lazy";
    const PROPERTIES: &'static [&'static str] = &["number", "object"];

    fn property<'js>(scope: Scope<'js>, of: &Rc<Self>, place: usize) -> Result<Value<'js>, Thrown> {
        of.made.set(of.made.get() + 1);
        Ok(if place == 0 { scope.number(7.0) } else { scope.object() })
    }
}

impl Drop for Lazy {
    fn drop(&mut self) {
        self.dropped.set(self.dropped.get() + 1);
    }
}

/// A context with a `lazy`, how often properties of it were made, and how often one was dropped.
fn lazy(runtime: &Rc<Runtime>) -> (Context, Rc<Cell<u32>>, Rc<Cell<u32>>) {
    let context = context(runtime);
    let (made, dropped) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    context.enter(|scope| {
        let lazy = Lazy { made: made.clone(), dropped: dropped.clone() };
        scope.set_class_prototype::<Lazy>(scope.object()).unwrap();
        scope.globals().set("lazy", &scope.hold(Rc::new(lazy)).unwrap()).unwrap();
    });
    (context, made, dropped)
}

#[test]
fn own_properties_are_made_when_they_are_read_and_objects_are_kept() {
    let runtime = runtime(Vec::new());
    let (context, made, _) = lazy(&runtime);
    for (script, value) in [
        ("'number' in lazy && lazy.hasOwnProperty('object') && !('other' in lazy)", "true"),
        ("lazy.number", "7"),
        ("lazy.object.x = 1, lazy.object === lazy.object && lazy.object.x", "1"),
    ] {
        assert_eq!(evaluated(&context, script), value, "{script}");
    }
    assert_eq!(made.get(), 2);
    for (script, value) in [
        ("Object.keys(lazy).join()", "number,object"),
        ("JSON.stringify({ ...lazy })", r#"{"number":7,"object":{"x":1}}"#),
        (
            "lazy.number = 8, lazy.other = 9, Object.keys(lazy).sort().join() + lazy.number",
            "number,object,other8",
        ),
        ("Object.defineProperty(lazy, 'number', { value: 10 }).number", "10"),
        ("delete lazy.other, 'other' in lazy", "false"),
        ("let names = ''; for (const name in lazy) names += name; names", "numberobject"),
    ] {
        assert_eq!(evaluated(&context, script), value, "{script}");
    }
}

#[test]
fn what_an_object_keeps_may_refer_to_it() {
    let runtime = runtime(Vec::new());
    let (context, _, dropped) = lazy(&runtime);
    assert_eq!(evaluated(&context, "lazy.object.back = lazy; lazy.number = lazy; lazy = undefined; 1"), "1");
    runtime.collect();
    assert_eq!(dropped.get(), 1);
}
