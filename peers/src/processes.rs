//! A server and its children as one: listed, stopped, continued and killed together.
//!
//! Children with sessions of their own are not in the parent's process group, so they are found by their parent.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::poll;

/// A signal takes effect at once; the limit is for a loaded machine.
const EFFECT_WITHIN: Duration = Duration::from_secs(10);

/// Stops `parent` and then its children: a stopped parent starts no more of them.
pub(crate) fn pause(parent: Pid) -> Vec<Pid> {
    send(parent, Signal::STOP);
    poll::until(EFFECT_WITHIN, || matches!(state(parent), None | Some('T' | 't' | 'Z')));
    let children = children(parent);
    for &child in &children {
        send(child, Signal::STOP);
    }
    children
}

/// Continues all of them: the children first, so that they run when their parent does.
pub(crate) fn resume(parent: Pid) {
    for child in children(parent) {
        send(child, Signal::CONT);
    }
    send(parent, Signal::CONT);
}

/// Kills all of them at once, and returns when none of the children runs any more. The parent is left to be reaped.
pub(crate) fn kill(parent: Pid) {
    let children = pause(parent);
    for &process in children.iter().chain([&parent]) {
        send(process, Signal::KILL);
    }
    poll::until(EFFECT_WITHIN, || children.iter().all(|&child| matches!(state(child), None | Some('Z'))));
}

/// Sends a signal; that the process has gone meanwhile is not a failure.
pub(crate) fn send(process: Pid, signal: Signal) {
    let _gone = kill_process(process, signal);
}

fn children(parent: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter(|&pid| status(pid).is_some_and(|(_, its_parent)| its_parent == parent.as_raw_nonzero().get()))
        .collect()
}

fn state(process: Pid) -> Option<char> {
    status(process).map(|(state, _)| state)
}

/// The state letter and the parent of a process; `None` when there is no such process.
fn status(process: Pid) -> Option<(char, i32)> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name in parentheses may contain any character, parentheses too.
    let mut words = text.rsplit_once(") ")?.1.split(' ');
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn children_of_other_sessions_are_stopped_continued_and_killed_with_their_parent() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 3<&0; setsid cat <&3 & cat <&3 & wait"]).stdin(Stdio::piped());
        let mut shell = shell.spawn().expect("sh exists");
        let parent = Pid::from_child(&shell);
        let both = poll::find(EFFECT_WITHIN, || Some(children(parent)).filter(|found| found.len() == 2));
        let both = both.expect("two children start");
        let all_are = |wanted: char| both.iter().chain([&parent]).all(|&pid| state(pid) == Some(wanted));
        assert_eq!(pause(parent).len(), 2);
        assert!(poll::until(EFFECT_WITHIN, || all_are('T')));
        resume(parent);
        assert!(poll::until(EFFECT_WITHIN, || all_are('S')));
        kill(parent);
        assert!(!shell.wait().expect("it was killed").success());
        assert!(both.iter().all(|&pid| matches!(state(pid), None | Some('Z'))));
    }
}
