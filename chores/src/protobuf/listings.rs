//! The listings service has its descriptors under its own package and under the older package that some clients still use,
//! for reflection. Messages of requests can be read from JSON, and those of responses written.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

use super::{Generated, add_code, place};

const PROTO_FILE: &str = "listings/v1/listings.proto";
const CURRENT_PACKAGE: &str = ".listingssvc.v1.";
const OLDER_PACKAGE: &str = ".listings.v1.";

/// Adds the files of the service.
pub(super) fn generate(proto: &Path, files: &mut Generated) -> Result<()> {
    let mut compiler = protox::Compiler::new([proto])?;
    compiler.include_imports(true).include_source_info(true).open_files([PROTO_FILE])?;
    let set = compiler.file_descriptor_set();
    let older = set.file.iter().filter(|file| file.name() == PROTO_FILE).map(in_older_package);
    let both = FileDescriptorSet { file: set.file.iter().cloned().chain(older).collect() };
    files.insert(place("listings", "listings.bin"), both.encode_to_vec());
    let json = json_attributes(&set);
    let mut code = tonic_prost_build::configure().build_transport(false);
    for (message, attribute) in json.of_messages {
        code = code.message_attribute(message, attribute);
    }
    for (field, attribute) in json.of_fields {
        code = code.field_attribute(field, attribute);
    }
    add_code("listings", code, set, files)
}

/// Attributes by the path of a message or a field.
#[derive(Default)]
struct JsonAttributes {
    of_messages: Vec<(String, &'static str)>,
    of_fields: Vec<(String, &'static str)>,
}

/// Absent members have their default; absent values are not written, and neither are `Struct`s, which are always empty.
fn json_attributes(set: &FileDescriptorSet) -> JsonAttributes {
    let mut attributes = JsonAttributes::default();
    let Some(file) = set.file.iter().find(|file| file.name() == PROTO_FILE) else { return attributes };
    let methods = || file.service.iter().flat_map(|service| &service.method);
    let read = reached(file, methods().map(|method| method.input_type()));
    let written = reached(file, methods().map(|method| method.output_type()));
    for message in &file.message_type {
        let path = format!("{CURRENT_PACKAGE}{}", message.name());
        if read.contains(&path) {
            attributes.of_messages.push((path.clone(), "#[derive(serde::Deserialize)] #[serde(default)]"));
        }
        if !written.contains(&path) {
            continue;
        }
        attributes.of_messages.push((path.clone(), "#[derive(serde::Serialize)]"));
        for field in &message.field {
            let attribute = match field.type_name() {
                ".google.protobuf.Struct" => "#[serde(skip)]",
                ".google.protobuf.Timestamp" => "#[serde(serialize_with = \"write_timestamp\")]",
                _ if field.proto3_optional() => "#[serde(skip_serializing_if = \"Option::is_none\")]",
                _ => continue,
            };
            attributes.of_fields.push((format!("{path}.{}", field.name()), attribute));
        }
    }
    attributes
}

/// The messages of the file in these messages, directly or not, and these.
fn reached<'a>(file: &'a FileDescriptorProto, from: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let (mut reached, mut open) = (BTreeSet::new(), from.map(str::to_owned).collect::<Vec<_>>());
    while let Some(path) = open.pop() {
        let message =
            file.message_type.iter().find(|one| path.strip_prefix(CURRENT_PACKAGE) == Some(one.name()));
        let Some(message) = message.filter(|_| reached.insert(path.clone())) else { continue };
        let entries = message.nested_type.iter().flat_map(|entry| &entry.field);
        open.extend(message.field.iter().chain(entries).map(|field| field.type_name().to_owned()));
    }
    reached
}

/// The same file in the older package.
fn in_older_package(file: &FileDescriptorProto) -> FileDescriptorProto {
    let mut file = file.clone();
    file.name = Some(format!("older/{PROTO_FILE}"));
    file.package = Some(OLDER_PACKAGE.trim_matches('.').to_owned());
    file.source_code_info = None;
    file.message_type.iter_mut().for_each(rename_fields);
    for method in file.service.iter_mut().flat_map(|service| &mut service.method) {
        rename(&mut method.input_type);
        rename(&mut method.output_type);
    }
    file
}

fn rename_fields(message: &mut DescriptorProto) {
    message.field.iter_mut().for_each(|field| rename(&mut field.type_name));
    message.nested_type.iter_mut().for_each(rename_fields);
}

fn rename(name: &mut Option<String>) {
    if let Some(rest) = name.as_deref().and_then(|name| name.strip_prefix(CURRENT_PACKAGE)) {
        *name = Some(format!("{OLDER_PACKAGE}{rest}"));
    }
}
