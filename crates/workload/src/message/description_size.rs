//! How much a description from a server may contain.

use prost::Message as _;
use prost_reflect::ReflectMessage as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use super::error::SchemaError;
use super::size::MessageBudget;

/// The longest name of a message, field, service or method, and of the package, in bytes.
const LONGEST_NAME: usize = 512;
/// All full names together, in bytes: each repeats the names around it.
const MOST_NAME_BYTES: usize = 32 << 20;

/// What is left for the files of one description.
#[derive(Debug)]
pub(super) struct DescriptionBudget {
    messages: MessageBudget,
    name_bytes: usize,
}

impl Default for DescriptionBudget {
    fn default() -> Self {
        DescriptionBudget { messages: MessageBudget::default(), name_bytes: MOST_NAME_BYTES }
    }
}

impl DescriptionBudget {
    /// What the files so far take decoded, as estimated from their fields.
    pub(super) fn taken_bytes(&self) -> usize {
        self.messages.taken_bytes()
    }

    /// Reads a file of the description.
    ///
    /// # Errors
    /// [`SchemaError`] if it is none, or the description takes too much with it.
    pub(super) fn decode(&mut self, encoded: &[u8]) -> Result<FileDescriptorProto, SchemaError> {
        let wrong =
            |why: String| SchemaError(format!("its reflection sends a file that is not readable: {why}"));
        let descriptor = FileDescriptorProto::default().descriptor();
        self.messages
            .take_message(&descriptor, encoded)
            .map_err(|why| wrong(format!("the description: {why}")))?;
        let file = FileDescriptorProto::decode(encoded).map_err(|error| wrong(error.to_string()))?;
        let package = self.name(0, file.package()).map_err(wrong)?;
        file.message_type.iter().try_for_each(|message| self.message(package, message)).map_err(wrong)?;
        file.enum_type.iter().try_for_each(|one| self.values(package, one)).map_err(wrong)?;
        file.extension.iter().try_for_each(|field| self.field(package, field)).map_err(wrong)?;
        for service in &file.service {
            let name = self.name(package, service.name()).map_err(wrong)?;
            service
                .method
                .iter()
                .try_for_each(|method| self.name(name, method.name()).map(drop))
                .map_err(wrong)?;
        }
        Ok(file)
    }

    fn message(&mut self, around: usize, message: &DescriptorProto) -> Result<(), String> {
        let name = self.name(around, message.name())?;
        message.field.iter().chain(&message.extension).try_for_each(|field| self.field(name, field))?;
        message.oneof_decl.iter().try_for_each(|oneof| self.name(name, oneof.name()).map(drop))?;
        message.enum_type.iter().try_for_each(|one| self.values(name, one))?;
        message.nested_type.iter().try_for_each(|nested| self.message(name, nested))
    }

    /// A field has two names, of which every message as JSON repeats the second.
    fn field(&mut self, around: usize, field: &FieldDescriptorProto) -> Result<(), String> {
        self.name(around, field.name())?;
        self.name(0, field.json_name()).map(drop)
    }

    fn values(&mut self, around: usize, one: &EnumDescriptorProto) -> Result<(), String> {
        let name = self.name(around, one.name())?;
        one.value.iter().try_for_each(|value| self.name(name, value.name()).map(drop))
    }

    /// The length of the full name, of which `around` bytes are those of what contains it.
    fn name(&mut self, around: usize, name: &str) -> Result<usize, String> {
        if name.len() > LONGEST_NAME {
            return Err(format!("a name has more than {LONGEST_NAME} bytes"));
        }
        let length = around + name.len() + 1;
        let left = self.name_bytes.checked_sub(length);
        self.name_bytes =
            left.ok_or_else(|| format!("its full names take more than {MOST_NAME_BYTES} bytes"))?;
        Ok(length)
    }
}
