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
    /// What a request takes of a worker, in the mean.
    pub(crate) service_ms: f64,
    pub(crate) demand: Demand,
    /// How the time that everything takes changes from second to second.
    pub(crate) wander: Option<Wander>,
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
    demand: Demand::Exponential,
    wander: None,
    admission: Admission::All,
    failing: 0.0,
    outages: None,
    slow: None,
    frozen: None,
};

/// How what requests take is distributed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Demand {
    Exponential,
    /// With this standard deviation of the logarithm.
    LogNormal {
        deviation: f64,
    },
    /// With this exponent of the tail, above 1.
    Pareto {
        exponent: f64,
    },
}

impl Demand {
    fn draw(self, mean: f64, random: &mut Random) -> f64 {
        match self {
            Demand::Exponential => random.exponential(mean),
            Demand::LogNormal { deviation } => {
                mean * (deviation * random.normal() - deviation.powi(2) / 2.0).exp()
            }
            Demand::Pareto { exponent } => {
                mean * (exponent - 1.0) / exponent * random.uniform().powf(-1.0 / exponent)
            }
        }
    }
}

/// A level whose logarithm is a first-order autoregression, a value a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wander {
    /// With the second before.
    pub(crate) correlation: f64,
    /// Its standard deviation over a long time.
    pub(crate) deviation: f64,
}

/// A level at work.
#[derive(Debug)]
struct Level {
    shape: Option<Wander>,
    random: Random,
    second: u32,
    logarithm: f64,
}

impl Level {
    fn new(shape: Option<Wander>, mut random: Random) -> Level {
        let logarithm = shape.map_or(0.0, |shape| shape.deviation * random.normal());
        Level { shape, random, second: 0, logarithm }
    }

    fn at(&mut self, at: Instant) -> f64 {
        let Some(Wander { correlation, deviation }) = self.shape else { return 1.0 };
        while self.second < at.second() {
            let news = deviation * (1.0 - correlation.powi(2)).sqrt() * self.random.normal();
            self.logarithm = correlation * self.logarithm + news;
            self.second += 1;
        }
        self.logarithm.exp()
    }
}

/// In which order requests are worked on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Server {
    /// All at once, each as if it were alone.
    Unbounded,
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
    level: Level,
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
            level: Level::new(shape.wander, random.fork(5)),
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
        let mut demand_s = self.shape.demand.draw(self.shape.service_ms / 1e3, &mut self.random);
        demand_s *= self.level.at(at);
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
        if let Server::Unbounded = self.shape.server {
            let done = self.frozen.end_at(at) + Duration::from_secs_f64(demand_s);
            self.ready.push(Reverse(Response { at: done, arrival, outcome: Outcome::Ok }));
        } else if let Some(Reverse(free)) = self.workers.pop() {
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
