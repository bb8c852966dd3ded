//! Services whose limit is known by intervention, and the evidence that a run against each would leave: counts and times second by
//! second, and series as observers read them, some of which are missing.
//!
//! A case is drawn from a seed alone: cause, severity, shape of the load, noise, what is not observed. What limits it is not what was
//! planted but what an intervention shows: a station is the limit if half as much of it more raises the load at which the service breaks
//! by 25 % or more, and no other does by 10 %.

mod evidence_of;

use workload::Workload;

use crate::diagnoses::{Queue, Service, between};
use crate::random::Random;
use crate::verdicts::workload_of;

/// A service breaks where its mean response time is so many times that without load.
const BROKEN: f64 = 3.0;
/// Half as much of a station more …
const MORE: f64 = 1.5;
/// … raises the break of what it limits by so much, and what limits with something else by less.
const RAISES: f64 = 1.25;
const DOES_NOT: f64 = 1.10;

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Processors, whose threads wait in the kernel.
    Processors,
    /// Processors of a program that queues requests itself, so that no thread waits.
    OwnQueue,
    /// A pool of connections.
    Pool,
    /// The threads of a server.
    Workers,
    /// Processors, while a pool is held that is waited for too.
    HeldPool,
    /// A lock of the database: it has no size.
    Lock,
    /// A service that is called, whose size nothing shows.
    Downstream,
    /// A limit of the rate: what is beyond is refused at once.
    RateLimit,
    /// Two pools at the same load.
    Mixed,
    /// Nothing, up to half of what the service carries.
    Nothing,
}

/// Every cause.
pub const CAUSES: [Cause; 10] = [
    Cause::Processors,
    Cause::OwnQueue,
    Cause::Pool,
    Cause::Workers,
    Cause::HeldPool,
    Cause::Lock,
    Cause::Downstream,
    Cause::RateLimit,
    Cause::Mixed,
    Cause::Nothing,
];

/// How the load rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// In steps of so many seconds.
    Steps(u32),
    /// Steadily.
    Ramp,
}

/// What a station is, and so what shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StationKind {
    Processors { waits_in_kernel: bool },
    Pool { number: u32, counts_time: bool },
    Workers,
    Lock,
    Downstream,
}

/// A case.
#[derive(Debug)]
pub struct SealedCase {
    pub cause: Cause,
    shape: Shape,
    /// Deviations of readings, as a share.
    noise: f64,
    service: Service,
    kinds: Vec<StationKind>,
    /// The load at which the service breaks, or from which on requests are refused.
    breaks_per_s: f64,
    seed: u64,
}

/// What can be seen of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Visibility {
    /// Its use and the wait for it are observed.
    UseAndWait,
    /// Its use alone.
    Use,
    /// Nothing limits alone, or what does is not observed or has no size: UNDETERMINED is right.
    NotVisible,
}

impl SealedCase {
    /// The case of a seed.
    pub fn draw(seed: u64) -> SealedCase {
        let mut random = Random::new(seed);
        let cause = CAUSES[(random.uniform() * CAUSES.len() as f64) as usize];
        let shape = [Shape::Steps(10), Shape::Steps(20), Shape::Ramp][(random.uniform() * 3.0) as usize];
        let noise = if random.uniform() < 0.5 { 0.03 } else { 0.08 };
        // How near the others are: hardly used, or up to two thirds.
        let severity = if random.uniform() < 0.5 { 0.35 } else { 0.7 };
        let capacity = between(&mut random, 150.0, 600.0);
        let (kinds, service) = stations(cause, severity, capacity, &mut random);
        let breaks_per_s = match cause {
            Cause::RateLimit => 0.5 * broken_at(&service),
            _ => broken_at(&service),
        };
        SealedCase { cause, shape, noise, service, kinds, breaks_per_s, seed }
    }

    /// The load that is offered.
    pub fn workload(&self) -> Workload {
        let highest = match self.cause {
            Cause::Nothing => 0.5 * self.breaks_per_s,
            _ => self.breaks_per_s,
        };
        workload_of(&evidence_of::plan(self.shape, highest, self.seed))
    }

    /// The resource whose increase raises the break, by the name that the ledger gives it; none where no single one does.
    pub fn limit(&self) -> Option<String> {
        let at = self.limiting()?;
        self.kinds[at].resource()
    }

    /// Whether that is to be seen in the evidence.
    pub fn visibility(&self) -> Visibility {
        let queue = self.limiting().filter(|at| self.kinds[*at].resource().is_some());
        match queue.map(|at| &self.service.queues[at]) {
            Some(queue) if queue.is_use_observed && queue.is_wait_observed => Visibility::UseAndWait,
            Some(queue) if queue.is_use_observed => Visibility::Use,
            _ => Visibility::NotVisible,
        }
    }

    fn limiting(&self) -> Option<usize> {
        if matches!(self.cause, Cause::RateLimit | Cause::Nothing) {
            return None;
        }
        let raised = |at: usize| {
            let mut queues = self.service.queues.clone();
            queues[at].servers *= MORE;
            broken_at(&Service { queues }) / self.breaks_per_s
        };
        let raises: Vec<f64> = (0..self.kinds.len()).map(raised).collect();
        let limit = raises.iter().position(|times| *times >= RAISES)?;
        let is_alone = raises.iter().enumerate().all(|(at, times)| at == limit || *times < DOES_NOT);
        is_alone.then_some(limit)
    }
}

impl StationKind {
    /// The name in the ledger; none of what has no size.
    fn resource(self) -> Option<String> {
        match self {
            StationKind::Processors { .. } => Some("CPU of svc".to_owned()),
            StationKind::Pool { number, .. } => Some(format!("pool{number} of svc")),
            StationKind::Workers => Some("Tomcat threads of svc".to_owned()),
            StationKind::Lock | StationKind::Downstream => None,
        }
    }
}

/// The load at which the mean response time is [`BROKEN`] times that without load.
fn broken_at(service: &Service) -> f64 {
    let first =
        service.queues.iter().map(|queue| queue.servers / queue.demand_s).fold(f64::INFINITY, f64::min);
    let alone = service.response_s(0.001 * first);
    let (mut low, mut high) = (0.0, first);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if service.response_s(middle) > BROKEN * alone { high = middle } else { low = middle }
    }
    high
}

/// The stations of a service, the inner before the outer.
fn stations(cause: Cause, severity: f64, capacity: f64, random: &mut Random) -> (Vec<StationKind>, Service) {
    let waits_in_kernel = cause != Cause::OwnQueue;
    let mut kinds = vec![
        StationKind::Processors { waits_in_kernel },
        StationKind::Pool { number: 1, counts_time: random.uniform() < 0.5 },
        StationKind::Pool { number: 2, counts_time: random.uniform() < 0.5 },
        StationKind::Downstream,
        StationKind::Lock,
    ];
    let planted: &[usize] = match cause {
        Cause::Processors | Cause::OwnQueue | Cause::HeldPool => &[0],
        Cause::Pool => &[1],
        Cause::Mixed => &[1, 2],
        Cause::Downstream => &[3],
        Cause::Lock => &[4],
        Cause::Workers | Cause::RateLimit | Cause::Nothing => &[],
    };
    if cause == Cause::Workers {
        kinds.push(StationKind::Workers);
    }
    let mut queues = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        let is_planted = planted.contains(&at) || *kind == StationKind::Workers;
        let share = if is_planted { 1.0 } else { between(random, 0.1, severity) };
        let servers = match kind {
            StationKind::Processors { .. } => [1.0, 2.0, 4.0][(random.uniform() * 3.0) as usize],
            StationKind::Lock => 1.0,
            _ => [2.0, 4.0, 8.0, 16.0][(random.uniform() * 4.0) as usize],
        };
        queues.push(Queue {
            servers,
            demand_s: share * servers / capacity,
            holds: None,
            is_use_observed: random.uniform() < 0.85,
            // A process shows both; Tomcat shows no wait.
            is_wait_observed: match kind {
                StationKind::Processors { waits_in_kernel } => *waits_in_kernel,
                StationKind::Workers => false,
                _ => random.uniform() < 0.75,
            },
        });
    }
    if cause == Cause::HeldPool {
        kinds.push(StationKind::Pool { number: 3, counts_time: random.uniform() < 0.5 });
        let inner = &queues[0];
        queues.push(Queue {
            servers: (2.0 + 3.0 * inner.servers).ceil(),
            demand_s: 0.1 * inner.demand_s,
            holds: Some(0),
            is_use_observed: true,
            is_wait_observed: random.uniform() < 0.75,
        });
    }
    (kinds, Service { queues })
}
