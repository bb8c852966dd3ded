//! Targets of known behaviour.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use evidence::{Instant, Outcome};

use crate::episodes::{EpisodeShape, Episodes};
use crate::random::Random;

/// A refusal and a failure take this long.
const REFUSING: Duration = Duration::from_micros(200);
const FAILING: Duration = Duration::from_millis(1);

/// How a target serves, whom it refuses, and when it fails or is slow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetShape {
    pub(crate) server: Server,
    /// What a request takes of a worker, in the mean; exponentially distributed.
    pub(crate) service_ms: f64,
    pub(crate) admission: Admission,
    /// Share of the requests that fail, independently of each other.
    pub(crate) failing: f64,
    /// When all fail.
    pub(crate) outages: Option<EpisodeShape>,
    /// When all take ten times as long.
    pub(crate) slow: Option<EpisodeShape>,
    /// When no worker begins anything.
    pub(crate) frozen: Option<EpisodeShape>,
}

/// One worker, busy for 60 % of the time at 100 arrivals a second.
pub(crate) const FIFO: TargetShape = TargetShape {
    server: Server::Fifo { workers: 1 },
    service_ms: 6.0,
    admission: Admission::All,
    failing: 0.0,
    outages: None,
    slow: None,
    frozen: None,
};

/// In which order requests are worked on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Server {
    /// First come, first served, by so many workers.
    Fifo { workers: usize },
    /// One worker whose time all requests share equally.
    Sharing,
}

/// Which requests are refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Admission {
    All,
    /// 429 beyond a rate, by a bucket of tokens.
    Limited {
        per_s: f64,
        burst: f64,
    },
    /// 503 where so many wait or are worked on. Of one worker alone.
    Queue {
        places: usize,
    },
}

/// How much longer requests take in slow times.
const SLOWNESS: f64 = 10.0;

/// The end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Response {
    pub(crate) at: Instant,
    /// The number of its arrival.
    pub(crate) arrival: usize,
    pub(crate) outcome: Outcome,
}

/// A target at work. Requests must be offered in order of time.
#[derive(Debug)]
pub(crate) struct Target {
    shape: TargetShape,
    random: Random,
    outages: Episodes,
    slow: Episodes,
    frozen: Episodes,
    tokens: f64,
    /// When it was last looked at.
    at: Instant,
    /// When each worker is free.
    workers: BinaryHeap<Reverse<Instant>>,
    sharing: Sharing,
    /// When what was admitted will be done.
    admitted: VecDeque<Instant>,
    ready: BinaryHeap<Reverse<Response>>,
}

impl Target {
    pub(crate) fn new(shape: TargetShape, random: &Random) -> Target {
        let workers = if let Server::Fifo { workers } = shape.server { workers } else { 0 };
        Target {
            random: random.fork(1),
            outages: Episodes::new(shape.outages, random.fork(2)),
            slow: Episodes::new(shape.slow, random.fork(3)),
            frozen: Episodes::new(shape.frozen, random.fork(4)),
            tokens: if let Admission::Limited { burst, .. } = shape.admission { burst } else { 0.0 },
            at: Instant::EPOCH,
            workers: std::iter::repeat_n(Reverse(Instant::EPOCH), workers).collect(),
            sharing: Sharing::default(),
            admitted: VecDeque::new(),
            ready: BinaryHeap::new(),
            shape,
        }
    }

    pub(crate) fn offer(&mut self, at: Instant, arrival: usize) {
        self.sharing.advance(at, &mut self.ready);
        let chance = self.random.uniform();
        let mut demand_s = self.random.exponential(self.shape.service_ms / 1e3);
        if let Some(outcome) = self.refusal(at) {
            self.ready.push(Reverse(Response { at: at + REFUSING, arrival, outcome }));
            return;
        }
        if chance < self.shape.failing || self.outages.contains(at) {
            let outcome = Outcome::Http5xx;
            self.ready.push(Reverse(Response { at: at + FAILING, arrival, outcome }));
            return;
        }
        if self.slow.contains(at) {
            demand_s *= SLOWNESS;
        }
        if let Some(Reverse(free)) = self.workers.pop() {
            let done = self.frozen.end_at(free.max(at)) + Duration::from_secs_f64(demand_s);
            self.workers.push(Reverse(done));
            self.admitted.push_back(done);
            self.ready.push(Reverse(Response { at: done, arrival, outcome: Outcome::Ok }));
        } else {
            self.sharing.add(demand_s, arrival);
        }
    }

    /// The outcome of a request that is not admitted.
    fn refusal(&mut self, at: Instant) -> Option<Outcome> {
        let passed = at.since(self.at);
        self.at = at;
        match self.shape.admission {
            Admission::All => None,
            Admission::Limited { per_s, burst } => {
                self.tokens = (self.tokens + passed.as_secs_f64() * per_s).min(burst);
                if self.tokens < 1.0 {
                    return Some(Outcome::Http429);
                }
                self.tokens -= 1.0;
                None
            }
            Admission::Queue { places } => {
                while self.admitted.front().is_some_and(|done| *done <= at) {
                    self.admitted.pop_front();
                }
                (self.admitted.len() >= places).then_some(Outcome::Http503)
            }
        }
    }

    /// When the next response comes, unless another request is offered before; never where there is none.
    pub(crate) fn next_response(&self) -> Instant {
        let ready = self.ready.peek().map_or(Instant::NEVER, |Reverse(response)| response.at);
        ready.min(self.sharing.next_done())
    }

    /// The next response, if it has come by `now`.
    pub(crate) fn take_response(&mut self, now: Instant) -> Option<Response> {
        self.sharing.advance(now, &mut self.ready);
        let Reverse(response) = *self.ready.peek()?;
        (response.at <= now).then(|| {
            self.ready.pop();
            response
        })
    }
}

/// One worker whose time all its requests share. Each gets the same service, so it is done when what one request has got
/// since the beginning, in nanoseconds, is what it had at its arrival plus its demand.
#[derive(Debug, Default)]
struct Sharing {
    at: Instant,
    served_ns: f64,
    /// At which service each is done, and its arrival's number.
    under_way: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Sharing {
    fn add(&mut self, demand_s: f64, arrival: usize) {
        self.under_way.push(Reverse(((self.served_ns + demand_s * 1e9) as u64, arrival)));
    }

    fn next_done(&self) -> Instant {
        let Some(Reverse((done_ns, _))) = self.under_way.peek() else { return Instant::NEVER };
        let left_ns = (*done_ns as f64 - self.served_ns).max(0.0);
        self.at + Duration::from_nanos((left_ns * self.under_way.len() as f64) as u64)
    }

    fn advance(&mut self, to: Instant, ready: &mut BinaryHeap<Reverse<Response>>) {
        while self.next_done() <= to {
            let at = self.next_done();
            let Some(Reverse((done_ns, arrival))) = self.under_way.pop() else { break };
            (self.at, self.served_ns) = (at, self.served_ns.max(done_ns as f64));
            ready.push(Reverse(Response { at, arrival, outcome: Outcome::Ok }));
        }
        if !self.under_way.is_empty() {
            self.served_ns += to.since(self.at).as_nanos() as f64 / self.under_way.len() as f64;
        }
        self.at = self.at.max(to);
    }
}

#[cfg(test)]
mod tests;
