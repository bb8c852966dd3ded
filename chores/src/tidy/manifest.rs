//! Reads the dependencies out of a Cargo.toml: names, kinds, lines, and nothing else.

use toml::de::DeTable;

/// When a dependency is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Build,
    Dev,
    /// Named for all members in the root manifest.
    Workspace,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) kind: Kind,
    /// The name in this manifest.
    pub(super) key: String,
    /// The package's name, when it differs.
    pub(super) package: Option<String>,
    /// Counted from 1.
    pub(super) line: usize,
}

const TABLES: [(&str, Kind); 3] =
    [("dependencies", Kind::Normal), ("build-dependencies", Kind::Build), ("dev-dependencies", Kind::Dev)];

/// Every dependency by its line, those under `[target.…]` too; none of a text that is not TOML, which cargo has refused already.
pub(super) fn dependencies(text: &str) -> Vec<Dependency> {
    let Ok(manifest) = DeTable::parse(text) else { return Vec::new() };
    let manifest = manifest.get_ref();
    let targets = table(manifest, "target").into_iter().flat_map(DeTable::values);
    let owners = targets.filter_map(|target| target.get_ref().as_table()).chain([manifest]);
    let mut tables: Vec<_> = owners
        .flat_map(|owner| TABLES.iter().filter_map(|(name, kind)| Some((*kind, table(owner, name)?))))
        .collect();
    let of_members = table(manifest, "workspace").and_then(|workspace| table(workspace, "dependencies"));
    tables.extend(of_members.map(|table| (Kind::Workspace, table)));
    let named = tables.into_iter().flat_map(|(kind, table)| table.iter().map(move |entry| (kind, entry)));
    let mut found: Vec<Dependency> = named
        .map(|(kind, (key, value))| Dependency {
            kind,
            key: key.get_ref().to_string(),
            package: value
                .get_ref()
                .get("package")
                .and_then(|name| name.get_ref().as_str())
                .map(str::to_owned),
            line: text[..key.span().start].matches('\n').count() + 1,
        })
        .collect();
    found.sort_by_key(|dependency| dependency.line);
    found
}

fn table<'a>(of: &'a DeTable<'a>, key: &str) -> Option<&'a DeTable<'a>> {
    of.get(key)?.get_ref().as_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(Kind, &str, usize)]) {
        let found: Vec<_> = dependencies(text)
            .into_iter()
            .map(|found| (found.kind, found.package.unwrap_or(found.key), found.line))
            .collect();
        let expect: Vec<_> = expect.iter().map(|&(kind, name, line)| (kind, name.to_owned(), line)).collect();
        assert_eq!(found, expect, "of {text}");
    }

    #[test]
    fn every_shape_of_a_dependency_is_read() {
        check("[package]\nname = \"x\"\n", &[]);
        check("[dependencies]\nwire.workspace = true # x\n", &[(Kind::Normal, "wire", 2)]);
        check("[dependencies]\na = { version = \"1\", package = 'tokio' }\n", &[(Kind::Normal, "tokio", 2)]);
        check("[dependencies.a]\nversion = \"1\"\npackage = \"tokio\"\n", &[(Kind::Normal, "tokio", 1)]);
        check("[dev-dependencies]\n\"wire\" = \"1\"\n", &[(Kind::Dev, "wire", 2)]);
        check("[target.'cfg(a.b = \"c\")'.build-dependencies]\nwire = \"1\"\n", &[(Kind::Build, "wire", 2)]);
        check("dev-dependencies.wire.path = \"x\"\n", &[(Kind::Dev, "wire", 1)]);
        check("[workspace.dependencies]\na = { package = \"b\" }\n", &[(Kind::Workspace, "b", 2)]);
    }

    #[test]
    fn values_over_several_lines_are_no_keys() {
        check(
            "[dependencies]\na = { features = [\n  \"tokio\", # ]\n  # hyper = 1\n] }\nb = \"1\"\n[features]\nc = [\"dep:a\"]\n",
            &[(Kind::Normal, "a", 2), (Kind::Normal, "b", 6)],
        );
    }
}
