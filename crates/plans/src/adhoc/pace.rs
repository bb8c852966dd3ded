//! The load of an ad-hoc run: from options to an executor.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::AdhocError;
use workload::executor::{Arrivals, Executor, MAX_VUS, Stage, VuStage};
use workload::model::Phase;
use workload::schedule::{MAX_RATE, MAX_STAGE, Schedule};

/// How many requests are sent if neither their number nor a duration is given.
pub const DEFAULT_REQUESTS: u64 = 200;
/// How many requests are under way at once in a closed model by default.
pub const DEFAULT_USERS: u32 = 50;
/// How long a run with a number of requests lasts at most by default.
pub const MAX_DURATION: Duration = Duration::from_secs(600);
/// How long a run with a rate or a ramp lasts by default.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The range of the VU limit that follows from a rate; a lower limit would hide the longest waits.
const VU_LIMIT_OF_RATE: RangeInclusive<f64> = 100.0..=10_000.0;

/// The options that determine the load.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pace {
    /// Open model: requests due a second.
    pub rate: Option<f64>,
    /// Closed model: requests under way at once; each response is followed by the next request. With a rate: the VU
    /// limit.
    pub users: Option<u32>,
    pub requests: Option<u64>,
    /// The duration, without the ramp.
    pub duration: Option<Duration>,
    /// The duration of the ramp from 0 to the full load.
    pub ramp: Option<Duration>,
    /// How the arrivals of an open model are spaced.
    pub arrivals: Arrivals,
}

/// The load shape that the options result in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub(super) executor: Executor,
    pub(super) phases: Vec<Phase>,
    pub(super) arrivals: Arrivals,
    /// The VU limit, if it is given.
    vu_limit: Option<u32>,
}

impl Shape {
    /// The VU limit: by default the number of requests under way if every request took its time limit.
    pub(super) fn max_vus(&self, timeout: Duration) -> u32 {
        let under_way = (self.executor.peak_rate() * timeout.as_secs_f64()).ceil();
        let by_rate = under_way.clamp(*VU_LIMIT_OF_RATE.start(), *VU_LIMIT_OF_RATE.end()) as u32;
        self.executor.peak_vus().or(self.vu_limit).unwrap_or(by_rate)
    }
}

impl Pace {
    /// Whether no option determines the number of requests or the duration.
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
        let vu_limit = self.rate.and(self.users);
        Ok(Shape { phases: self.phases(executor.duration()), executor, arrivals: self.arrivals, vu_limit })
    }

    fn check(&self) -> Result<(), AdhocError> {
        let wrong = |text: &str| Err(AdhocError(text.to_owned()));
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate <= MAX_RATE)) {
            return Err(AdhocError(format!(
                "a rate is above 0 and at most {MAX_RATE:.0}/s, such as `-r 100`"
            )));
        }
        if self.users.is_some_and(|users| users == 0 || users > MAX_VUS) {
            return Err(AdhocError(format!(
                "requests under way at once are 1 to {MAX_VUS}: `-c 1` sends one after the other"
            )));
        }
        if self.requests == Some(0) {
            return wrong("0 requests measure nothing; `-n 1` sends one");
        }
        if [self.duration, self.ramp].contains(&Some(Duration::ZERO)) {
            return wrong("a duration is longer than 0, such as `10s`");
        }
        if self.ramp.is_some() && self.requests.is_some() {
            return wrong("a ramp goes with a duration: use `-z` instead of `-n`, or leave out `--ramp`");
        }
        if self.arrivals == Arrivals::Poisson && self.rate.is_none() {
            return wrong("arrivals at random go with a rate: add `-r`");
        }
        if self.arrivals == Arrivals::Poisson && self.requests.is_some() {
            return wrong("how many arrivals at random come is left to chance: use `-z` instead of `-n`");
        }
        if self.rate.is_some() && self.requests.is_some() && self.duration.is_some() {
            return wrong(
                "a rate for a duration is a number of requests already: leave out one of `-r`, `-z`, `-n`",
            );
        }
        Ok(())
    }

    fn open(&self, rate: f64) -> Result<Executor, AdhocError> {
        let duration = match self.requests {
            Some(requests) => duration_of(requests, rate)?,
            None => self.duration.unwrap_or(DEFAULT_DURATION),
        };
        Ok(match self.ramp {
            None => Executor::ConstantArrivalRate { rate, duration },
            Some(ramp) => {
                let stages = vec![Stage { to: rate, over: ramp }, Stage { to: rate, over: duration }];
                Executor::RampingArrivalRate { start_rate: 0.0, stages }
            }
        })
    }

    fn closed(&self) -> Result<Executor, AdhocError> {
        let vus = self.users.unwrap_or(DEFAULT_USERS);
        if let Some(ramp) = self.ramp {
            let duration = self.duration.unwrap_or(DEFAULT_DURATION);
            let stages = vec![VuStage { to: vus, over: ramp }, VuStage { to: vus, over: duration }];
            return Ok(Executor::RampingVus { start_vus: 0, stages, graceful_ramp_down: Duration::ZERO });
        }
        match (self.requests, self.duration) {
            (None, Some(duration)) => Ok(Executor::ConstantVus { vus, duration }),
            (requests, duration) => {
                let iterations = requests.unwrap_or(DEFAULT_REQUESTS);
                // No more virtual users than requests: each makes at least one.
                let vus = u32::try_from(iterations).map_or(vus, |most| vus.min(most));
                let max_duration = duration.unwrap_or(MAX_DURATION);
                Ok(Executor::SharedIterations { vus, iterations, max_duration })
            }
        }
    }

    /// The ramp is a phase of its own, so that it does not affect the statistics of the full load.
    fn phases(&self, end: Duration) -> Vec<Phase> {
        let phase = |name: &str, start, end| Phase { name: name.to_owned(), start, end };
        match self.ramp {
            None => vec![phase("run", Duration::ZERO, end)],
            Some(ramp) => vec![phase("ramp", Duration::ZERO, ramp), phase("steady", ramp, end)],
        }
    }
}

/// The duration of `requests` at `rate` a second: until just before one more would be due.
fn duration_of(requests: u64, rate: f64) -> Result<Duration, AdhocError> {
    let estimate_s = requests as f64 / rate;
    if estimate_s > MAX_STAGE.as_secs_f64() {
        return Err(AdhocError(format!(
            "{requests} requests at {rate}/s last longer than 30 days; send fewer"
        )));
    }
    // The exact instant is the schedule's, which rounds rates to its own units.
    let longer = Duration::from_secs_f64(estimate_s * 1.01 + 1.0 + 1.0 / rate);
    let schedule = Schedule::new(&Executor::ConstantArrivalRate { rate, duration: longer });
    let next = schedule.and_then(|schedule| schedule.due(requests));
    next.map(|due| due - Duration::from_nanos(1)).ok_or_else(|| {
        AdhocError(format!("{requests} requests at {rate}/s cannot be scheduled; send more a second"))
    })
}
