//! The coordinator's side: workers are connected, handed the run, made ready and started at one instant; then their ticks reach
//! the recorder as those of loops of this process would.

mod absent;
mod drift;
mod pump;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use engine::clock::monotonic_ns;
use engine::{EngineError, LoopGroup, MergedNames, RunOptions, Totals};
use evidence::tick_channel::TickSender;
use evidence::{Instance, Observed, Tick};

use crate::ClusterError;
use crate::clock::{Exchange, OffsetEstimate};
use crate::frame::{FrameKind, PROTOCOL};
use crate::handshake::{Nonces, Side, nonce};
use crate::keys::Secret;
use crate::link::Link;
use crate::message::{Assignment, HandedFile, Hello, ToCoordinator, ToWorker, WorkerIdentity};
use crate::tick;
use crate::worker::within;
use absent::Others;
use pump::{Pump, Taker, WorkerExit};

/// How much of a file one message contains.
const PART_BYTES: usize = 1 << 20;
/// How often a worker is asked for its clock before the load and after it: of so many exchanges one meets no other work.
const EXCHANGES: usize = 64;
/// How long a worker has to answer that.
const CLOCK_LIMIT: Duration = Duration::from_secs(10);

/// How long workers are waited for.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until a worker is connected and has proved that it belongs to the run.
    pub connect: Duration,
    /// Until it could begin: it reads the plan, resolves names and makes its virtual users.
    pub ready: Duration,
    /// A worker that sends nothing for so long during the run has vanished.
    pub silence: Duration,
}

/// A worker at whose address nothing listens yet.
#[derive(Debug, Clone, Copy)]
pub struct AbsentWorker<'a> {
    pub address: &'a str,
    /// How often a connection was refused.
    pub attempts: u32,
    /// How long it is waited for.
    pub limit: Duration,
}

/// The process that conducts a run.
#[derive(Debug, Clone)]
pub struct Coordinator {
    /// What distinguishes the running kernel of its machine from any other.
    pub boot: String,
    /// The version of its program.
    pub version: String,
    /// Called after each connection that was refused; the next attempt is made when it returns.
    pub pause: fn(AbsentWorker<'_>),
}

/// What all workers are handed.
#[derive(Debug, Clone)]
pub struct Job {
    /// What is run, in a form that only the command knows.
    pub job: serde_json::Value,
    /// How many loops a worker of weight 1 has.
    pub loops: u16,
    /// The files that belong to it, with their content.
    pub files: Vec<(HandedFile, Arc<[u8]>)>,
    /// The digest of the workload that each worker must read from it.
    pub workload_digest: String,
    /// What the run's setup extracted, by variable.
    pub setup_variables: Vec<Arc<[u8]>>,
}

/// Where a worker is, and how much of the load it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerAddress {
    /// Its host and port.
    pub address: String,
    /// It has so many times the loops of one of weight 1, and so offers that many times its load.
    pub weight: u16,
}

impl WorkerAddress {
    /// A worker that offers as much as most.
    pub fn new(address: impl Into<String>) -> WorkerAddress {
        WorkerAddress { address: address.into(), weight: 1 }
    }
}

/// What is known of a worker before the load.
#[derive(Debug, Clone)]
pub struct WorkerFacts {
    pub address: String,
    /// How many loops it has; none before it is ready.
    pub loops: u16,
    /// Its machine and process, as evidence names them; the coordinator is process 0 of machine 0.
    pub place: Instance,
    /// Which process it is.
    pub identity: WorkerIdentity,
    /// The version of its program.
    pub version: String,
    /// The digest of the workload that it read.
    pub workload_digest: String,
    pub clock: OffsetEstimate,
}

/// What became of the load of all workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetEnd {
    /// The totals of all loops.
    pub totals: Totals,
    /// What the commands of the workers say of their load, in order; none of one that has vanished.
    pub outcomes: Vec<serde_json::Value>,
}

/// The workers of one run.
#[derive(Debug)]
pub struct Fleet {
    members: Vec<Member>,
    limits: Limits,
}

/// One worker.
#[derive(Debug)]
struct Member {
    link: Link,
    facts: WorkerFacts,
    weight: u16,
}

impl Fleet {
    /// Connect to the workers at these addresses.
    ///
    /// # Errors
    /// [`ClusterError::Worker`] for the first that cannot be used.
    pub fn gather(
        addresses: &[WorkerAddress],
        secret: &Secret,
        own: &Coordinator,
        limits: Limits,
    ) -> Result<Fleet, ClusterError> {
        let connect = |worker: WorkerAddress| greet(&worker, secret, own, limits.connect);
        let mut members = each(addresses.to_vec(), |worker| worker.address.clone(), connect)?;
        let mut machines = vec![own.boot.clone()];
        for (index, member) in members.iter_mut().enumerate() {
            let boot = &member.facts.identity.boot;
            let machine = machines.iter().position(|known| known == boot).unwrap_or_else(|| {
                machines.push(boot.clone());
                machines.len() - 1
            });
            let narrow = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
            member.facts.place =
                Instance { machine: narrow(machine), process: narrow(index + 1), loop_index: 0 };
        }
        Ok(Fleet { members, limits })
    }

    /// The weights of all workers together.
    pub fn weight(&self) -> usize {
        self.members.iter().map(|member| usize::from(member.weight)).sum()
    }

    /// Which loops of the run each worker has.
    fn groups(&self) -> Vec<LoopGroup> {
        let own = |member: &Member| (member.facts.loops, member.facts.place);
        LoopGroup::several(&self.members.iter().map(own).collect::<Vec<_>>())
    }

    /// Hand the run over and wait until every worker could begin; then measure their clocks. `setup_ticks` is what the run's
    /// setup counted.
    ///
    /// # Errors
    /// [`ClusterError::Worker`] for the first that cannot be used.
    pub fn make_ready(&mut self, job: &Job, setup_ticks: &[Tick]) -> Result<(), ClusterError> {
        for member in &mut self.members {
            member.facts.loops = job.loops.saturating_mul(member.weight);
        }
        let (groups, limit) = (self.groups(), self.limits.ready);
        let ready = |(group, member): (LoopGroup, &mut Member)| {
            // The setup is counted once, by the loop that would count it in a run of one process.
            let ticks = if group.index == 0 { setup_ticks } else { &[] };
            member.make_ready(job, group, ticks, limit)
        };
        let members = groups.into_iter().zip(&mut self.members).collect();
        each(members, |(_, member)| member.facts.address.clone(), ready).map(drop)
    }

    /// What is known of each worker.
    pub fn facts(&self) -> Vec<WorkerFacts> {
        self.members.iter().map(|member| member.facts.clone()).collect()
    }

    /// Begin the load at the epoch of the clock in `options`, and hand what the workers see to the recorder: `outlets` has one
    /// channel for each of their loops, those of the first worker first. Names past the run's limit are folded over all workers, and
    /// counted by the program. Returns when every worker has ended or vanished.
    ///
    /// # Errors
    /// [`EngineError`] when the measurement has become impossible: the recorder is gone, a worker could not measure, or all
    /// have vanished.
    pub fn run(
        mut self,
        options: &RunOptions,
        outlets: Vec<TickSender>,
        observed: &Sender<Observed>,
    ) -> Result<FleetEnd, EngineError> {
        let workers = self.members.len() as u32;
        let others = Others::new(self.members.len());
        let names = Arc::new(MergedNames::new(options.program.clone()));
        let mut outlets = outlets.into_iter();
        let (groups, silence) = (self.groups(), self.limits.silence);
        let mut pumps = Vec::new();
        for (group, member) in groups.into_iter().zip(std::mem::take(&mut self.members)) {
            let outlets: Vec<TickSender> = outlets.by_ref().take(usize::from(group.loops)).collect();
            let taker = Taker { outlets, observed: observed.clone(), names: names.clone() };
            pumps.push(Pump::new(member, group, taker));
        }
        let ends: Vec<_> = thread::scope(|scope| {
            let others = &others;
            let work = |pump: Pump| scope.spawn(move || pump.work(options, others, silence));
            let running: Vec<_> = pumps.into_iter().map(work).collect();
            let panicked = || Err(EngineError::Loop("the thread of a worker panicked".into()));
            running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
        });
        let mut all = FleetEnd::default();
        let mut vanished = Vec::new();
        for end in ends {
            let end = end?;
            end.totals.add_to(&mut all.totals);
            match end.exit {
                WorkerExit::Ended(outcome) => all.outcomes.push(outcome),
                WorkerExit::Vanished(why) => vanished.push(why),
            }
        }
        if vanished.len() == workers as usize {
            return Err(EngineError::Lost(format!("every worker has vanished: {}", vanished.join("; "))));
        }
        Ok(all)
    }

    /// The run is not started: each worker is told so.
    pub fn dismiss(self) {}
}

impl Drop for Fleet {
    /// Of a run that was not started; workers that offer its load belong to it no more.
    fn drop(&mut self) {
        for member in &mut self.members {
            // A worker that is gone needs no dismissal.
            let _ = member.link.say(&ToWorker::Bye);
            let _ = member.link.pump(Duration::ZERO);
        }
    }
}

/// Do something with each of several workers at once, each on a thread of its own.
fn each<T: Send, R: Send>(
    all: Vec<T>,
    address: impl Fn(&T) -> String,
    work: impl Fn(T) -> Result<R, ClusterError> + Sync,
) -> Result<Vec<R>, ClusterError> {
    let addresses: Vec<String> = all.iter().map(address).collect();
    let results: Vec<Result<R, ClusterError>> = thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = all.into_iter().map(|one| scope.spawn(move || work(one))).collect();
        let panicked =
            || Err(ClusterError::Refused("its thread panicked. This is a bug in plimsoll".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
    });
    let numbered = results.into_iter().enumerate();
    numbered
        .map(|(index, result)| result.map_err(|error| error.of_worker(index, &addresses[index])))
        .collect()
}

/// Connect to a worker, which may not listen yet.
fn connect(
    address: &str,
    secret: &Secret,
    pause: fn(AbsentWorker<'_>),
    limit: Duration,
) -> Result<Link, ClusterError> {
    let until = within(limit);
    let mut attempts = 0;
    loop {
        match Link::connect(address, secret, limit) {
            Err(ClusterError::NothingListens) if monotonic_ns() < until => {
                attempts += 1;
                pause(AbsentWorker { address, attempts, limit });
            }
            result => return result,
        }
    }
}

/// Connect to a worker, prove to be its coordinator, and have it proved.
fn greet(
    worker: &WorkerAddress,
    secret: &Secret,
    coordinator: &Coordinator,
    limit: Duration,
) -> Result<Member, ClusterError> {
    let until = within(limit);
    let mut link = connect(&worker.address, secret, coordinator.pause, limit)?;
    let own = Hello { protocol: PROTOCOL, version: coordinator.version.clone(), nonce: nonce()? };
    link.say(&ToWorker::Hello(own.clone()))?;
    let ToCoordinator::Hello(theirs, proof) = link.hear(until)? else {
        return Err(ClusterError::malformed("its first message is not a greeting"));
    };
    let nonces = Nonces { coordinator: &own.nonce, worker: &theirs.nonce };
    if let Some(token) = secret.token()
        && !token.is_proof(Side::Worker, nonces, &proof)
    {
        return Err(ClusterError::OtherToken);
    }
    let proof = secret.token().map(|token| token.proof(Side::Coordinator, nonces)).unwrap_or_default();
    link.say(&ToWorker::Proof(proof))?;
    link.drain(until)?;
    if (theirs.protocol, &theirs.version) != (own.protocol, &own.version) {
        return Err(ClusterError::Version { ours: own.version, theirs: theirs.version });
    }
    link.trust();
    let ToCoordinator::Identity(identity) = link.hear(until)? else {
        return Err(ClusterError::malformed("its identity was expected"));
    };
    let facts = WorkerFacts {
        address: worker.address.clone(),
        loops: 0,
        place: Instance::default(),
        identity,
        version: theirs.version,
        workload_digest: String::new(),
        clock: OffsetEstimate { offset_ns: 0, error_ns: u64::MAX },
    };
    Ok(Member { link, facts, weight: worker.weight })
}

impl Member {
    fn make_ready(
        &mut self,
        job: &Job,
        group: LoopGroup,
        setup_ticks: &[Tick],
        limit: Duration,
    ) -> Result<(), ClusterError> {
        let until = within(limit);
        let assignment = Assignment {
            worker: group.index,
            loops: group.loops,
            first_loop: group.first_loop,
            all_loops: group.all_loops,
            place: group.place,
            job: job.job.clone(),
            files: job.files.iter().map(|(file, _)| file.clone()).collect(),
        };
        self.link.say(&ToWorker::Assignment(assignment))?;
        let wanted = match self.link.hear(until)? {
            ToCoordinator::Wanted(wanted) => wanted,
            ToCoordinator::Refused(why) => return Err(ClusterError::Refused(why)),
            _ => return Err(ClusterError::malformed("the names of files were expected")),
        };
        self.hand_over(job, &wanted, until)?;
        for tick in setup_ticks {
            tick::write(tick, |part| self.link.send(FrameKind::SetupTick, |to| to.extend_from_slice(part)))?;
        }
        self.link.say(&ToWorker::HandedOver)?;
        self.facts.workload_digest = match self.link.hear(until)? {
            ToCoordinator::Ready(digest) => digest,
            ToCoordinator::Refused(why) => return Err(ClusterError::Refused(why)),
            _ => return Err(ClusterError::malformed("its readiness was expected")),
        };
        if self.facts.workload_digest != job.workload_digest {
            let why = "it read another workload from the same files: use one build of plimsoll for all";
            return Err(ClusterError::Refused(why.to_owned()));
        }
        self.facts.clock = self.measure_clock()?;
        Ok(())
    }

    fn hand_over(&mut self, job: &Job, wanted: &[String], until: u64) -> Result<(), ClusterError> {
        let by_digest: BTreeMap<&str, &Arc<[u8]>> =
            job.files.iter().map(|(file, content)| (file.digest.as_str(), content)).collect();
        for digest in wanted {
            let content = by_digest.get(digest.as_str());
            let content =
                content.ok_or_else(|| ClusterError::malformed("it wants a file that there is not"))?;
            for part in content.chunks(PART_BYTES) {
                self.link.send(FrameKind::FilePart, |to| to.extend_from_slice(part))?;
                self.link.drain(until)?;
            }
        }
        for value in &job.setup_variables {
            self.link.send(FrameKind::SetupVariable, |to| to.extend_from_slice(value))?;
        }
        Ok(())
    }

    /// Ask for its clock many times.
    fn measure_clock(&mut self) -> Result<OffsetEstimate, ClusterError> {
        let until = within(CLOCK_LIMIT);
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            ask_for_clock(&mut self.link)?;
            self.link.pump(Duration::ZERO)?;
            loop {
                let frame = self.link.next(until)?;
                if frame.kind == FrameKind::Pong {
                    exchanges.push(exchange(&frame.content)?);
                    break;
                }
            }
        }
        OffsetEstimate::from_exchanges(&exchanges)
            .ok_or_else(|| ClusterError::malformed("its clock is out of range"))
    }
}

fn ask_for_clock(link: &mut Link) -> Result<(), ClusterError> {
    let now = monotonic_ns();
    link.send(FrameKind::Ping, |to| to.extend_from_slice(&now.to_be_bytes()))
}

/// The exchange that ends with this answer, now.
fn exchange(pong: &[u8]) -> Result<Exchange, ClusterError> {
    let received = monotonic_ns();
    let instant = |bytes: &[u8]| bytes.try_into().ok().map(u64::from_be_bytes);
    let both =
        pong.split_at_checked(8).and_then(|(asked, answered)| Some((instant(asked)?, instant(answered)?)));
    let Some((asked, answered)) = both.filter(|(asked, _)| *asked <= received) else {
        return Err(ClusterError::malformed("an answer about its clock"));
    };
    Ok(Exchange { asked, answered, received })
}
