//! Long forms of tests: the same tests with more rounds.

use anyhow::{Result, ensure};

use crate::steps;
use xtask::workspace::Workspace;

struct Soak {
    name: &'static str,
    cargo: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const SOAKS: &[Soak] = &[
    Soak {
        name: "challenge kill rounds",
        cargo: &[
            "test",
            "-p",
            "challenge",
            "--test",
            "it",
            "--test",
            "postgres",
            "killed",
            "--",
            "--nocapture",
        ],
        environment: &[("CHALLENGE_KILL_ROUNDS", "50")],
    },
    Soak {
        name: "gateway kill rounds",
        cargo: &["test", "-p", "gateway", "--test", "it", "killed", "--", "--nocapture"],
        environment: &[("GATEWAY_KILL_ROUNDS", "50")],
    },
    Soak {
        name: "listings kill rounds",
        cargo: &["test", "-p", "listings", "--test", "it", "killed"],
        environment: &[("LISTINGS_KILL_ROUNDS", "50")],
    },
    Soak {
        name: "fleet of workers",
        cargo: &["test", "-p", "plimsoll", "--test", "it", "workers_fleet", "--", "--nocapture"],
        environment: &[("FLEET_WORKERS", "50 100 200")],
    },
];

/// Runs the long forms whose name contains the arguments.
///
/// # Errors
/// At the first that fails, and when no name matches.
pub(crate) fn run(workspace: &Workspace, wanted: &str) -> Result<()> {
    let chosen: Vec<&Soak> = SOAKS.iter().filter(|soak| soak.name.contains(wanted)).collect();
    let names: Vec<&str> = SOAKS.iter().map(|soak| soak.name).collect();
    ensure!(!chosen.is_empty(), "no soak test is named `{wanted}`; there are: {}", names.join(", "));
    for soak in chosen {
        steps::step(soak.name, || {
            let mut command = workspace.cargo();
            command.args(soak.cargo).envs(soak.environment.iter().copied());
            let (tally, status) = steps::run_tests(command, &mut std::io::stdout())?;
            ensure!(status.success(), "{tally} ({status})");
            ensure!(tally.passed > 0, "no test of that name ran");
            Ok(())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let workspace = Workspace::find().expect("tests run in the workspace");
        let error = run(&workspace, "nothing").expect_err("no such soak");
        assert_eq!(
            error.to_string(),
            "no soak test is named `nothing`; there are: challenge kill rounds, gateway kill rounds, listings kill rounds, \
             fleet of workers"
        );
    }
}
