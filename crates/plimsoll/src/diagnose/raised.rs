//! The arm with more of what limits it, as `--confirm` describes it.

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use experiments::search::confirmation::RaisedArm;
use workload::experiment::Arm;

/// The arm with these changes; none without any.
pub(super) fn arm(unchanged: &Arm, changes: &[String]) -> CommandResult<Option<RaisedArm>> {
    if changes.is_empty() {
        return Ok(None);
    }
    if unchanged.start.is_none() {
        return Err(Failure::usage(anyhow!(
            "--confirm starts the target with more of what limits it: name the command that starts it, --start './service'"
        )));
    }
    let mut arm = unchanged.clone();
    for change in changes {
        let wrong = |why: &str| Failure::usage(anyhow!("--confirm {change}: {why}"));
        let (name, value) = change
            .split_once('=')
            .ok_or_else(|| wrong("a change is NAME=VALUE, cpus=0-1 or start=COMMAND"))?;
        match name {
            "cpus" => arm.cpus = Some(value.parse().map_err(|error| wrong(&format!("{error}")))?),
            "start" => arm.start = Some(value.to_owned()),
            _ if is_variable(name) => {
                arm.env.insert(name.to_owned(), value.to_owned());
            }
            _ => return Err(wrong(&format!("`{name}` is not the name of an environment variable"))),
        }
    }
    if arm == *unchanged {
        return Err(Failure::usage(anyhow!("--confirm {}: the target has that already", changes.join(" "))));
    }
    Ok(Some(RaisedArm { arm, change: changes.join(" ") }))
}

fn is_variable(name: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_of_it) && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started() -> Arm {
        Arm { start: Some("./service".to_owned()), ..Arm::default() }
    }

    fn changed(changes: &[&str]) -> CommandResult<Option<RaisedArm>> {
        arm(&started(), &changes.iter().map(|&change| change.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn variables_processors_and_the_command_can_be_changed() {
        let raised = changed(&["POOL=8", "OPTIONS=a=b", "cpus=0-1", "start=./service --workers 2"]);
        let RaisedArm { arm, change } = raised.unwrap().unwrap();
        assert_eq!((&*arm.env["POOL"], &*arm.env["OPTIONS"]), ("8", "a=b"));
        assert_eq!(arm.cpus.map(|cpus| cpus.count()), Some(2));
        assert_eq!(arm.start.as_deref(), Some("./service --workers 2"));
        assert_eq!(change, "POOL=8 OPTIONS=a=b cpus=0-1 start=./service --workers 2");
        assert_eq!(changed(&[]).unwrap(), None);
    }

    #[test]
    fn what_changes_nothing_or_is_no_change_is_refused() {
        let cases = [
            ("POOL", "a change is NAME=VALUE"),
            ("8POOL=1", "`8POOL` is not the name of an environment variable"),
            ("cpus=x", "is not a list of processors"),
            ("start=./service", "the target has that already"),
        ];
        for (change, expected) in cases {
            let refused = changed(&[change]).unwrap_err();
            assert!(refused.text().contains(expected), "{change}: {}", refused.text());
        }
        let running = arm(&Arm::default(), &["POOL=8".to_owned()]).unwrap_err();
        assert!(running.text().contains("--start './service'"), "{}", running.text());
    }
}
