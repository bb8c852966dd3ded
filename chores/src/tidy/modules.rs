//! The files of a crate as modules, and which of them uses names of which other.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::tree::{Source, Tree};
use super::use_tree::{Paths, paths};

/// Re-exports of re-exports are followed this far.
const MOST_REEXPORTS: usize = 6;

/// What introduces a name.
const DEFINING_KEYWORDS: &[&str] =
    &["fn", "struct", "enum", "trait", "const", "static", "type", "union", "macro_rules!"];

/// The names of modules from the crate's root to this one; none for the root itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ModulePath(Vec<String>);

impl ModulePath {
    fn child(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    fn is_above(&self, other: &Self) -> bool {
        self.0.len() < other.0.len() && other.0.starts_with(&self.0)
    }
}

/// One file, or the library's and the program's root together.
#[derive(Default)]
struct Module {
    file: String,
    paths: Paths,
    defines: HashSet<String>,
}

#[derive(Default)]
pub(super) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

/// For every module the modules that it uses, each with the names that it takes from there. What a module's ancestors
/// define is left out.
pub(super) type Uses<'a> = BTreeMap<&'a ModulePath, BTreeMap<&'a ModulePath, BTreeSet<String>>>;

/// The crates of the tree: what is below each `src` folder, without tests and programs in `src/bin`.
pub(super) fn crates(tree: &Tree) -> Vec<Crate> {
    let mut crates: BTreeMap<&str, Crate> = BTreeMap::new();
    for source in &tree.sources {
        if let Some((folder, path)) = module_of(source) {
            crates.entry(folder).or_default().add(source, path);
        }
    }
    crates.into_values().collect()
}

/// The crate's folder, and the file's place among its modules.
fn module_of(source: &Source) -> Option<(&str, ModulePath)> {
    let (folder, file) = source.path.split_once("/src/")?;
    let names: Vec<String> = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if names.iter().any(|name| name == "tests") || names[0] == "bin" {
        return None;
    }
    let is_root = names.len() == 1 && matches!(names[0].as_str(), "lib" | "main");
    Some((folder, if is_root { ModulePath::default() } else { ModulePath(names) }))
}

impl Crate {
    fn add(&mut self, source: &Source, path: ModulePath) {
        let Some(code) = &source.code else { return };
        let text = code.without_tests();
        let module = self.modules.entry(path).or_default();
        if module.file.is_empty() {
            module.file.clone_from(&source.path);
        }
        let found = paths(&text);
        module.paths.imports.extend(found.imports);
        module.paths.inline.extend(found.inline);
        module.defines.extend(defined_names(&text));
    }

    /// The file of a module of this crate.
    pub(super) fn file(&self, path: &ModulePath) -> &str {
        &self.modules[path].file
    }

    pub(super) fn uses(&self) -> Uses<'_> {
        let mut uses = Uses::new();
        for (from, module) in &self.modules {
            let imported = module.paths.imports.iter().map(|import| &import.path);
            for path in imported.chain(&module.paths.inline) {
                let Some((to, name)) = self.resolve(from, path, 0).zip(path.last()) else { continue };
                if to != from && !to.is_above(from) {
                    uses.entry(from).or_default().entry(to).or_default().insert(name.clone());
                }
            }
        }
        uses
    }

    /// The same between the modules below the crate's root, each with all that is below it: a re-export hides which file of a module
    /// another uses, and not that it uses the module.
    pub(super) fn uses_of_top_modules(&self) -> Uses<'_> {
        let mut uses = Uses::new();
        for (from, used) in self.uses() {
            for (to, names) in used {
                let Some((from, to)) = self.top(from).zip(self.top(to)) else { continue };
                if from != to {
                    uses.entry(from).or_default().entry(to).or_default().extend(names);
                }
            }
        }
        uses
    }

    /// The module below the root that this one is, or is in; none for the root.
    fn top(&self, path: &ModulePath) -> Option<&ModulePath> {
        let top = ModulePath(path.0.first().cloned().into_iter().collect());
        self.modules.get_key_value(&top).filter(|(top, _)| !top.0.is_empty()).map(|(top, _)| top)
    }

    /// The module that defines what `path`, written in `from`, leads to; none for paths into other crates.
    fn resolve(&self, from: &ModulePath, path: &[String], reexports: usize) -> Option<&ModulePath> {
        if reexports > MOST_REEXPORTS {
            return None;
        }
        let supers = path.iter().take_while(|segment| *segment == "super").count();
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (ModulePath::default(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (ModulePath(from.0[..from.0.len().saturating_sub(supers)].to_vec()), &path[supers..]),
            first if self.modules.contains_key(&from.child(first)) => (from.clone(), path),
            _ => return None,
        };
        while let Some((first, further)) = rest.split_first() {
            let child = at.child(first);
            if !self.modules.contains_key(&child) {
                break;
            }
            (at, rest) = (child, further);
        }
        let (at, module) = self.modules.get_key_value(&at)?;
        let Some(name) = rest.first().filter(|name| !module.defines.contains(*name)) else { return Some(at) };
        let mut reexported =
            module.paths.imports.iter().filter(|import| import.name() == Some(name) && import.path != rest);
        reexported.find_map(|import| self.resolve(at, &import.path, reexports + 1)).or(Some(at))
    }
}

/// Names that the code defines, those within its functions and traits too.
fn defined_names(code: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut words = code.split_whitespace();
    while let Some(word) = words.next() {
        if DEFINING_KEYWORDS.iter().any(|keyword| word.ends_with(keyword)) {
            let next = words.clone().next().unwrap_or_default();
            names.insert(
                next.split(|c: char| c != '_' && !c.is_alphanumeric()).next().unwrap_or_default().to_owned(),
            );
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `FROM -> TO: NAMES` for every arrow.
    fn check(files: &[(&str, &str)], expect: &[&str]) {
        let tree = Tree::of(files);
        let crates = crates(&tree);
        let mut arrows = Vec::new();
        for of_crate in &crates {
            for (from, targets) in of_crate.uses() {
                for (to, names) in targets {
                    let names: Vec<_> = names.into_iter().collect();
                    arrows.push(format!(
                        "{} -> {}: {}",
                        of_crate.file(from),
                        of_crate.file(to),
                        names.join(" ")
                    ));
                }
            }
        }
        assert_eq!(arrows, expect);
    }

    #[test]
    fn paths_lead_to_the_file_that_defines_the_name() {
        check(
            &[
                ("a/src/lib.rs", "mod b;\nmod c;\npub use b::One;\npub use c::{Two as Three};\n"),
                ("a/src/b.rs", "pub struct One;"),
                ("a/src/c.rs", "pub struct Two;\nfn f() -> crate::One { crate::Three }"),
                ("a/src/main.rs", "use a::One;"),
            ],
            &[
                "a/src/lib.rs -> a/src/b.rs: One",
                "a/src/lib.rs -> a/src/c.rs: Two",
                "a/src/c.rs -> a/src/b.rs: One",
            ],
        );
    }

    #[test]
    fn what_an_ancestor_defines_is_no_arrow_and_what_it_imports_is() {
        check(
            &[
                ("a/src/lib.rs", ""),
                ("a/src/b.rs", "mod d;\nuse crate::c::Two;\nstruct Own;\nfn f() { d::g() }"),
                ("a/src/b/d.rs", "use super::{Own, Two};\nfn g() {}"),
                ("a/src/c.rs", "pub struct Two;"),
            ],
            &[
                "a/src/b.rs -> a/src/b/d.rs: g",
                "a/src/b.rs -> a/src/c.rs: Two",
                "a/src/b/d.rs -> a/src/c.rs: Two",
            ],
        );
    }

    #[test]
    fn tests_and_programs_beside_the_crate_are_left_out() {
        check(
            &[
                ("a/src/lib.rs", "#[cfg(test)]\nmod tests { use crate::b::One; }\n// crate::b::One"),
                ("a/src/b.rs", "pub struct One;"),
                ("a/src/b/tests.rs", "use crate::b::One;\nuse crate::c;"),
                ("a/src/bin/d.rs", "mod b;\nuse b::One;"),
                ("a/tests/it/main.rs", "mod b;\nuse b::One;"),
            ],
            &[],
        );
    }
}
