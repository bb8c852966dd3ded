//! k6's metrics that Plimsoll records in another form, read from the ticks of a run during it: virtual users and
//! dropped iterations, second by second.

use std::collections::{BTreeMap, HashMap};

use evidence::delivered::DeliveredSeconds;
use evidence::instance::Instance;
use evidence::tick::Count;
use evidence::{Instant, KeyId, Metric, Name, Tick};

/// A value of such a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct TickValue {
    pub metric: &'static str,
    /// None where it is of the whole run.
    pub scenario: Option<Name>,
    /// The end of its second.
    pub at: Instant,
    /// A number of iterations or virtual users.
    pub value: f64,
}

/// Virtual users of one second, over the loops that have delivered it.
#[derive(Debug, Default)]
struct Users {
    active: f64,
    made: u32,
}

/// Makes the values of the ticks that it is given.
#[derive(Debug)]
pub struct TickValues {
    delivered: DeliveredSeconds,
    /// Keys of dropped iterations, with their scenarios.
    dropped: HashMap<(Instance, KeyId), Name>,
    /// By the second that they are of.
    users: BTreeMap<u32, Users>,
}

impl TickValues {
    /// Of a run with so many loops.
    pub fn new(loops: u16) -> TickValues {
        TickValues {
            delivered: DeliveredSeconds::new(loops),
            dropped: HashMap::new(),
            users: BTreeMap::new(),
        }
    }

    /// What follows from one more tick.
    pub fn take(&mut self, tick: &Tick) -> Vec<TickValue> {
        let is_dropped =
            |metric| matches!(metric, Metric::DroppedCap | Metric::DroppedLate | Metric::Dropped);
        let new = tick.new_keys.iter().filter(|(_, key)| is_dropped(key.metric));
        self.dropped.extend(new.map(|(id, key)| ((tick.instance, *id), key.scenario.clone())));
        let mut values = self.dropped_of(tick);
        let users = self.users.entry(tick.second).or_default();
        users.active += tick.scenarios.iter().map(|scenario| scenario.active_mean).sum::<f64>();
        users.made += tick.state.virtual_users;
        self.delivered.take(tick);
        let passed_s = self.delivered.by_all().unwrap_or(0);
        let later = self.users.split_off(&passed_s);
        for (second, users) in std::mem::replace(&mut self.users, later) {
            let of_run = |metric, value| TickValue { metric, scenario: None, at: end_of(second), value };
            let active = users.active.round();
            values.push(of_run("vus", active));
            values.push(of_run("vus_max", f64::from(users.made).max(active)));
        }
        values
    }

    fn dropped_of(&self, tick: &Tick) -> Vec<TickValue> {
        let counts = tick.counts().iter().filter(|count| count.value > 0);
        let of_count = |count: &Count| {
            let scenario = self.dropped.get(&(tick.instance, count.key))?.clone();
            let (metric, value) = ("dropped_iterations", count.value as f64);
            Some(TickValue { metric, scenario: Some(scenario), at: end_of(count.second), value })
        };
        counts.filter_map(of_count).collect()
    }
}

/// The end of a second of the run.
fn end_of(second: u32) -> Instant {
    Instant::from_nanos((u64::from(second) + 1) * 1_000_000_000)
}
