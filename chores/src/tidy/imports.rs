//! Which crate may import which: the tables of ARCHITECTURE.md as data.
//!
//! A new crate is one line of `CRATES`. An import that is not in it fails.

use super::complaint::Complaint;
use super::manifest::{Dependency, Kind, dependencies};
use super::tree::Tree;

/// What a crate must not import besides other crates of the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    /// Same input, same bytes: no runtime, no clock, no files.
    Pure,
    /// Drives or is driven by the engine's own loop: no async runtime.
    OnTheLoop,
    Free,
}

struct CrateRule {
    /// The folder. `crates` and `services` never import each other: a tool that imports its subject cannot judge it.
    layer: &'static str,
    name: &'static str,
    may_import: &'static [&'static str],
    nature: Nature,
}

const fn tool_crate(name: &'static str, nature: Nature, may_import: &'static [&'static str]) -> CrateRule {
    CrateRule { layer: "crates", name, may_import, nature }
}

const fn service(name: &'static str, may_import: &'static [&'static str]) -> CrateRule {
    CrateRule { layer: "services", name, may_import, nature: Nature::Free }
}

/// A crate that is a layer of its own.
const fn beside(name: &'static str, may_import: &'static [&'static str]) -> CrateRule {
    CrateRule { layer: name, name, may_import, nature: Nature::Free }
}

const CRATES: &[CrateRule] = &[
    tool_crate("evidence", Nature::Pure, &[]),
    tool_crate("workload", Nature::Pure, &["evidence"]),
    tool_crate("plans", Nature::Pure, &["workload", "evidence"]),
    tool_crate("draft", Nature::Pure, &["workload", "plans"]),
    tool_crate("stats", Nature::Pure, &["evidence"]),
    tool_crate("profile", Nature::Pure, &[]),
    tool_crate("import", Nature::Pure, &["evidence"]),
    tool_crate("wire", Nature::OnTheLoop, &["evidence"]),
    tool_crate("engine", Nature::OnTheLoop, &["workload", "plans", "evidence", "wire"]),
    tool_crate("cluster", Nature::OnTheLoop, &["workload", "plans", "evidence", "engine"]),
    tool_crate("k6", Nature::OnTheLoop, &["workload", "plans", "evidence", "engine", "wire"]),
    tool_crate("observe", Nature::Free, &["evidence"]),
    tool_crate("archive", Nature::Free, &["evidence"]),
    tool_crate("export", Nature::Pure, &["evidence"]),
    tool_crate("figures", Nature::Pure, &["evidence", "workload"]),
    tool_crate("judge", Nature::Pure, &["evidence", "workload", "figures", "stats", "profile"]),
    tool_crate("simulation", Nature::Pure, &["evidence", "workload", "plans", "stats", "judge"]),
    tool_crate("report", Nature::Pure, &["evidence", "workload", "figures", "stats", "profile"]),
    tool_crate(
        "conduct",
        Nature::Free,
        &[
            "evidence", "workload", "plans", "profile", "draft", "import", "wire", "engine", "cluster",
            "observe", "archive", "export", "figures", "judge", "report",
        ],
    ),
    tool_crate(
        "experiments",
        Nature::Free,
        &[
            "conduct", "evidence", "workload", "plans", "profile", "engine", "observe", "archive", "figures",
            "judge", "report",
        ],
    ),
    tool_crate(
        "kubernetes",
        Nature::Free,
        &["conduct", "cluster", "evidence", "workload", "plans", "engine", "archive"],
    ),
    tool_crate(
        "selftest",
        Nature::Free,
        &["conduct", "experiments", "evidence", "archive", "figures", "judge", "simulation"],
    ),
    tool_crate(
        "plimsoll",
        Nature::Free,
        &[
            "conduct",
            "selftest",
            "kubernetes",
            "experiments",
            "evidence",
            "workload",
            "plans",
            "profile",
            "draft",
            "import",
            "wire",
            "engine",
            "k6",
            "cluster",
            "observe",
            "archive",
            "export",
            "figures",
            "judge",
            "report",
        ],
    ),
    tool_crate("testbed", Nature::Free, &[]),
    service("kit", &[]),
    service("testkit", &["kit", "peers"]),
    service("challenge", &["kit"]),
    service("listings", &["kit"]),
    service("gateway", &["kit"]),
    beside(
        "fuzz",
        &[
            "archive", "cluster", "draft", "evidence", "import", "k6", "observe", "plans", "profile", "wire",
            "workload",
        ],
    ),
    beside("peers", &[]),
    beside("xtask", &[]),
    beside("chores", &["peers", "xtask"]),
];

/// For tests only; `chores` and `testkit`, whose helpers start them, may also import `peers`.
const DEV_ONLY: &[&str] = &["peers", "testbed", "testkit"];

/// Tests in both layers need the same peers, which import neither.
const IN_EVERY_LAYER: &str = "peers";

/// Their families too: `tokio` includes `tokio-util`.
const ASYNC: &[&str] = &["tokio", "hyper", "axum", "tonic"];
const OUTSIDE: &[&str] = &["libc", "mio", "rand", "rusqlite", "rustix"];

/// The folders of the pure crates, each ending with a slash.
pub(super) fn pure_folders() -> impl Iterator<Item = String> {
    CRATES
        .iter()
        .filter(|rule| rule.nature == Nature::Pure)
        .map(|rule| format!("{}/{}/", rule.layer, rule.name))
}

fn find(name: &str) -> Option<&'static CrateRule> {
    CRATES.iter().find(|rule| rule.name == name)
}

/// Every import that the table does not allow, and every member that is not in it.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let renamed = tree.text("Cargo.toml").map(dependencies).unwrap_or_default();
    tree.sources
        .iter()
        .filter_map(|source| Some((member(&source.path)?, source)))
        .flat_map(|((layer, name), source)| match find(name).filter(|rule| rule.layer == layer) {
            None => vec![complaint(
                &source.path,
                1,
                [
                    &format!("`{name}` is in no row of the import table"),
                    "add its row to chores/src/tidy/imports.rs and to ARCHITECTURE.md",
                ],
            )],
            Some(rule) => {
                let edges = dependencies(&source.text);
                edges.iter().filter_map(|edge| forbidden(rule, edge, &renamed, &source.path)).collect()
            }
        })
        .collect()
}

/// The layer and folder that a manifest belongs to, if it is a member's.
fn member(path: &str) -> Option<(&str, &str)> {
    let folder = path.strip_suffix("/Cargo.toml")?;
    match folder.split_once('/') {
        Some((layer @ ("crates" | "services"), name)) if !name.contains('/') => Some((layer, name)),
        None if find(folder).is_some_and(|rule| rule.layer == folder) => Some((folder, folder)),
        _ => None,
    }
}

fn forbidden(rule: &CrateRule, edge: &Dependency, renamed: &[Dependency], path: &str) -> Option<Complaint> {
    let inherited = renamed.iter().find(|other| other.kind == Kind::Workspace && other.key == edge.key);
    let inherited = inherited.and_then(|other| other.package.as_deref());
    let name = edge.package.as_deref().or(inherited).unwrap_or(&edge.key);
    let texts = match find(name) {
        Some(other) => refused_member(rule, edge.kind, other),
        None => refused_dependency(rule, edge.kind, name),
    };
    texts.map(|[wrong, instead]| complaint(path, edge.line, [&wrong, &instead]))
}

fn refused_member(rule: &CrateRule, kind: Kind, other: &CrateRule) -> Option<[String; 2]> {
    let (from, to) = (rule.name, other.name);
    if rule.may_import.contains(&to) {
        return None;
    }
    if rule.layer != other.layer && to != IN_EVERY_LAYER {
        return Some([
            format!("`{from}` in {}/ imports `{to}` in {}/", rule.layer, other.layer),
            "the layers never import each other, in tests neither: start its binary as a process".to_owned(),
        ]);
    }
    if kind == Kind::Dev {
        return None;
    }
    if DEV_ONLY.contains(&to) {
        return Some([
            format!("`{from}` imports `{to}` outside its tests"),
            "move it to [dev-dependencies]".to_owned(),
        ]);
    }
    let allowed = rule.may_import;
    let list = if allowed.is_empty() { "no crate".to_owned() } else { allowed.join(", ") };
    Some([
        format!("`{from}` imports `{to}`"),
        format!("it may import {list}: move the shared type down, or invert the import"),
    ])
}

fn refused_dependency(rule: &CrateRule, kind: Kind, name: &str) -> Option<[String; 2]> {
    let of_family =
        |family: &&str| name == *family || name.strip_prefix(*family).is_some_and(|s| s.starts_with('-'));
    if kind == Kind::Dev || rule.nature == Nature::Free {
        return None;
    }
    if ASYNC.iter().any(of_family) {
        return Some([
            format!("`{}` imports `{name}`, an async runtime or what needs one", rule.name),
            "be a state machine that the engine's loop drives; its tests may use one as the peer".to_owned(),
        ]);
    }
    (rule.nature == Nature::Pure && OUTSIDE.iter().any(of_family)).then(|| {
        [
            format!("`{}` is pure and imports `{name}`", rule.name),
            "take what it would fetch as a parameter".to_owned(),
        ]
    })
}

fn complaint(path: &str, line: usize, [wrong, instead]: [&str; 2]) -> Complaint {
    Complaint { path: path.to_owned(), line, wrong: wrong.to_owned(), instead: instead.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_one(path: &str, text: &str, expect: &str) {
        let root = "[workspace.dependencies]\nnet = { package = \"tokio\", version = \"1\" }\n";
        let tree = Tree::of(&[("Cargo.toml", root), (path, text)]);
        assert_eq!(printed(&check(&tree)), expect, "of {path}: {text}");
    }

    #[test]
    fn edges_of_the_table_pass() {
        check_one(
            "crates/engine/Cargo.toml",
            "[dependencies]\nwire.workspace = true\nmio.workspace = true\n",
            "",
        );
        check_one(
            "crates/engine/Cargo.toml",
            "[dev-dependencies]\ntestbed.workspace = true\ntokio = \"1\"\n",
            "",
        );
        check_one(
            "services/challenge/Cargo.toml",
            "[dependencies]\nkit.workspace = true\ntokio = \"1\"\n",
            "",
        );
        check_one("crates/observe/Cargo.toml", "[dependencies]\ntokio = \"1\"\n", "");
        check_one("xtask/Cargo.toml", "[dependencies]\nanyhow = \"1\"\n", "");
        check_one("other/fixture/Cargo.toml", "[dependencies]\nwire = \"1\"\n", "");
    }

    #[test]
    fn any_other_edge_is_refused() {
        check_one(
            "crates/wire/Cargo.toml",
            "[dependencies]\nevidence.workspace = true\nengine.workspace = true\n",
            "crates/wire/Cargo.toml:3: `wire` imports `engine`; it may import evidence: move the shared type down, \
             or invert the import\n",
        );
        check_one(
            "crates/evidence/Cargo.toml",
            "[target.'cfg(unix)'.dependencies]\nstats.workspace = true\n",
            "crates/evidence/Cargo.toml:2: `evidence` imports `stats`; it may import no crate: move the shared type \
             down, or invert the import\n",
        );
        check_one(
            "crates/newcrate/Cargo.toml",
            "",
            "crates/newcrate/Cargo.toml:1: `newcrate` is in no row of the import table; add its row to \
             chores/src/tidy/imports.rs and to ARCHITECTURE.md\n",
        );
    }

    #[test]
    fn layers_never_import_each_other_even_in_tests() {
        let message = "the layers never import each other, in tests neither: start its binary as a process\n";
        check_one(
            "crates/plimsoll/Cargo.toml",
            "[dev-dependencies]\nchallenge.workspace = true\n",
            &format!(
                "crates/plimsoll/Cargo.toml:2: `plimsoll` in crates/ imports `challenge` in services/; {message}"
            ),
        );
        check_one(
            "services/kit/Cargo.toml",
            "[dependencies]\nours = { package = \"evidence\", path = \"../../crates/evidence\" }\n",
            &format!(
                "services/kit/Cargo.toml:2: `kit` in services/ imports `evidence` in crates/; {message}"
            ),
        );
        check_one(
            "xtask/Cargo.toml",
            "[dependencies]\nevidence.workspace = true\n",
            &format!("xtask/Cargo.toml:2: `xtask` in xtask/ imports `evidence` in crates/; {message}"),
        );
    }

    #[test]
    fn peers_are_for_tests_in_both_layers_and_for_chores() {
        for path in ["crates/observe/Cargo.toml", "services/challenge/Cargo.toml"] {
            check_one(path, "[dev-dependencies]\npeers.workspace = true\n", "");
        }
        check_one("chores/Cargo.toml", "[dependencies]\npeers.workspace = true\n", "");
        check_one(
            "services/challenge/Cargo.toml",
            "[dependencies]\npeers.workspace = true\n",
            "services/challenge/Cargo.toml:2: `challenge` imports `peers` outside its tests; move it to \
             [dev-dependencies]\n",
        );
        check_one(
            "peers/Cargo.toml",
            "[dev-dependencies]\nkit.workspace = true\n",
            "peers/Cargo.toml:2: `peers` in peers/ imports `kit` in services/; the layers never import each other, \
             in tests neither: start its binary as a process\n",
        );
    }

    #[test]
    fn the_testbed_and_the_testkit_are_for_tests() {
        for (path, name, helper) in [
            ("crates/plimsoll/Cargo.toml", "plimsoll", "testbed"),
            ("services/gateway/Cargo.toml", "gateway", "testkit"),
        ] {
            let to = "outside its tests; move it to [dev-dependencies]\n";
            let complaint = format!("{path}:2: `{name}` imports `{helper}` {to}");
            check_one(path, &format!("[dependencies]\n{helper}.workspace = true\n"), &complaint);
            check_one(path, &format!("[dev-dependencies]\n{helper}.workspace = true\n"), "");
        }
    }

    #[test]
    fn crates_on_the_loop_and_pure_crates_import_no_runtime() {
        let instead = "an async runtime or what needs one; be a state machine that the engine's loop drives; its \
                       tests may use one as the peer\n";
        check_one(
            "crates/engine/Cargo.toml",
            "[dependencies]\nnet.workspace = true\n[build-dependencies]\ntonic-prost = \"1\"\n",
            &format!(
                "crates/engine/Cargo.toml:2: `engine` imports `tokio`, {instead}\
                 crates/engine/Cargo.toml:4: `engine` imports `tonic-prost`, {instead}"
            ),
        );
        check_one(
            "crates/judge/Cargo.toml",
            "[dependencies]\nhyper = \"1\"\nrusqlite = \"0.39\"\n",
            &format!(
                "crates/judge/Cargo.toml:2: `judge` imports `hyper`, {instead}\
                 crates/judge/Cargo.toml:3: `judge` is pure and imports `rusqlite`; take what it would fetch as a \
                 parameter\n"
            ),
        );
    }
}
