//! The modules that scripts import by name, and the globals that they find.

mod bytes;
mod console;
mod core;
mod crypto;
mod data;
mod defining;
mod display;
mod encoding;
mod execution;
mod experimental;
mod globals;
mod grpc;
mod html;
mod http;
mod library;
mod metrics;
mod require;
mod shown;
#[cfg(test)]
mod tests;
mod text_coding;
mod web_crypto;
mod websocket;

use crate::js::{ModuleExports, Scope, Thrown};

pub(crate) use experimental::Records;
pub(crate) use globals::set_env;
pub(crate) use grpc::response_object as grpc_response;
pub(crate) use http::received as request_received;
pub(crate) use library::{library, library_source};
pub(crate) use require::run_commonjs;
pub(crate) use websocket::show as show_socket;

/// k6's modules by name.
const NATIVE: &[(&str, ModuleExports)] = &[
    ("k6", core::exports),
    ("k6/crypto", crypto::exports),
    ("k6/data", data::exports),
    ("k6/encoding", encoding::exports),
    ("k6/execution", execution::exports),
    ("k6/experimental/csv", experimental::csv),
    ("k6/experimental/fs", experimental::files),
    ("k6/experimental/websockets", websocket::concurrent),
    ("k6/html", html::exports),
    ("k6/http", http::exports),
    ("k6/metrics", metrics::exports),
    ("k6/net/grpc", grpc::exports),
    ("k6/timers", globals::timers),
    ("k6/websockets", websocket::concurrent),
    ("k6/ws", websocket::blocking),
];

/// What is said of a module that is not there.
pub(crate) const UNSUPPORTED: &str = "is not supported; those that are:";

/// The native module of this name.
///
/// # Errors
/// That there is none, for an exception.
pub(crate) fn native(name: &str) -> Result<ModuleExports, String> {
    let known = NATIVE.iter().find(|(known, _)| *known == name);
    known.map(|(_, exports)| *exports).ok_or_else(|| {
        let names: Vec<&str> = NATIVE.iter().map(|(name, _)| *name).collect();
        format!("the module \"{name}\" {UNSUPPORTED} {}", names.join(", "))
    })
}

/// Whether there is a native module of this name.
pub(crate) fn has_native(name: &str) -> bool {
    NATIVE.iter().any(|(known, _)| *known == name)
}

/// Set the globals of a context: `console`, `crypto`, `open`, timers, `TextEncoder`, `TextDecoder`, `__ENV`, `__VU`, `__ITER`.
pub(crate) fn set_globals(scope: Scope<'_>) -> Result<(), Thrown> {
    globals::set(scope)?;
    require::set(scope)?;
    text_coding::set(scope)?;
    web_crypto::set(scope)?;
    console::set(scope)
}
