//! JavaScript: QuickJS behind an interface that its callers cannot misuse. All of the crate's `unsafe` code is here.
//!
//! A [`Runtime`] has one heap and belongs to one thread; each virtual user has a [`Context`] in it, with globals of its own. What
//! runs is inside [`Context::enter`], through which values are made and read: a [`Value`] cannot outlive it, a [`Kept`] value
//! can. Nothing that runs code of a context outlives its Rust data: what waits or was thrown is freed when the context is left, and
//! what QuickJS keeps of a context that was dropped finds no data. An iteration runs on a [`fiber::Fiber`], a stack of its own, so that a native function can suspend it at any depth.

#![allow(unsafe_code)]

mod allocation;
mod bytes;
mod class;
mod compiling;
mod constructors;
mod context;
mod context_fields;
pub(crate) mod fiber;
mod fields;
mod function;
mod heap_limit;
mod language;
mod loaded;
mod module;
mod own_properties;
mod promise;
mod rejection;
mod runtime;
mod scope;
mod throwing;
mod thrown;
mod value;

pub(crate) use context::Context;
pub(crate) use function::Call;
pub(crate) use language::Language;
pub(crate) use module::{Bytecode, Loader, ModuleExports, ModuleSource};
pub(crate) use own_properties::Shared;
pub(crate) use promise::{PromiseState, Resolver};
pub use runtime::NoHeap;
pub(crate) use runtime::{Limits, Runtime, Slice};
pub(crate) use scope::Scope;
pub use thrown::Exception;
pub(crate) use thrown::Thrown;
pub(crate) use value::{Kept, Value};

#[cfg(test)]
mod tests;
