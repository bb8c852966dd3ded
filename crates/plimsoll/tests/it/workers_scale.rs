//! What many workers cost the process that records: bytes on the way, the run file, and for a fleet CPU and memory.

use std::fs;

use archive::{Overwrite, Writer};
use cluster::tick::{self, TickReader};
use evidence::tick::LoopState;
use evidence::{Ending, Instance, Key, KeyId, Metric, Outcome, RunEnd, Sink as _, Tick};
use rusqlite::Connection;
use rustix::time::{ClockId, clock_gettime};

use crate::kept_files::manifest;

/// Simulated workers of one loop each, which all have the same keys: histograms and counters in equal number.
#[derive(Clone, Copy)]
pub(crate) struct Simulated {
    pub(crate) workers: u16,
    pub(crate) keys: u32,
    pub(crate) seconds: u32,
}

/// What they came to.
struct Cost {
    message_bytes: usize,
    file_bytes: u64,
    cpu_s: f64,
}

/// Of each key in each second.
pub(crate) const VALUES: u64 = 100;

fn key(id: u32) -> Key {
    let metric = if id.is_multiple_of(2) { Metric::ResponseTime } else { Metric::Scheduled };
    let key = Key::of(metric).scenario("play").endpoint(&format!("endpoint {}", id / 2)).phase("steady");
    if id.is_multiple_of(2) { key.outcome(Outcome::Ok) } else { key }
}

/// What one of them hands over.
pub(crate) fn second_of_loop(simulated: Simulated, second: u32) -> Tick {
    let mut tick = Tick::default();
    (tick.second, tick.is_last) = (second, second + 1 == simulated.seconds);
    if second == 0 {
        tick.new_keys = (0..simulated.keys).map(|id| (KeyId(id), key(id))).collect();
    }
    for id in 0..simulated.keys {
        match id % 2 {
            // From 1 to 10 ms, in another order each second.
            0 => (0..VALUES).for_each(|n| tick.record_ns(KeyId(id), 1_000_000 + (n * n * 7_919) % 9_000_000)),
            _ => tick.add(KeyId(id), second, VALUES),
        }
    }
    tick.state = LoopState { covered_ns: 1_000_000_000, ..LoopState::default() };
    tick
}

fn cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Take a run of these workers as the coordinator does, and check that nothing of it is lost.
fn record(simulated: Simulated) -> Cost {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    let mut readers: Vec<TickReader> = (0..simulated.workers).map(|_| TickReader::default()).collect();
    let (mut message, mut message_bytes, mut cpu, mut read) = (Vec::new(), 0, 0.0, Tick::default());
    for second in 0..simulated.seconds {
        message.clear();
        let kept = |part: &[u8]| {
            message.extend_from_slice(part);
            Ok::<(), ()>(())
        };
        tick::write(&second_of_loop(simulated, second), kept).unwrap();
        let before = cpu_s();
        for (process, reader) in readers.iter_mut().enumerate() {
            let worker = Instance { machine: 1, process: process as u16, loop_index: 0 };
            read.clear();
            assert!(reader.read(&message, worker, &mut read).unwrap(), "the tick has one part");
            writer.tick(&read).unwrap();
            message_bytes += message.len();
        }
        writer.flush().unwrap();
        cpu += cpu_s() - before;
    }
    let end = RunEnd::new(Ending::Completed, simulated.seconds - 1);
    writer.end(&end).unwrap();
    drop(writer);
    let file = Connection::open(&path).unwrap();
    let counted: i64 = file.query_row("SELECT sum(value) FROM counts", [], |row| row.get(0)).unwrap();
    let Simulated { workers, keys, seconds } = simulated;
    let expected = VALUES * u64::from(workers) * u64::from(keys / 2) * u64::from(seconds);
    assert_eq!(counted, expected as i64);
    Cost { message_bytes, file_bytes: fs::metadata(&path).unwrap().len(), cpu_s: cpu }
}

#[test]
fn what_is_sent_and_kept_grows_with_keys_and_no_faster_than_workers() {
    let of = |workers, keys| record(Simulated { workers, keys, seconds: 8 });
    let (base, more_workers, more_keys) = (of(5, 40), of(20, 40), of(5, 80));
    assert_eq!(more_workers.message_bytes, 4 * base.message_bytes);
    let growth = |more: u64, base: u64| more as f64 / base as f64;
    let sent = growth(more_keys.message_bytes as u64, base.message_bytes as u64);
    assert!((1.9..2.1).contains(&sent), "{sent}");
    let kept = growth(more_keys.file_bytes, base.file_bytes);
    assert!(kept < 2.1, "{kept}");
    // Keys are those of the run, whichever worker counted them; only the state of each loop is kept by itself.
    let kept = growth(more_workers.file_bytes, base.file_bytes);
    assert!(kept < 2.0, "{kept}");
}

/// Its figures are shown by `cargo test -p plimsoll --test it -- --nocapture cost_of_a_fleet`.
#[test]
#[allow(clippy::print_stdout, reason = "the figures of a fleet are read by people")]
fn cost_of_a_fleet() {
    for (workers, keys) in [(50, 20), (100, 20), (200, 20), (200, 40)] {
        let simulated = Simulated { workers, keys, seconds: 4 };
        let cost = record(simulated);
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        let worker_seconds = f64::from(workers) * f64::from(simulated.seconds);
        println!(
            "{workers} workers of {keys} keys: {:.1} µs of CPU and {:.0} bytes for each second of a worker, {:.1} KB of file a second; {peak}",
            cost.cpu_s * 1e6 / worker_seconds,
            cost.message_bytes as f64 / worker_seconds,
            cost.file_bytes as f64 / 1e3 / f64::from(simulated.seconds),
        );
        assert!(cost.file_bytes > 0);
    }
}
