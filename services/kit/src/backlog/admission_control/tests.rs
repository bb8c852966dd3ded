//! A simulated process and its clients: one processor that does everything, a bounded number of connections, and
//! clients that give up when they are not answered.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);
const TARGET: Duration = Duration::from_millis(10);
/// One request's work: the process can do 10,000 requests per second.
const WORK: Duration = Duration::from_micros(100);
/// To read that a request has arrived, and to queue it.
const ENQUEUE: Duration = Duration::from_micros(5);
/// Clients wait for this long, then come back on a new connection.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// A response that takes longer is of no use.
const USEFUL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy)]
struct Clients {
    /// Offered load as a multiple of the process's capacity.
    load: f64,
    /// Each has at most one request in flight.
    connections: usize,
}

struct SimulatedProcess {
    control: AdmissionControl,
    /// How long a refusal takes.
    refusal: Duration,
    clients: Clients,
    now: Duration,
    next_arrival: Duration,
    done: Option<QueueStep>,
    /// When each request was sent: of those not read yet, and of those in the queue.
    unread: VecDeque<Duration>,
    queue: VecDeque<Duration>,
    totals: Totals,
}

/// Requests by outcome, and the time spent on them, since the last call of `run`.
#[derive(Debug, Default)]
struct Totals {
    useful: u32,
    late: u32,
    given_up: u32,
    refused: u32,
    refusing: Duration,
    enqueueing: Duration,
    longest: Duration,
}

impl SimulatedProcess {
    /// `refusal_share` is the cost of a refusal as a share of a request's work.
    fn new(clients: Clients, refusal_share: f64) -> Self {
        Self {
            control: AdmissionControl::new(TARGET),
            refusal: WORK.mul_f64(refusal_share),
            clients,
            now: Duration::ZERO,
            next_arrival: Duration::ZERO,
            done: None,
            unread: VecDeque::new(),
            queue: VecDeque::new(),
            totals: Totals::default(),
        }
    }

    /// Adds the requests that were sent until now, by clients that have a free connection.
    fn arrive(&mut self) {
        let now = self.now;
        for waiting in [&mut self.queue, &mut self.unread] {
            while waiting.pop_front_if(|sent| now - *sent >= CLIENT_TIMEOUT).is_some() {
                self.totals.given_up += 1;
            }
        }
        while self.next_arrival <= now {
            if self.unread.len() + self.queue.len() < self.clients.connections {
                self.unread.push_back(self.next_arrival);
            }
            self.next_arrival += WORK.div_f64(self.clients.load);
        }
    }

    fn answer(&mut self, sent: Duration) {
        self.now += WORK;
        let waited = self.now - sent;
        self.totals.longest = self.totals.longest.max(waited);
        *if waited <= USEFUL { &mut self.totals.useful } else { &mut self.totals.late } += 1;
    }

    fn refuse(&mut self, sent: Duration) {
        self.now += self.refusal;
        self.totals.refusing += self.refusal;
        self.totals.longest = self.totals.longest.max(self.now - sent);
        self.totals.refused += 1;
    }

    /// One measurement of the delay, or one step of the queue.
    fn step(&mut self) {
        self.arrive();
        let begun = self.now;
        let Some(done) = self.done else {
            let read: Vec<_> = self.unread.drain(..).collect();
            read.into_iter().for_each(|sent| self.answer(sent));
            self.now = self.now.max(begun + CHECK_INTERVAL);
            if self.control.record_delay(self.now - begun - CHECK_INTERVAL) {
                self.done = Some(QueueStep::Idle);
            }
            return;
        };
        match done {
            QueueStep::Idle => self.now = self.now.max(self.next_arrival.min(begun + CHECK_INTERVAL)),
            QueueStep::AdmitNewest(count) => {
                let newest: Vec<_> = self.queue.drain(self.queue.len().saturating_sub(count)..).collect();
                newest.into_iter().rev().for_each(|sent| self.answer(sent));
            }
            QueueStep::RefuseOldest { count, waited } => {
                let is_old = |sent: &&Duration| begun - **sent > waited;
                let oldest = self.queue.iter().take(count).take_while(is_old).count();
                let oldest: Vec<_> = self.queue.drain(..oldest).collect();
                oldest.into_iter().for_each(|sent| self.refuse(sent));
            }
        }
        self.arrive();
        let read = self.unread.len() as u32;
        self.totals.enqueueing += ENQUEUE * read;
        self.now += ENQUEUE * read;
        self.queue.extend(self.unread.drain(..));
        let ends = self.queue.front().zip(self.queue.back());
        let waits =
            ends.map(|(oldest, newest)| WaitTimes { oldest: self.now - *oldest, newest: self.now - *newest });
        let snapshot = QueueSnapshot { waits, ..QueueSnapshot::default() };
        self.done = self.control.next_step(done, self.now - begun, snapshot);
        if self.done.is_none() {
            std::mem::take(&mut self.queue).into_iter().for_each(|sent| self.answer(sent));
        }
    }

    /// Simulates this much time.
    fn run(&mut self, time: Duration) -> Totals {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
        std::mem::take(&mut self.totals)
    }
}

fn process(load: f64, connections: usize, refusal_share: f64) -> SimulatedProcess {
    SimulatedProcess::new(Clients { load, connections }, refusal_share)
}

/// At three and ten times the capacity, whatever a refusal costs.
#[test]
fn time_not_spent_on_refusing_and_queueing_goes_into_useful_responses() {
    for (load, connections, refusal_share) in [
        (3.0, 10_000, 0.1),
        (3.0, 10_000, 0.6),
        (10.0, 10_000, 0.1),
        (10.0, 10_000, 0.6),
        (10.0, 1_000, 0.6),
        (3.0, 1_000, 1.0),
    ] {
        let mut process = process(load, connections, refusal_share);
        process.run(5_000 * MS);
        let totals = process.run(10_000 * MS);
        let spent_s = (totals.refusing + totals.enqueueing).as_secs_f64();
        let possible = (10.0 - spent_s) / WORK.as_secs_f64();
        let case = format!("{load} times, {connections} connections, refusal {refusal_share}: {totals:?}");
        assert!(f64::from(totals.useful) >= 0.9 * possible, "{case}, {possible}");
        assert!(totals.refusing <= 10_100 * MS / 4, "{case}");
        assert!(totals.useful >= 60_000, "{case}");
    }
}

/// Three times the capacity, and time to refuse the rest.
#[test]
fn where_refusing_is_cheap_every_request_is_answered_soon() {
    let mut process = process(3.0, 10_000, 0.05);
    process.run(5_000 * MS);
    let totals = process.run(10_000 * MS);
    assert_eq!((totals.given_up, totals.late), (0, 0), "{totals:?}");
    assert!(totals.longest < 150 * MS, "{totals:?}");
}

#[test]
fn load_below_the_capacity_is_never_refused() {
    for load in [0.5, 0.9] {
        let totals = process(load, 10_000, 0.25).run(10_000 * MS);
        assert_eq!((totals.refused, totals.late, totals.given_up), (0, 0, 0), "{totals:?}");
    }
}

/// Ten thousand connections send a request at once, on top of a load of 30 % of the capacity.
#[test]
fn a_burst_that_is_worked_off_in_time_causes_no_refusal() {
    let mut process = process(0.3, 100_000, 0.25);
    process.run(1_000 * MS);
    let now = process.now;
    process.unread.extend(std::iter::repeat_n(now, 10_000));
    let totals = process.run(5_000 * MS);
    assert_eq!((totals.refused, totals.given_up), (0, 0), "{totals:?}");
    assert!(process.done.is_none() && process.queue.is_empty());
}

#[test]
fn seconds_after_an_overload_ends_nothing_is_queued_or_refused() {
    for (load, connections) in [(3.0, 10_000), (10.0, 10_000)] {
        let mut process = process(load, connections, 0.6);
        process.run(10_000 * MS);
        process.clients.load = 0.5;
        process.run(2_500 * MS);
        let totals = process.run(2_000 * MS);
        assert_eq!((totals.refused, totals.late, totals.given_up), (0, 0, 0), "{load}: {totals:?}");
        assert!(process.done.is_none() && totals.longest < 20 * MS, "{load}: {totals:?}");
    }
}

/// The queue is short, but only because no more connections are accepted.
#[test]
fn the_queue_stays_open_while_connections_are_kept_waiting() {
    let mut control = AdmissionControl::new(TARGET);
    let mut stays_open = |is_accept_limited| {
        let snapshot = QueueSnapshot { waits: None, is_accept_limited };
        (0..2_000).all(|_| control.next_step(QueueStep::Idle, MS, snapshot).is_some())
    };
    assert!(stays_open(true) && !stays_open(false));
}

#[test]
fn a_pause_of_the_machine_opens_no_queue() {
    let mut control = AdmissionControl::new(TARGET);
    assert!(!control.record_delay(90 * MS) && !control.record_delay(90 * MS));
    let after_a_short_one = [2 * MS, 90 * MS, 90 * MS].map(|delay| control.record_delay(delay));
    assert_eq!(after_a_short_one, [false; 3]);
    assert!(control.record_delay(90 * MS));
}

#[test]
fn during_an_overload_requests_that_waited_too_long_are_refused_whatever_it_costs() {
    let mut control = AdmissionControl::new(TARGET);
    let waits = Some(WaitTimes { oldest: 900 * MS, newest: 60 * MS });
    let stale = QueueSnapshot { waits, is_accept_limited: false };
    let admit = QueueStep::AdmitNewest(STEP_SIZE);
    let mut refused = 0;
    for step in 0..200 {
        let next = control.next_step(admit, 10 * MS, stale);
        assert_eq!(next == Some(admit), step < 99, "{step}: {next:?}");
        refused += u32::from(matches!(next, Some(QueueStep::RefuseOldest { .. })));
    }
    assert_eq!(refused, 101);
}

proptest! {
    /// However long steps take, and as long as there is work: refusing takes its share of the time, and one step more,
    /// which could not be foreseen.
    #[test]
    fn refusing_never_takes_more_than_its_share(steps in prop::collection::vec((1_u32..30_000, 0_u32..300), 1..400)) {
        let mut control = AdmissionControl::new(TARGET);
        let (mut done, mut refusing, mut all) = (QueueStep::Idle, Duration::ZERO, Duration::ZERO);
        for (took_us, oldest_ms) in steps {
            let took = took_us * MS / 1000;
            all += took;
            if matches!(done, QueueStep::RefuseOldest { .. }) {
                refusing += took;
            }
            let waits = (oldest_ms > 0).then_some(WaitTimes { oldest: oldest_ms * MS, newest: MS });
            match control.next_step(done, took, QueueSnapshot { waits, ..QueueSnapshot::default() }) {
                Some(next) => done = next,
                None => break,
            }
            prop_assert!(refusing <= all.mul_f64(REFUSAL_SHARE) + 41 * MS, "{refusing:?} of {all:?}");
        }
    }
}
