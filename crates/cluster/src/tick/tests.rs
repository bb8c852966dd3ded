use std::time::Duration;

use evidence::exemplar::ExemplarKind;
use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind, MetricSums};
use evidence::tick::{LoopState, ScenarioState};
use evidence::{Exemplar, Histogram, Instance, Instant, Key, KeyId, Metric, Name, Outcome, Tick};
use proptest::prelude::*;

use crate::ClusterError;

use super::*;

fn exemplar() -> Exemplar {
    Exemplar {
        kind: ExemplarKind::Failed,
        scenario: "play".into(),
        endpoint: "list".into(),
        phase: "steady".into(),
        outcome: Outcome::Timeout,
        due: Instant::at(Duration::from_millis(1_500)),
        response_time_ns: 30_000_000_000,
        service_time_ns: 0,
        request: "GET http://127.0.0.1/".to_owned(),
        request_headers: vec![("accept".to_owned(), "*/*".to_owned())],
        request_body: String::new(),
        status: Some(503),
        response_headers: Vec::new(),
        response_body: "späť".to_owned(),
        detail: "no complete response".to_owned(),
        trace_id: None,
    }
}

fn key(metric: Metric) -> Key {
    let key = Key::of(metric).scenario("play").endpoint("list").phase("steady").tag("a", "b");
    key.outcome(Outcome::Ok).instance(Instance { machine: 0, process: 2, loop_index: 1 })
}

/// A tick with something of everything.
fn tick(times_ns: &[u64], counts: &[(u32, u64)], values: &[f64]) -> Tick {
    let mut tick = Tick::default();
    tick.instance.loop_index = 1;
    tick.second = 7;
    tick.is_last = true;
    tick.new_keys = vec![(KeyId(0), key(Metric::ResponseTime)), (KeyId(1), key(Metric::Scheduled))];
    tick.state =
        LoopState { in_flight: 3, covered_ns: 1_000_000_000, script_cpu_ns: Some(0), ..LoopState::default() };
    let scenario = Name::from("play");
    tick.scenarios.push(ScenarioState { scenario, active_mean: 1.5, active_max: 3, cap: 10, at_cap: 0.25 });
    times_ns.iter().for_each(|ns| tick.record_ns(KeyId(0), *ns));
    counts.iter().for_each(|(second, value)| tick.add(KeyId(1), *second, *value));
    let kind = MetricKind::Trend;
    let (name, phase) = (Name::from("waits"), Name::from("steady"));
    tick.metrics
        .new
        .push((MetricId(0), MetricKey { kind, name, tags: [("k".into(), "v".into())].into(), phase }));
    for value in values {
        tick.metrics.add(MetricHandle { id: MetricId(0), kind }, *value, Instant::from_nanos(5));
    }
    tick.exemplars.push(exemplar());
    tick
}

fn parts(tick: &Tick) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    write::<()>(tick, |part| {
        parts.push(part.to_vec());
        Ok(())
    })
    .unwrap();
    parts
}

/// The only part of a small tick.
fn whole(tick: &Tick) -> Vec<u8> {
    let [part] = parts(tick).try_into().unwrap();
    part
}

fn read(reader: &mut TickReader, part: &[u8], worker: Instance) -> Result<Tick, ClusterError> {
    let mut tick = Tick::default();
    assert!(reader.read(part, worker, &mut tick)?, "the tick has further parts");
    Ok(tick)
}

fn same(a: &Tick, b: &Tick) {
    let parts = |t: &Tick| {
        let histograms: std::collections::BTreeMap<_, _> =
            t.histograms().map(|(key, h)| (key, h.to_v2())).collect();
        let mut counts: Vec<_> = t.counts().to_vec();
        counts.sort_by_key(|count| (count.key, count.second));
        let sums: Vec<_> = t.metrics.sums().into_iter().map(|(id, sums)| (id, sums.clone())).collect();
        (histograms, counts, sums)
    };
    assert_eq!((a.second, a.is_last, a.state), (b.second, b.is_last, b.state));
    assert_eq!(
        (&a.new_keys, &a.scenarios, &a.metrics.new, &a.exemplars),
        (&b.new_keys, &b.scenarios, &b.metrics.new, &b.exemplars)
    );
    assert_eq!(parts(a), parts(b));
}

proptest! {
    #[test]
    fn a_tick_is_read_as_it_was_written(
        times_ns in proptest::collection::vec(0_u64..4_000_000_000_000, 0..40),
        counts in proptest::collection::vec((0_u32..9, 0_u64..1 << 40), 0..20),
        values in proptest::collection::vec(-1e9_f64..1e9, 0..20),
    ) {
        let tick = tick(&times_ns, &counts, &values);
        let message = whole(&tick);
        let worker = Instance { machine: 4, process: 2, loop_index: 0 };
        let received = read(&mut TickReader::default(), &message, worker).unwrap();
        same(&tick, &received);
        prop_assert_eq!(received.instance, Instance { loop_index: 1, ..worker });
        for cut in 0..message.len() {
            prop_assert!(TickReader::default().read(&message[..cut], worker, &mut Tick::default()).is_err());
        }
    }
}

proptest! {
    /// Whichever worker measures a time or adds a value, the sums are those of one recorder that saw them all.
    #[test]
    fn what_workers_measured_is_merged_as_if_one_had_measured_it(
        times in proptest::collection::vec((0_usize..6, 0_u64..4_000_000_000_000), 0..200),
        values in proptest::collection::vec((0_usize..6, -1_000_000_i32..1_000_000), 0..100),
    ) {
        let mut one = Histogram::new();
        times.iter().for_each(|(_, ns)| one.record_ns(*ns));
        let mut sums = MetricSums::default();
        for (_, value) in &values {
            sums.add(MetricKind::Trend, f64::from(*value) / 64.0, Instant::from_nanos(5));
        }
        let (mut merged, mut merged_sums) = (Histogram::new(), MetricSums::default());
        for worker in 0..6 {
            let own = |of: &usize| *of == worker;
            let times: Vec<u64> = times.iter().filter(|(of, _)| own(of)).map(|(_, ns)| *ns).collect();
            let values = values.iter().filter(|(of, _)| own(of)).map(|(_, value)| f64::from(*value) / 64.0);
            let message = whole(&tick(&times, &[], &values.collect::<Vec<_>>()));
            let received = read(&mut TickReader::default(), &message, Instance::default()).unwrap();
            received.histograms().for_each(|(_, times)| merged.merge(times));
            received.metrics.sums().into_iter().for_each(|(_, sums)| merged_sums.merge(sums));
        }
        prop_assert_eq!(merged.to_v2(), one.to_v2());
        // Sixty-fourths are added exactly; which value came last at one instant only their order says.
        merged_sums.last = sums.last;
        prop_assert_eq!(merged_sums, sums);
    }
}

#[test]
fn keys_are_announced_once_and_known_later() {
    let first = whole(&tick(&[5_000], &[(7, 1)], &[1.0]));
    let mut later = tick(&[6_000], &[(8, 2)], &[]);
    (later.new_keys, later.metrics.new) = (Vec::new(), Vec::new());
    let second = whole(&later);
    let worker = Instance::default();
    assert!(read(&mut TickReader::default(), &second, worker).is_err());
    let mut reader = TickReader::default();
    read(&mut reader, &first, worker).unwrap();
    same(&later, &read(&mut reader, &second, worker).unwrap());
    assert_eq!(reader.known_keys(), 2);
}

#[test]
fn a_key_of_another_shape_is_refused() {
    let mut tick = Tick::default();
    tick.new_keys = vec![(KeyId(0), key(Metric::Scheduled))];
    tick.record_ns(KeyId(0), 5);
    let refused = read(&mut TickReader::default(), &whole(&tick), Instance::default());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "what it sent is not understood: key 0 was not announced for this"
    );
}

/// What a loop hands over after its recorder took nothing for half a minute.
fn folded_tick(endpoints: u32, counters: u32, seconds: u32) -> Tick {
    let mut tick = tick(&[], &[], &[1.0]);
    tick.new_keys.clear();
    let keys = (0..endpoints * counters).map(KeyId);
    for id in keys.clone() {
        tick.new_keys.push((id, key(Metric::Scheduled).endpoint(&format!("/endpoint/{}", id.0 / counters))));
    }
    for second in 0..seconds {
        keys.clone().for_each(|id| tick.add(id, second, 1));
        tick.exemplars.extend((0..2_000).map(|_| exemplar()));
    }
    tick
}

#[test]
fn a_tick_that_covers_half_a_minute_of_many_endpoints_is_read_from_several_parts() {
    let folded = folded_tick(256, 10, 30);
    let sent = parts(&folded);
    assert!(sent.len() > 5 && sent.iter().all(|part| part.len() < 2 * PART_BYTES), "{}", sent.len());
    let (mut reader, mut received) = (TickReader::default(), Tick::default());
    let last = sent.len() - 1;
    for (index, part) in sent.iter().enumerate() {
        assert_eq!(reader.read(part, Instance::default(), &mut received).unwrap(), index == last);
    }
    same(&folded, &received);
    // The next tick begins anew.
    read(&mut reader, &whole(&Tick::default()), Instance::default()).unwrap();
}

#[test]
fn a_histogram_that_comes_twice_is_refused_also_in_another_part() {
    let mut tick = Tick::default();
    tick.new_keys = vec![(KeyId(0), key(Metric::ResponseTime))];
    tick.record_ns(KeyId(0), 5);
    let mut first = whole(&tick);
    tick.new_keys.clear();
    let second = whole(&tick);
    // The first part now ends where its tick did.
    let end = whole(&Tick::default()).len() - 1;
    first.truncate(first.len() - end);
    first.extend(postcard::to_stdvec(&Item::GoesOn).unwrap());
    let (mut reader, mut received) = (TickReader::default(), Tick::default());
    assert!(!reader.read(&first, Instance::default(), &mut received).unwrap());
    assert!(reader.read(&second, Instance::default(), &mut received).is_err());
}
