//! The second pass over a file: its events become ticks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use evidence::{Key, KeyId, Metric, Name, Observed, Sample, SeriesKey, Sink, SinkError, Tick};

use crate::event::{EndpointRef, Event, Receive};
use crate::planned::PlannedRun;
use crate::span::RunSpan;

/// How many seconds stay open for events, because lines are not exactly in the order of time.
const OPEN_SECONDS: usize = 32;
/// The most names of scenarios, endpoints and checks; further ones become [`OTHERS`].
const MAX_NAMES: usize = 1_000;
/// The longest name, in characters.
const MAX_NAME: usize = 200;
/// The name that replaces names beyond [`MAX_NAMES`].
const OTHERS: &str = "(others)";

/// Passes events to a sink as ticks of one loop.
pub struct Filler<'a> {
    sink: &'a mut dyn Sink,
    span: RunSpan,
    keys: HashMap<Key, KeyId>,
    new_keys: Vec<(KeyId, Key)>,
    names: HashSet<Name>,
    folded: HashSet<u64>,
    open: BTreeMap<u32, Tick>,
    last_second: Option<u32>,
    spare: Vec<Tick>,
    planned: PlannedRun,
}

impl<'a> Filler<'a> {
    /// Fills `sink` with a run of this span.
    pub fn new(sink: &'a mut dyn Sink, span: RunSpan) -> Filler<'a> {
        Filler {
            sink,
            span,
            keys: HashMap::new(),
            new_keys: Vec::new(),
            names: HashSet::new(),
            folded: HashSet::new(),
            open: BTreeMap::new(),
            last_second: None,
            spare: Vec::new(),
            planned: PlannedRun::default(),
        }
    }

    /// With the phases and scenarios of the run's plan.
    pub fn with_plan(self, planned: PlannedRun) -> Filler<'a> {
        Filler { planned, ..self }
    }

    /// Pass on the ticks that are still open and return how many names became [`OTHERS`]. The last second of the span
    /// gets a tick even if nothing is dated in it, because the ticks say how long the run was.
    ///
    /// # Errors
    /// [`SinkError`] when a tick could not be stored.
    pub fn finish(mut self) -> Result<u64, SinkError> {
        let last = self.span.seconds() - 1;
        if self.last_second.is_some_and(|second| second < last) {
            self.tick(self.span.end)?;
        }
        while !self.open.is_empty() {
            self.close_first()?;
        }
        self.sink.flush()?;
        Ok(self.folded.len() as u64)
    }

    fn close_first(&mut self) -> Result<(), SinkError> {
        let Some((_, mut tick)) = self.open.pop_first() else { return Ok(()) };
        tick.new_keys.append(&mut self.new_keys);
        self.sink.tick(&tick)?;
        tick.clear();
        self.spare.push(tick);
        self.sink.flush()
    }

    /// The second that contains `at`, and its tick.
    fn tick(&mut self, at: i64) -> Result<(u32, &mut Tick), SinkError> {
        let second = self.span.second(at);
        self.last_second = self.last_second.max(Some(second));
        if !self.open.contains_key(&second) && self.open.len() >= OPEN_SECONDS {
            self.close_first()?;
        }
        let spare = &mut self.spare;
        let tick = self.open.entry(second).or_insert_with(|| {
            let mut tick = spare.pop().unwrap_or_default();
            tick.second = second;
            tick
        });
        Ok((second, tick))
    }

    fn name(&mut self, name: &str) -> Name {
        let end = name.char_indices().nth(MAX_NAME).map_or(name.len(), |(at, _)| at);
        let short = &name[..end];
        if let Some(known) = self.names.get(short) {
            return known.clone();
        }
        if self.names.len() >= MAX_NAMES {
            if self.folded.len() < MAX_NAMES * 100 {
                self.folded.insert(fingerprint(short));
            }
            return OTHERS.into();
        }
        let name: Name = short.into();
        self.names.insert(name.clone());
        name
    }

    /// The key of what was counted at `at`. A request and its time are counted when it ended, so both are in one phase.
    fn key(&mut self, metric: Metric, subject: EndpointRef<'_>, at: i64) -> Key {
        let endpoint = self.name(subject.endpoint);
        let planned = Some(subject.endpoint).filter(|_| subject.scenario.is_empty());
        let planned = planned.and_then(|endpoint| self.planned.scenario_of(endpoint));
        let scenario = planned.unwrap_or_else(|| self.name(subject.scenario));
        let phase = self.planned.phase_at(self.span.instant(at).offset());
        Key { scenario, endpoint, phase, ..Key::of(metric) }
    }

    fn key_id(&mut self, key: Key) -> KeyId {
        let next = KeyId(self.keys.len() as u32);
        let new_keys = &mut self.new_keys;
        *self.keys.entry(key).or_insert_with_key(|key| {
            new_keys.push((next, key.clone()));
            next
        })
    }
}

/// A hash of a folded name: only the number of distinct names is needed.
fn fingerprint(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

impl Receive for Filler<'_> {
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Times { metric, subject, outcome, end, nanos } => {
                let key = Key { outcome, ..self.key(metric, subject, end) };
                let id = self.key_id(key);
                self.tick(end)?.1.record_ns(id, nanos);
            }
            Event::Count { metric, subject, check, at, value } => {
                let mut key = self.key(metric, subject, at);
                if let Some(check) = check {
                    key.tags.insert("check".into(), self.name(check));
                }
                let id = self.key_id(key);
                let (second, tick) = self.tick(at)?;
                tick.add(id, second, value);
            }
            Event::Level { name, at, value } => {
                let series = SeriesKey::new(name, SeriesKey::GENERATOR, "1");
                let samples = vec![(series, Sample { at: self.span.instant(at), value })];
                self.sink.observed(&Observed { samples, ..Observed::default() })?;
            }
            Event::Interval { subject, begin, end, times } => {
                // The end of an interval is already in the next one, and intervals are not exactly as long as a second:
                // the middle is in the right second in both cases.
                let middle = begin.saturating_add(end.saturating_sub(begin) / 2);
                let key = self.key(Metric::ResponseTime, subject, middle);
                let id = self.key_id(key);
                self.tick(middle)?.1.merge(id, times);
            }
            Event::Figure(_)
            | Event::Summary(_)
            | Event::Total(_)
            | Event::Contradiction(_)
            | Event::LeftOut(_)
            | Event::Fact(..)
            | Event::Remark(_)
            | Event::Unknown(_) => {}
        }
        Ok(())
    }
}
