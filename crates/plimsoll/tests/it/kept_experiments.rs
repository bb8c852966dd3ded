//! Experiments that earlier versions made: they are judged again, and resumed where their runs are those that would be made today.

use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::command::{TestFolder, open, refusal};

const SEARCH: &str = "[search]\nstep = \"1s\"\nwarm_up = \"0s\"\nlevels = 5\nrepeats = 2\nhold = \"0s\"\noverload = \"2s\"\n\
                      rest = \"0s\"\nfrom = \"40/s\"\nto = \"600/s\"\n[slo]\nfast = \"p95(get) < 200ms\"\n";
const DESIGN: &str = "[design]\nlooks = [5]\n[gate]\np50 = \"p50(get)\"\n";

/// The folder of an experiment of this kind, and the same experiment with targets that do not listen.
fn kept(kind: &str) -> TestFolder {
    let refused = refusal();
    let folder = TestFolder::new(&open(refused.addr(), 1));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let archive = File::open(golden.join(format!("list-1.{kind}.tar.gz"))).unwrap();
    tar::Archive::new(GzDecoder::new(archive)).unpack(folder.path(".")).unwrap();
    let arm = |name| format!("[arms.{name}]\ntargets = {{ api = \"http://{}\" }}\n", refused.addr());
    let rest = match kind {
        "ab" => format!("{}{}{DESIGN}", arm("a"), arm("b")),
        _ => format!("{}{SEARCH}", arm("service")),
    };
    folder.write("ex.toml", format!("version = 1\nplan = \"plan.toml\"\n{rest}"));
    folder
}

#[test]
fn experiments_of_earlier_versions_are_judged_and_resumed() {
    for (kind, code) in [("ab", 3), ("capacity", 0)] {
        let (folder, list) = (kept(kind), format!("old.{kind}"));
        let judged = folder.plimsoll(&[kind, "--judge", &list, "--json", "judged.json"]);
        judged.exits_with(code);
        let settings = || {
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path("../golden");
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings
        };
        settings().bind(|| insta::assert_snapshot!(list.clone(), judged.stdout));

        // What a workload has to say of itself is another digest in another version.
        folder.plimsoll(&[kind, "ex.toml", "-o", "new", "--quiet"]).exits_with(2);
        let mut old = folder.json(&format!("{list}/experiment.json"));
        old["definition"] = folder.json("new/experiment.json")["definition"].clone();
        folder.write(&format!("{list}/experiment.json"), old.to_string());
        let resumed =
            folder.plimsoll(&[kind, "ex.toml", "--resume", &list, "--json", "resumed.json", "--quiet"]);
        if kind == "capacity" {
            // Other probes are planned today.
            resumed.exits_with(2).stderr_contains(&["planned by another version; begin another search"]);
            folder.plimsoll(&[kind, "--judge", &list, "--json", "resumed.json"]).exits_with(code);
        } else {
            resumed.exits_with(code).stderr_contains(&["resumed with"]);
        }
        assert_eq!(folder.json("resumed.json"), folder.json("judged.json"), "{kind}");
    }
}
