//! The files of a description: `.proto` texts and descriptor sets, and their imports.

use std::collections::{HashMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::file::{DescriptorSetFileResolver, File, FileResolver};

use super::of_compiler;
use workload::files::Files;
use workload::message::SchemaError;

/// The largest `.proto` file, in bytes.
const MAX_FILE_BYTES: usize = 4 << 20;
/// The largest descriptor set, in bytes.
const MAX_SET_BYTES: usize = 32 << 20;
/// The most files of one target's description.
const MAX_FILES: usize = 1_000;
/// File name extensions of descriptor sets.
const SET_EXTENSIONS: [&str; 6] = ["binpb", "pb", "protoset", "desc", "bin", "fds"];

/// All files of a description.
#[derive(Default)]
pub(super) struct ProtoSources {
    /// Texts by the name under which other files import them.
    by_name: HashMap<String, String>,
    sets: Vec<DescriptorSetFileResolver>,
}

impl FileResolver for ProtoSources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if let Some(source) = self.by_name.get(name) {
            return File::from_source(name, source);
        }
        let found = self.sets.iter().find_map(|set| set.open_file(name).ok());
        found.ok_or_else(|| protox::Error::file_not_found(name))
    }
}

impl ProtoSources {
    /// Add an encoded descriptor set; returns the names of its files.
    pub(super) fn add_set(&mut self, bytes: &[u8]) -> Result<Vec<String>, SchemaError> {
        let wrong = |why: String| SchemaError(format!("not a descriptor set: {why}"));
        if bytes.len() > MAX_SET_BYTES {
            return Err(wrong(format!("larger than {MAX_SET_BYTES} bytes")));
        }
        let set = FileDescriptorSet::decode(bytes).map_err(|error| wrong(error.to_string()))?;
        let names: Vec<String> = set.file.iter().map(|file| file.name().to_owned()).collect();
        if names.is_empty() || names.len() > MAX_FILES || names.iter().any(String::is_empty) {
            return Err(wrong(format!("it holds 1 to {MAX_FILES} files, each with a name")));
        }
        // For any other syntax the library that links descriptions panics instead of returning an error.
        let is_supported = |file: &&FileDescriptorProto| matches!(file.syntax(), "" | "proto2" | "proto3");
        if let Some(unsupported) = set.file.iter().find(|file| !is_supported(file)) {
            let (name, syntax) = (unsupported.name(), unsupported.syntax());
            return Err(wrong(format!(
                "`{name}` is written in the syntax `{syntax}`, not in proto2 or proto3"
            )));
        }
        let resolver = DescriptorSetFileResolver::decode(bytes).map_err(|error| wrong(error.to_string()))?;
        self.sets.push(resolver);
        Ok(names)
    }

    /// Read the files at `paths` and their imports; returns the names of the former as other files import them.
    pub(super) fn gather(
        &mut self,
        paths: &[PathBuf],
        import_paths: &[PathBuf],
        files: &dyn Files,
    ) -> Result<Vec<String>, SchemaError> {
        let mut paths: Vec<PathBuf> = paths.iter().map(|path| normal(path)).collect();
        paths.sort();
        paths.dedup();
        let mut names = Vec::new();
        let mut protos = Vec::new();
        for path in paths {
            match read_set(&path, files)? {
                Some(bytes) => {
                    let named = |SchemaError(why)| SchemaError(format!("{} is {why}", path.display()));
                    names.extend(self.add_set(&bytes).map_err(named)?);
                }
                None => protos.push(path),
            }
        }
        names.extend(self.gather_texts(protos, import_paths, files)?);
        Ok(names)
    }

    fn gather_texts(
        &mut self,
        protos: Vec<PathBuf>,
        import_paths: &[PathBuf],
        files: &dyn Files,
    ) -> Result<Vec<String>, SchemaError> {
        let mut folders: Vec<PathBuf> = import_paths.iter().map(|path| normal(path)).collect();
        folders_above(&protos, &mut folders);
        let mut texts: HashMap<PathBuf, String> = HashMap::new();
        let mut imported: HashMap<String, PathBuf> = HashMap::new();
        let mut unread: VecDeque<PathBuf> = protos.iter().cloned().collect();
        while let Some(path) = unread.pop_front() {
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
                    unread.push_back(found);
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

    /// A name for a file that no other file imports. The compiler takes relative names without `..` only, so the root
    /// and `..` are left out; a number is added if two files would have the same name.
    fn free_name(&self, path: &Path) -> String {
        let normal_parts = path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        });
        let name = normal_parts.collect::<Vec<_>>().join("/");
        let numbered = (2..).map(|n| format!("{n}/{name}"));
        let mut candidates = std::iter::once(name.clone()).chain(numbered);
        candidates.find(|candidate| !self.by_name.contains_key(candidate)).unwrap_or(name)
    }
}

fn read_bytes(path: &Path, files: &dyn Files) -> Result<Vec<u8>, SchemaError> {
    let wrong = |e| SchemaError(format!("{} cannot be read: {e}; check the path", path.display()));
    files.read(path).map_err(wrong)
}

/// The bytes of a descriptor set, which is recognized by its extension or else by its content; none for a text.
fn read_set(path: &Path, files: &dyn Files) -> Result<Option<Vec<u8>>, SchemaError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if extension == "proto" {
        return Ok(None);
    }
    let bytes = read_bytes(path, files)?;
    let is_set = SET_EXTENSIONS.contains(&extension.as_str()) || is_descriptor_set(&bytes);
    Ok(is_set.then_some(bytes))
}

fn is_descriptor_set(bytes: &[u8]) -> bool {
    bytes.len() <= MAX_SET_BYTES
        && FileDescriptorSet::decode(bytes)
            .is_ok_and(|set| !set.file.is_empty() && set.file.iter().all(|file| !file.name().is_empty()))
}

fn read(path: &Path, files: &dyn Files) -> Result<String, SchemaError> {
    let shown = path.display();
    let bytes = read_bytes(path, files)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(SchemaError(format!("{shown} is larger than {MAX_FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| SchemaError(format!("{shown} is not UTF-8")))
}

/// The names that a file imports.
fn imports(path: &Path, text: &str) -> Result<Vec<String>, SchemaError> {
    let name = path.to_string_lossy().replace('\\', "/");
    let file = File::from_source(&name, text).map_err(|error| {
        let SchemaError(text) = of_compiler(&error);
        // An error at the end of a file has no place, and no file name either.
        SchemaError(if text.starts_with(&name) { text } else { format!("{name}: {text}") })
    })?;
    Ok(file.file_descriptor_proto().dependency.clone())
}

/// The path of an imported file, if it is in one of `folders`.
fn find(import: &str, folders: &[PathBuf], files: &dyn Files) -> Option<PathBuf> {
    folders.iter().map(|folder| normal(&folder.join(import))).find(|path| files.read(path).is_ok())
}

/// Add every folder above each of the files, nearest first.
fn folders_above(protos: &[PathBuf], folders: &mut Vec<PathBuf>) {
    for folder in protos.iter().flat_map(|path| path.ancestors().skip(1).take(32)) {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
}

/// The path without `.`, and without `..` after the name of a folder.
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
