//! Descriptions for the unit tests of messages, linked by the compiler that the reader of plans uses.

use protox::file::{ChainFileResolver, DescriptorSetFileResolver, File, FileResolver, GoogleFileResolver};

use super::Schemas;

struct OneFile<'a>(&'a str);

impl FileResolver for OneFile<'_> {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "t.proto" => File::from_source(name, self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The target `x` as this `.proto` text describes it.
pub(crate) fn described(proto: &str) -> Schemas {
    // The resolver must live as long as the compiler owns it.
    link(OneFile(Box::leak(proto.to_owned().into_boxed_str())), &["t.proto".to_owned()])
}

/// The target `x` as a descriptor set describes it.
pub(crate) fn from_set(set: &[u8]) -> Schemas {
    use prost::Message as _;
    let names = prost_types::FileDescriptorSet::decode(set).expect("a descriptor set").file;
    let names: Vec<String> = names.iter().map(|file| file.name().to_owned()).collect();
    link(DescriptorSetFileResolver::decode(set).expect("a descriptor set"), &names)
}

fn link(resolver: impl FileResolver + 'static, names: &[String]) -> Schemas {
    let mut chain = ChainFileResolver::new();
    chain.add(resolver);
    chain.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(chain);
    compiler.include_imports(true);
    compiler.open_files(names).expect("the files of a test can be linked");
    let mut schemas = Schemas::default();
    schemas.insert("x", compiler.descriptor_pool());
    schemas
}
