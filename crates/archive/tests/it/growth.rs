//! How many bytes a second of a run takes.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;

use archive::{Overwrite, Writer};
use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind, MetricTick};
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Instant, Key, KeyId, Metric, Observed, Outcome, Sample, SeriesKey, Sink, Tick};
use rusqlite::Connection;

use crate::sample::{completed, empty_tick, manifest};

/// Spread-out numbers; the same ones every time.
struct Scattered(u64);

impl Scattered {
    /// The next number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// From 0 to 1.
    fn share(&mut self) -> f64 {
        self.next() as f64 / f64::from(1u32 << 31)
    }

    /// Times as services have them: logarithms of them are normally distributed, with this deviation.
    fn around_us(&mut self, middle: f64, deviation: f64) -> f64 {
        // A sum of four has a third of a normal deviation's square.
        let normal = ((0..4).map(|_| self.share()).sum::<f64>() - 2.0) * 3_f64.sqrt();
        middle * (normal * deviation).exp()
    }
}

/// A second of a run at 500 requests a second: 20 histograms of 25 values, spread over two decades, and
/// as many counters, two scenarios and twelve observed series.
fn busy_second(second: u32, scattered: &mut Scattered) -> Tick {
    let mut tick = empty_tick(0, second);
    for key in 0..20u32 {
        let endpoint = format!("endpoint {key}");
        let (time, count) = (KeyId(key), KeyId(20 + key));
        if second == 0 {
            let of = |metric| Key::of(metric).scenario("play").endpoint(&endpoint).phase("steady");
            tick.new_keys.push((time, of(Metric::ResponseTime).outcome(Outcome::Ok)));
            tick.new_keys.push((count, of(Metric::BytesIn)));
        }
        for _ in 0..25 {
            tick.record_ns(time, (300_000.0 * 10f64.powf(2.0 * scattered.share())) as u64);
        }
        tick.add(count, second, 20_000 + scattered.next() % 1_000);
    }
    add_state(&mut tick, scattered);
    tick
}

/// What is known of a loop in each second.
fn add_state(tick: &mut Tick, scattered: &mut Scattered) {
    tick.state = LoopState {
        in_flight_mean: scattered.next() as f64 / 7.0,
        cpu_ns: 1,
        covered_ns: 1_000_000_000,
        ..LoopState::default()
    };
    for scenario in ["play", "progress"] {
        let active_mean = scattered.next() as f64 / 3.0;
        let scenario = scenario.into();
        tick.scenarios.push(ScenarioState { scenario, active_mean, active_max: 9, cap: 99, at_cap: 0.0 });
    }
}

/// What is seen of a target and of the generator in each second.
fn observed(second: u32, scattered: &mut Scattered) -> Observed {
    let at = Instant::from_nanos(u64::from(second) * 1_000_000_000 + 123_456_789);
    let mut observed = Observed::default();
    for name in ["cpu", "rss", "threads", "fds", "ctx_voluntary", "ctx_involuntary"] {
        for target in ["challenge", SeriesKey::GENERATOR] {
            let value = scattered.next() as f64 / 11.0;
            observed.samples.push((SeriesKey::new(name, target, "1"), Sample { at, value }));
        }
    }
    observed
}

/// A run whose seconds are these. The bytes of its file when each of `at` was written, and at its end.
fn growth<const N: usize>(
    at: [u32; N],
    seconds: u32,
    mut tick: impl FnMut(u32, &mut Scattered) -> Tick,
) -> ([u64; N], u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let mut writer = Writer::create(&path, &manifest(), Overwrite::Refuse).unwrap();
    let (mut scattered, mut sizes) = (Scattered(1), [0; N]);
    for second in 0..seconds {
        writer.tick(&tick(second, &mut scattered)).unwrap();
        writer.observed(&observed(second, &mut scattered)).unwrap();
        writer.flush().unwrap();
        if let Some(nth) = at.iter().position(|at| *at == second + 1) {
            let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
            let bytes: u32 = Connection::open(&path).unwrap().query_row(size, [], |row| row.get(0)).unwrap();
            sizes[nth] = bytes.into();
        }
    }
    writer.end(&completed(seconds - 1)).unwrap();
    (sizes, fs::metadata(&path).unwrap().len())
}

#[test]
fn twenty_active_keys_take_at_most_ten_kilobytes_a_second() {
    const SECONDS: u32 = 600;
    let ([], bytes) = growth([], SECONDS, busy_second);
    let bytes_a_second = bytes / u64::from(SECONDS);
    assert!(bytes_a_second <= 10_000, "{bytes_a_second} bytes a second");
}

/// What a script of ten groups, each with one request and one check, adds to metrics: of each group those that k6 has of a
/// request, and of its iterations two.
#[derive(Default)]
struct ScriptMetrics(HashMap<(&'static str, Option<usize>), MetricHandle>);

const GROUPS: Range<usize> = 0..10;
/// Iterations a second, each of a request in each group.
const ITERATIONS: usize = 100;
/// The times of a request over an open connection, in microseconds, with their deviation: all but the wait as they are on
/// loopback.
const PARTS: [(&str, f64, f64); 4] = [
    ("http_req_blocked", 6.0, 0.5),
    ("http_req_sending", 14.5, 0.5),
    ("http_req_waiting", 3_000.0, 0.4),
    ("http_req_receiving", 6.0, 1.1),
];

impl ScriptMetrics {
    fn add(&mut self, tick: &mut Tick, kind: MetricKind, of: (&'static str, Option<usize>), value: f64) {
        let next = MetricId(self.0.len() as u32);
        let handle = *self.0.entry(of).or_insert_with(|| {
            let (name, group) = of;
            let group = group.map(|group| ("group".into(), format!("::group {group}").as_str().into()));
            let tags = group.into_iter().chain([("scenario".into(), "a".into())]).collect();
            tick.metrics.new.push((next, MetricKey { kind, name: name.into(), tags, phase: "load".into() }));
            MetricHandle { id: next, kind }
        });
        let at = Instant::from_nanos(u64::from(tick.second) * 1_000_000_000);
        tick.metrics.add(handle, value, at);
    }

    fn add_request(&mut self, tick: &mut Tick, group: usize, scattered: &mut Scattered) -> f64 {
        let of_group = Some(group);
        let ns = |us: f64| (us * 1e3).round() / 1e6;
        let parts = PARTS.map(|(name, middle, deviation)| (name, ns(scattered.around_us(middle, deviation))));
        for (name, value) in parts {
            self.add(tick, MetricKind::Trend, (name, of_group), value);
        }
        for name in ["http_req_connecting", "http_req_tls_handshaking"] {
            self.add(tick, MetricKind::Trend, (name, of_group), 0.0);
        }
        let duration: f64 = parts[1..].iter().map(|(_, value)| value).sum();
        self.add(tick, MetricKind::Trend, ("http_req_duration", of_group), duration);
        let took = duration + parts[0].1 + scattered.around_us(80.0, 0.5) / 1e3;
        self.add(tick, MetricKind::Trend, ("group_duration", of_group), took);
        for (kind, name, value) in [
            (MetricKind::Counter, "http_reqs", 1.0),
            (MetricKind::Rate, "http_req_failed", 0.0),
            (MetricKind::Rate, "checks", 1.0),
            (MetricKind::Counter, "data_sent", 96.0),
            (MetricKind::Counter, "data_received", 1_340.0),
        ] {
            self.add(tick, kind, (name, of_group), value);
        }
        took
    }
}

/// A second of that script at 1,000 requests a second: besides its metrics the histograms of each group's requests and of
/// iterations, and the counters of both.
fn second_of_script(second: u32, script: &mut ScriptMetrics, scattered: &mut Scattered) -> Tick {
    const OF_GROUP: u32 = 12;
    let mut tick = empty_tick(0, second);
    for group in GROUPS {
        let of = |metric| Key::of(metric).scenario("a").endpoint(&format!("page {group}")).phase("load");
        let first = group as u32 * OF_GROUP;
        let times = [Metric::ResponseTime, Metric::ServiceTime];
        let counts = [
            Metric::Requests,
            Metric::Results,
            Metric::BytesIn,
            Metric::BytesOut,
            Metric::BlockedNs,
            Metric::ConnectingNs,
            Metric::SendingNs,
            Metric::WaitingNs,
            Metric::ReceivingNs,
            Metric::CheckPassed,
        ];
        if second == 0 {
            let times = times.map(|metric| of(metric).outcome(Outcome::Ok)).into_iter();
            let keys = times.chain(counts.map(of));
            tick.new_keys.extend((first..).map(KeyId).zip(keys));
        }
        for _ in 0..ITERATIONS {
            let took_ms = script.add_request(&mut tick, group, scattered);
            (first..first + 2).for_each(|key| tick.record_ns(KeyId(key), (took_ms * 1e6) as u64));
        }
        for key in first + 2..first + OF_GROUP {
            let value = if key < first + 4 { ITERATIONS as u64 } else { scattered.next() };
            tick.add(KeyId(key), second, value);
        }
    }
    let first = GROUPS.end as u32 * OF_GROUP;
    let of_load = [Metric::IterationTime, Metric::StartLag, Metric::LoopStall]
        .map(|metric| Key::of(metric).phase("load"));
    let counts = [Metric::Scheduled, Metric::Started, Metric::IterationsDone]
        .map(|metric| Key::of(metric).phase("load"));
    if second == 0 {
        tick.new_keys.extend((first..).map(KeyId).zip(of_load.into_iter().chain(counts)));
    }
    for _ in 0..ITERATIONS {
        let took_us = scattered.around_us(35_000.0, 0.2);
        tick.record_ns(KeyId(first), (took_us * 1e3) as u64);
        script.add(&mut tick, MetricKind::Trend, ("iteration_duration", None), took_us / 1e3);
        script.add(&mut tick, MetricKind::Counter, ("iterations", None), 1.0);
        tick.record_ns(KeyId(first + 1), (scattered.around_us(80.0, 0.5) * 1e3) as u64);
        (0..20).for_each(|_| tick.record_ns(KeyId(first + 2), (scattered.around_us(40.0, 0.8) * 1e3) as u64));
    }
    (first + 3..first + 6).for_each(|key| tick.add(KeyId(key), second, ITERATIONS as u64));
    add_state(&mut tick, scattered);
    tick
}

/// A second of a plan with ten steps at 1,000 requests a second: as of the script, without metrics.
fn second_of_plan(second: u32, scattered: &mut Scattered) -> Tick {
    let mut tick = second_of_script(second, &mut ScriptMetrics::default(), scattered);
    tick.metrics = MetricTick::default();
    tick
}

#[test]
fn a_day_of_a_plan_at_a_thousand_requests_a_second_takes_at_most_a_gigabyte() {
    let ([first, second], _) = growth([600, 1_200], 1_200, second_of_plan);
    let a_day = first + 143 * (second - first);
    assert!(a_day <= 1_000_000_000, "{} bytes a second of a day", a_day / 86_400);
}

#[test]
fn ten_groups_of_a_script_take_at_most_fifteen_kilobytes_a_second() {
    let mut script = ScriptMetrics::default();
    let tick = |second, scattered: &mut Scattered| second_of_script(second, &mut script, scattered);
    let ([first, second], _) = growth([600, 1_200], 1_200, tick);
    let each_further = second - first;
    let an_hour = first + 5 * each_further;
    let a_day = first + 143 * each_further;
    assert!(an_hour <= 3_600 * 15_000, "{} bytes a second of an hour", an_hour / 3_600);
    assert!(a_day <= 1_500_000_000, "{} bytes a second of a day", a_day / 86_400);
}
