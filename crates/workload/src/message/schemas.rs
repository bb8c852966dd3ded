//! Descriptions of gRPC services, and their methods.

use std::collections::BTreeMap;

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};

use super::compile;
use super::encode::MessageTemplate;
use super::error::SchemaError;
use super::json;
use super::size::MessageBudget;
use crate::call::CallOptions;
use crate::nearest::nearest;
use crate::template::Template;

/// The descriptions of all gRPC targets, by the target's name.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    pools: BTreeMap<String, DescriptorPool>,
}

/// A method of a gRPC service.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    descriptor: MethodDescriptor,
}

impl Schemas {
    /// Sets the description of a target.
    pub fn insert(&mut self, target: &str, pool: DescriptorPool) {
        self.pools.insert(target.to_owned(), pool);
    }

    /// Whether a target has a description.
    pub fn describes(&self, target: &str) -> bool {
        self.pools.contains_key(target)
    }

    /// All methods of a target, service by service.
    pub fn methods(&self, target: &str) -> Vec<Method> {
        let services = self.pools.get(target).into_iter().flat_map(DescriptorPool::services);
        let methods = services.flat_map(|service| service.methods().collect::<Vec<_>>());
        methods.map(|descriptor| Method { descriptor }).collect()
    }

    /// The method `package.Service/Method` of a target.
    ///
    /// # Errors
    /// [`SchemaError`] if there is no such method; suggests the most similar one.
    pub fn method(&self, target: &str, name: &str) -> Result<Method, SchemaError> {
        let pool = self
            .pools
            .get(target)
            .ok_or_else(|| SchemaError(format!("the methods of target `{target}` are not described")))?;
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

    pub fn name(&self) -> &str {
        self.descriptor.name()
    }

    /// The package of its service, which may be empty.
    pub fn package(&self) -> String {
        self.descriptor.parent_service().package_name().to_owned()
    }

    /// The name of its service, without the package.
    pub fn service(&self) -> String {
        self.descriptor.parent_service().name().to_owned()
    }

    /// Whether the client sends a stream of messages.
    pub fn takes_stream(&self) -> bool {
        self.descriptor.is_client_streaming()
    }

    /// Whether the server sends a stream of messages.
    pub fn gives_stream(&self) -> bool {
        self.descriptor.is_server_streaming()
    }

    /// Check that the method supports these options.
    ///
    /// # Errors
    /// [`SchemaError`] if they need a stream that the method does not have.
    pub fn check(&self, call: &CallOptions) -> Result<(), SchemaError> {
        let name = full_name(&self.descriptor);
        if call.messages() != 1 && !self.takes_stream() {
            return Err(SchemaError(format!(
                "`{name}` takes one message; it cannot be sent several, or none"
            )));
        }
        if call.cancel_after.is_some() && !self.gives_stream() {
            return Err(SchemaError(format!("`{name}` answers with one message; leave `cancel_after` out")));
        }
        Ok(())
    }

    /// The type of its request messages.
    pub fn input(&self) -> MessageDescriptor {
        self.descriptor.input()
    }

    /// Compile a JSON message, in which strings are templates, to a request message of the method.
    ///
    /// # Errors
    /// [`SchemaError`] if the message does not have the request's type; names the field.
    pub fn compile(&self, json: &serde_json::Value) -> Result<MessageTemplate<Template>, SchemaError> {
        compile::compile(&self.descriptor.input(), json)
    }

    /// Encode the request message that a text in protobuf's JSON describes, as it is: strings are not templates.
    ///
    /// # Errors
    /// [`SchemaError`] if it does not have the request's type.
    pub fn encode_json(&self, json: &str) -> Result<Vec<u8>, SchemaError> {
        json::encode(self.descriptor.input(), json)
    }

    /// A response message as a text in protobuf's JSON with every field: one without a value has its default, a message
    /// without one is `null`, what is optional and absent is left out. 64-bit integers are strings.
    ///
    /// # Errors
    /// [`SchemaError`] if the bytes are not such a message, or it takes more than 256 MiB decoded.
    pub fn response_json(&self, bytes: &[u8]) -> Result<String, SchemaError> {
        json::decode(self.descriptor.output(), bytes)
    }

    /// A `google.rpc.Status`, as in the trailer `grpc-status-details-bin`, as a text in protobuf's JSON.
    ///
    /// # Errors
    /// [`SchemaError`] if the bytes are not such a message, or the type of a detail is not described.
    pub fn status_json(&self, bytes: &[u8]) -> Result<String, SchemaError> {
        json::decode_status(self.descriptor.parent_pool(), bytes)
    }

    /// A response message as protobuf's JSON, for checks and for display. Fields without a value have their default;
    /// 64-bit integers are strings.
    ///
    /// # Errors
    /// [`SchemaError`] if the bytes are not such a message, or it takes more than 256 MiB decoded.
    pub fn decode_to_json(&self, bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
        decode(self.descriptor.output(), bytes)
    }

    /// A request message as protobuf's JSON, for display.
    ///
    /// # Errors
    /// [`SchemaError`] if the bytes are not such a message.
    pub fn request_to_json(&self, bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
        decode(self.descriptor.input(), bytes)
    }
}

fn decode(message: MessageDescriptor, bytes: &[u8]) -> Result<serde_json::Value, SchemaError> {
    let name = message.full_name().to_owned();
    let wrong = |why: String| SchemaError(format!("not a {name}: {why}"));
    MessageBudget::default().take_message(&message, bytes).map_err(wrong)?;
    let message = DynamicMessage::decode(message, bytes).map_err(|error| wrong(error.to_string()))?;
    let options = SerializeOptions::new().skip_default_fields(false);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .map_err(|error| wrong(error.to_string()))
}
