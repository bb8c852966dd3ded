//! What a run is dated by.

use std::fs;
use std::time::{Duration, SystemTime};

use archive::Stored;
use evidence::Run as _;
use jiff::Timestamp;
use testbed::Behaviour;

use crate::command::TestFolder;

fn plan(target: &testbed::Target) -> String {
    format!(
        "version = 1\nprecheck = false\n[targets.web]\nurl = \"http://{}\"\n[[phases]]\nname = \"all\"\nduration = \"1s\"\n\
         [[scenarios]]\nname = \"s\"\nexecutor = \"constant-arrival-rate\"\nrate = \"20/s\"\n[[scenarios.steps]]\nname = \"get\"\n\
         get = \"${{web.url}}/\"\n",
        target.addr()
    )
}

#[test]
fn the_run_file_is_there_before_its_epoch_is_chosen() {
    /// The least time between that choice and the epoch.
    const LEAD: Duration = Duration::from_millis(150);
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&plan(&target));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]).exits_with(0);
    let made = fs::metadata(folder.path("run.plimsoll")).unwrap().created().unwrap();
    let run = Stored::open(&folder.path("run.plimsoll")).unwrap();
    let epoch: Timestamp = run.manifest().started_at.parse().unwrap();
    // Dates have milliseconds.
    let chosen = SystemTime::from(epoch) + Duration::from_millis(1) - LEAD;
    assert!(made < chosen, "{made:?} {chosen:?}");
}
