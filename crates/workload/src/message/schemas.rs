//! Descriptions of gRPC services, and the methods they describe.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use protox::file::{ChainFileResolver, GoogleFileResolver};

use super::compile;
use super::encode::MessageTemplate;
use super::sources::Sources;
use crate::call::CallOptions;
use crate::nearest::nearest;
use crate::plan::Files;
use crate::template::Template;

/// What is wrong with a description, or with what was asked of it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);

/// The descriptions of all gRPC targets, by the target's name.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    pools: BTreeMap<String, DescriptorPool>,
}

/// A method.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Schemas {
    /// Read the files of one target and what they import: `.proto` files, and descriptor sets as `protoc
    /// --descriptor_set_out` or `buf build` writes them. Imports are looked for in each folder above each of
    /// the files. Google's well-known files are built in.
    ///
    /// # Errors
    /// [`SchemaError`] names the file, and the line where that is known.
    pub fn load(&mut self, target: &str, protos: &[PathBuf], files: &dyn Files) -> Result<(), SchemaError> {
        self.load_with(target, (protos, &[]), files)
    }

    /// The same, with folders in which imports are looked for first.
    ///
    /// # Errors
    /// [`SchemaError`] names the file, and the line where that is known.
    pub fn load_with(
        &mut self,
        target: &str,
        (protos, import_paths): (&[PathBuf], &[PathBuf]),
        files: &dyn Files,
    ) -> Result<(), SchemaError> {
        let mut sources = Sources::default();
        let names = sources.gather(protos, import_paths, files)?;
        self.add(target, sources, &names)
    }

    /// Take a target's description from the bytes of a `google.protobuf.FileDescriptorSet`.
    ///
    /// # Errors
    /// [`SchemaError`] when it is none, or lacks a file that another one imports.
    pub fn add_set(&mut self, target: &str, set: &[u8]) -> Result<(), SchemaError> {
        let mut sources = Sources::default();
        let names = sources.add_set(set)?;
        self.add(target, sources, &names)
    }

    /// Whether a target has a description.
    pub fn describes(&self, target: &str) -> bool {
        self.pools.contains_key(target)
    }

    fn add(&mut self, target: &str, sources: Sources, names: &[String]) -> Result<(), SchemaError> {
        let mut resolver = ChainFileResolver::new();
        resolver.add(sources);
        resolver.add(GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(resolver);
        compiler.include_imports(true);
        compiler.open_files(names).map_err(|error| described(&error))?;
        self.pools.insert(target.to_owned(), compiler.descriptor_pool());
        Ok(())
    }

    /// The method `package.Service/Method` of a target.
    ///
    /// # Errors
    /// [`SchemaError`] when there is no such method, naming the nearest.
    pub fn method(&self, target: &str, name: &str) -> Result<Method, SchemaError> {
        let pool = self
            .pools
            .get(target)
            .ok_or_else(|| SchemaError(format!("nothing describes the methods of target `{target}`")))?;
        let name = name.trim_start_matches('/');
        let mut methods = pool.services().flat_map(|s| s.methods().collect::<Vec<_>>());
        let Some(descriptor) = methods.find(|m| full_name(m) == name) else {
            let known: Vec<String> = pool
                .services()
                .flat_map(|s| s.methods().map(|m| full_name(&m)).collect::<Vec<_>>())
                .collect();
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", listed(&known)),
            };
            return Err(SchemaError(format!("target `{target}` has no method `{name}`; {hint}")));
        };
        Ok(Method { descriptor })
    }
}

fn full_name(method: &MethodDescriptor) -> String {
    format!("{}/{}", method.parent_service().full_name(), method.name())
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "no methods at all".to_owned(),
        _ => names.iter().take(10).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

impl Method {
    /// The HTTP/2 path: `/package.Service/Method`.
    pub fn path(&self) -> String {
        format!("/{}", full_name(&self.descriptor))
    }

    /// Whether it takes a stream of messages, and not just one.
    pub fn takes_stream(&self) -> bool {
        self.descriptor.is_client_streaming()
    }

    /// Whether it answers with a stream of messages, and not just one.
    pub fn gives_stream(&self) -> bool {
        self.descriptor.is_server_streaming()
    }

    /// Whether it can be called like this.
    ///
    /// # Errors
    /// [`SchemaError`] when streams are asked of a method that has none.
    pub fn check(&self, call: &CallOptions) -> Result<(), SchemaError> {
        let name = full_name(&self.descriptor);
        if call.messages() != 1 && !self.takes_stream() {
            let what = "it cannot be sent several, or none";
            return Err(SchemaError(format!("`{name}` takes one message; {what}")));
        }
        if call.cancel_after.is_some() && !self.gives_stream() {
            return Err(SchemaError(format!("`{name}` answers with one message; leave `cancel_after` out")));
        }
        Ok(())
    }

    /// What its requests are.
    pub fn input(&self) -> MessageDescriptor {
        self.descriptor.input()
    }

    /// Compile a JSON message, in which strings are templates, against the method's input.
    ///
    /// # Errors
    /// [`SchemaError`] when the message does not fit, naming the field.
    pub fn compile(&self, json: &serde_json::Value) -> Result<MessageTemplate<Template>, SchemaError> {
        compile::compile(&self.descriptor.input(), json)
    }

    /// A response as protobuf's JSON, for checks and for showing. Fields without a value are there with their
    /// default; 64-bit integers are strings.
    ///
    /// # Errors
    /// [`SchemaError`] when the bytes are no such message.
    pub fn decode_to_json(&self, bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
        decode(self.descriptor.output(), bytes)
    }

    /// A request's message as JSON, for showing what was sent.
    ///
    /// # Errors
    /// [`SchemaError`] when the bytes are no such message.
    pub fn request_to_json(&self, bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
        decode(self.descriptor.input(), bytes)
    }
}

fn decode(message: MessageDescriptor, bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
    let name = message.full_name().to_owned();
    let wrong = |why: String| SchemaError(format!("not a {name}: {why}"));
    let message = DynamicMessage::decode(message, bytes).map_err(|error| wrong(error.to_string()))?;
    let options = SerializeOptions::new().skip_default_fields(false);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| wrong(error.to_string()))
}

/// The error with the place it happened at, which only its debug form tells.
pub(super) fn described(error: &protox::Error) -> SchemaError {
    let text = format!("{error:?}");
    SchemaError(text.lines().next().unwrap_or_default().to_owned())
}
