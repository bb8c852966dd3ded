//! Events as ticks: the second pass over a file.

use std::collections::{BTreeMap, HashMap, HashSet};

use evidence::{Instant, Key, KeyId, Metric, Name, Observed, Sample, SeriesKey, Sink, SinkError, Tick};

use crate::event::{Event, Place, Receive};

/// The name of the one phase that an imported run has.
pub const PHASE: &str = "run";
/// Seconds that are held back, because lines are not quite in the order of time.
const OPEN_SECONDS: usize = 32;
/// How many endpoints, and how many checks, are told apart; the others go under one name.
const MAX_NAMES: usize = 1_000;
/// The longest name, in characters.
const MAX_NAME: usize = 200;
const OTHERS: &str = "(others)";

/// Hands events to a sink as ticks of one loop.
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
    /// Fills `sink` with what happened since `epoch`, in nanoseconds since the Unix epoch.
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

    /// Hand over what is left, and tell how many names were folded into one.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
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

    /// The tick of the second in which `at` lies.
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

    fn key(&mut self, metric: Metric, place: Place<'_>) -> Key {
        let (scenario, endpoint) = (self.name(place.scenario), self.name(place.endpoint));
        Key { scenario, endpoint, ..Key::of(metric).phase(PHASE) }
    }

    fn number(&mut self, key: Key) -> KeyId {
        let next = KeyId(self.keys.len() as u32);
        let new_keys = &mut self.new_keys;
        *self.keys.entry(key).or_insert_with_key(|key| {
            new_keys.push((next, key.clone()));
            next
        })
    }
}

/// Which folded names there were is not kept, only how many.
fn fingerprint(name: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

impl Receive for Filler<'_> {
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Times { metric, place, outcome, end, nanos } => {
                let key = Key { outcome, ..self.key(metric, place) };
                let id = self.number(key);
                self.tick(end)?.1.record_ns(id, nanos);
            }
            Event::Count { metric, place, check, at, value } => {
                let mut key = self.key(metric, place);
                if let Some(check) = check {
                    key.tags.insert("check".into(), self.name(check));
                }
                let id = self.number(key);
                let (second, tick) = self.tick(at)?;
                tick.add(id, second, value);
            }
            Event::Level { name, at, value } => {
                let series = SeriesKey::new(name, SeriesKey::GENERATOR, "1");
                let samples = vec![(series, Sample { at: self.instant(at), value })];
                self.sink.observed(&Observed { samples, ..Observed::default() })?;
            }
            Event::Interval { place, end, times, .. } => {
                let key = self.key(Metric::ResponseTime, place);
                let id = self.number(key);
                self.tick(end)?.1.merge(id, times);
            }
            Event::Figure(_) | Event::Fact(..) | Event::Remark(_) | Event::Unknown(_) => {}
        }
        Ok(())
    }
}
