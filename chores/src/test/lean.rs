//! What only the demo's own build shows: that what it was built without is refused, and named.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use xtask::demo;
use xtask::workspace::Workspace;

/// Command lines of `plimsoll`, and what their refusal names.
const OF_THE_TOOL: &[(&[&str], &str)] = &[
    (&["completions", "bash"], "without completions"),
    (&["http", "https://127.0.0.1:1/"], "without TLS"),
    (&["import", "--format", "k6", "k6.ndjson"], "without imports"),
    (&["man"], "without manual pages"),
    (&["new", "http://127.0.0.1:1/"], "without drafts of plans"),
    (
        &["run", "examples/demo.toml", "--kubernetes", "2", "--image", "plimsoll"],
        "without runs in Kubernetes",
    ),
    (&["run", "examples/demo.toml", "--workers", "2"], "without workers"),
    (&["run", "script.js"], "without k6 scripts"),
    (&["selftest", "verdicts"], "without simulated runs"),
    (&["worker", "--listen", "127.0.0.1:0"], "without workers"),
];

/// What a target of a plan is watched by, and what its refusal names.
const WATCHED: [(&str, &str); 3] = [
    ("postgres = \"postgresql://me@127.0.0.1:1/shop\"", "without observers of PostgreSQL"),
    ("prometheus = \"https://127.0.0.1:1/metrics\"", "without TLS"),
    ("redis = \"redis://127.0.0.1:1\"", "without observers of Redis"),
];

/// Settings of the challenge service, and what their refusal names.
const OF_THE_SERVICE: [(&str, &str, &str); 3] = [
    ("AUTH_JWKS_URL", "http://127.0.0.1:1/keys", "without bearer tokens"),
    ("DB_HOST", "127.0.0.1", "without PostgreSQL"),
    ("REWARD_URL", "https://127.0.0.1:1/grants", "without TLS"),
];

/// Builds what the demo builds, if it has to be, and asks it for what it lacks.
///
/// # Errors
/// When it cannot be built, or a refusal does not name what is missing.
///
/// # Panics
/// When something is not refused.
pub(super) fn check() -> Result<()> {
    let workspace = Workspace::with_profile(demo::PROFILE)?;
    demo::build(&workspace)?;
    for (arguments, expected) in OF_THE_TOOL {
        let mut command = Command::new(workspace.binary("plimsoll"));
        require_refusal(command.args(*arguments).current_dir(workspace.root()), expected)?;
    }
    let folder = workspace.scratch("lean")?;
    for (observe, expected) in WATCHED {
        let plan = folder.join("watched.toml");
        std::fs::write(&plan, plan_with(observe)).with_context(|| plan.display().to_string())?;
        let mut command = Command::new(workspace.binary("plimsoll"));
        require_refusal(command.arg("run").arg(&plan).current_dir(&folder), expected)?;
    }
    for (name, value, expected) in OF_THE_SERVICE {
        let mut command = Command::new(workspace.binary("challenge"));
        command.arg("all").env("TEST_IDENTITY_HEADER", "on").env(name, value).current_dir(&folder);
        require_refusal(&mut command, expected)?;
    }
    println!("the demo's build: what it lacks is refused");
    Ok(())
}

fn plan_with(observe: &str) -> String {
    format!(
        "version = 1\nname = \"watched\"\n[targets.shop]\nurl = \"http://127.0.0.1:1/\"\nobserve = {{ {observe} }}\n\
         [[scenarios]]\nname = \"visit\"\nexecutor = \"constant-arrival-rate\"\nrate = \"1/s\"\nduration = \"1s\"\n\
         [[scenarios.steps]]\nname = \"home\"\nget = \"${{shop.url}}\"\n"
    )
}

fn require_refusal(command: &mut Command, expected: &str) -> Result<()> {
    let said = peers::service::refused(command);
    ensure!(said.contains(expected), "{command:?} does not say `{expected}`, but: {said}");
    Ok(())
}
