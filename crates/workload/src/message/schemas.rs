//! `.proto` files, parsed in process, and the methods they describe.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use super::compile;
use super::encode::MessageTemplate;
use crate::nearest::nearest;
use crate::plan::Files;
use crate::template::Template;

/// The most a `.proto` file may hold, in bytes.
const MAX_FILE_BYTES: usize = 4 << 20;
/// The most files one target's description may consist of.
const MAX_FILES: usize = 1_000;

/// What is wrong with a description, or with what was asked of it, and what to do.
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
    /// Read the `.proto` files of one target, and what they import: looked for in each folder above each
    /// of the files, so that no include path needs to be given. Google's well-known files are built in.
    ///
    /// # Errors
    /// [`SchemaError`] names the file, and the line where that is known.
    pub fn load(&mut self, target: &str, protos: &[PathBuf], files: &dyn Files) -> Result<(), SchemaError> {
        let mut sources = Sources::default();
        let names = sources.gather(protos, files)?;
        let mut resolver = ChainFileResolver::new();
        resolver.add(sources);
        resolver.add(GoogleFileResolver::new());
        let mut compiler = protox::Compiler::with_file_resolver(resolver);
        compiler.include_imports(true);
        compiler.open_files(&names).map_err(|error| described(&error))?;
        self.pools.insert(target.to_owned(), compiler.descriptor_pool());
        Ok(())
    }

    /// The method `package.Service/Method` of a target.
    ///
    /// # Errors
    /// [`SchemaError`] when there is no such method, naming the nearest, or when it streams.
    pub fn method(&self, target: &str, name: &str) -> Result<Method, SchemaError> {
        let pool = self.pools.get(target).ok_or_else(|| {
            SchemaError(format!("target `{target}` has no `proto` files that describe its methods"))
        })?;
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
        if descriptor.is_client_streaming() || descriptor.is_server_streaming() {
            return Err(SchemaError(format!("`{name}` streams; only unary methods can be called")));
        }
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

/// The text of every file of a description, by the name under which others import it.
#[derive(Default)]
struct Sources {
    by_name: HashMap<String, String>,
}

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let source = self.by_name.get(name).ok_or_else(|| protox::Error::file_not_found(name))?;
        File::from_source(name, source)
    }
}

impl Sources {
    /// Read `protos` and everything they import; yields the names of `protos` as their importers call them.
    fn gather(&mut self, protos: &[PathBuf], files: &dyn Files) -> Result<Vec<String>, SchemaError> {
        let mut protos: Vec<PathBuf> = protos.iter().map(|path| normal(path)).collect();
        protos.sort();
        protos.dedup();
        let folders = folders_above(&protos);
        let mut texts: HashMap<PathBuf, String> = HashMap::new();
        let mut imported: HashMap<String, PathBuf> = HashMap::new();
        let mut waiting: VecDeque<PathBuf> = protos.iter().cloned().collect();
        while let Some(path) = waiting.pop_front() {
            if texts.contains_key(&path) {
                continue;
            }
            if texts.len() >= MAX_FILES {
                return Err(SchemaError(format!("more than {MAX_FILES} files are imported")));
            }
            let text = read(&path, files)?;
            for import in imports(&path, &text)? {
                if let Some(found) = find(&import, &folders, files) {
                    imported.insert(import, found.clone());
                    waiting.push_back(found);
                }
            }
            texts.insert(path, text);
        }
        for (name, path) in &imported {
            self.by_name.extend(texts.get(path).map(|text| (name.clone(), text.clone())));
        }
        let name_of =
            |path: &PathBuf| imported.iter().find(|(_, p)| *p == path).map(|(name, _)| name.clone());
        let mut names = Vec::with_capacity(protos.len());
        for path in &protos {
            let name = name_of(path).unwrap_or_else(|| self.free_name(path));
            self.by_name.extend(texts.remove(path).map(|text| (name.clone(), text)));
            names.push(name);
        }
        Ok(names)
    }

    /// A name for a file that nobody imports. The compiler takes only names that lead downwards, so the root
    /// and `..` are left out; where that makes two files alike, a number tells them apart.
    fn free_name(&self, path: &Path) -> String {
        let downwards = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        let name = downwards.collect::<Vec<_>>().join("/");
        let numbered = (2..).map(|n| format!("{n}/{name}"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        candidates.find(|candidate| !self.by_name.contains_key(candidate)).unwrap_or(name)
    }
}

fn read(path: &Path, files: &dyn Files) -> Result<String, SchemaError> {
    let shown = path.display();
    let bytes =
        files.read(path).map_err(|e| SchemaError(format!("{shown} cannot be read: {e}; check the path")))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(SchemaError(format!("{shown} is larger than {MAX_FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| SchemaError(format!("{shown} is not UTF-8")))
}

/// The names that a file imports.
fn imports(path: &Path, text: &str) -> Result<Vec<String>, SchemaError> {
    let name = path.to_string_lossy().replace('\\', "/");
    let file = File::from_source(&name, text).map_err(|error| {
        let SchemaError(text) = described(&error);
        // An error at the end of a file tells no place, not even the file.
        SchemaError(if text.starts_with(&name) { text } else { format!("{name}: {text}") })
    })?;
    Ok(file.file_descriptor_proto().dependency.clone())
}

/// Where an imported file is, if it is in one of `folders`.
fn find(import: &str, folders: &[PathBuf], files: &dyn Files) -> Option<PathBuf> {
    folders.iter().map(|folder| normal(&folder.join(import))).find(|path| files.read(path).is_ok())
}

/// Every folder above each of the files, nearest first.
fn folders_above(protos: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in protos.iter().flat_map(|path| path.ancestors().skip(1).take(32)) {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// The path with `.` and, where a folder stands before it, `..` resolved by its text.
fn normal(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}

/// The error with the place it happened at, which only its debug form tells.
fn described(error: &protox::Error) -> SchemaError {
    let text = format!("{error:?}");
    SchemaError(text.lines().next().unwrap_or_default().to_owned())
}
