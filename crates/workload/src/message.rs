//! gRPC messages: descriptions of services from `.proto` files, descriptor sets or a server's reflection, and a plan's
//! JSON message compiled once into wire bytes with gaps.

mod compile;
mod description_size;
mod encode;
mod error;
mod json;
pub mod reflection;
mod schemas;
mod size;
#[cfg(test)]
mod testing;

pub use encode::{EncodeError, MessagePart, MessageTemplate, ScalarGap, ScalarKind};
pub use error::SchemaError;
pub use schemas::{Method, Schemas};
