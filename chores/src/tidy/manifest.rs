//! Reads the dependencies out of a Cargo.toml: names, kinds, lines, and nothing else.
//!
//! Cargo has already refused a manifest that is no TOML, so this needs only the shapes that cargo accepts.

/// When a dependency is compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Build,
    Dev,
    /// Named for all members in the root manifest.
    Workspace,
}

/// One dependency of one manifest.
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

/// Every dependency, those under `[target.…]` too.
pub(super) fn dependencies(text: &str) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut header: Vec<String> = Vec::new();
    let mut open = 0isize;
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        let inside_value = open > 0;
        let is_header = !inside_value && line.starts_with('[');
        if is_header {
            header = segments(line.trim_matches(['[', ']']));
        } else {
            open += nesting(line);
        }
        if line.is_empty() || inside_value {
            continue;
        }
        let (key, value) = if is_header { ("", "") } else { line.split_once('=').unwrap_or((line, "")) };
        let path: Vec<String> = header.iter().cloned().chain(segments(key)).collect();
        let Some((kind, key, rest)) = place(&path) else { continue };
        let package = package_of(rest, value);
        match found.iter_mut().find(|other| other.kind == kind && other.key == key) {
            Some(known) => known.package = known.package.take().or(package),
            None => found.push(Dependency { kind, key: key.to_owned(), package, line: index + 1 }),
        }
    }
    found
}

/// The kind, the dependency's key, and what follows it in a full key path.
fn place(path: &[String]) -> Option<(Kind, &str, &[String])> {
    let path = match path {
        [first, _, rest @ ..] if first == "target" => rest,
        _ => path,
    };
    let (kind, path) = match path {
        [first, second, rest @ ..] if first == "workspace" && second == "dependencies" => {
            (Kind::Workspace, rest)
        }
        [first, rest @ ..] => match first.as_str() {
            "dependencies" => (Kind::Normal, rest),
            "build-dependencies" => (Kind::Build, rest),
            "dev-dependencies" => (Kind::Dev, rest),
            _ => return None,
        },
        [] => return None,
    };
    let (key, rest) = path.split_first()?;
    Some((kind, key, rest))
}

/// `package = "…"` on a line of its own below the dependency's header, or inside its inline table.
fn package_of(rest: &[String], value: &str) -> Option<String> {
    let quoted = match rest {
        [last] if last == "package" => value,
        [] => value.split_once("package")?.1.trim_start().strip_prefix('=')?,
        _ => return None,
    };
    let quote = quoted.trim_start().chars().next().filter(|&c| c == '"' || c == '\'')?;
    quoted.trim_start()[1..].split(quote).next().map(str::to_owned)
}

/// Splits a key at its dots, but not at those inside quotes: `target.'cfg(a.b)'.x` has three parts.
fn segments(key: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut quote = None;
    for c in key.trim().chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => part.push(c),
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '.' => parts.push(std::mem::take(&mut part).trim().to_owned()),
            None => part.push(c),
        }
    }
    parts.push(part.trim().to_owned());
    parts.retain(|part| !part.is_empty());
    parts
}

/// How many brackets and braces a line leaves open (or closes), quoted ones aside.
fn nesting(line: &str) -> isize {
    let mut quote = None;
    let mut depth = 0;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '"' | '\'' => quote = Some(c),
                '[' | '{' => depth += 1,
                ']' | '}' => depth -= 1,
                _ => {}
            },
        }
    }
    depth
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '#' => return &line[..at],
            None => {}
        }
    }
    line
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
