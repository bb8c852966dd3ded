//! What plain lines say of objectives: one line when an objective is decided so far, or no longer.

use ::report::live::objective::{ObjectiveNow, Stage};
use evidence::Tick;
use workload::Workload;

use super::objectives::ObjectiveWatch;

/// The objectives of a run, and what was said of each.
pub(super) struct ObjectiveNews {
    watch: ObjectiveWatch,
    said: Vec<Answer>,
}

/// What the arrivals so far say of an objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Undecided,
    Met,
    Violated,
}

impl ObjectiveNews {
    pub(super) fn new(workload: &Workload, loops: u16) -> ObjectiveNews {
        let said = vec![Answer::Undecided; workload.objectives.len()];
        ObjectiveNews { watch: ObjectiveWatch::new(workload, loops), said }
    }

    pub(super) fn take(&mut self, tick: &Tick) {
        self.watch.take(tick);
    }

    /// A line for each objective of which something else is to be said after so many whole seconds.
    pub(super) fn after(&mut self, elapsed_s: u32) -> Vec<String> {
        let now = self.watch.after(elapsed_s);
        now.iter().zip(&mut self.said).filter_map(|(now, said)| news(now, said)).collect()
    }
}

fn news(now: &ObjectiveNow, said: &mut Answer) -> Option<String> {
    let (answer, words) = match now.stage {
        Stage::Met => (Answer::Met, "met so far"),
        Stage::Violated => (Answer::Violated, "violated so far"),
        _ => (Answer::Undecided, "not decided any more"),
    };
    let is_new = std::mem::replace(said, answer) != answer;
    is_new.then(|| format!("{}: {words} ({})", now.name, now.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_is_said_when_its_answer_changes() {
        let now = |stage| ObjectiveNow {
            name: "fast".to_owned(),
            source: "p95(all) < 50ms".to_owned(),
            value: None,
            unit: "ms",
            stage,
            interval: None,
            stop: None,
        };
        let mut said = Answer::Undecided;
        let stages = [
            Stage::NothingCounted,
            Stage::OpenEarly,
            Stage::Met,
            Stage::Met,
            Stage::OpenEarly,
            Stage::Violated,
        ];
        let lines: Vec<String> =
            stages.into_iter().filter_map(|stage| news(&now(stage), &mut said)).collect();
        assert_eq!(
            lines,
            [
                "fast: met so far (p95(all) < 50ms)",
                "fast: not decided any more (p95(all) < 50ms)",
                "fast: violated so far (p95(all) < 50ms)"
            ]
        );
    }
}
