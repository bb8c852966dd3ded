//! gRPC messages: descriptions read from `.proto` files, and a plan's JSON message compiled once into wire
//! bytes with gaps.

mod compile;
mod encode;
mod schemas;
#[cfg(test)]
mod tests;

pub use encode::{EncodeError, MessagePart, MessageTemplate, ScalarGap, ScalarKind};
pub use schemas::{Method, SchemaError, Schemas};
