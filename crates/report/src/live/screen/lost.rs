//! Workers that are gone while the run goes on, and arrivals that were not offered.

use evidence::manifest::Worker;
use evidence::{Notice, NoticeKind, SeriesKey};

use super::Drawing;
use crate::document::terminal::line::{TextLine, Tone};
use crate::number;

/// A worker of which nothing comes any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostWorker {
    pub(super) number: u16,
    /// What the notice calls it.
    name: String,
    at_s: u32,
}

impl LostWorker {
    /// The one that a notice is about, if it is about one.
    pub(super) fn from_notice(notice: &Notice) -> Option<LostWorker> {
        let is_worker = notice.kind == NoticeKind::Gone && notice.observer == SeriesKey::GENERATOR;
        let place = notice.instance.filter(|_| is_worker)?;
        let named = notice.text.split_once(" vanished").map(|(name, _)| name.to_owned());
        let name = named.unwrap_or_else(|| Worker::name_of(place.process.into(), "address not known"));
        Some(LostWorker { number: place.process, name, at_s: notice.at.second() })
    }
}

impl Drawing<'_> {
    /// What makes the run invalid, or keeps it from a verdict. Of several workers that are gone the first is named.
    pub(super) fn invalidity(&self) -> Vec<TextLine> {
        let Some((first, others)) = self.screen.lost.split_first() else {
            return if self.screen.is_load_missed { vec![missed()] } else { Vec::new() };
        };
        let clock = number::clock(first.at_s.into());
        let more = match others {
            [] => String::new(),
            [other] => format!("; worker {} as well", other.number),
            others => format!("; and {} more", others.len()),
        };
        let mut gone = TextLine::new();
        gone.add(Tone::Bad, &format!(" ✗ {} is gone since {clock}{more}", first.name));
        let what = match (self.screen.is_open, others) {
            (true, []) => "its arrivals are dropped",
            (true, _) => "their arrivals are dropped",
            (false, []) => "its virtual users are gone",
            (false, _) => "their virtual users are gone",
        };
        let judged = match self.screen.is_load_missed {
            true => "no objective on this load can be met (L1, W1)",
            false => "no objective on this load can be met (W1)",
        };
        let mut consequence = TextLine::new();
        consequence.add(Tone::Bad, &format!("   {what}: {judged}"));
        vec![gone, consequence]
    }
}

fn missed() -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Bad, " ✗ the generator was late and dropped arrivals: so far the run is INVALID (L1)");
    line
}
