//! The first evaluation of a script, and the heaps in which virtual users evaluate it again.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use engine::BodyBudget;
use workload::Files;

use crate::grpc::Catalogue;
use crate::http::Url;
use crate::js::{
    Context, Exception, Language, Limits, Loader, ModuleSource, NoHeap, Runtime, Slice, Thrown, Value,
};
use crate::metrics::Registry;
use crate::modules;
use crate::response_memory::BODY_BUDGET_BYTES;
use crate::script::{
    Evaluated, Inner, InstanceCounts, Lifecycle, LogSink, Script, ScriptError, TestRequests,
};
use crate::sources::{RemoteModules, Sources, beside, is_remote};
use crate::vu::{LoopShared, ScenarioFacts, Vu};

/// What a script may use: bytes of heap for each virtual user of a group, beside what the group shares.
const HEAP_BYTES_A_GROUP: usize = 1 << 30;
/// Stack of scripts while they are evaluated.
const STACK_BYTES: usize = 1 << 20;

/// Where a script comes from.
pub struct ScriptSource {
    /// Its file.
    pub path: PathBuf,
    /// Reads files.
    pub files: Arc<dyn Files + Send + Sync>,
    /// Files are read below this folder only.
    pub files_under: Option<PathBuf>,
    /// Reads modules that are imported by URL; where there is none they cannot be imported.
    pub remote: Option<Arc<dyn RemoteModules>>,
    /// `__ENV`.
    pub env: BTreeMap<String, String>,
    /// Names of variables that `__ENV` has in the process that hands the script on, and not here: reading one throws.
    pub withheld_env: Vec<String>,
    /// The elements of each `SharedArray` that another process has made, as JSON, by its name.
    pub shared_arrays: BTreeMap<String, Arc<[String]>>,
}

/// A heap, and the virtual user that runs in it now.
pub(crate) struct Group {
    pub(crate) runtime: Rc<Runtime>,
    pub(crate) current: Rc<RefCell<Option<Rc<Vu>>>>,
}

/// An empty heap for a script's virtual users.
///
/// # Errors
/// [`ScriptError::Heap`].
pub(crate) fn new_group(script: &Script) -> Result<Group, ScriptError> {
    let limits = Limits { heap_bytes: HEAP_BYTES_A_GROUP, stack_bytes: STACK_BYTES };
    let runtime = Runtime::new(limits)?;
    runtime.load_by(Box::new(script.clone()));
    let current: Rc<RefCell<Option<Rc<Vu>>>> = Rc::default();
    let running = current.clone();
    runtime.on_slice(move || {
        let vu = running.borrow().clone();
        if vu.is_none_or(|vu| vu.yield_turn()) { Slice::Continue } else { Slice::End }
    });
    Ok(Group { runtime, current })
}

impl Group {
    /// A context for a virtual user, in which the script was evaluated, and what it exports.
    ///
    /// # Errors
    /// What it throws.
    pub(crate) fn evaluate<R>(
        &self,
        vu: &Rc<Vu>,
        then: impl for<'js> FnOnce(Value<'js>) -> Result<R, Thrown>,
    ) -> Result<(Context, R), ScriptError> {
        let language = vu.shared.script.language();
        let context = Context::new(&self.runtime, language, Box::new(vu.clone())).ok_or(NoHeap::Memory)?;
        let result = context.enter(|scope| {
            let evaluated = modules::set_globals(scope)
                .and_then(|()| scope.import(vu.shared.script.main()))
                .and_then(then);
            // What the modules' own promises were rejected for has been thrown.
            evaluated.map_err(|Thrown| scope.take_exception())
        });
        vu.commonjs.borrow_mut().clear();
        Ok((context, result.map_err(|exception| vu.shared.script.failure(exception))?))
    }
}

impl Script {
    /// Read a script and evaluate it once.
    ///
    /// # Errors
    /// [`ScriptError`] when it cannot be read, is not a JavaScript, or throws.
    pub fn load(source: ScriptSource, log: LogSink) -> Result<Script, ScriptError> {
        let script = Script(Arc::new(Inner {
            main: source.path.to_string_lossy().into_owned(),
            sources: Sources::new(source.files, source.files_under, source.remote)
                .with_shared_arrays(source.shared_arrays),
            env: source.env,
            withheld_env: source.withheld_env,
            evaluated: OnceLock::new(),
            resolved: OnceLock::new(),
            requests: TestRequests::default(),
            counts: InstanceCounts::default(),
            has_warned_of_redirects: AtomicBool::new(false),
            grpc: Catalogue::default(),
            budget: BodyBudget::new(BODY_BUDGET_BYTES),
        }));
        let group = new_group(&script)?;
        let registry = Rc::new(RefCell::new(Registry::new(vec![String::new()], Rc::new([]))));
        let scenarios = Rc::new([ScenarioFacts::default()]);
        let (script_of_vu, urls) = (script.clone(), Rc::default());
        let shared = LoopShared { script: script_of_vu, registry: registry.clone(), urls, log, scenarios };
        let vu = Rc::new(Vu::new(shared, 0));
        let evaluated = group.evaluate(&vu, |exports| exported(&exports));
        let (context, (options, functions)) =
            evaluated.map_err(|error| script.with_unsupported_modules(error))?;
        let options = options.map_or(Ok(serde_json::Value::Null), |json| serde_json::from_str(&json));
        let options =
            options.map_err(|error| ScriptError::Exports(format!("`options` is not JSON: {error}")))?;
        let has = |name: &str| functions.iter().any(|function| function == name);
        let lifecycle = Lifecycle {
            has_setup: has("setup"),
            has_teardown: has("teardown"),
            has_handle_summary: has("handleSummary"),
        };
        let metrics = registry.borrow().made_by_script();
        let texts = script.sources().texts();
        let language = Language::of_texts(texts.iter().map(|(_, text)| &**text));
        script.compile(&context)?;
        script.sources().close();
        // It is evaluated here only.
        let _ = script.0.evaluated.set(Evaluated { options, functions, lifecycle, metrics, language });
        Ok(script)
    }

    /// The full name of the module that `from` asks for as `name`.
    ///
    /// # Errors
    /// Why there is none, for an exception.
    pub(crate) fn full_name(&self, from: &str, name: &str) -> Result<String, String> {
        if name == "k6" || name.starts_with("k6/") {
            return Ok(name.to_owned());
        }
        if let Some(own) = modules::library(name) {
            return Ok(own.to_owned());
        }
        if is_remote(name) {
            return Ok(name.to_owned());
        }
        if is_remote(from) && !name.starts_with("file://") {
            let url = Url::parse(from).and_then(|from| from.join(name)).map_err(|error| error.to_string())?;
            return Ok(url.as_str().to_owned());
        }
        let path = name.strip_prefix("file://").unwrap_or(name);
        if !(path.starts_with("./") || path.starts_with("../") || path.starts_with('/')) && from.is_empty() {
            return Ok(path.to_owned());
        }
        Ok(beside(from, path).to_string_lossy().into_owned())
    }

    /// An error of its first evaluation; one of a module that is not supported names all of those, with where they are imported.
    fn with_unsupported_modules(&self, error: ScriptError) -> ScriptError {
        match error {
            ScriptError::Threw(Exception { message, .. }) if message.contains(modules::UNSUPPORTED) => {
                let places = self.unsupported_imports();
                let places = places.map(|(name, place)| format!("{name} at {place}"));
                let stack = places.collect::<Vec<_>>().join("\n");
                ScriptError::Threw(Exception { message, stack })
            }
            other => other,
        }
    }

    /// The modules of k6 that its modules import and that are not supported, each with its place.
    fn unsupported_imports(&self) -> impl Iterator<Item = (String, String)> {
        let (mut found, mut met) = (Vec::new(), BTreeSet::from([self.main().to_owned()]));
        let mut left = vec![self.main().to_owned()];
        while let Some(module) = left.pop() {
            let imports = self.sources().imports(&module);
            for (name, line, column) in imports {
                let Ok(full) = self.full_name(&module, &name) else { continue };
                let is_of_k6 = full == "k6" || full.starts_with("k6/");
                if is_of_k6 && !modules::has_native(&full) {
                    found.push((full, format!("{module}:{line}:{column}")));
                } else if !is_of_k6 && modules::library(&name).is_none() && met.insert(full.clone()) {
                    left.push(full);
                }
            }
        }
        found.into_iter()
    }

    /// Compile its modules, so that virtual users need not.
    fn compile(&self, context: &Context) -> Result<(), ScriptError> {
        for (name, text) in self.sources().texts() {
            let compiled = context.enter(|scope| {
                scope.compile(&name, &text).map_err(|Thrown| ScriptError::Threw(scope.take_exception()))
            });
            self.sources().set_bytecode(&name, compiled?);
        }
        Ok(())
    }
}

/// The options of a module, as JSON, and the names of the functions that it exports.
fn exported(exports: &Value<'_>) -> Result<(Option<String>, Vec<String>), Thrown> {
    let options = exports.get("options")?.json()?;
    let mut functions = Vec::new();
    for name in exports.keys()? {
        if exports.get(&name)?.is_function() {
            functions.push(name);
        }
    }
    Ok((options, functions))
}

/// Loads the modules of a script, and those of k6.
impl Loader for Script {
    fn resolve(&self, from: &str, name: &str) -> Result<String, String> {
        self.full_name(from, name)
    }

    fn load(&self, name: &str) -> Result<ModuleSource, String> {
        if name == "k6" || name.starts_with("k6/") {
            return modules::native(name).map(ModuleSource::Native);
        }
        match modules::library_source(name) {
            Some(ModuleSource::Text(text)) => Ok(self.sources().module_of(name, &text)),
            Some(source) => Ok(source),
            None => self.sources().module(name),
        }
    }

    fn run_commonjs<'js>(&self, name: &str, wrapper: Value<'js>) -> Result<Value<'js>, Thrown> {
        modules::run_commonjs(name, &wrapper)
    }
}
