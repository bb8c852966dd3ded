//! What is shown of a run in a cluster while it goes on: only what has changed.

use cluster::kubernetes::Snapshot;
use conduct::run_request::Progress;
use conduct::screen;
use evidence::TerminalText;

/// How many lines of a log are shown with a failure.
const LAST_LINES: usize = 20;

/// What was shown already.
pub(crate) struct Shown {
    progress: Progress,
    state: String,
    log_lines: usize,
}

impl Shown {
    pub(crate) fn nothing(progress: Progress) -> Shown {
        Shown { progress, state: String::new(), log_lines: 0 }
    }

    /// How many pods there are, and what keeps the others.
    pub(crate) fn pods(&mut self, snapshot: &Snapshot, pods: u16, refusal: Option<&str>) {
        let state = state(snapshot, pods, refusal);
        if state != self.state && self.progress == Progress::Shown {
            screen::note(&state);
        }
        self.state = state;
    }

    /// What the coordinator says of the run.
    pub(crate) fn log(&mut self, lines: &[&str]) {
        if self.progress == Progress::Shown {
            for line in lines.iter().skip(self.log_lines) {
                let mut text = TerminalText::default();
                text.quote("", line);
                // A failure to draw is none of the run.
                let _ = screen::print(&text);
            }
        }
        self.log_lines = self.log_lines.max(lines.len());
    }

    /// A question that had no answer; said once.
    pub(crate) fn no_answer(&mut self, error: &anyhow::Error) {
        let state = format!("the cluster does not answer, and is asked again; the run goes on: {error:#}");
        if state != self.state {
            screen::note(&state);
        }
        self.state = state;
    }
}

/// How far the pods are, on a line.
pub(crate) fn state(snapshot: &Snapshot, pods: u16, refusal: Option<&str>) -> String {
    let mut text = format!("{} of {pods} pods started", snapshot.started());
    // Pods of one Job usually have the same obstacle.
    let mut shown: Vec<String> = Vec::new();
    for (pod, obstacle) in snapshot.obstacles() {
        let why = obstacle.text();
        if !shown.contains(&why) {
            text.push_str(&format!("; {}: {why}", pod.name));
            shown.push(why);
        }
    }
    if let Some(why) = refusal {
        text.push_str(&format!("; no more pods: {why}"));
    }
    text
}

/// The end of a log, for a message.
pub(crate) fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}
