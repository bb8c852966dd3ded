//! Between the loops of a worker and the coordinator: ticks one way, commands the other.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use engine::{Command, Control};
use evidence::tick_channel::{Received, TickReceiver};
use evidence::{Key, KeyId, Metric, Observed, Outcome, Tick};

use super::answer;
use crate::ClusterError;
use crate::frame::FrameKind;
use crate::link::{Link, message};
use crate::message::{Ended, ToCoordinator, ToWorker};
use crate::{observed, tick};

/// Between two looks at the loops: they hand over a tick a second.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// A coordinator that sends nothing for so long is gone: it asks for the clock once a second.
const SILENCE_LIMIT: Duration = Duration::from_secs(15);

/// Takes what the loops hand over, only as fast as the coordinator does: what it does not take is merged in the loops.
pub(super) struct Relay {
    link: Link,
    inlets: Vec<Option<TickReceiver>>,
    /// By loop.
    requests: Vec<EndedRequests>,
    observed: Option<Receiver<Observed>>,
    ended: Receiver<Ended>,
    has_said_end: bool,
    /// Whether both sides know that the load ends at once.
    is_abandoned: bool,
}

/// Counts the requests of a loop that ended, from its ticks.
#[derive(Debug, Clone, Default)]
struct EndedRequests {
    keys: BTreeSet<KeyId>,
    count: u64,
}

impl EndedRequests {
    fn take(&mut self, tick: &Tick) {
        let has_ended =
            |key: &Key| key.metric == Metric::ResponseTime && key.outcome != Some(Outcome::Cancelled);
        self.keys.extend(tick.new_keys.iter().filter(|(_, key)| has_ended(key)).map(|(id, _)| *id));
        let ended = tick.histograms().filter(|(id, _)| self.keys.contains(id));
        self.count += ended.map(|(_, times)| times.count()).sum::<u64>();
    }
}

impl Relay {
    pub(super) fn new(
        link: Link,
        inlets: Vec<TickReceiver>,
        observed: Receiver<Observed>,
        ended: Receiver<Ended>,
    ) -> Relay {
        let inlets: Vec<_> = inlets.into_iter().map(Some).collect();
        let requests = vec![EndedRequests::default(); inlets.len()];
        Relay {
            link,
            inlets,
            requests,
            observed: Some(observed),
            ended,
            has_said_end: false,
            is_abandoned: false,
        }
    }

    /// Until the coordinator has everything, or is gone; then the load is abandoned. Returns how many requests ended.
    pub(super) fn work(mut self, control: &Control) -> Result<u64, ClusterError> {
        let end = self.work_until_bye(control);
        if end.is_err() {
            control.abandon();
        }
        end.map(|()| self.requests.iter().map(|of_loop| of_loop.count).sum())
    }

    fn work_until_bye(&mut self, control: &Control) -> Result<(), ClusterError> {
        loop {
            while let Some(frame) = self.link.take()? {
                if frame.kind == FrameKind::Ping {
                    answer(&mut self.link, &frame)?;
                    continue;
                }
                match message(&frame)? {
                    ToWorker::Drain => control.drain(),
                    ToWorker::Abandon => {
                        self.is_abandoned = true;
                        control.abandon();
                    }
                    ToWorker::Bye => return Ok(()),
                    _ => return Err(ClusterError::malformed("a command was expected")),
                }
            }
            if control.command() == Command::Abandon && !self.is_abandoned {
                self.is_abandoned = true;
                self.link.say(&ToCoordinator::Stops)?;
            }
            let has_more = self.link.backlog() == 0 && self.hand_on()?;
            if self.link.silence() > SILENCE_LIMIT {
                return Err(ClusterError::Silent(SILENCE_LIMIT.as_secs()));
            }
            self.link.pump(if has_more { Duration::ZERO } else { LOOK_INTERVAL })?;
        }
    }

    /// One tick of each loop, and what was observed; the end when there is nothing more. Whether a loop may have another tick.
    fn hand_on(&mut self) -> Result<bool, ClusterError> {
        let mut has_more = false;
        for (slot, requests) in self.inlets.iter_mut().zip(&mut self.requests) {
            let Some(inlet) = slot else { continue };
            match inlet.take() {
                Received::Empty => {}
                Received::Closed => *slot = None,
                Received::Tick(full) => {
                    requests.take(&full);
                    tick::write(&full, |part| {
                        self.link.send(FrameKind::Tick, |to| to.extend_from_slice(part))
                    })?;
                    inlet.give_back(full);
                    has_more = true;
                }
            }
        }
        loop {
            let seen = self.observed.as_ref().map(Receiver::try_recv);
            match seen {
                Some(Ok(seen)) => self.link.send(FrameKind::Observed, |to| observed::write(&seen, to))?,
                Some(Err(TryRecvError::Disconnected)) => self.observed = None,
                Some(Err(TryRecvError::Empty)) | None => break,
            }
        }
        let is_all = self.observed.is_none() && self.inlets.iter().all(Option::is_none);
        if is_all
            && !self.has_said_end
            && let Ok(end) = self.ended.try_recv()
        {
            self.link.say(&ToCoordinator::Ended(end))?;
            self.has_said_end = true;
        }
        Ok(has_more)
    }
}
