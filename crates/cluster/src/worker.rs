//! The worker's side: it waits for one coordinator, is handed its part of a run, and hands its ticks on.

mod admission;
mod relay;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{io, thread};

use engine::clock::monotonic_ns;
use engine::{Clock, Control, LimitsMet, Loops, RunOptions};
use evidence::tick_channel::{TickSender, tick_channel};
use evidence::{Instance, Observed, Tick};
use sha2::{Digest as _, Sha256};
use workload::Files;

use crate::ClusterError;
use crate::frame::{Frame, FrameKind, PROTOCOL};
use crate::handshake::{Nonces, Side, nonce};
use crate::keys::Secret;
use crate::link::{Link, Role, message};
use crate::message::{Assignment, Begin, Ended, Hello, ToCoordinator, ToWorker, WorkerIdentity, WorkerOver};
use crate::tick::TickReader;
use relay::Relay;

/// How long a peer has to prove that it is the coordinator.
const PROOF_LIMIT: Duration = Duration::from_secs(3);
/// How long the coordinator may take for anything before the load: it waits for the slowest worker.
const PREPARATION_LIMIT: Duration = Duration::from_secs(600);
/// How long a last message may take to be sent.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn within(limit: Duration) -> u64 {
    monotonic_ns().saturating_add(limit.as_nanos() as u64)
}

/// A worker that waits for its coordinator.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    secret: Secret,
    version: String,
}

impl Listening {
    /// Listen at `address`; `version` is that of the program.
    ///
    /// # Errors
    /// [`ClusterError::Listen`] when nothing can listen there, [`ClusterError::Refused`] when the address can be reached from
    /// elsewhere and there are no keys.
    pub fn bind(address: &str, secret: Secret, version: &str) -> Result<Listening, ClusterError> {
        let failed = |source| ClusterError::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let own = listener.local_addr()?;
        if secret.token().is_some() && !own.ip().is_loopback() {
            let why = format!(
                "{own} can be reached from other machines: a worker listens there only with keys, which `plimsoll worker \
                         --make-keys run.pem` writes: `--keys run.pem` here, `--worker-keys run.pem` at the run"
            );
            return Err(ClusterError::Refused(why));
        }
        Ok(Listening { listener, secret, version: version.to_owned() })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Wait for the one coordinator, and for its assignment. Peers prove who they are beside each other; one that does not prove to be it
    /// is reported to `refused`, and the wait goes on.
    ///
    /// # Errors
    /// [`ClusterError`] when the coordinator is there and its assignment cannot be received.
    pub fn accept(
        self,
        identity: &WorkerIdentity,
        refused: impl FnMut(SocketAddr, &ClusterError),
    ) -> Result<Session, ClusterError> {
        let prove = |stream| self.prove(Link::over(stream, &self.secret, Role::Accepts)?);
        let link = admission::coordinator(&self.listener, prove, refused)?;
        // No one else is listened to from here on.
        drop(self.listener);
        Session::receive(link, identity).map_err(before_the_load)
    }

    fn prove(&self, mut link: Link) -> Result<Link, ClusterError> {
        let limit = within(PROOF_LIMIT);
        let ToWorker::Hello(theirs) = link.hear(limit)? else {
            return Err(ClusterError::malformed("its first message is not a greeting"));
        };
        let own = Hello { protocol: PROTOCOL, version: self.version.clone(), nonce: nonce()? };
        let nonces = Nonces { coordinator: &theirs.nonce, worker: &own.nonce };
        let proof = self.secret.token().map(|token| token.proof(Side::Worker, nonces)).unwrap_or_default();
        link.say(&ToCoordinator::Hello(own.clone(), proof))?;
        let proof = match link.hear(limit) {
            Ok(ToWorker::Proof(proof)) => proof,
            // A coordinator with another token goes when it has read this side's proof.
            Ok(_) | Err(ClusterError::Closed { .. }) => return Err(ClusterError::OtherToken),
            Err(error) => return Err(error),
        };
        if let Some(token) = self.secret.token()
            && !token.is_proof(Side::Coordinator, nonces, &proof)
        {
            return Err(ClusterError::OtherToken);
        }
        if (theirs.protocol, &theirs.version) != (own.protocol, &own.version) {
            return Err(ClusterError::Version { ours: own.version, theirs: theirs.version });
        }
        link.trust();
        Ok(link)
    }
}

/// A worker with an assignment.
#[derive(Debug)]
pub struct Session {
    link: Link,
    pub assignment: Assignment,
    /// The files that it was handed.
    pub files: ReceivedFiles,
    /// What the run's setup extracted, by variable.
    pub setup_variables: Vec<Arc<[u8]>>,
    /// What the run's setup counted, if this worker hands it on.
    pub setup_ticks: Vec<Tick>,
}

/// Files that were handed over, by the names under which the coordinator read them.
#[derive(Debug, Clone, Default)]
pub struct ReceivedFiles(BTreeMap<String, Arc<[u8]>>);

impl ReceivedFiles {
    /// Those whose names begin with `prefix`, by the rest of their names.
    pub fn named<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.0.iter().filter_map(move |(name, content)| Some((name.strip_prefix(prefix)?, &**content)))
    }
}

impl Files for ReceivedFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = path.to_str().and_then(|path| self.0.get(path));
        found.map(|content| content.to_vec()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Session {
    fn receive(mut link: Link, identity: &WorkerIdentity) -> Result<Session, ClusterError> {
        link.say(&ToCoordinator::Identity(identity.clone()))?;
        let assignment = match link.hear(within(PREPARATION_LIMIT))? {
            ToWorker::Assignment(assignment) => assignment,
            ToWorker::Bye => return Err(ClusterError::NotStarted),
            _ => return Err(ClusterError::malformed("an assignment was expected")),
        };
        let mut wanted: Vec<String> = assignment.files.iter().map(|file| file.digest.clone()).collect();
        wanted.sort_unstable();
        wanted.dedup();
        link.say(&ToCoordinator::Wanted(wanted.clone()))?;
        let mut by_digest = BTreeMap::new();
        for digest in wanted {
            let file = assignment.files.iter().find(|file| file.digest == digest);
            let content = receive_file(&mut link, &digest, file.map_or(0, |file| file.bytes))?;
            by_digest.insert(digest, content);
        }
        let named =
            |file: &crate::HandedFile| Some((file.path.clone(), by_digest.get(&file.digest)?.clone()));
        let files = ReceivedFiles(assignment.files.iter().filter_map(named).collect());
        let mut session =
            Session { link, assignment, files, setup_variables: Vec::new(), setup_ticks: Vec::new() };
        session.receive_setup()?;
        Ok(session)
    }

    fn receive_setup(&mut self) -> Result<(), ClusterError> {
        let (mut reader, mut tick) = (TickReader::default(), Tick::default());
        loop {
            let frame = self.link.next(within(PREPARATION_LIMIT))?;
            match frame.kind {
                FrameKind::SetupVariable => self.setup_variables.push(frame.content.into()),
                FrameKind::SetupTick => {
                    if reader.read(&frame.content, Instance::default(), &mut tick)? {
                        self.setup_ticks.push(std::mem::take(&mut tick));
                    }
                }
                _ => match message(&frame)? {
                    ToWorker::HandedOver => return Ok(()),
                    ToWorker::Bye => return Err(ClusterError::NotStarted),
                    _ => return Err(ClusterError::malformed("the end of the hand-over was expected")),
                },
            }
        }
    }

    /// Where the coordinator is; none once it is gone.
    pub fn coordinator(&self) -> Option<SocketAddr> {
        self.link.peer()
    }

    /// Say why this worker does not take part.
    pub fn refuse(mut self, why: &str) {
        // The coordinator may be gone: it does not start the run then either.
        let _ = self.link.say(&ToCoordinator::Refused(why.to_owned()));
        let _ = self.link.drain(within(LAST_WORDS_LIMIT));
    }

    /// Say that the load can begin, of the workload with this digest, and wait until it does. The coordinator may ask for
    /// the clock meanwhile.
    ///
    /// # Errors
    /// [`ClusterError`] when the coordinator is gone, or does not start the run.
    pub fn wait_to_begin(&mut self, workload_digest: &str) -> Result<Clock, ClusterError> {
        self.link.say(&ToCoordinator::Ready(workload_digest.to_owned()))?;
        loop {
            let frame = self.link.next(within(PREPARATION_LIMIT)).map_err(before_the_load)?;
            if frame.kind == FrameKind::Ping {
                answer(&mut self.link, &frame).map_err(before_the_load)?;
                continue;
            }
            match message(&frame)? {
                ToWorker::Begin(Begin { epoch_ns, epoch_unix_ns }) => {
                    return Ok(Clock::with_epoch(epoch_ns, epoch_unix_ns.into()));
                }
                ToWorker::Bye | ToWorker::Abandon | ToWorker::Drain => return Err(ClusterError::NotStarted),
                _ => return Err(ClusterError::malformed("the beginning of the load was expected")),
            }
        }
    }

    /// Offer the load of `loops`, and hand on what they and the observers see, whose channel `observed` is. `finish` ends the
    /// observers, and returns what else the coordinator's command learns of this load. Returns how many requests ended.
    ///
    /// # Errors
    /// [`ClusterError`] when the coordinator is gone, which ends the load.
    pub fn offer(
        self,
        loops: Loops,
        options: &RunOptions,
        observed: Receiver<Observed>,
        finish: impl FnOnce() -> serde_json::Value,
    ) -> Result<u64, ClusterError> {
        self.hand_on(&options.control, observed, |outlets| {
            let totals = loops.run(options, outlets);
            let outcome = finish();
            let LimitsMet { cut_bodies, unsent_for_origins } = options.program.limits_met();
            match totals {
                Ok(totals) => Ended::Over(WorkerOver {
                    totals: totals.into(),
                    folded_names: options.program.folded_names(),
                    cut_bodies,
                    unsent_for_origins,
                    outcome,
                }),
                Err(error) => Ended::Failed(error.to_string()),
            }
        })
    }

    /// Hand on what `work` gives to the outlets, of which there is one for each loop, and what observers see; then how it ended.
    /// Returns how many requests ended.
    ///
    /// # Errors
    /// [`ClusterError`] when the coordinator is gone, which stops what obeys `control`.
    pub fn hand_on(
        self,
        control: &Control,
        observed: Receiver<Observed>,
        work: impl FnOnce(Vec<TickSender>) -> Ended,
    ) -> Result<u64, ClusterError> {
        let (outlets, inlets) = (0..self.assignment.loops).map(|_| tick_channel()).unzip();
        let (ends, ended) = channel();
        let relay = Relay::new(self.link, inlets, observed, ended);
        thread::scope(|scope| {
            let relaying = scope.spawn(|| relay.work(control));
            // A relay that has ended says why itself.
            let _ = ends.send(work(outlets));
            let panicked =
                || Err(ClusterError::Refused("the relay panicked. This is a bug in plimsoll".to_owned()));
            relaying.join().unwrap_or_else(|_| panicked())
        })
    }
}

/// A coordinator that ends the connection before the load has not started the run.
fn before_the_load(error: ClusterError) -> ClusterError {
    match error {
        ClusterError::Closed { .. } => ClusterError::NotStarted,
        error => error,
    }
}

fn receive_file(link: &mut Link, digest: &str, bytes: u64) -> Result<Arc<[u8]>, ClusterError> {
    let mut content = Vec::new();
    while (content.len() as u64) < bytes {
        let frame = link.next(within(PREPARATION_LIMIT))?;
        if frame.kind != FrameKind::FilePart {
            return Err(ClusterError::malformed("a part of a file was expected"));
        }
        content.extend_from_slice(&frame.content);
    }
    if hex::encode(Sha256::digest(&content)) != digest {
        return Err(ClusterError::malformed("a file has another digest than was announced"));
    }
    Ok(content.into())
}

/// Answer the question for the clock at once.
fn answer(link: &mut Link, ping: &Frame) -> Result<(), ClusterError> {
    let now = monotonic_ns();
    link.send(FrameKind::Pong, |to| {
        to.extend_from_slice(&ping.content);
        to.extend_from_slice(&now.to_be_bytes());
    })?;
    link.pump(Duration::ZERO)
}
