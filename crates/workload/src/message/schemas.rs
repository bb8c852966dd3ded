//! `.proto` files, parsed in process.

use std::collections::BTreeMap;
use std::path::Path;

use prost_reflect::{DescriptorPool, MethodDescriptor};

use super::encode::MessageTemplate;
use crate::plan::Files;
use crate::template::Template;

/// What is wrong with a description, or with what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);

/// The descriptions of all gRPC targets, by the target's name.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    pools: BTreeMap<String, DescriptorPool>,
}

/// A unary method.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Schemas {
    /// Read the `.proto` files of one target.
    pub fn load(
        &mut self,
        _target: &str,
        _protos: &[impl AsRef<Path>],
        _files: &dyn Files,
    ) -> Result<(), SchemaError> {
        todo!()
    }

    /// The method `package.Service/Method` of a target.
    pub fn method(&self, target: &str, _name: &str) -> Result<Method, SchemaError> {
        let _ = self.pools.get(target);
        todo!()
    }
}

impl Method {
    /// The HTTP/2 path: `/package.Service/Method`.
    pub fn path(&self) -> String {
        format!("/{}/{}", self.descriptor.parent_service().full_name(), self.descriptor.name())
    }

    /// Compile a JSON message, in which strings are templates, against the method's input.
    pub fn compile(&self, _json: &serde_json::Value) -> Result<MessageTemplate<Template>, SchemaError> {
        todo!()
    }

    /// A response as JSON, for checks and for showing.
    pub fn decode_to_json(&self, _bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
        todo!()
    }
}
