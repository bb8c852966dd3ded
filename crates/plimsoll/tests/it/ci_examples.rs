//! The pipelines in `examples/ci`: they are YAML, install this version, and their command does what they rely on.

use std::path::PathBuf;
use std::process::Command;

use saphyr_parser::{Event, Parser};
use testbed::Behaviour;

use crate::command::{TestFolder, closed};

/// Met by any target that responds.
const OBJECTIVE: &str = "[objectives]
fast = \"p50(all) < 10s\"
";

/// The texts of a YAML file.
fn scalars(name: &str) -> Vec<String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let events = Parser::new_from_str(&text).map(|event| event.unwrap().0);
    let scalars = events.filter_map(|event| match event {
        Event::Scalar(value, ..) => Some(value.into_owned()),
        _ => None,
    });
    scalars.collect()
}

#[test]
fn pipelines_install_this_version_and_their_command_leaves_the_reports_they_publish() {
    for name in ["github.yml", "gitlab-ci.yml"] {
        let texts = scalars(name);
        let pinned = format!("plimsoll-load=={}", env!("CARGO_PKG_VERSION"));
        assert!(
            texts.iter().any(|text| text.contains(&pinned)),
            "{name} installs another version than {pinned}"
        );
        let load = texts.iter().find(|text| text.starts_with("plimsoll run")).unwrap();
        let target = testbed::http(Behaviour::ok()).unwrap();
        let folder = TestFolder::new("");
        std::fs::create_dir(folder.path("load")).unwrap();
        folder.write("load/plan.toml", closed(target.addr(), 1) + OBJECTIVE);
        let ran = Command::new("sh")
            .args(["-ec", &load.replacen("plimsoll", env!("CARGO_BIN_EXE_plimsoll"), 1)])
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{name}: {}: {complaint}", ran.status);
        for file in ["run.plimsoll", "summary.md", "junit.xml", "report.html"] {
            assert!(texts.iter().any(|text| text.contains(file)), "{name} does not publish {file}");
            assert!(folder.path(file).metadata().unwrap().len() > 0, "{name}: {file} is empty");
        }
        assert!(folder.read("junit.xml").contains("<testcase"), "{name}");
    }
}

#[test]
fn the_pipeline_of_a_pull_request_compares_it_with_its_base_and_leaves_the_reports_it_publishes() {
    let name = "github-pull-request.yml";
    let texts = scalars(name);
    let pinned = format!("plimsoll-load=={}", env!("CARGO_PKG_VERSION"));
    assert!(texts.iter().any(|text| text.contains(&pinned)), "{name} installs another version than {pinned}");
    let compare = texts.iter().find(|text| text.starts_with("plimsoll ab")).unwrap();
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    std::fs::create_dir(folder.path("load")).unwrap();
    folder.write("load/plan.toml", closed(target.addr(), 1));
    folder.write(
        "load/experiment.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.a]\ntargets = {{ api = \"http://{at}\" }}\n[arms.b]\n\
             targets = {{ api = \"http://{at}\" }}\n[design]\nlooks = [5]\n",
            at = target.addr()
        ),
    );
    let ran = Command::new("sh")
        .args(["-ec", &compare.replacen("plimsoll", env!("CARGO_BIN_EXE_plimsoll"), 1)])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(complaint.contains("pair 5 of 5"), "{}: {complaint}", ran.status);
    for file in ["summary.md", "junit.xml", "report.html", "experiment.ab/experiment.json"] {
        let published = file.split('/').next().unwrap();
        assert!(texts.iter().any(|text| text.contains(published)), "{name} does not publish {published}");
        assert!(folder.path(file).metadata().unwrap().len() > 0, "{file} is empty");
    }
}
