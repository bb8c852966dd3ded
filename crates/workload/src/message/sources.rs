//! The files that a description consists of: `.proto` texts and descriptor sets, and what they import.

use std::collections::{HashMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::file::{DescriptorSetFileResolver, File, FileResolver};

use super::schemas::{SchemaError, described};
use crate::plan::Files;

/// The most a `.proto` file may hold, in bytes.
const MAX_FILE_BYTES: usize = 4 << 20;
/// The most a descriptor set may hold, in bytes.
const MAX_SET_BYTES: usize = 32 << 20;
/// The most files one target's description may consist of.
const MAX_FILES: usize = 1_000;
/// What the names of descriptor sets end with.
const SET_EXTENSIONS: [&str; 6] = ["binpb", "pb", "protoset", "desc", "bin", "fds"];

/// Every file of a description.
#[derive(Default)]
pub(super) struct Sources {
    /// Texts by the name under which others import them.
    by_name: HashMap<String, String>,
    sets: Vec<DescriptorSetFileResolver>,
}

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if let Some(source) = self.by_name.get(name) {
            return File::from_source(name, source);
        }
        let found = self.sets.iter().find_map(|set| set.open_file(name).ok());
        found.ok_or_else(|| protox::Error::file_not_found(name))
    }
}

impl Sources {
    /// Take in the bytes of a descriptor set; yields the names of its files.
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
        // Of any other syntax the library that links descriptions does not report but panics.
        let is_known = |file: &&FileDescriptorProto| matches!(file.syntax(), "" | "proto2" | "proto3");
        if let Some(strange) = set.file.iter().find(|file| !is_known(file)) {
            let (name, syntax) = (strange.name(), strange.syntax());
            return Err(wrong(format!(
                "`{name}` is written in the syntax `{syntax}`, not in proto2 or proto3"
            )));
        }
        let resolver = DescriptorSetFileResolver::decode(bytes).map_err(|error| wrong(error.to_string()))?;
        self.sets.push(resolver);
        Ok(names)
    }

    /// Read `files` and everything they import; yields the names of `files` as their importers call them.
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

fn read_bytes(path: &Path, files: &dyn Files) -> Result<Vec<u8>, SchemaError> {
    let wrong = |e| SchemaError(format!("{} cannot be read: {e}; check the path", path.display()));
    files.read(path).map_err(wrong)
}

/// The bytes of a descriptor set: told by its name, or by what it holds if the name says nothing.
fn read_set(path: &Path, files: &dyn Files) -> Result<Option<Vec<u8>>, SchemaError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if extension == "proto" {
        return Ok(None);
    }
    let bytes = read_bytes(path, files)?;
    let is_set = SET_EXTENSIONS.contains(&extension.as_str()) || holds_set(&bytes);
    Ok(is_set.then_some(bytes))
}

fn holds_set(bytes: &[u8]) -> bool {
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

/// Add every folder above each of the files, nearest first.
fn folders_above(protos: &[PathBuf], folders: &mut Vec<PathBuf>) {
    for folder in protos.iter().flat_map(|path| path.ancestors().skip(1).take(32)) {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
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
