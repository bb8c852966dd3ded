//! The devices' states, and the latest sample of each. Pure but for its locks.
//!
//! States do not affect acceptance: a valid sample is accepted from any device, started or not.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use crate::sample::{Priority, Sample};

/// Refused samples in a row after which a measuring device is in `Error`.
const REFUSALS_TO_ERROR: u32 = 5;
/// Devices are spread over this many locks.
const SHARDS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum DeviceState {
    /// Not started, or stopped.
    Idle,
    /// Started.
    Measuring,
    /// Five of its samples in a row were refused while it was measuring.
    Error,
    /// It reached the configured number of samples while it was measuring.
    SafeState,
}

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
pub enum CommandRefusal {
    /// Its state does not allow it.
    #[error("the device is in {}: only one that is in {} can be {}", .state.word(), .command.required_state(), .command.participle())]
    State { command: Command, state: DeviceState },
    /// As many devices as may be are known.
    #[error("there is no space for another device")]
    TooManyDevices,
}

impl DeviceState {
    fn word(self) -> &'static str {
        match self {
            Self::Idle => "Idle",
            Self::Measuring => "Measuring",
            Self::Error => "Error",
            Self::SafeState => "SafeState",
        }
    }

    /// The state after a command; `None` when the command does not apply. Starting what is started, and stopping what is
    /// stopped, changes nothing.
    #[must_use]
    pub fn after(self, command: Command) -> Option<Self> {
        match (command, self) {
            (Command::Start, Self::Idle | Self::Measuring) => Some(Self::Measuring),
            (Command::Stop, Self::Idle | Self::Measuring)
            | (Command::Reset, Self::Error | Self::SafeState) => Some(Self::Idle),
            _ => None,
        }
    }
}

impl Command {
    /// The states in which it applies.
    fn required_state(self) -> &'static str {
        match self {
            Self::Start | Self::Stop => "Idle or Measuring",
            Self::Reset => "Error or SafeState",
        }
    }

    fn participle(self) -> &'static str {
        match self {
            Self::Start => "started",
            Self::Stop => "stopped",
            Self::Reset => "reset",
        }
    }
}

/// The latest sample that was accepted of a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatestSample {
    /// The number of samples accepted of the device, including this one.
    pub seq: u64,
    pub value: f64,
    pub unit: String,
    pub r#type: String,
    pub priority: &'static str,
    /// Its timestamp, as sent.
    pub timestamp: String,
}

#[derive(Debug)]
struct Device {
    state: DeviceState,
    /// Samples accepted since it was started.
    measured: u64,
    refused_in_a_row: u32,
    latest: Option<LatestSample>,
    samples: u64,
}

/// All known devices.
#[derive(Debug)]
pub struct Devices {
    shards: [Mutex<HashMap<String, Device>>; SHARDS],
    hasher: RandomState,
    count: AtomicUsize,
    max_devices: usize,
    fault_after: u64,
}

impl Devices {
    /// No devices yet, and at most `max_devices`; a measuring one reaches `SafeState` after `fault_after` samples, 0
    /// meaning never.
    #[must_use]
    pub fn new(max_devices: usize, fault_after: u64) -> Self {
        let (shards, hasher, count) = (Default::default(), RandomState::new(), AtomicUsize::new(0));
        Self { shards, hasher, count, max_devices, fault_after }
    }

    /// How many devices are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// A device's state and latest sample; `None` for an unknown device.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<(DeviceState, Option<LatestSample>)> {
        self.shard(id).get(id).map(|device| (device.state, device.latest.clone()))
    }

    /// Executes a command.
    ///
    /// # Errors
    /// When the device's state does not allow it, or the device is new and there are too many.
    pub fn command(&self, id: &str, command: Command) -> Result<(), CommandRefusal> {
        let mut shard = self.shard(id);
        let device = self.find_or_insert(&mut shard, id).ok_or(CommandRefusal::TooManyDevices)?;
        let state = device.state;
        device.state = state.after(command).ok_or(CommandRefusal::State { command, state })?;
        if device.state != state {
            (device.measured, device.refused_in_a_row) = (0, 0);
        }
        Ok(())
    }

    /// Records accepted samples. A device beyond the maximum is not recorded; its samples are accepted all the same.
    pub fn accepted<'a>(&self, samples: impl Iterator<Item = &'a Sample<'a>>) {
        let mut samples = samples.peekable();
        while let Some(first) = samples.next() {
            let (mut last, mut count) = (first, 1);
            while let Some(next) = samples.next_if(|next| next.device_id == first.device_id) {
                (last, count) = (next, count + 1);
            }
            let mut shard = self.shard(&first.device_id);
            if let Some(device) = self.find_or_insert(&mut shard, &first.device_id) {
                device.accepted(last, count, self.fault_after);
            }
        }
    }

    /// Records a refused sample. It affects known devices only.
    pub fn refused(&self, id: &str) {
        let mut shard = self.shard(id);
        let Some(device) = shard.get_mut(id).filter(|device| device.state == DeviceState::Measuring) else {
            return;
        };
        device.refused_in_a_row += 1;
        if device.refused_in_a_row >= REFUSALS_TO_ERROR {
            device.state = DeviceState::Error;
        }
    }

    fn find_or_insert<'a>(&self, shard: &'a mut HashMap<String, Device>, id: &str) -> Option<&'a mut Device> {
        if !shard.contains_key(id) {
            let before = self.count.fetch_add(1, Ordering::Relaxed);
            if before >= self.max_devices {
                self.count.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            shard.insert(id.to_owned(), Device::new());
        }
        shard.get_mut(id)
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, HashMap<String, Device>> {
        let index = self.hasher.hash_one(id) as usize % SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device {
    fn new() -> Self {
        Self { state: DeviceState::Idle, measured: 0, refused_in_a_row: 0, latest: None, samples: 0 }
    }

    /// Records `count` accepted samples, of which this was the last.
    fn accepted(&mut self, last: &Sample<'_>, count: u64, fault_after: u64) {
        self.samples += count;
        self.refused_in_a_row = 0;
        if self.state == DeviceState::Measuring {
            self.measured += count;
            if fault_after > 0 && self.measured >= fault_after {
                self.state = DeviceState::SafeState;
            }
        }
        let latest = self.latest.get_or_insert_with(|| LatestSample {
            seq: 0,
            value: 0.0,
            unit: String::new(),
            r#type: String::new(),
            priority: Priority::Medium.word(),
            timestamp: String::new(),
        });
        (latest.seq, latest.value, latest.priority) = (self.samples, last.value, last.priority.word());
        for (field, text) in [
            (&mut latest.unit, &last.unit),
            (&mut latest.r#type, &last.kind),
            (&mut latest.timestamp, &last.timestamp),
        ] {
            field.clear();
            field.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests;
