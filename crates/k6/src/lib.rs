//! k6 scripts as iterations of the engine.

mod added_values;
mod behaviour;
mod beneath;
mod doubts;
mod duration;
mod grpc;
mod handle_summary;
mod html;
mod http;
mod inputs;
mod iteration;
mod js;
mod lifecycle;
mod loaded;
mod loading;
mod metrics;
mod modules;
mod network;
pub mod options;
pub mod outputs;
mod rate_limit;
pub mod received;
mod response_memory;
pub mod results;
mod script;
pub mod shared_heap;
mod sources;
pub mod summary;
mod threshold_watch;
mod vu;
mod web_crypto;
mod websocket;

pub use added_values::{AddedValue, AddedValues, ValueOutput, ValueSink, ValueTags};
pub use behaviour::{ScriptBehaviour, ScriptScenario};
pub use doubts::doubts;
pub use handle_summary::SummaryOutput;
pub use inputs::ScriptInputs;
pub use js::{Exception, NoHeap};
pub use lifecycle::{LifecycleError, Once};
pub use loaded::{LoadError, LoadedScript, ReadingProcess, load, sub_metrics};
pub use loading::ScriptSource;
pub use metrics::{BUILTINS, Builtin, Contains, SubMetric};
pub use network::NetworkRules;
pub use rate_limit::RateLimit;
pub use script::{
    Bodies, CookieLife, Failures, HttpDefaults, InitFailure, Level, Lifecycle, LogLine, LogSink,
    RedirectSecrets, RunSettings, Script, ScriptError, TestOutcome, TestRequests,
};
pub use sources::{IMPORT_LOCK, ImportLock, ImportLockError, RemoteError, RemoteModules, cached_file};
pub use threshold_watch::{ThresholdStop, ThresholdWatch, WatchedRun};
