//! The rules of this tree that neither the compiler nor clippy checks, each with a message that names what to do.
//!
//! A rule is a pure function from sources to complaints; only `tree` reads files. Start reading at `check`.

mod allow;
mod calls;
mod circles;
mod complaint;
mod doctests;
mod images;
mod imports;
mod lexer;
mod limits;
mod manifest;
mod modules;
mod programs;
mod shell;
mod string_errors;
mod tree;
mod use_tree;
mod words;

use anyhow::{Result, bail};

use complaint::Complaint;
use tree::Tree;
use xtask::workspace::Workspace;

/// Reads the tree and prints every complaint.
///
/// # Errors
/// When there is at least one complaint, or the tree cannot be read.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let tree = Tree::read(workspace.root())?;
    let complaints = check(&tree);
    for complaint in &complaints {
        println!("{complaint}");
    }
    if !complaints.is_empty() {
        bail!("{} complaints about {} files", complaints.len(), tree.sources.len());
    }
    println!("tidy: {} files, no complaints", tree.sources.len());
    Ok(())
}

fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = imports::check(tree);
    complaints.extend(limits::check(tree));
    complaints.extend(calls::check(tree));
    complaints.extend(words::check(tree));
    complaints.extend(circles::check(tree));
    complaints.extend(images::check(tree));
    complaints.extend(doctests::check(tree));
    complaints.extend(programs::check(tree));
    complaints.extend(string_errors::check(tree));
    complaints.sort();
    complaints
}
