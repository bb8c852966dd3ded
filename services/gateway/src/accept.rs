//! The one path of every sample from a body to what was promised: read, checked, given room, kept, remembered.
//!
//! A request is taken as a whole or not at all, except for samples that are invalid, which are told one by one.

use crate::device::Devices;
use crate::entry::{Kept, Receipt, entries};
use crate::intake::{self, Form, Limits, Unreadable};
use crate::journal::{Journal, NotKept};
use crate::meters::Meters;
use crate::queue::{Full, Queue};
use crate::sample::{Invalid, Priority, Sample};
use crate::task::Ids;
use kit::clock::UtcMs;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What an acknowledgement promises.
#[derive(Debug)]
pub enum Durability {
    /// A place in memory.
    Memory,
    /// On disk.
    Disk(Journal),
    /// Handed on; waited for no longer than this.
    HandedOn(Duration),
}

/// Takes samples in.
#[derive(Debug)]
pub struct Acceptor {
    /// What is understood.
    pub limits: Limits,
    /// Who sends.
    pub devices: Arc<Devices>,
    /// Where they wait.
    pub queue: Arc<Queue>,
    /// What is promised.
    pub durability: Durability,
    /// What is counted.
    pub meters: Arc<Meters>,
    /// How tasks are numbered.
    pub ids: Ids,
}

/// What became of a request that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// Samples that are kept as promised.
    pub accepted: usize,
    /// The others, by their place in the request.
    pub refused: Vec<(usize, Invalid)>,
}

/// Why nothing of a request was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It can never be.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The queue is full of what matters as much.
    #[error("{NO_ROOM}")]
    NoRoom,
    /// It could not be made durable.
    #[error("the samples could not be kept: {0}")]
    NotKept(#[from] NotKept),
    /// Nobody knows yet whether it was handed on; it may be.
    #[error("the samples were not handed on in time; they may be later")]
    Late,
}

/// What whoever finds no room is told.
pub const NO_ROOM: &str = "no room for more samples now";

impl Acceptor {
    /// Whether a request could be taken now that says this of its samples.
    #[must_use]
    pub fn has_room_for(&self, announced: Option<Priority>) -> bool {
        self.fits_on_disk(announced.unwrap_or(Priority::High)) && self.queue.has_room_for(announced)
    }

    fn fits_on_disk(&self, priority: Priority) -> bool {
        match &self.durability {
            Durability::Disk(journal) => journal.has_room_for(priority),
            Durability::Memory | Durability::HandedOn(_) => true,
        }
    }

    /// Takes a body in; returns when it is kept as promised. `began` is when the request did.
    ///
    /// # Errors
    /// When nothing of it was taken.
    pub async fn take(&self, (form, body): (Form, &[u8]), began: Instant) -> Result<Taken, Refused> {
        let read = intake::read(form, body, self.limits)?;
        let (samples, refused) = sorted(read);
        self.meters.refused(refused.len());
        for (_, invalid) in &refused {
            invalid.device_id.iter().for_each(|id| self.devices.refused(id));
        }
        if !samples.is_empty() {
            self.keep(&samples).await?;
            // After the promise: what is shown as the last sample was accepted.
            self.devices.accepted(samples.iter());
            self.meters.accepted(samples.iter().map(|sample| sample.priority), began.elapsed());
        }
        Ok(Taken { accepted: samples.len(), refused })
    }

    async fn keep(&self, samples: &[Sample<'_>]) -> Result<(), Refused> {
        let priorities = samples.iter().map(|sample| sample.priority);
        let fits = priorities.clone().min().is_none_or(|lowest| self.fits_on_disk(lowest));
        let reserved = if fits { self.queue.reserve(priorities) } else { Err(Full) };
        let Ok(places) = reserved else {
            self.meters.no_room(samples.len());
            return Err(Refused::NoRoom);
        };
        let tasks = self.ids.tasks(samples.iter(), UtcMs::now());
        match &self.durability {
            Durability::Memory => self.queue.push(entries((&tasks, places), &Kept::Memory)),
            Durability::Disk(journal) => {
                let kept = journal.keep(tasks, places).await;
                kept.inspect_err(|_| self.meters.no_room(samples.len()))?;
            }
            Durability::HandedOn(within) => {
                let receipt = Receipt::of(samples.len());
                self.queue.push(entries((&tasks, places), &Kept::Awaited(Arc::clone(&receipt))));
                tokio::time::timeout(*within, receipt.wait()).await.map_err(|_| Refused::Late)?;
            }
        }
        Ok(())
    }
}

fn sorted(read: intake::Read<'_>) -> (Vec<Sample<'_>>, Vec<(usize, Invalid)>) {
    let (mut samples, mut refused) = (Vec::with_capacity(read.len()), Vec::new());
    for (index, outcome) in read.into_iter().enumerate() {
        match outcome {
            Ok(sample) => samples.push(sample),
            Err(invalid) => refused.push((index, invalid)),
        }
    }
    (samples, refused)
}
