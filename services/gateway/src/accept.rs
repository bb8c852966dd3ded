//! The path of every sample from a request's body to the promised durability: read, validated, queued, persisted,
//! recorded as its device's latest.
//!
//! A request is accepted as a whole or not at all, except for samples that are invalid, which are reported one by one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kit::auth::Denied;
use kit::clock::UtcMs;

use crate::caller::Caller;
use crate::device::Devices;
use crate::entry::{HandOnReceipt, TaskBacking, entries};
use crate::intake::{self, BodyError, BodyFormat, Limits};
use crate::journal::{Journal, PersistError};
use crate::meters::Meters;
use crate::queue::{Queue, QueueFull};
use crate::sample::{Invalid, Priority, Sample};
use crate::task::TaskIds;

/// What an acknowledgement promises.
#[derive(Debug)]
pub enum Durability {
    /// The samples are queued in memory.
    Memory,
    /// The samples are on disk.
    Disk(Journal),
    /// The samples are handed on; a request waits for that no longer than this.
    HandedOn(Duration),
}

/// Accepts samples.
#[derive(Debug)]
pub struct Acceptor {
    /// Bounds on bodies and values.
    pub limits: Limits,
    /// The devices that samples came from.
    pub devices: Arc<Devices>,
    /// Where accepted samples wait.
    pub queue: Arc<Queue>,
    /// What an acknowledgement promises.
    pub durability: Durability,
    pub meters: Arc<Meters>,
    pub ids: TaskIds,
}

/// The outcome of a request that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct AcceptOutcome {
    /// How many samples have the promised durability.
    pub accepted: usize,
    /// The other samples.
    pub refused: Vec<RefusedSample>,
}

/// An invalid sample of a request.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedSample {
    /// Its index in the request's body.
    pub index: usize,
    /// Why it is refused.
    pub invalid: Invalid,
}

/// Why no sample of a request was accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestRefusal {
    /// The body cannot be read; sending it again does not help.
    #[error(transparent)]
    Unreadable(#[from] BodyError),
    /// It has a sample of a device that the caller does not act for.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The queue is full of samples of the same or a higher priority.
    #[error("{NO_SPACE}")]
    NoSpace,
    /// The samples could not be made durable.
    #[error("the samples could not be kept: {0}")]
    NotPersisted(#[from] PersistError),
    /// It is unknown whether the samples are handed on; they still may be.
    #[error("the samples were not handed on in time; they may be later")]
    NotHandedOnInTime,
}

/// The error text of a request that is refused because the queue is full.
pub const NO_SPACE: &str = "no space for more samples now";

impl Acceptor {
    /// Whether a request could be accepted now whose header announces this priority.
    #[must_use]
    pub fn has_space_for(&self, announced: Option<Priority>) -> bool {
        self.fits_on_disk(announced.unwrap_or(Priority::High)) && self.queue.has_space_for(announced)
    }

    fn fits_on_disk(&self, priority: Priority) -> bool {
        match &self.durability {
            Durability::Disk(journal) => journal.has_space_for(priority),
            Durability::Memory | Durability::HandedOn(_) => true,
        }
    }

    /// Accepts a body; returns when its samples have the promised durability. `began` is when the request did.
    ///
    /// # Errors
    /// When no sample was accepted.
    pub async fn accept(
        &self,
        caller: &Caller,
        format: BodyFormat,
        body: &[u8],
        began: Instant,
    ) -> Result<AcceptOutcome, RequestRefusal> {
        let parsed = intake::read(format, body, self.limits)?;
        // Of invalid samples too: they count against their device.
        parsed.iter().filter_map(device_id).try_for_each(|id| caller.require_device(id))?;
        let (samples, refused) = split_by_validity(parsed);
        self.meters.refused(refused.len());
        for sample in &refused {
            sample.invalid.device_id.iter().for_each(|id| self.devices.refused(id));
        }
        if !samples.is_empty() {
            self.make_durable(&samples).await?;
            // Only now: a device's latest sample is one that was accepted.
            self.devices.accepted(samples.iter());
            self.meters.accepted(samples.iter().map(|sample| sample.priority), began.elapsed());
        }
        Ok(AcceptOutcome { accepted: samples.len(), refused })
    }

    async fn make_durable(&self, samples: &[Sample<'_>]) -> Result<(), RequestRefusal> {
        let priorities = samples.iter().map(|sample| sample.priority);
        let fits = priorities.clone().min().is_none_or(|lowest| self.fits_on_disk(lowest));
        let reserved = if fits { self.queue.reserve(priorities) } else { Err(QueueFull) };
        let Ok(slots) = reserved else {
            self.meters.no_space(samples.len());
            return Err(RequestRefusal::NoSpace);
        };
        let tasks = self.ids.tasks(samples.iter(), UtcMs::now());
        match &self.durability {
            Durability::Memory => self.queue.push(entries(&tasks, slots, &TaskBacking::Memory)),
            Durability::Disk(journal) => {
                let persisted = journal.persist(tasks, slots).await;
                persisted.inspect_err(|_| self.meters.no_space(samples.len()))?;
            }
            Durability::HandedOn(within) => {
                let receipt = HandOnReceipt::for_tasks(samples.len());
                self.queue.push(entries(&tasks, slots, &TaskBacking::Awaited(Arc::clone(&receipt))));
                let handed_on = tokio::time::timeout(*within, receipt.wait()).await;
                handed_on.map_err(|_| RequestRefusal::NotHandedOnInTime)?;
            }
        }
        Ok(())
    }
}

/// The device of a sample, when it could be read.
fn device_id<'a>(sample: &'a Result<Sample<'_>, Invalid>) -> Option<&'a str> {
    match sample {
        Ok(sample) => Some(&sample.device_id),
        Err(invalid) => invalid.device_id.as_deref(),
    }
}

fn split_by_validity(parsed: intake::ParsedSamples<'_>) -> (Vec<Sample<'_>>, Vec<RefusedSample>) {
    let (mut samples, mut refused) = (Vec::with_capacity(parsed.len()), Vec::new());
    for (index, outcome) in parsed.into_iter().enumerate() {
        match outcome {
            Ok(sample) => samples.push(sample),
            Err(invalid) => refused.push(RefusedSample { index, invalid }),
        }
    }
    (samples, refused)
}
