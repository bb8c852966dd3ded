//! Workers that offer the load, and which of them is behind the others.

use std::collections::BTreeMap;

use evidence::Tick;

use super::lost::LostWorker;
use super::targets::titled;
use crate::document::terminal::line::{TextLine, Tone};

/// A worker whose last second is so many before that of the others is behind: one second is under way.
const BEHIND_S: u32 = 3;

/// The last second that each worker handed over, by its number; none in a run without workers.
#[derive(Debug, Clone, Default)]
pub(super) struct Workers {
    last_s: BTreeMap<u16, u32>,
}

impl Workers {
    pub(super) fn take(&mut self, tick: &Tick) {
        if tick.instance.process != 0 {
            let last_s = self.last_s.entry(tick.instance.process).or_default();
            *last_s = tick.second.max(*last_s);
        }
    }

    /// How many there are of which these are gone, and who is behind; none in a run without workers.
    pub(super) fn line(&self, lost: &[LostWorker]) -> Option<TextLine> {
        let is_gone = |number: u16| lost.iter().any(|gone| gone.number == number);
        let all =
            self.last_s.len() + lost.iter().filter(|gone| !self.last_s.contains_key(&gone.number)).count();
        let connected: Vec<_> = self.last_s.iter().filter(|(number, _)| !is_gone(**number)).collect();
        let newest_s = connected.iter().map(|(_, last_s)| **last_s).max().unwrap_or(0);
        let mut behind = connected.iter().filter(|(_, last_s)| newest_s - **last_s >= BEHIND_S);
        let mut line = titled("workers");
        let tone = if connected.len() < all { Tone::Bad } else { Tone::Normal };
        line.add(tone, &format!("{} of {all} connected", connected.len()));
        if let Some((number, last_s)) = behind.next() {
            let more = match behind.count() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let by = newest_s - **last_s;
            line.add(Tone::Dim, " · ").add(Tone::Warn, &format!("worker {number} is {by} s behind{more}"));
        }
        (all > 0).then_some(line)
    }
}
