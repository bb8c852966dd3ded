//! A plan, its program, workers on threads, and a recorder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cluster::{ClusterError, Coordinator, Job, Limits, Listening, Secret, Session, Token, WorkerIdentity};
use engine::{Loops, Program, RunOptions};
use evidence::tick_channel::{Received, TickReceiver};
use evidence::{Instance, Key, KeyId, Tick};
use plans::{Overrides, load};
use workload::FilesInMemory;

pub(crate) const LIMITS: Limits = Limits {
    connect: Duration::from_secs(20),
    ready: Duration::from_secs(20),
    silence: Duration::from_secs(2),
};

/// A plan of requests that are refused, which is data: no target is needed.
pub(crate) const PLAN: &str = r#"version = 1
[targets.api]
url = "http://127.0.0.1:1"
[[phases]]
name = "all"
duration = "2s"
[[scenarios]]
name = "open"
executor = "constant-arrival-rate"
rate = "90/s"
max_vus = 90
[[scenarios.steps]]
name = "one"
weight = 2
get = "${api.url}/one"
[[scenarios.steps]]
name = "other"
weight = 1
get = "${api.url}/other"
"#;

pub(crate) fn program(plan: &str) -> Arc<Program> {
    let files = FilesInMemory::one("plan.toml", plan);
    let plan = load(Path::new("plan.toml"), &files, &|_| None, &Overrides::default()).unwrap();
    Arc::new(Program::compile(plan).unwrap())
}

pub(crate) fn token() -> Secret {
    Secret::Token(Token::given("the token of these tests").unwrap())
}

pub(crate) fn own(version: &str) -> Coordinator {
    Coordinator { boot: "here".to_owned(), version: version.to_owned(), pause: |_| {} }
}

pub(crate) fn listening(secret: Secret) -> (Listening, String) {
    let listening = Listening::bind("127.0.0.1:0", secret, "1.0").unwrap();
    let address = listening.address().unwrap().to_string();
    (listening, address)
}

pub(crate) fn job(loops: u16) -> Job {
    Job {
        job: serde_json::Value::Null,
        loops,
        files: Vec::new(),
        workload_digest: "digest".to_owned(),
        setup_variables: Vec::new(),
    }
}

/// Accept a coordinator.
pub(crate) fn accept(listening: Listening) -> Result<Session, ClusterError> {
    listening.accept(&WorkerIdentity::default(), |_, _| {})
}

/// A worker that offers its part of the plan.
pub(crate) fn worker(listening: Listening, plan: &'static str) -> JoinHandle<Result<u64, ClusterError>> {
    thread::spawn(move || {
        let mut session = accept(listening)?;
        let program = program(plan);
        let loops = Loops::spawn(&program, None, &session.assignment.group()).unwrap();
        let clock = session.wait_to_begin("digest")?;
        let options = RunOptions::new(program, clock);
        let (observers, observed) = channel();
        session.offer(loops, &options, observed, move || {
            drop(observers);
            serde_json::Value::Null
        })
    })
}

/// Sums by metric, endpoint and second, over all loops.
pub(crate) type Sums = BTreeMap<(String, String, u32), u64>;

/// What a recorder does between two looks.
pub(crate) fn pause(time: Duration) {
    let (never, ended) = channel::<()>();
    let _ = ended.recv_timeout(time);
    drop(never);
}

/// Everything that the loops hand over.
pub(crate) fn record(inlets: &[TickReceiver]) -> Sums {
    let mut sums = Sums::new();
    let mut keys: BTreeMap<(Instance, KeyId), Key> = BTreeMap::new();
    let mut open: Vec<bool> = vec![true; inlets.len()];
    while open.contains(&true) {
        for (inlet, is_open) in inlets.iter().zip(&mut open) {
            match inlet.take() {
                Received::Tick(tick) => {
                    add(&mut sums, &mut keys, &tick);
                    inlet.give_back(tick);
                }
                Received::Closed => *is_open = false,
                Received::Empty => pause(Duration::from_millis(5)),
            }
        }
    }
    sums
}

fn add(sums: &mut Sums, keys: &mut BTreeMap<(Instance, KeyId), Key>, tick: &Tick) {
    keys.extend(tick.new_keys.iter().map(|(id, key)| ((tick.instance, *id), key.clone())));
    for count in tick.counts() {
        let key = &keys[&(tick.instance, count.key)];
        *sums.entry((key.metric.to_string(), key.endpoint.to_string(), count.second)).or_default() +=
            count.value;
    }
}

/// The sums of one metric over all endpoints and seconds.
pub(crate) fn total(sums: &Sums, metric: &str) -> u64 {
    sums.iter().filter(|((name, ..), _)| name == metric).map(|(_, value)| value).sum()
}
