//! The workers: a fixed number of tasks that take what was accepted from the queue and hand it on. No connection ever
//! occupies one; they meet requests in the queue alone.

use crate::breaker::{Ask, Breaker, Stand};
use crate::entry::Entry;
use crate::meters::Meters;
use crate::queue::Queue;
use crate::sink::{Sink, Turn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Taken at once by one worker: the cost of a round trip to the sink is shared by so many.
const BATCH: usize = 256;
/// Between two failures while the breaker is closed.
const PAUSE: Duration = Duration::from_millis(20);
/// A sink that is away is told once in a while.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// What all workers share.
#[derive(Debug)]
pub struct Work {
    queue: Arc<Queue>,
    sink: Sink,
    breaker: Mutex<Breaker>,
    complained: Mutex<Option<Instant>>,
    meters: Arc<Meters>,
}

impl Work {
    /// From the queue to the sink.
    #[must_use]
    pub fn new(queue: Arc<Queue>, sink: Sink, meters: Arc<Meters>) -> Arc<Self> {
        Arc::new(Self { queue, sink, breaker: Mutex::default(), complained: Mutex::default(), meters })
    }

    /// How the breaker towards the sink stands, and how often it was opened.
    #[must_use]
    pub fn breaker(&self) -> (Stand, u64) {
        let breaker = self.lock();
        (breaker.stand(), breaker.opened)
    }

    /// Starts so many workers.
    #[must_use]
    pub fn start(self: &Arc<Self>, workers: usize) -> Workers {
        let mut tasks = JoinSet::new();
        for _ in 0..workers {
            let work = Arc::clone(self);
            tasks.spawn(async move {
                loop {
                    work.once().await;
                }
            });
        }
        Workers { work: Arc::clone(self), _tasks: tasks }
    }

    async fn once(&self) {
        self.queue.arrived().await;
        let asked = self.lock().ask(Instant::now());
        if let Ask::After(pause) = asked {
            return tokio::time::sleep(pause).await;
        }
        let turn = self.sink.turn().await;
        // Before anything is taken: whoever waits for the end must see it in the queue or here.
        let _busy = self.meters.busy();
        let entries = self.queue.take(BATCH);
        if entries.is_empty() {
            return self.lock().gave_up(Instant::now());
        }
        self.hand_on(entries, turn).await;
    }

    async fn hand_on(&self, entries: Vec<Entry>, turn: Turn) {
        let began = Instant::now();
        #[cfg(feature = "faults")]
        crate::faults::slow_sink().await;
        let outcome = self.sink.hand_on(&entries, turn).await;
        match outcome {
            Ok(()) => {
                self.lock().succeeded();
                self.meters.handed_on(&entries, began);
                entries.into_iter().for_each(Entry::handed_on);
            }
            Err(error) => {
                self.complain(&error);
                self.meters.failed();
                self.queue.put_back(entries);
                self.lock().failed(Instant::now());
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn complain(&self, error: &crate::sink::SinkError) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if complained.is_none_or(|at| at.elapsed() > COMPLAIN_EVERY) {
            tracing::warn!(%error, waiting = self.queue.depth(), "tasks could not be handed on; they wait");
            *complained = Some(Instant::now());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Workers at work. Dropping them ends them where they wait.
#[derive(Debug)]
pub struct Workers {
    work: Arc<Work>,
    _tasks: JoinSet<()>,
}

impl Workers {
    /// Lets them finish what waits, for no longer than `within`; yields how much still waits then.
    pub async fn finish(self, within: Duration) -> usize {
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        let done = async {
            while self.work.queue.depth() + self.work.meters.workers_busy() > 0 {
                looks.tick().await;
            }
        };
        let _in_time = tokio::time::timeout(within, done).await;
        // What a worker holds now may or may not be handed on; it counts as waiting.
        self.work.queue.depth() + self.work.meters.workers_busy() * BATCH
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Kept;
    use crate::queue::Shedding;
    use crate::sample::Priority;
    use crate::sink::SinkOptions;
    use kit::limit::Limit;

    #[tokio::test]
    async fn while_one_writes_to_a_file_the_others_leave_what_arrives_in_the_queue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks");
        let queue = Arc::new(Queue::new(Limit::new(100), Shedding::Never));
        let sink = Sink::open(&SinkOptions::File(path.clone())).unwrap();
        let work = Work::new(Arc::clone(&queue), sink, Meters::new(Arc::clone(&queue), 8));
        let turn = work.sink.turn().await;
        let workers = work.start(8);
        for arrived in 1..=20 {
            let (since, kept) = (Instant::now(), Kept::Memory);
            queue.push([Entry { priority: Priority::Low, task: "{}".into(), since, place: None, kept }]);
            // Every worker that is ready has its turn of the only thread meanwhile.
            tokio::task::yield_now().await;
            assert_eq!(queue.depth(), arrived);
        }
        drop(turn);
        assert_eq!(workers.finish(Duration::from_secs(60)).await, 0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n".repeat(20));
    }
}
