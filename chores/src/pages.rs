//! The pages of docs/ whose tables programs write: one command renews any of them, or all.

use anyhow::{Result, ensure};
use xtask::workspace::Workspace;

use crate::steps;

/// What writes the tables of a page.
struct Page {
    /// The file in docs/.
    file: &'static str,
    /// Arguments of cargo, in order.
    commands: &'static [&'static [&'static str]],
}

const RELEASE: [&str; 6] = ["run", "--release", "-p", "chores", "--", "bench"];

const PAGES: [Page; 8] = [
    Page {
        file: "who-may-challenge.md",
        commands: &[&["test", "-p", "challenge", "--features", "profiling", "access"]],
    },
    Page { file: "who-may-listings.md", commands: &[&["test", "-p", "listings", "who_may"]] },
    Page { file: "gateway.md", commands: &[&["test", "-p", "gateway", "every_route"]] },
    Page { file: "first-five-minutes.md", commands: &[&["xtask", "session"]] },
    Page {
        file: "error-rates.md",
        commands: &[&["verdicts", "--write"], &["experiments", "--write"], &["neighbours", "--write"]],
    },
    Page { file: "service-benchmarks.md", commands: &[&["services", "--write"]] },
    Page { file: "benchmarks.md", commands: &[&["engine", "--write"], &["lag"], &["stall"], &["steady"]] },
    Page { file: "k6-benchmarks.md", commands: &[&["k6", "--write"]] },
];

/// Writes the pages whose file name contains `wanted` anew. Benchmarks need a machine with nothing else to do.
///
/// # Errors
/// At the first command that fails, and when no page matches.
pub(crate) fn run(workspace: &Workspace, wanted: &str) -> Result<()> {
    let chosen: Vec<&Page> = PAGES.iter().filter(|page| page.file.contains(wanted)).collect();
    let files = PAGES.map(|page| page.file).join(", ");
    ensure!(!chosen.is_empty(), "no program writes a page named `{wanted}`; there are: {files}");
    for page in chosen {
        for arguments in page.commands {
            steps::step(page.file, || {
                let mut command = workspace.cargo();
                command.env("WRITE_DOCS", "1");
                match arguments[0] {
                    "test" | "xtask" => command.args(*arguments),
                    _ => command.args(RELEASE).args(*arguments),
                };
                steps::run(command)
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index has each page, and no other with a table that is written by a program.
    #[test]
    fn the_index_of_pages_has_all_that_programs_write() {
        let docs = Workspace::find().expect("tests run in the workspace").root().join("docs");
        let index = std::fs::read_to_string(docs.join("README.md")).unwrap();
        for page in PAGES {
            assert!(docs.join(page.file).is_file(), "{}", page.file);
            assert!(
                index.contains(&format!("[{0}]({0}", page.file)),
                "{} is not in docs/README.md",
                page.file
            );
        }
        let rows = index.lines().filter(|line| line.starts_with("| ["));
        let linked =
            rows.flat_map(|row| row.split("](").skip(1)).map(|rest| rest.split([')', '#']).next().unwrap());
        for file in linked {
            assert!(PAGES.iter().any(|page| page.file == file), "no command renews {file}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_pages() {
        let workspace = Workspace::find().expect("tests run in the workspace");
        let error = run(&workspace, "nothing").expect_err("no such page").to_string();
        assert!(error.contains("`nothing`; there are: who-may-challenge.md, "), "{error}");
    }
}
