//! Compiles the `.proto` file in process, so that a build needs no protoc, and writes the descriptors for reflection:
//! of the service under its own package and under the older package that some clients still use.

use std::path::Path;

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

const PROTO_FILE: &str = "listings/v1/listings.proto";
const CURRENT_PACKAGE: &str = ".listingssvc.v1.";
const OLDER_PACKAGE: &str = ".listings.v1.";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.join(PROTO_FILE).display());
    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true).include_source_info(true).open_files([PROTO_FILE])?;
    let set = compiler.file_descriptor_set();
    let older = set.file.iter().filter(|file| file.name() == PROTO_FILE).map(in_older_package);
    let both = FileDescriptorSet { file: set.file.iter().cloned().chain(older).collect() };
    std::fs::write(Path::new(&out).join("listings.bin"), both.encode_to_vec())?;
    tonic_prost_build::configure().build_transport(false).compile_fds(set)?;
    Ok(())
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
