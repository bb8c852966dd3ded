//! What is known of devices: their state, and the last sample of each. Pure but for its locks.
//!
//! States do not decide what is accepted: a sample that is valid is taken from any device, started or not.

use crate::sample::{Priority, Sample};
use serde::Serialize;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Samples of a measuring device refused in a row until it is taken to be faulty.
const FAULTS: u32 = 5;
/// Devices are spread over so many locks.
const SHARDS: usize = 16;

/// What a device is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum State {
    /// Nothing yet, or nothing any more.
    Idle,
    /// It was started.
    Measuring,
    /// It was measuring and what it sent could not be used, five times in a row.
    Error,
    /// It was measuring and reached the configured fault.
    SafeState,
}

/// What somebody asks of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// From `Idle` to `Measuring`.
    Start,
    /// From `Measuring` to `Idle`.
    Stop,
    /// From `Error` or `SafeState` to `Idle`.
    Reset,
}

/// Why a command is not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its state does not allow it.
    #[error("the device is in {}: only one that is in {} can be {}", .state.word(), .command.from(), .command.done())]
    State {
        /// What was asked.
        command: Command,
        /// What it is in.
        state: State,
    },
    /// There are too many already.
    #[error("there is no room for another device")]
    TooMany,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Measuring => "Measuring",
            Self::Error => "Error",
            Self::SafeState => "SafeState",
        }
    }

    /// The state after a command; none when it does not apply.
    #[must_use]
    pub fn after(self, command: Command) -> Option<Self> {
        match (command, self) {
            (Command::Start, Self::Idle) => Some(Self::Measuring),
            (Command::Stop, Self::Measuring) | (Command::Reset, Self::Error | Self::SafeState) => {
                Some(Self::Idle)
            }
            _ => None,
        }
    }
}

impl Command {
    fn from(self) -> &'static str {
        match self {
            Self::Start => "Idle",
            Self::Stop => "Measuring",
            Self::Reset => "Error or SafeState",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::Start => "started",
            Self::Stop => "stopped",
            Self::Reset => "reset",
        }
    }
}

/// The last sample that was accepted of a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Latest {
    /// How many were accepted of it, this one included.
    pub seq: u64,
    /// What it told.
    pub value: f64,
    /// In which unit.
    pub unit: String,
    /// Of what.
    pub r#type: String,
    /// How much it matters.
    pub priority: &'static str,
    /// When, as it told.
    pub timestamp: String,
}

#[derive(Debug)]
struct Device {
    state: State,
    /// Accepted since it was started.
    measured: u64,
    refused_in_a_row: u32,
    latest: Option<Latest>,
    samples: u64,
}

/// All devices that are known.
#[derive(Debug)]
pub struct Devices {
    shards: [Mutex<HashMap<String, Device>>; SHARDS],
    hasher: RandomState,
    count: AtomicUsize,
    most: usize,
    fault_after: u64,
}

impl Devices {
    /// None yet and at most so many; each measuring one reaches `SafeState` after so many samples, 0 meaning never.
    #[must_use]
    pub fn new(most: usize, fault_after: u64) -> Self {
        let (shards, hasher, count) = (Default::default(), RandomState::new(), AtomicUsize::new(0));
        Self { shards, hasher, count, most, fault_after }
    }

    /// How many are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// A device's state and last sample; none of one that was never heard of.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<(State, Option<Latest>)> {
        self.shard(id).get(id).map(|device| (device.state, device.latest.clone()))
    }

    /// Carries a command out.
    ///
    /// # Errors
    /// When the device's state does not allow it, or it would be one too many.
    pub fn command(&self, id: &str, command: Command) -> Result<(), Refused> {
        let mut shard = self.shard(id);
        let device = self.known(&mut shard, id).ok_or(Refused::TooMany)?;
        let state = device.state;
        device.state = state.after(command).ok_or(Refused::State { command, state })?;
        (device.measured, device.refused_in_a_row) = (0, 0);
        Ok(())
    }

    /// Remembers what was accepted. A device too many is not remembered; its samples are accepted all the same.
    pub fn accepted<'a>(&self, samples: impl Iterator<Item = &'a Sample<'a>>) {
        let mut samples = samples.peekable();
        while let Some(first) = samples.next() {
            let (mut last, mut count) = (first, 1);
            while let Some(next) = samples.next_if(|next| next.device_id == first.device_id) {
                (last, count) = (next, count + 1);
            }
            let mut shard = self.shard(&first.device_id);
            if let Some(device) = self.known(&mut shard, &first.device_id) {
                device.accepted(last, count, self.fault_after);
            }
        }
    }

    /// A sample of a device was refused. Only who is known already can fall ill of that.
    pub fn refused(&self, id: &str) {
        let mut shard = self.shard(id);
        let Some(device) = shard.get_mut(id).filter(|device| device.state == State::Measuring) else {
            return;
        };
        device.refused_in_a_row += 1;
        if device.refused_in_a_row >= FAULTS {
            device.state = State::Error;
        }
    }

    fn known<'a>(&self, shard: &'a mut HashMap<String, Device>, id: &str) -> Option<&'a mut Device> {
        if !shard.contains_key(id) {
            let before = self.count.fetch_add(1, Ordering::Relaxed);
            if before >= self.most {
                self.count.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            shard.insert(id.to_owned(), Device::new());
        }
        shard.get_mut(id)
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, HashMap<String, Device>> {
        let place = self.hasher.hash_one(id) as usize % SHARDS;
        self.shards[place].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device {
    fn new() -> Self {
        Self { state: State::Idle, measured: 0, refused_in_a_row: 0, latest: None, samples: 0 }
    }

    /// So many samples were accepted, of which this was the last.
    fn accepted(&mut self, last: &Sample<'_>, count: u64, fault_after: u64) {
        self.samples += count;
        self.refused_in_a_row = 0;
        if self.state == State::Measuring {
            self.measured += count;
            if fault_after > 0 && self.measured >= fault_after {
                self.state = State::SafeState;
            }
        }
        let latest = self.latest.get_or_insert_with(|| Latest {
            seq: 0,
            value: 0.0,
            unit: String::new(),
            r#type: String::new(),
            priority: Priority::Medium.word(),
            timestamp: String::new(),
        });
        (latest.seq, latest.value, latest.priority) = (self.samples, last.value, last.priority.word());
        for (held, told) in [
            (&mut latest.unit, &last.unit),
            (&mut latest.r#type, &last.kind),
            (&mut latest.timestamp, &last.timestamp),
        ] {
            held.clear();
            held.push_str(told);
        }
    }
}

#[cfg(test)]
mod tests;
