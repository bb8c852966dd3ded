//! The names of functions, from the symbol tables of the program and its libraries.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol, ReadRef, SymbolKind};

use super::program::{CodeMapping, ImageReader, Program, read_image};

/// The functions at some addresses.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    names: HashMap<u64, String>,
}

impl Symbols {
    /// The functions at these addresses. Code without symbols is named after its file, in brackets.
    pub(super) fn resolve(program: &Program, addresses: impl Iterator<Item = u64>) -> Self {
        let mut by_module = vec![BTreeSet::new(); program.modules.len()];
        for address in addresses {
            if let Some(module) = program.module_at(address) {
                by_module[module].insert(address);
            }
        }
        let mut names = HashMap::new();
        for (module, addresses) in program.modules.iter().zip(by_module) {
            if addresses.is_empty() {
                continue;
            }
            let found = read_image(&module.mapping, NamesAt { addresses: &addresses, bias: module.bias });
            names.extend(found.ok().flatten().unwrap_or_default());
            for address in addresses {
                names.entry(address).or_insert_with(|| in_brackets(&module.mapping.name));
            }
        }
        Self { names }
    }

    /// The name of the function at an address; `None` outside of all code.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        self.names.get(&address).map(String::as_str)
    }
}

fn in_brackets(file: &str) -> String {
    let name = Path::new(file).file_name().map(|name| name.to_string_lossy()).unwrap_or(file.into());
    if name.starts_with('[') { name.into_owned() } else { format!("[{name}]") }
}

/// Reads the names of the functions at these addresses.
struct NamesAt<'a> {
    addresses: &'a BTreeSet<u64>,
    bias: u64,
}

impl ImageReader for NamesAt<'_> {
    type Output = HashMap<u64, String>;

    fn read<'data, R: ReadRef<'data>>(
        self,
        _mapping: &CodeMapping,
        image: &ElfFile64<'data, object::Endianness, R>,
    ) -> Option<Self::Output> {
        let mut names = HashMap::new();
        // Stripped libraries have the names that others use.
        self.add(image.dynamic_symbols(), &mut names);
        self.add(image.symbols(), &mut names);
        Some(names)
    }
}

impl NamesAt<'_> {
    fn add<'data>(
        &self,
        symbols: impl Iterator<Item = impl ObjectSymbol<'data>>,
        names: &mut HashMap<u64, String>,
    ) {
        for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition()) {
            let start = symbol.address().wrapping_add(self.bias);
            let Some(end) = start.checked_add(symbol.size()) else { continue };
            for address in self.addresses.range(start..end) {
                if let Ok(name) = symbol.name() {
                    names.insert(*address, demangled(name));
                }
            }
        }
    }
}

/// Without the hash that the compiler appends.
fn demangled(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        let mangled = "_ZN9challenge4http4list17h0123456789abcdefE";
        assert_eq!(demangled(mangled), "challenge::http::list");
        assert_eq!(demangled("malloc"), "malloc");
        assert_eq!(in_brackets("/usr/lib/libc.so.6"), "[libc.so.6]");
        assert_eq!(in_brackets("[vdso]"), "[vdso]");
    }
}
