//! The second pass over a file: its events become ticks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use evidence::{Instant, Key, KeyId, Metric, Name, Observed, Sample, SeriesKey, Sink, SinkError, Tick};

use crate::event::{EndpointRef, Event, Receive};

/// The name of the only phase of an imported run.
pub const PHASE: &str = "run";
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
    epoch: i64,
    keys: HashMap<Key, KeyId>,
    new_keys: Vec<(KeyId, Key)>,
    names: HashSet<Name>,
    folded: HashSet<u64>,
    open: BTreeMap<u32, Tick>,
    spare: Vec<Tick>,
}

impl<'a> Filler<'a> {
    /// Fills `sink`; the run starts at `epoch`, in nanoseconds since the Unix epoch.
    pub fn new(sink: &'a mut dyn Sink, epoch: i64) -> Filler<'a> {
        Filler {
            sink,
            epoch,
            keys: HashMap::new(),
            new_keys: Vec::new(),
            names: HashSet::new(),
            folded: HashSet::new(),
            open: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// Pass on the ticks that are still open and return how many names became [`OTHERS`].
    ///
    /// # Errors
    /// [`SinkError`] when a tick could not be stored.
    pub fn finish(mut self) -> Result<u64, SinkError> {
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
        let second = self.instant(at).second();
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

    fn instant(&self, at: i64) -> Instant {
        Instant::from_nanos(u64::try_from(at.saturating_sub(self.epoch)).unwrap_or(0))
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

    fn key(&mut self, metric: Metric, subject: EndpointRef<'_>) -> Key {
        let (scenario, endpoint) = (self.name(subject.scenario), self.name(subject.endpoint));
        Key { scenario, endpoint, ..Key::of(metric).phase(PHASE) }
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
                let key = Key { outcome, ..self.key(metric, subject) };
                let id = self.key_id(key);
                self.tick(end)?.1.record_ns(id, nanos);
            }
            Event::Count { metric, subject, check, at, value } => {
                let mut key = self.key(metric, subject);
                if let Some(check) = check {
                    key.tags.insert("check".into(), self.name(check));
                }
                let id = self.key_id(key);
                let (second, tick) = self.tick(at)?;
                tick.add(id, second, value);
            }
            Event::Level { name, at, value } => {
                let series = SeriesKey::new(name, SeriesKey::GENERATOR, "1");
                let samples = vec![(series, Sample { at: self.instant(at), value })];
                self.sink.observed(&Observed { samples, ..Observed::default() })?;
            }
            Event::Interval { subject, end, times, .. } => {
                let key = self.key(Metric::ResponseTime, subject);
                let id = self.key_id(key);
                self.tick(end)?.1.merge(id, times);
            }
            Event::Figure(_) | Event::Fact(..) | Event::Remark(_) | Event::Unknown(_) => {}
        }
        Ok(())
    }
}
