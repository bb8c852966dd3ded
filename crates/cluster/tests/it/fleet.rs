//! A run over workers: the same load, and what becomes of it when the coordinator is slow or a worker is lost.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use cluster::frame::{Frame, FrameKind, FrameReader, MOST_BYTES, append};
use cluster::message::{Ended, WorkerOver, WorkerTotals};
use cluster::{Fleet, Limits, WorkerAddress};
use engine::{Clock, Control, EngineError, RunOptions, Totals};
use evidence::tick_channel::{TickReceiver, tick_channel};
use evidence::{Key, KeyId, Metric, NoticeKind, Observed, Tick};

use crate::parts::{
    LIMITS, PLAN, Sums, accept, job, listening, own, pause, program, record, token, total, worker,
};

const SCHEDULED_A_SECOND: u64 = 90;

fn options(plan: &str) -> RunOptions {
    let clock = Clock::starting_in(Duration::from_millis(200));
    RunOptions::new(program(plan), clock)
}

/// What became of a run over workers at these addresses, read by this recorder.
fn run(
    addresses: &[String],
    plan: &str,
    recorder: impl FnOnce(&[TickReceiver]) -> Sums + Send,
) -> (Result<Totals, EngineError>, Sums, Vec<Observed>) {
    let workers: Vec<_> = addresses.iter().map(WorkerAddress::new).collect();
    run_over(&workers, plan, recorder)
}

fn run_over(
    workers: &[WorkerAddress],
    plan: &str,
    recorder: impl FnOnce(&[TickReceiver]) -> Sums + Send,
) -> (Result<Totals, EngineError>, Sums, Vec<Observed>) {
    let loops = 2;
    let mut fleet = Fleet::gather(workers, &token(), &own("1.0"), LIMITS).unwrap();
    fleet.make_ready(&job(loops), &[]).unwrap();
    let count = fleet.weight() * usize::from(loops);
    let (outlets, inlets): (Vec<_>, Vec<_>) = (0..count).map(|_| tick_channel()).unzip();
    let (observers, observed) = channel();
    let options = options(plan);
    thread::scope(|scope| {
        let recording = scope.spawn(move || recorder(&inlets));
        let ended = fleet.run(&options, outlets, &observers);
        drop(observers);
        (ended.map(|end| end.totals), recording.join().unwrap(), observed.iter().collect())
    })
}

fn started(plan: &'static str, workers: usize) -> Vec<String> {
    let start = |_| {
        let (listening, address) = listening(token());
        worker(listening, plan);
        address
    };
    (0..workers).map(start).collect()
}

fn arrivals(sums: &Sums) -> Sums {
    sums.iter().filter(|((metric, ..), _)| metric == "scheduled").map(|(key, n)| (key.clone(), *n)).collect()
}

#[test]
fn three_workers_of_two_loops_count_what_six_loops_here_do() {
    let (outlets, inlets): (Vec<_>, Vec<_>) = (0..6).map(|_| tick_channel()).unzip();
    let here = thread::scope(|scope| {
        let recording = scope.spawn(move || record(&inlets));
        engine::run(&options(PLAN), outlets).unwrap();
        recording.join().unwrap()
    });
    let (ended, there, observed) = run(&started(PLAN, 3), PLAN, record);
    assert_eq!(arrivals(&there), arrivals(&here));
    assert_eq!(total(&there, "scheduled"), 2 * SCHEDULED_A_SECOND);
    assert_eq!(total(&there, "started") + total(&there, "dropped_late"), 2 * SCHEDULED_A_SECOND);
    assert_eq!(ended.unwrap().requests_in_flight, 0);
    let clocks =
        observed.iter().flat_map(|seen| &seen.samples).filter(|(key, _)| &*key.name == "clock_drift");
    assert_eq!(clocks.count(), 6, "each clock is measured before the load and after it");
}

#[test]
fn a_worker_of_weight_two_offers_twice_what_the_other_does() {
    let weights = [1, 2];
    let workers: Vec<_> = started(PLAN, 2)
        .into_iter()
        .zip(weights)
        .map(|(address, weight)| WorkerAddress { address, weight })
        .collect();
    let (ended, there, observed) = run_over(&workers, PLAN, record);
    ended.unwrap();
    assert_eq!(total(&there, "scheduled"), 2 * SCHEDULED_A_SECOND);
    // What each of the loops has begun in each second.
    let of_worker = |process: u16| -> f64 {
        let samples = observed.iter().flat_map(|seen| &seen.samples);
        let offered = samples.filter(|(key, _)| &*key.name == "offered");
        let own = offered.filter(|(key, _)| key.instance.is_some_and(|place| place.process == process));
        own.map(|(_, sample)| sample.value).sum()
    };
    let (one, two) = (of_worker(1), of_worker(2));
    assert!(one > 0.0 && (two / one - 2.0).abs() < 0.1, "{one} and {two}");
}

const LONG: &str = r#"version = 1
[targets.api]
url = "http://127.0.0.1:1"
[[phases]]
name = "all"
duration = "7s"
[[scenarios]]
name = "open"
executor = "constant-arrival-rate"
rate = "90/s"
max_vus = 90
[[scenarios.steps]]
name = "one"
get = "${api.url}/one"
"#;

#[test]
fn a_coordinator_that_takes_nothing_until_the_load_is_over_loses_no_count() {
    // The loops' own exchange, the connection and the coordinator's exchange are filled before loops merge seconds.
    let (ended, sums, _) = run(&started(LONG, 2), LONG, |inlets| {
        pause(Duration::from_secs(8));
        record(inlets)
    });
    ended.unwrap();
    assert_eq!(total(&sums, "scheduled"), 7 * SCHEDULED_A_SECOND);
    assert_eq!(total(&sums, "started") + total(&sums, "dropped_late"), 7 * SCHEDULED_A_SECOND);
    assert_eq!(total(&sums, "requests"), total(&sums, "started"));
}

/// What a loop hands over after half a minute in which nothing was taken from it.
fn merged_tick(endpoints: u32, seconds: u32) -> Box<Tick> {
    let mut tick = Box::<Tick>::default();
    for id in 0..endpoints {
        let key = Key::of(Metric::Scheduled).scenario("open").endpoint(&format!("/{id}")).phase("all");
        tick.new_keys.push((KeyId(id), key));
        (0..seconds).for_each(|second| tick.add(KeyId(id), second, 1));
    }
    tick
}

#[test]
fn a_worker_that_merged_half_a_minute_of_many_endpoints_loses_no_count() {
    let (listening, address) = listening(token());
    let merged = thread::spawn(move || {
        let mut session = accept(listening)?;
        session.wait_to_begin("digest")?;
        let (observers, observed) = channel();
        drop(observers);
        session.hand_on(&Control::new(), observed, |outlets| {
            for (index, outlet) in outlets.into_iter().enumerate() {
                let mut tick = merged_tick(2_600, 30);
                tick.instance.loop_index = index as u16;
                outlet.finish(tick);
            }
            let totals = WorkerTotals {
                last_second: 29,
                requests_in_flight: 0,
                iterations_in_flight: 0,
                folded_ticks: 29,
                stopped_at: None,
            };
            let outcome = serde_json::Value::Null;
            Ended::Over(WorkerOver {
                totals,
                folded_names: Vec::new(),
                cut_bodies: 0,
                unsent_for_origins: 0,
                outcome,
            })
        })
    });
    let (ended, sums, observed) = run(&[address], PLAN, record);
    merged.join().unwrap().unwrap();
    assert!(observed.iter().all(|seen| seen.notices.is_empty()), "{observed:?}");
    assert_eq!(ended.unwrap().folded_ticks, 29);
    assert_eq!(total(&sums, "scheduled"), 2 * 2_600 * 30);
}

/// What becomes of a connection that is cut.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    /// Both sides hear of it.
    Closed,
    /// Nothing arrives any more, as when a network is gone.
    Silent,
}

/// A way to a worker that passes on so many bytes of what it says, and is then cut.
fn cut_after(bytes: usize, address: String, cut: Cut) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (coordinator, _) = listener.accept().unwrap();
        let worker = TcpStream::connect(address).unwrap();
        let (mut from, mut to) = (coordinator.try_clone().unwrap(), worker.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to, mut left) = (worker, coordinator, bytes);
        let mut buffer = [0; 1024];
        while left > 0 {
            let read = from.read(&mut buffer).unwrap_or(0);
            let passed = read.min(left);
            if read == 0 || to.write_all(&buffer[..passed]).is_err() {
                break;
            }
            left -= passed;
        }
        // What is read from here on goes nowhere.
        while cut == Cut::Silent && from.read(&mut buffer).is_ok_and(|read| read > 0) {}
        let _ = to.shutdown(std::net::Shutdown::Both);
        let _ = from.shutdown(std::net::Shutdown::Both);
    });
    own
}

#[test]
fn a_stream_that_is_cut_in_the_middle_of_a_message_loses_the_worker_and_not_the_run() {
    let mut addresses = started(LONG, 2);
    // Past the exchanges before the load, and in the middle of a tick.
    addresses[1] = cut_after(6_500, addresses[1].clone(), Cut::Closed);
    let (ended, sums, observed) = run(&addresses, LONG, record);
    ended.unwrap();
    assert_eq!(total(&sums, "scheduled"), 7 * SCHEDULED_A_SECOND);
    assert_eq!(total(&sums, "started") + total(&sums, "dropped_late"), 7 * SCHEDULED_A_SECOND);
    assert!(total(&sums, "dropped_late") > SCHEDULED_A_SECOND, "{}", total(&sums, "dropped_late"));
    let notices: Vec<_> = observed.iter().flat_map(|seen| &seen.notices).collect();
    assert_eq!(notices.len(), 1);
    assert!(
        notices[0].kind == NoticeKind::Gone && notices[0].text.contains("worker 2"),
        "{}",
        notices[0].text
    );
    assert!(notices[0].text.contains("in the middle of a message"), "{}", notices[0].text);
}

#[test]
fn a_run_that_loses_every_worker_is_broken_off() {
    let cut = |address| cut_after(6_500, address, Cut::Closed);
    let addresses = started(LONG, 1).into_iter().map(cut).collect::<Vec<_>>();
    let (ended, ..) = run(&addresses, LONG, record);
    let why = ended.unwrap_err().to_string();
    assert!(why.starts_with("every worker has vanished: worker 1 (127.0.0.1:"), "{why}");
    assert!(why.contains("): the connection was closed"), "{why}");
}

#[test]
fn a_worker_from_which_nothing_arrives_any_more_has_vanished() {
    let mut addresses = started(LONG, 2);
    addresses[1] = cut_after(6_500, addresses[1].clone(), Cut::Silent);
    let (ended, sums, observed) = run(&addresses, LONG, record);
    ended.unwrap();
    assert_eq!(total(&sums, "scheduled"), 7 * SCHEDULED_A_SECOND);
    assert_eq!(total(&sums, "started") + total(&sums, "dropped_late"), 7 * SCHEDULED_A_SECOND);
    let texts: Vec<_> = observed.iter().flat_map(|seen| &seen.notices).map(|notice| &notice.text).collect();
    assert!(texts.len() == 1 && texts[0].contains("nothing was received for 2 s"), "{texts:?}");
}

#[test]
fn a_worker_that_is_slow_to_start_is_waited_for_as_long_as_is_asked() {
    let slow = |pause_ms| {
        let (listening, address) = listening(token());
        thread::spawn(move || {
            let mut session = accept(listening)?;
            pause(Duration::from_millis(pause_ms));
            session.wait_to_begin("digest").map(drop)
        });
        let limits = Limits { ready: Duration::from_secs(1), ..LIMITS };
        let mut fleet = Fleet::gather(&[WorkerAddress::new(address)], &token(), &own("1.0"), limits).unwrap();
        let ready = fleet.make_ready(&job(1), &[]).map_err(|error| error.to_string());
        fleet.dismiss();
        ready
    };
    slow(100).unwrap();
    let late = slow(3_000).unwrap_err();
    assert!(late.contains("worker 1") && late.ends_with("the run was not started"), "{late}");
}

/// A way to a worker whose clock, from the beginning of the load on, is ahead by so much of what it was before: of what the worker
/// says only its answers to the question for the clock are changed.
fn clock_ahead(ahead: Duration, address: String) -> String {
    /// How often it is asked before the load.
    const BEFORE: usize = 64;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (coordinator, _) = listener.accept().unwrap();
        let worker = TcpStream::connect(address).unwrap();
        let (mut from, mut to) = (coordinator.try_clone().unwrap(), worker.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to) = (worker, coordinator);
        let (mut frames, mut buffer, mut answers) = (FrameReader::new(MOST_BYTES), [0; 4096], 0);
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            frames.push(&buffer[..read]);
            let mut changed = Vec::new();
            while let Some(Frame { kind, mut content }) = frames.take().unwrap() {
                answers += usize::from(kind == FrameKind::Pong);
                if kind == FrameKind::Pong && answers > BEFORE {
                    let (_, clock) = content.split_last_chunk_mut::<8>().unwrap();
                    *clock = (u64::from_be_bytes(*clock) + ahead.as_nanos() as u64).to_be_bytes();
                }
                append(&mut changed, kind, |to| to.extend_from_slice(&content)).unwrap();
            }
            if to.write_all(&changed).is_err() {
                break;
            }
        }
    });
    own
}

#[test]
fn what_a_worker_counts_is_moved_to_the_seconds_of_the_run_when_its_clock_drifts() {
    let longer: &str = LONG.replace("7s", "15s").leak();
    let addresses =
        started(longer, 1).into_iter().map(|address| clock_ahead(Duration::from_secs(2), address));
    let (ended, sums, observed) = run(&addresses.collect::<Vec<_>>(), longer, record);
    ended.unwrap();
    assert!(observed.iter().all(|seen| seen.notices.is_empty()), "{observed:?}");
    assert_eq!(total(&sums, "scheduled"), 15 * SCHEDULED_A_SECOND);
    // It is known after ten seconds. What the worker then counts in its seconds 13 and 14 was in the run's 11 and 12.
    let in_second = |wanted: u32| -> u64 {
        let scheduled =
            sums.iter().filter(|((metric, _, second), _)| metric == "scheduled" && *second == wanted);
        scheduled.map(|(_, count)| count).sum()
    };
    assert_eq!([5, 13, 14].map(in_second), [SCHEDULED_A_SECOND, 0, 0]);
    assert_eq!([11, 12].map(in_second).iter().min(), Some(&SCHEDULED_A_SECOND));
}
