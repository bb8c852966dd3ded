//! Plans through the one door: [`load`] on files that are held in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::model::{HttpOrigin, Pick, ProcessRef, ReadyProbe, Request};

/// Files in memory; those of the repository, if asked for.
#[derive(Default)]
struct InMemory {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Files for InMemory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

struct Repository;

impl Files for Repository {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
    }
}

const PROTO: &str = r#"
syntax = "proto3";
package shop.v1;
service Orders { rpc Place(Order) returns (Receipt); rpc Watch(Order) returns (stream Receipt); }
message Order { string user_id = 1; int32 amount = 2; }
message Receipt { string id = 1; }
"#;

fn with(plan: &str, others: &[(&str, &str)]) -> InMemory {
    let files = [("plan.toml", plan)].into_iter().chain(others.iter().copied());
    InMemory { files: files.map(|(path, text)| (path.into(), text.into())).collect() }
}

fn env(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "s3cret-token".to_owned())
}

fn load_with(plan: &str, others: &[(&str, &str)], overrides: &Overrides) -> Result<LoadedPlan, PlanErrors> {
    load(Path::new("plan.toml"), &with(plan, others), &env, overrides)
}

/// The plan, which must be right.
fn good(plan: &str) -> Workload {
    load_with(plan, &[], &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}")).workload
}

/// What is wrong with a plan.
fn errors(plan: &str, others: &[(&str, &str)]) -> String {
    match load_with(plan, others, &Overrides::default()) {
        Ok(_) => "nothing".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

/// A sound plan around `more`, which begins at line 12.
fn around(more: &str) -> String {
    format!("{HEAD}{more}")
}

const HEAD: &str = r#"version = 1
[targets.shop]
url = "http://127.0.0.1:8000/shop"
[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
rate = "10/s"
duration = "10s"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/items"
"#;

#[test]
fn the_demo_is_a_good_plan() {
    let plan = load(Path::new("examples/demo.toml"), &Repository, &env, &Overrides::default());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    assert_snapshot!(crate::offer::offer(&plan.workload).render(), @"");
    assert_eq!(plan.workload.objectives.len(), 12);
}
