//! A process and its clients, simulated: one processor that does everything, a bounded number of connections, and
//! clients that go away when they are not answered.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: Duration = Duration::from_millis(1);
const TARGET: Duration = Duration::from_millis(10);
/// One request's work; 10,000 a second can be done.
const WORK: Duration = Duration::from_micros(100);
/// To see that a request is there, and give it a place in the line.
const SEEING: Duration = Duration::from_micros(5);
/// Clients wait for so long, then come again on a new connection.
const GIVE_UP: Duration = Duration::from_secs(2);
/// An answer is of use for so long.
const USEFUL: Duration = Duration::from_millis(100);

/// How much is offered from when on.
#[derive(Debug, Clone, Copy)]
struct Clients {
    /// Times what can be done.
    load: f64,
    /// Each has at most one request on its way.
    connections: usize,
}

struct Process {
    pace: Pace,
    /// How long a refusal takes.
    refusal: Duration,
    clients: Clients,
    now: Duration,
    next_arrival: Duration,
    done: Option<Next>,
    /// When each request was sent that was not seen yet, and that is in line.
    unseen: VecDeque<Duration>,
    line: VecDeque<Duration>,
    told: Told,
}

/// What became of requests, and of time, since somebody last asked.
#[derive(Debug, Default)]
struct Told {
    useful: u32,
    late: u32,
    given_up: u32,
    refused: u32,
    refusing: Duration,
    seeing: Duration,
    longest: Duration,
}

impl Process {
    fn new(clients: Clients, refusal: Duration) -> Self {
        let (unseen, line, now) = (VecDeque::new(), VecDeque::new(), Duration::ZERO);
        let pace = Pace::new(TARGET);
        Self {
            pace,
            refusal,
            clients,
            now,
            next_arrival: now,
            done: None,
            unseen,
            line,
            told: Told::default(),
        }
    }

    /// Requests that were sent until now, by clients that have a connection free.
    fn arrive(&mut self) {
        let now = self.now;
        for waiting in [&mut self.line, &mut self.unseen] {
            while waiting.pop_front_if(|sent| now - *sent >= GIVE_UP).is_some() {
                self.told.given_up += 1;
            }
        }
        while self.next_arrival <= now {
            if self.unseen.len() + self.line.len() < self.clients.connections {
                self.unseen.push_back(self.next_arrival);
            }
            self.next_arrival += WORK.div_f64(self.clients.load);
        }
    }

    fn answer(&mut self, sent: Duration) {
        self.now += WORK;
        let waited = self.now - sent;
        self.told.longest = self.told.longest.max(waited);
        *if waited <= USEFUL { &mut self.told.useful } else { &mut self.told.late } += 1;
    }

    fn refuse(&mut self, sent: Duration) {
        self.now += self.refusal;
        self.told.refusing += self.refusal;
        self.told.longest = self.told.longest.max(self.now - sent);
        self.told.refused += 1;
    }

    /// One look or one round.
    fn turn(&mut self) {
        self.arrive();
        let begun = self.now;
        let Some(done) = self.done else {
            let seen: Vec<_> = self.unseen.drain(..).collect();
            seen.into_iter().for_each(|sent| self.answer(sent));
            self.now = self.now.max(begun + LOOK_EVERY);
            if self.pace.look(self.now - begun - LOOK_EVERY) {
                self.done = Some(Next::Rest);
            }
            return;
        };
        match done {
            Next::Rest => self.now = self.now.max(self.next_arrival.min(begun + LOOK_EVERY)),
            Next::Serve(count) => {
                let newest: Vec<_> = self.line.drain(self.line.len().saturating_sub(count)..).collect();
                newest.into_iter().rev().for_each(|sent| self.answer(sent));
            }
            Next::Refuse(count, since) => {
                let is_old = |sent: &&Duration| begun - **sent > since;
                let oldest = self.line.iter().take(count).take_while(is_old).count();
                let oldest: Vec<_> = self.line.drain(..oldest).collect();
                oldest.into_iter().for_each(|sent| self.refuse(sent));
            }
        }
        self.arrive();
        let seen = self.unseen.len() as u32;
        self.told.seeing += SEEING * seen;
        self.now += SEEING * seen;
        self.line.extend(self.unseen.drain(..));
        let ages = |(oldest, newest): (&Duration, &Duration)| (self.now - *oldest, self.now - *newest);
        let line = self.line.front().zip(self.line.back()).map(ages);
        let waiting = Waiting { line, ..Waiting::default() };
        self.done = self.pace.round(done, self.now - begun, waiting);
        if self.done.is_none() {
            std::mem::take(&mut self.line).into_iter().for_each(|sent| self.answer(sent));
        }
    }

    /// Lets it go on for so long.
    fn run(&mut self, time: Duration) -> Told {
        let end = self.now + time;
        while self.now < end {
            self.turn();
        }
        std::mem::take(&mut self.told)
    }
}

fn process(load: f64, connections: usize, refusal_share: f64) -> Process {
    Process::new(Clients { load, connections }, WORK.mul_f64(refusal_share))
}

/// At three and ten times what can be done, whatever a refusal costs.
#[test]
fn what_is_not_spent_on_refusing_and_seeing_is_work_that_is_of_use() {
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
        let told = process.run(10_000 * MS);
        let spent_s = (told.refusing + told.seeing).as_secs_f64();
        let left = (10.0 - spent_s) / WORK.as_secs_f64();
        let of = format!("{load} times, {connections} connections, refusing {refusal_share}: {told:?}");
        assert!(f64::from(told.useful) >= 0.9 * left, "{of}, {left}");
        assert!(told.refusing <= 10_100 * MS / 4, "{of}");
        assert!(told.useful >= 60_000, "{of}");
    }
}

/// Three times what can be done, and time to refuse the rest.
#[test]
fn where_refusing_is_cheap_everybody_is_answered_soon() {
    let mut process = process(3.0, 10_000, 0.05);
    process.run(5_000 * MS);
    let told = process.run(10_000 * MS);
    assert_eq!((told.given_up, told.late), (0, 0), "{told:?}");
    assert!(told.longest < 150 * MS, "{told:?}");
}

#[test]
fn what_can_be_done_is_never_refused() {
    for load in [0.5, 0.9] {
        let told = process(load, 10_000, 0.25).run(10_000 * MS);
        assert_eq!((told.refused, told.late, told.given_up), (0, 0, 0), "{told:?}");
    }
}

/// All of ten thousand connections ask at once, while half of what can be done comes besides.
#[test]
fn a_burst_that_is_worked_off_in_time_refuses_nobody() {
    let mut process = process(0.3, 100_000, 0.25);
    process.run(1_000 * MS);
    let now = process.now;
    process.unseen.extend(std::iter::repeat_n(now, 10_000));
    let told = process.run(5_000 * MS);
    assert_eq!((told.refused, told.given_up), (0, 0), "{told:?}");
    assert!(process.done.is_none() && process.line.is_empty());
}

#[test]
fn once_it_is_over_it_is_as_before_within_seconds() {
    for (load, connections) in [(3.0, 10_000), (10.0, 10_000)] {
        let mut process = process(load, connections, 0.6);
        process.run(10_000 * MS);
        process.clients.load = 0.5;
        process.run(2_500 * MS);
        let told = process.run(2_000 * MS);
        assert_eq!((told.refused, told.late, told.given_up), (0, 0, 0), "{load}: {told:?}");
        assert!(process.done.is_none() && told.longest < 20 * MS, "{load}: {told:?}");
    }
}

/// The line is short, but only because no more connections are taken in.
#[test]
fn as_long_as_somebody_is_kept_outside_it_is_not_over() {
    let mut pace = Pace::new(TARGET);
    let mut rounds = |is_door_shut| {
        let waiting = Waiting { line: None, is_door_shut };
        (0..2_000).all(|_| pace.round(Next::Rest, MS, waiting).is_some())
    };
    assert!(rounds(true) && !rounds(false));
}

#[test]
fn a_pause_of_the_machine_makes_no_line() {
    let mut pace = Pace::new(TARGET);
    assert!(!pace.look(90 * MS) && !pace.look(90 * MS));
    assert!(!pace.look(2 * MS) && !pace.look(90 * MS) && !pace.look(90 * MS));
    assert!(pace.look(90 * MS));
}

/// Nobody is served whose answer would come too late, as long as there are others.
#[test]
fn once_it_is_an_overload_who_has_waited_too_long_is_refused_whatever_it_costs() {
    let mut pace = Pace::new(TARGET);
    let stale = Waiting { line: Some((900 * MS, 60 * MS)), is_door_shut: false };
    let mut refused = 0;
    for round in 0..200 {
        let next = pace.round(Next::Serve(ROUND), 10 * MS, stale);
        assert_eq!(next == Some(Next::Serve(ROUND)), round < 99, "{round}: {next:?}");
        refused += u32::from(matches!(next, Some(Next::Refuse(..))));
    }
    assert_eq!(refused, 101);
}

proptest! {
    /// Whatever rounds take, and as long as there is work: refusing has its part of the time, and what could not be
    /// foreseen, one round.
    #[test]
    fn refusing_never_takes_more_than_its_part(rounds in prop::collection::vec((1_u32..30_000, 0_u32..300), 1..400)) {
        let mut pace = Pace::new(TARGET);
        let (mut done, mut refusing, mut all) = (Next::Rest, Duration::ZERO, Duration::ZERO);
        for (took_us, oldest_ms) in rounds {
            let took = took_us * MS / 1000;
            all += took;
            if matches!(done, Next::Refuse(..)) {
                refusing += took;
            }
            let line = (oldest_ms > 0).then_some((oldest_ms * MS, MS));
            match pace.round(done, took, Waiting { line, ..Waiting::default() }) {
                Some(next) => done = next,
                None => break,
            }
            prop_assert!(refusing <= all.mul_f64(REFUSING) + 41 * MS, "{refusing:?} of {all:?}");
        }
    }
}
