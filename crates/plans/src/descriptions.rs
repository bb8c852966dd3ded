//! Descriptions of gRPC services: `.proto` files and descriptor sets, read and linked in process.

mod sources;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use protox::file::{ChainFileResolver, GoogleFileResolver};
use workload::files::Files;
use workload::message::{SchemaError, Schemas};

use self::sources::ProtoSources;

/// Read the files of one target and their imports into `schemas`: `.proto` files, and descriptor sets from `protoc
/// --descriptor_set_out` or `buf build`. Imports are searched in `import_paths`, then in each folder above each of the
/// files. Google's well-known files are built in.
///
/// # Errors
/// [`SchemaError`] names the file, and the line where that is known.
pub fn load(
    schemas: &mut Schemas,
    target: &str,
    protos: &[PathBuf],
    import_paths: &[PathBuf],
    files: &dyn Files,
) -> Result<(), SchemaError> {
    let mut sources = ProtoSources::default();
    let names = sources.gather(protos, import_paths, files)?;
    link(schemas, target, sources, &names)
}

/// Add a target's description: an encoded `google.protobuf.FileDescriptorSet`.
///
/// # Errors
/// [`SchemaError`] if the bytes are not a descriptor set, or an imported file is missing.
pub fn add_set(schemas: &mut Schemas, target: &str, set: &[u8]) -> Result<(), SchemaError> {
    let mut sources = ProtoSources::default();
    let names = sources.add_set(set)?;
    link(schemas, target, sources, &names)
}

fn link(
    schemas: &mut Schemas,
    target: &str,
    sources: ProtoSources,
    names: &[String],
) -> Result<(), SchemaError> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(sources);
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_files(names).map_err(|error| of_compiler(&error))?;
    schemas.insert(target, compiler.descriptor_pool());
    Ok(())
}

/// A compiler error with its place in the file, which only its debug form contains.
fn of_compiler(error: &protox::Error) -> SchemaError {
    let text = format!("{error:?}");
    SchemaError(text.lines().next().unwrap_or_default().to_owned())
}
