//! The first pass over a file: its time range, figures, facts and remarks.

use std::collections::{BTreeMap, BTreeSet};

use evidence::manifest::RequestSummary;
use evidence::{Metric, SinkError, SourceFigure, UnknownBasis, UnknownRecords, UnknownSubject};

use crate::event::{Event, Receive};
use crate::limits::MAX_DISTINCT_NS;
use crate::parse::first_characters;
use crate::records::RecordSample;
use crate::requests_read::RequestsRead;
use crate::span::RunSpan;
use crate::totals::StatedTotal;

/// The most figures that are stored.
const MAX_FIGURES: usize = 2_000;
/// The most summaries that are stored.
const MAX_SUMMARIES: usize = 1_000;
/// The most contradictions that are stored one by one.
const MAX_CONTRADICTIONS: usize = 100;
/// The most names of unknown metrics that are stored.
const MAX_UNKNOWN: usize = 20;
/// The most names of scenarios and endpoints that are stored.
const MAX_NAMES: usize = 1_000;
/// The longest name of an unknown metric, in characters.
const MAX_UNKNOWN_NAME: usize = 100;
/// The most remarks that are stored.
const MAX_REMARKS: usize = 100;
const SECOND_NS: i64 = 1_000_000_000;

/// What a file contains besides the events that go into ticks.
#[derive(Debug, Default)]
pub struct Survey {
    times: Option<TimesOfDay>,
    /// How many events have a time: without any, the file has no evidence, only figures.
    pub dated: u64,
    /// Figures that the source computed.
    pub figures: Vec<SourceFigure>,
    /// What the figures say of requests.
    pub summaries: Vec<RequestSummary>,
    /// How many more figures there are than are stored.
    pub figures_left_out: u64,
    /// How many figures were left out because no run can have them; each is a remark.
    pub contradictory: u64,
    pub first_contradictory: Option<String>,
    /// Totals that the source states besides, of all requests or of an endpoint.
    pub(crate) stated: Vec<StatedTotal>,
    /// Records that contradict each other.
    pub contradictions: Vec<UnknownRecords>,
    /// The requests that it has one by one.
    pub(crate) requests_read: RequestsRead,
    /// What its events add up to.
    pub totals: BTreeMap<Metric, u64>,
    /// How many times are longer than an hour, and counted as an hour.
    pub longer_than_an_hour: u64,
    pub records: RecordSample,
    /// Its scenarios and endpoints, as far as they are stored.
    pub names: BTreeSet<String>,
    /// Properties of the source, by name.
    pub facts: BTreeMap<String, String>,
    /// Sentences for the reader of the report.
    pub remarks: Vec<String>,
    /// Metrics that run files do not have.
    pub unknown: BTreeSet<String>,
    /// Whether the source counts arrivals that never started.
    pub has_drops: bool,
}

/// The times of day of a file.
#[derive(Debug, Clone, Copy)]
struct TimesOfDay {
    first_begin: i64,
    first_end: i64,
    last_end: i64,
    is_in_whole_seconds: bool,
}

impl Survey {
    /// Whether nothing in the file could be read. A table of failures without any says that there was none.
    pub fn is_empty(&self) -> bool {
        self.dated == 0 && self.figures.is_empty() && self.stated.is_empty()
    }

    /// The time that it covers, if its events have times of day.
    pub fn span(&self) -> Option<RunSpan> {
        let times = self.times?;
        Some(match times.is_in_whole_seconds {
            // Anywhere in its second: an event that took 0.4 s need not have started in the second before.
            true => RunSpan { begin: times.first_end, end: times.last_end.saturating_add(SECOND_NS) },
            false => RunSpan { begin: times.first_begin, end: times.last_end },
        })
    }

    /// Whether its times of day are whole seconds, so that its length is known to a second.
    pub fn is_in_whole_seconds(&self) -> bool {
        self.times.is_some_and(|times| times.is_in_whole_seconds)
    }

    fn date(&mut self, event: &Event<'_>) {
        let Some((begin, end)) = event.times_of_day() else { return };
        self.dated += 1;
        let is_whole = end % SECOND_NS == 0 && !matches!(event, Event::Interval { .. });
        let times = self.times.get_or_insert(TimesOfDay {
            first_begin: begin,
            first_end: end,
            last_end: end,
            is_in_whole_seconds: true,
        });
        times.first_begin = times.first_begin.min(begin);
        times.first_end = times.first_end.min(end);
        times.last_end = times.last_end.max(end);
        times.is_in_whole_seconds &= is_whole;
    }

    fn add_up(&mut self, event: &Event<'_>) {
        let (metric, value) = match *event {
            Event::Times { metric, nanos, .. } => {
                self.longer_than_an_hour += u64::from(nanos > MAX_DISTINCT_NS);
                (metric, 1)
            }
            Event::Count { metric, value, .. } => (metric, value),
            Event::Interval { times, .. } => (Metric::ResponseTime, times.count()),
            _ => return,
        };
        let total = self.totals.entry(metric).or_default();
        *total = total.saturating_add(value);
    }

    fn name(&mut self, event: &Event<'_>) {
        let (Event::Times { subject, .. } | Event::Interval { subject, .. }) = event else { return };
        for name in [subject.scenario, subject.endpoint] {
            if !name.is_empty() && self.names.len() < MAX_NAMES && !self.names.contains(name) {
                self.names.insert(name.to_owned());
            }
        }
    }

    /// Keep the contradiction; of too many, the numbers alone.
    fn contradict(&mut self, unknown: UnknownRecords) {
        let is_full = self.contradictions.len() >= MAX_CONTRADICTIONS;
        let Some(last) = self.contradictions.last_mut().filter(|_| is_full) else {
            return self.contradictions.push(unknown);
        };
        let sum = |a: u64, b: u64| a.saturating_add(b);
        *last = UnknownRecords {
            of: if last.of == unknown.of { last.of } else { UnknownSubject::Any },
            basis: UnknownBasis::Records,
            scenario: String::new(),
            endpoint: String::new(),
            more: last.more.zip(unknown.more).map(|(a, b)| sum(a, b)),
            doubtful: sum(last.doubtful, unknown.doubtful),
            why: "More records contradict each other than are listed here.".to_owned(),
        };
    }

    fn remark(&mut self, text: String) {
        if self.remarks.len() < MAX_REMARKS {
            self.remarks.push(text);
        }
    }
}

impl Receive for Survey {
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError> {
        self.date(&event);
        self.add_up(&event);
        self.name(&event);
        self.records.add(&event);
        self.requests_read.add(&event);
        match event {
            Event::Count { metric: Metric::Dropped, .. } => self.has_drops = true,
            Event::LeftOut(why) => {
                self.contradictory += 1;
                self.first_contradictory.get_or_insert_with(|| why.clone());
                self.remark(why);
            }
            Event::Figure(_) if self.figures.len() >= MAX_FIGURES => self.figures_left_out += 1,
            Event::Figure(figure) => self.figures.push(figure),
            Event::Summary(summary) if self.summaries.len() < MAX_SUMMARIES => self.summaries.push(summary),
            Event::Total(total) if self.stated.len() < MAX_SUMMARIES => self.stated.push(total),
            Event::Contradiction(unknown) => self.contradict(unknown),
            Event::Fact(name, value) => {
                self.facts.insert(name.to_owned(), value);
            }
            Event::Remark(text) => self.remark(text),
            Event::Unknown(name) if self.unknown.len() < MAX_UNKNOWN && !self.unknown.contains(name) => {
                self.unknown.insert(first_characters(name, MAX_UNKNOWN_NAME));
            }
            _ => {}
        }
        Ok(())
    }
}
