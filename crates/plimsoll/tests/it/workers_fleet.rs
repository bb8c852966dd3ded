//! A fleet over real connections with TLS: simulated workers, each of which uses the protocol and hands over its keys once a
//! second, and one run that takes them.

use std::fs;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use cluster::message::{Ended, WorkerOver};
use cluster::{Listening, RunKeys, Secret, WorkerIdentity};
use engine::{Clock, Control, Totals};
use evidence::tick_channel::{Offer, TickSender};
use evidence::{Instant, Tick};
use rusqlite::Connection;

use crate::command::{Running, TestFolder, open};
use crate::workers_scale::{Simulated, VALUES, second_of_loop};

/// What the command says of itself to its workers.
const VERSION: &str = env!("CARGO_PKG_VERSION");

enum Event {
    Begun,
    Over,
}

fn work(outlet: TickSender, clock: Clock, simulated: Simulated) -> Ended {
    let (never, ended) = channel::<()>();
    let mut left_over = None::<Box<Tick>>;
    for second in 0..simulated.seconds {
        let end = Instant::at(Duration::from_secs(u64::from(second) + 1));
        // The end of a second is what is waited for.
        let _ = ended.recv_timeout(end.since(clock.now()));
        let tick = Box::new(second_of_loop(simulated, second));
        if second + 1 == simulated.seconds {
            assert!(left_over.is_none(), "the coordinator does not take what it is handed");
            assert!(outlet.finish(tick));
            break;
        }
        match outlet.offer(tick) {
            Offer::Accepted(_) => {}
            Offer::Later(tick) => left_over = Some(tick),
            Offer::Gone => panic!("the coordinator is gone"),
        }
    }
    drop(never);
    let totals = Totals { last_second: simulated.seconds - 1, ..Totals::default() };
    Ended::Over(WorkerOver {
        totals: totals.into(),
        folded_names: Vec::new(),
        cut_bodies: 0,
        unsent_for_origins: 0,
        outcome: serde_json::Value::Null,
    })
}

fn worker(listening: Listening, digest: &str, simulated: Simulated, events: &Sender<Event>) {
    let refused = |_, error: &cluster::ClusterError| panic!("{error}");
    let mut session = listening.accept(&WorkerIdentity::default(), refused).unwrap();
    let clock = session.wait_to_begin(digest).unwrap();
    events.send(Event::Begun).unwrap();
    let (observed, seen) = channel();
    drop(observed);
    let taken =
        session.hand_on(&Control::new(), seen, |mut outlets| work(outlets.pop().unwrap(), clock, simulated));
    taken.unwrap();
    events.send(Event::Over).unwrap();
}

/// CPU seconds that a process has used.
fn cpu_s(run: &Running) -> f64 {
    let stat = fs::read_to_string(run.status_file().with_file_name("stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / rustix::param::clock_ticks_per_second() as f64
}

/// What the run costs: to gather the workers, and then for each second; and what it leaves.
struct Cost {
    gathering_cpu_s: f64,
    cpu_s: f64,
    peak_mib: u64,
    file_bytes: u64,
}

fn fleet(simulated: Simulated) -> Cost {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    // What workers must read from the plan, as real ones read it.
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--workers", "1", "-o", "one.plimsoll"]).exits_with(0);
    let one = Connection::open(folder.path("one.plimsoll")).unwrap();
    let question = "SELECT value FROM manifest WHERE name = 'workers'";
    let described: String = one.query_row(question, [], |row| row.get(0)).unwrap();
    let described: serde_json::Value = serde_json::from_str(&described).unwrap();
    let digest = described[0]["workload_digest"].as_str().unwrap();
    let pem = RunKeys::make().unwrap();
    folder.write("run.pem", &pem);
    let secret = Secret::Keys(RunKeys::read(&pem).unwrap());
    let bind = |_| Listening::bind("127.0.0.1:0", secret.clone(), VERSION).unwrap();
    let listening: Vec<Listening> = (0..simulated.workers).map(bind).collect();
    let mut arguments: Vec<String> =
        ["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--worker-keys", "run.pem"]
            .map(Into::into)
            .into();
    for worker in &listening {
        arguments.extend(["--worker".to_owned(), worker.address().unwrap().to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (events, seen) = channel();
    thread::scope(|scope| {
        for listening in listening {
            let events = events.clone();
            scope.spawn(move || worker(listening, digest, simulated, &events));
        }
        drop(events);
        let run = folder.start(&arguments);
        let (mut gathering_cpu_s, mut cpu) = (None, 0.0);
        for event in seen {
            match event {
                Event::Begun => {
                    gathering_cpu_s.get_or_insert_with(|| cpu_s(&run));
                }
                Event::Over => cpu = cpu_s(&run),
            }
        }
        let ended = run.end();
        let gathering_cpu_s = gathering_cpu_s.unwrap();
        let file = Connection::open(folder.path("run.plimsoll")).unwrap();
        let question = "SELECT sum(value) FROM counts JOIN keys USING (key) WHERE endpoint LIKE 'endpoint %'";
        let counted: i64 = file.query_row(question, [], |row| row.get(0)).unwrap();
        let all = VALUES
            * u64::from(simulated.workers)
            * u64::from(simulated.keys / 2)
            * u64::from(simulated.seconds);
        assert_eq!(counted, all as i64, "{}", ended.stderr);
        let file_bytes = fs::metadata(folder.path("run.plimsoll")).unwrap().len();
        Cost { gathering_cpu_s, cpu_s: cpu - gathering_cpu_s, peak_mib: ended.peak_mib, file_bytes }
    })
}

/// Its figures are shown with `--nocapture`, and those of a large fleet by `cargo xtask soak fleet`, which names the sizes.
#[test]
#[allow(clippy::print_stdout, reason = "the figures of a fleet are read by people")]
fn every_count_of_simulated_workers_arrives_over_tls() {
    let asked = std::env::var("FLEET_WORKERS").ok();
    let seconds = if asked.is_some() { 30 } else { 3 };
    for workers in asked.as_deref().unwrap_or("5").split(' ') {
        let simulated = Simulated { workers: workers.parse().unwrap(), keys: 20, seconds };
        let cost = fleet(simulated);
        assert!(cost.cpu_s > 0.0 && cost.file_bytes > 0);
        let seconds = f64::from(seconds);
        println!(
            "{workers} workers of {} keys over TLS: {:.2} s of CPU until the load, {:.1} % of a core in it, {:.0} µs for each second of a \
             worker; {} MiB at most; {:.1} KB of file a second",
            simulated.keys,
            cost.gathering_cpu_s,
            cost.cpu_s / seconds * 100.0,
            cost.cpu_s * 1e6 / seconds / f64::from(simulated.workers),
            cost.peak_mib,
            cost.file_bytes as f64 / 1e3 / seconds,
        );
    }
}
