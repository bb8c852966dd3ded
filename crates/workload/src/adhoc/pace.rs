//! How much a line sends, and for how long: from its options to an executor.

use std::time::Duration;

use super::AdhocError;
use crate::model::{Arrivals, Executor, Phase, Stage, VuStage};
use crate::schedule::{MAX_RATE, MAX_STAGE, Schedule};

/// Requests of a line that says neither how many nor how long.
pub const DEFAULT_REQUESTS: u64 = 200;
/// Requests under way at once in a closed model that does not say.
pub const DEFAULT_USERS: u32 = 50;
/// How long a line of a number of requests goes on at most, unless it says.
pub const MAX_DURATION: Duration = Duration::from_secs(600);
/// How long a line with a rate or a ramp goes on, unless it says.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The most requests under way at once.
const MAX_USERS: u32 = 1_000_000;
/// Bounds of the cap that follows a rate; a lower one would hide the worst waits.
const CAP: (f64, f64) = (100.0, 10_000.0);

/// How much is sent, as the options say it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pace {
    /// Requests due a second, whatever the target does: an open model.
    pub rate: Option<f64>,
    /// Requests under way at once: each answer is followed by the next request, a closed model. Beside a rate
    /// the most there may be.
    pub users: Option<u32>,
    /// How many requests in all.
    pub requests: Option<u64>,
    /// For how long; after the ramp, if there is one.
    pub duration: Option<Duration>,
    /// How long it takes to get there from nothing.
    pub ramp: Option<Duration>,
    /// How arrivals at a rate are spaced.
    pub arrivals: Arrivals,
}

/// What a pace comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) executor: Executor,
    pub(super) phases: Vec<Phase>,
    pub(super) arrivals: Arrivals,
    /// The most virtual users, where the line says so.
    cap: Option<u32>,
}

impl Shape {
    /// The most virtual users: as many as would be under way if every request took its time limit, unless the
    /// line says.
    pub(super) fn cap(&self, timeout: Duration) -> u32 {
        let by_rate = (self.executor.peak_rate() * timeout.as_secs_f64()).ceil().clamp(CAP.0, CAP.1) as u32;
        self.executor.peak_vus().or(self.cap).unwrap_or(by_rate)
    }
}

impl Pace {
    /// Whether nothing says how much is sent or for how long.
    pub(super) fn is_open_ended(&self) -> bool {
        self.rate.is_none() && self.requests.is_none() && self.duration.is_none() && self.ramp.is_none()
    }

    /// The executor and the phases it runs in.
    pub(super) fn resolve(&self) -> Result<Shape, AdhocError> {
        self.check()?;
        let executor = match self.rate {
            Some(rate) => self.open(rate),
            None => self.closed(),
        }?;
        let cap = self.rate.and(self.users);
        Ok(Shape { phases: self.phases(executor.duration()), executor, arrivals: self.arrivals, cap })
    }

    fn check(&self) -> Result<(), AdhocError> {
        let wrong = |text: &str| Err(AdhocError(text.to_owned()));
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= MAX_RATE)) {
            return Err(AdhocError(format!("a rate is above 0 and at most {MAX_RATE:.0}/s")));
        }
        if self.users.is_some_and(|users| users == 0 || users > MAX_USERS) {
            return Err(AdhocError(format!("requests under way at once are 1 to {MAX_USERS}")));
        }
        if self.requests == Some(0) {
            return wrong("0 requests measure nothing; `-n 1` sends one");
        }
        if [self.duration, self.ramp].contains(&Some(Duration::ZERO)) {
            return wrong("a duration is longer than 0");
        }
        if self.ramp.is_some() && self.requests.is_some() {
            return wrong("a ramp goes with a duration: use `-z` instead of `-n`, or leave out `--ramp`");
        }
        if self.arrivals == Arrivals::Poisson && self.rate.is_none() {
            return wrong("arrivals at random go with a rate: add `-q`");
        }
        if self.arrivals == Arrivals::Poisson && self.requests.is_some() {
            return wrong("how many arrivals at random come is left to chance: use `-z` instead of `-n`");
        }
        if self.rate.is_some() && self.requests.is_some() && self.duration.is_some() {
            return wrong(
                "a rate for a duration is a number of requests already: leave out one of `-q`, `-z`, `-n`",
            );
        }
        Ok(())
    }

    fn open(&self, rate: f64) -> Result<Executor, AdhocError> {
        let lasting = match self.requests {
            Some(requests) => span_of(requests, rate)?,
            None => self.duration.unwrap_or(DEFAULT_DURATION),
        };
        Ok(match self.ramp {
            None => Executor::ConstantArrivalRate { rate, duration: lasting },
            Some(ramp) => {
                let stages = vec![Stage { to: rate, over: ramp }, Stage { to: rate, over: lasting }];
                Executor::RampingArrivalRate { start_rate: 0.0, stages }
            }
        })
    }

    fn closed(&self) -> Result<Executor, AdhocError> {
        let vus = self.users.unwrap_or(DEFAULT_USERS);
        if let Some(ramp) = self.ramp {
            let lasting = self.duration.unwrap_or(DEFAULT_DURATION);
            let stages = vec![VuStage { to: vus, over: ramp }, VuStage { to: vus, over: lasting }];
            return Ok(Executor::RampingVus { start_vus: 0, stages, graceful_ramp_down: Duration::ZERO });
        }
        match (self.requests, self.duration) {
            (None, Some(duration)) => Ok(Executor::ConstantVus { vus, duration }),
            (requests, duration) => {
                let iterations = requests.unwrap_or(DEFAULT_REQUESTS);
                // No more users than requests: each makes one at least.
                let vus = u32::try_from(iterations).map_or(vus, |most| vus.min(most));
                let max_duration = duration.unwrap_or(MAX_DURATION);
                Ok(Executor::SharedIterations { vus, iterations, max_duration })
            }
        }
    }

    /// The ramp is a phase of its own, so that what was seen on the way does not blur what was seen there.
    fn phases(&self, end: Duration) -> Vec<Phase> {
        let phase = |name: &str, start, end| Phase { name: name.to_owned(), start, end };
        match self.ramp {
            None => vec![phase("run", Duration::ZERO, end)],
            Some(ramp) => vec![phase("ramp", Duration::ZERO, ramp), phase("steady", ramp, end)],
        }
    }
}

/// How long `requests` at `rate` a second last: until just before one more would be due.
fn span_of(requests: u64, rate: f64) -> Result<Duration, AdhocError> {
    let about = requests as f64 / rate;
    if about > MAX_STAGE.as_secs_f64() {
        return Err(AdhocError(format!(
            "{requests} requests at {rate}/s last longer than 30 days; send fewer"
        )));
    }
    // The schedule itself knows best when that is: it keeps rates in units of its own.
    let longer = Duration::from_secs_f64(about * 1.01 + 1.0 + 1.0 / rate);
    let schedule = Schedule::new(&Executor::ConstantArrivalRate { rate, duration: longer });
    let next = schedule.and_then(|schedule| schedule.due(requests));
    next.map(|due| due - Duration::from_nanos(1)).ok_or_else(|| {
        AdhocError(format!("{requests} requests at {rate}/s cannot be scheduled; send more a second"))
    })
}
