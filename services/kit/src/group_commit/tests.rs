use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::*;
use crate::metrics::Metrics;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum TestError {
    #[error("poison")]
    Poison,
    #[error("down")]
    Down,
}

impl GroupError for TestError {
    fn is_of_one_command(&self) -> bool {
        *self == Self::Poison
    }
}

/// A number to be written; without a reply it was acknowledged.
struct Number {
    number: u32,
    weight: usize,
    reply: Option<oneshot::Sender<Result<(), TestError>>>,
}

impl GroupedCommand for Number {
    type Error = TestError;

    fn weight(&self) -> usize {
        self.weight
    }

    fn is_abandoned(&self) -> bool {
        self.reply.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    fn is_acknowledged(&self) -> bool {
        self.reply.is_none()
    }

    fn fail(self, error: &TestError) {
        if let Some(reply) = self.reply {
            reply.send(Err(error.clone())).unwrap();
        }
    }
}

#[derive(Default)]
struct Disk {
    /// Every group that was tried.
    attempts: Vec<Vec<u32>>,
    written: Vec<u32>,
    poison: Vec<u32>,
    /// Groups that contain it fail as if the disk was down.
    cursed: Option<u32>,
    /// How many more groups fail whatever they contain.
    down_for: u32,
    is_closed: bool,
}

type SharedDisk = Arc<Mutex<Disk>>;

struct TestWriter(SharedDisk);

impl GroupWriter for TestWriter {
    type Command = Number;

    async fn commit(&mut self, group: Vec<Number>) -> Result<(), FailedGroup<Number>> {
        let mut disk = self.0.lock().unwrap();
        assert!(!disk.is_closed);
        let numbers: Vec<u32> = group.iter().map(|command| command.number).collect();
        disk.attempts.push(numbers.clone());
        if disk.down_for > 0 {
            disk.down_for -= 1;
            return Err(FailedGroup { commands: group, error: TestError::Down });
        }
        if disk.cursed.is_some_and(|cursed| numbers.contains(&cursed)) {
            return Err(FailedGroup { commands: group, error: TestError::Down });
        }
        if numbers.iter().any(|number| disk.poison.contains(number)) {
            return Err(FailedGroup { commands: group, error: TestError::Poison });
        }
        disk.written.extend(&numbers);
        group.into_iter().filter_map(|command| command.reply).for_each(|reply| reply.send(Ok(())).unwrap());
        Ok(())
    }

    async fn close(&mut self) {
        self.0.lock().unwrap().is_closed = true;
    }
}

struct Bench {
    disk: SharedDisk,
    queue: GroupQueue<Number>,
    writer: GroupCommit<TestWriter>,
    metrics: Metrics,
}

fn bench(disk: Disk) -> Bench {
    let (disk, metrics) = (Arc::new(Mutex::new(disk)), Metrics::new("test"));
    let options = GroupOptions {
        max_weight: 100,
        batching_delay: Duration::ZERO,
        retry_pause: Duration::from_secs(1),
        last_attempts: 3,
    };
    let counted = GroupMetrics::register(&metrics, "store");
    let (queue, writer) = GroupCommit::new(TestWriter(Arc::clone(&disk)), options, counted);
    Bench { disk, queue, writer, metrics }
}

impl Bench {
    fn send(&self, number: u32) -> oneshot::Receiver<Result<(), TestError>> {
        let (reply, outcome) = oneshot::channel();
        self.queue.send(Number { number, weight: 1, reply: Some(reply) }).unwrap();
        outcome
    }

    fn send_acknowledged(&self, number: u32) {
        self.queue.send(Number { number, weight: 1, reply: None }).unwrap();
    }

    /// Runs until everything that was sent is done.
    async fn finish(self) -> (SharedDisk, String) {
        self.queue.close();
        self.writer.run().await;
        (self.disk, self.metrics.encode())
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejected_command_fails_alone_after_few_attempts_and_the_others_keep_their_order() {
    let bench = bench(Disk { poison: vec![30, 77], ..Disk::default() });
    let outcomes: Vec<_> = (0..100).map(|number| bench.send(number)).collect();
    let (disk, metrics) = bench.finish().await;
    for (number, outcome) in (0..).zip(outcomes) {
        let expected = if [30, 77].contains(&number) { Err(TestError::Poison) } else { Ok(()) };
        assert_eq!(outcome.await.unwrap(), expected, "{number}");
    }
    let disk = disk.lock().unwrap();
    assert_eq!(disk.written, (0..100).filter(|number| ![30, 77].contains(number)).collect::<Vec<_>>());
    assert!(disk.attempts.len() <= 2 * 2 * 7 + 1, "{:?}", disk.attempts);
    assert!(metrics.contains("test_store_commands_rejected_total 2"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn acknowledged_commands_are_retried_apart_from_new_ones_until_they_are_written() {
    let bench = bench(Disk { down_for: 2, ..Disk::default() });
    bench.send_acknowledged(1);
    let refused = bench.send(2);
    let Bench { disk, queue, writer, .. } = bench;
    let running = tokio::spawn(writer.run());
    assert_eq!(refused.await.unwrap(), Err(TestError::Down));
    for number in 3..=4 {
        let (reply, outcome) = oneshot::channel();
        queue.send(Number { number, weight: 1, reply: Some(reply) }).unwrap();
        let _down_once_more = outcome.await.unwrap();
    }
    queue.close();
    running.await.unwrap();
    let disk = disk.lock().unwrap();
    assert_eq!(disk.attempts, [vec![1, 2], vec![3], vec![4], vec![1]]);
    assert_eq!(disk.written, [4, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_acknowledged_command_that_is_rejected_is_not_retried() {
    let bench = bench(Disk { poison: vec![2], ..Disk::default() });
    (1..=3).for_each(|number| bench.send_acknowledged(number));
    let (disk, metrics) = bench.finish().await;
    assert_eq!(disk.lock().unwrap().written, [1, 3]);
    assert!(metrics.contains("test_store_commands_rejected_total 1"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_always_fails_for_an_unknown_reason_does_not_keep_others_from_being_written() {
    let bench = bench(Disk { cursed: Some(3), ..Disk::default() });
    (0..64).for_each(|number| bench.send_acknowledged(number));
    let Bench { disk, writer, queue: _open, .. } = bench;
    let running = tokio::spawn(writer.run());
    let mut checks = tokio::time::interval(Duration::from_secs(1));
    for _second in 0..20 {
        checks.tick().await;
    }
    let mut written = disk.lock().unwrap().written.clone();
    written.sort_unstable();
    assert_eq!(written, (0..64).filter(|number| *number != 3).collect::<Vec<_>>());
    running.abort();
}

/// As behind a row that another program has locked: a group with a 0 fails after a time limit that is longer than the
/// pause before a retry.
struct BehindLock(TestWriter);

impl GroupWriter for BehindLock {
    type Command = Number;

    async fn commit(&mut self, commands: Vec<Number>) -> Result<(), FailedGroup<Number>> {
        if commands.iter().any(|command| command.number == 0) {
            let statement = std::future::pending::<()>();
            let _timed_out = tokio::time::timeout(Duration::from_secs(5), statement).await;
            return Err(FailedGroup { commands, error: TestError::Down });
        }
        self.0.commit(commands).await
    }
}

#[tokio::test(start_paused = true)]
async fn acknowledged_commands_are_retried_although_every_group_of_new_ones_fails_slowly() {
    let Bench { disk, writer, metrics, .. } = bench(Disk::default());
    let counted = GroupMetrics::register(&metrics, "other");
    let (queue, writer) = GroupCommit::new(BehindLock(writer.writer), writer.options, counted);
    queue.send(Number { number: 1, weight: 1, reply: None }).unwrap();
    let running = tokio::spawn(writer.run());
    let mut refused = Vec::new();
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    for _second in 0..30 {
        let (reply, outcome) = oneshot::channel();
        queue.send(Number { number: 0, weight: 1, reply: Some(reply) }).unwrap();
        refused.push(outcome);
        seconds.tick().await;
    }
    assert_eq!(disk.lock().unwrap().written, [1]);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn at_the_end_acknowledged_commands_are_tried_a_few_times_more_before_the_writer_is_closed() {
    let bench = bench(Disk { down_for: u32::MAX, ..Disk::default() });
    bench.send_acknowledged(1);
    let (disk, _) = bench.finish().await;
    let disk = disk.lock().unwrap();
    assert_eq!(disk.attempts.len(), 1 + 3);
    assert!(disk.is_closed);
}

#[tokio::test(start_paused = true)]
async fn a_failure_in_the_midst_of_halving_ends_the_rest_of_the_group_at_once() {
    struct FailingLater(u32);
    impl GroupWriter for FailingLater {
        type Command = Number;
        async fn commit(&mut self, commands: Vec<Number>) -> Result<(), FailedGroup<Number>> {
            self.0 += 1;
            let error = if self.0 == 1 { TestError::Poison } else { TestError::Down };
            assert!(self.0 <= 2, "tried again");
            Err(FailedGroup { commands, error })
        }
    }
    let Bench { writer, metrics, .. } = bench(Disk::default());
    let counted = GroupMetrics::register(&metrics, "other");
    let (queue, writer) = GroupCommit::new(FailingLater(0), writer.options, counted);
    let outcomes = [1, 2, 3, 4].map(|number| {
        let (reply, outcome) = oneshot::channel();
        queue.send(Number { number, weight: 1, reply: Some(reply) }).unwrap();
        outcome
    });
    queue.close();
    writer.run().await;
    for outcome in outcomes {
        assert_eq!(outcome.await.unwrap(), Err(TestError::Down));
    }
}

#[tokio::test(start_paused = true)]
async fn abandoned_commands_are_dropped_before_they_are_begun() {
    let bench = bench(Disk::default());
    drop(bench.send(1));
    let kept = bench.send(2);
    let (disk, metrics) = bench.finish().await;
    kept.await.unwrap().unwrap();
    assert_eq!(disk.lock().unwrap().attempts, [[2]]);
    assert!(metrics.contains("test_store_commands_abandoned_total 1"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_group_ends_at_its_weight() {
    let bench = bench(Disk::default());
    for (number, weight) in [(1, 60), (2, 60), (3, 500), (4, 1)] {
        bench.queue.send(Number { number, weight, reply: None }).unwrap();
    }
    let (disk, _) = bench.finish().await;
    assert_eq!(disk.lock().unwrap().attempts, [vec![1, 2], vec![3], vec![4]]);
}

/// Connections that outlive the drain may send at any moment of it.
#[tokio::test(start_paused = true)]
async fn what_is_accepted_while_the_writer_ends_is_written_and_the_rest_is_refused() {
    let Bench { disk, queue, writer, .. } = bench(Disk { down_for: 2, ..Disk::default() });
    let send = |number| queue.send(Number { number, weight: 1, reply: None });
    let before = send(1);
    queue.close();
    let after = send(2);
    let running = tokio::spawn(writer.run());
    for _ in 0..15 {
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    let among_last_attempts = send(3);
    running.await.unwrap();
    let sent = [(1, before), (2, after), (3, among_last_attempts), (4, send(4))];
    let accepted: Vec<u32> =
        sent.iter().filter(|(_, sent)| sent.is_ok()).map(|(number, _)| *number).collect();
    assert_eq!(disk.lock().unwrap().written, accepted);
    assert_eq!(sent[2..], [(3, Err(WriterEnded)), (4, Err(WriterEnded))]);
}

#[test]
fn a_writer_on_a_thread_ends_when_it_is_closed() {
    let Bench { disk, queue, writer, .. } = bench(Disk::default());
    let thread = writer.run_on_thread("test-writer").unwrap();
    let (reply, outcome) = oneshot::channel();
    queue.send(Number { number: 1, weight: 1, reply: Some(reply) }).unwrap();
    outcome.blocking_recv().unwrap().unwrap();
    queue.close();
    thread.join().unwrap();
    assert_eq!(disk.lock().unwrap().written, [1]);
}
