//! How ticks pass from a loop to the recorder: full ones one way, empty ones back. During the run neither side waits; only
//! the last tick of a loop that is over may wait for the recorder.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use crate::tick::Tick;

/// How many full ticks may wait for the recorder before a loop folds seconds together.
const IN_TRANSIT: usize = 4;

/// The loop's end of the channel.
#[derive(Debug)]
pub struct TickSender {
    full: SyncSender<Box<Tick>>,
    empty: Receiver<Box<Tick>>,
}

/// The recorder's end of the channel.
#[derive(Debug)]
pub struct TickReceiver {
    full: Receiver<Box<Tick>>,
    empty: SyncSender<Box<Tick>>,
}

/// The recorder's answer to a tick that a loop offers.
#[derive(Debug)]
pub enum Offer {
    /// The recorder has it; here is an empty one.
    Accepted(Box<Tick>),
    /// The recorder lags: fill this one on, and offer it again in a second.
    Later(Box<Tick>),
    /// The recorder is gone: the run cannot be recorded and must end.
    Gone,
}

/// A channel between one loop and the recorder.
pub fn tick_channel() -> (TickSender, TickReceiver) {
    let (full_in, full_out) = sync_channel(IN_TRANSIT);
    let (empty_in, empty_out) = sync_channel(IN_TRANSIT + 2);
    (TickSender { full: full_in, empty: empty_out }, TickReceiver { full: full_out, empty: empty_in })
}

impl TickSender {
    /// Hand over a full tick if the recorder can take one; never waits.
    pub fn offer(&self, tick: Box<Tick>) -> Offer {
        match self.full.try_send(tick) {
            Ok(()) => Offer::Accepted(self.empty.try_recv().unwrap_or_default()),
            Err(TrySendError::Full(tick)) => Offer::Later(tick),
            Err(TrySendError::Disconnected(_)) => Offer::Gone,
        }
    }

    /// Hand over the last tick, waiting for the recorder if it must: the loop is over.
    /// False when the recorder is gone.
    pub fn finish(self, mut tick: Box<Tick>) -> bool {
        tick.is_last = true;
        self.full.send(tick).is_ok()
    }
}

/// What the recorder receives.
#[derive(Debug)]
pub enum Received {
    /// A full tick; give it back with [`TickReceiver::give_back`] once it is recorded.
    Tick(Box<Tick>),
    /// None at the moment.
    Empty,
    /// None, and none will come: the loop is over.
    Closed,
}

impl TickReceiver {
    /// A full tick, if one waits.
    pub fn take(&self) -> Received {
        match self.full.try_recv() {
            Ok(tick) => Received::Tick(tick),
            Err(TryRecvError::Empty) => Received::Empty,
            Err(TryRecvError::Disconnected) => Received::Closed,
        }
    }

    /// Wait for a full tick; none when the loop is over.
    pub fn wait(&self) -> Option<Box<Tick>> {
        self.full.recv().ok()
    }

    /// Return a tick, emptied, so that the loop need not make a new one.
    pub fn give_back(&self, mut tick: Box<Tick>) {
        tick.clear();
        // A loop that has ended takes nothing back; the tick is then dropped here.
        let _ = self.empty.try_send(tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lagging_recorder_gets_the_tick_back_and_loses_nothing() {
        let (outlet, inlet) = tick_channel();
        for _ in 0..IN_TRANSIT {
            assert!(matches!(outlet.offer(Box::default()), Offer::Accepted(_)));
        }
        let Offer::Later(tick) = outlet.offer(Box::default()) else { panic!("the exchange is full") };
        let Received::Tick(first) = inlet.take() else { panic!("ticks wait") };
        inlet.give_back(first);
        assert!(matches!(outlet.offer(tick), Offer::Accepted(_)));
        drop(inlet);
        assert!(matches!(outlet.offer(Box::default()), Offer::Gone));
    }
}
