//! Whatever ticks come, the file answers as a run held in memory does.

use std::collections::HashMap;

use archive::{Overwrite, Stored, Writer};
use evidence::key::Shape;
use evidence::memory::MemoryRun;
use evidence::metric::{MetricHandle, MetricId, MetricKind};
use evidence::{
    Instance, Instant, Key, KeyId, Metric, Observed, Outcome, Run, Sample, SeriesKey, Sink, Tick,
};
use proptest::prelude::*;

use crate::sample::{completed, empty_tick, manifest, metrics, slow};

/// One thing that a loop notes: of which key, how much, how many seconds ago.
type Note = (usize, u64, u32);

fn pool() -> Vec<Key> {
    let mut keys: Vec<Key> = Metric::ALL.map(|metric| Key::of(metric).phase("steady")).to_vec();
    keys.push(Key::of(Metric::ResponseTime).endpoint("list").outcome(Outcome::Timeout));
    keys.extend([0, 1].map(|index| Key::of(Metric::LoopStall).instance(Instance::of_loop(index))));
    keys.push(Key::of(Metric::CheckFailed).endpoint("list").tag("check", "é"));
    keys
}

/// For two loops: the notes of each second.
fn seconds() -> impl Strategy<Value = Vec<[Vec<Note>; 2]>> {
    let note = (0..pool().len(), 0..5_000_000_000u64, 0..3u32);
    let notes = || prop::collection::vec(note.clone(), 0..12);
    prop::collection::vec([notes(), notes()], 0..8)
}

/// The tick of one loop, which announces each key when it first uses it.
fn tick_of(place: (u16, u32), notes: &[Note], known: &mut HashMap<(u16, usize), KeyId>) -> Tick {
    let (loop_index, second) = place;
    let mut tick = empty_tick(loop_index, second);
    let keys = pool();
    for (key, amount, ago) in notes {
        let number = known.keys().filter(|(of, _)| *of == loop_index).count() as u32;
        let id = *known.entry((loop_index, *key)).or_insert_with(|| {
            tick.new_keys.push((KeyId(number), keys[*key].clone()));
            KeyId(number)
        });
        match keys[*key].metric.shape() {
            Shape::Histogram => tick.record_ns(id, *amount),
            Shape::Counter => tick.add(id, second.saturating_sub(*ago), *amount),
        }
    }
    if second == 0 {
        // Each loop has numbers of its own.
        let order = [loop_index, 1 - loop_index].map(usize::from);
        tick.metrics.new =
            order.map(|at| MetricId(at as u32)).into_iter().zip(metrics()[2..].iter().cloned()).collect();
    }
    for (_, amount, ago) in notes {
        let at = Instant::from_nanos(u64::from(second) * 1_000_000_000 + amount % 1_000);
        let kind = if u16::from(*ago == 0) == loop_index { MetricKind::Rate } else { MetricKind::Trend };
        let number = u16::from(kind == MetricKind::Trend) ^ loop_index;
        tick.metrics.add(MetricHandle { id: MetricId(number.into()), kind }, *amount as f64 - 1e9, at);
    }
    tick.state.in_flight_mean = f64::from(second) / 3.0;
    tick.state.covered_ns = 1_000_000_000;
    if second == 1 {
        tick.exemplars.push(evidence::Exemplar { phase: format!("{loop_index}").as_str().into(), ..slow(5) });
    }
    tick
}

fn feed(sinks: &mut [&mut dyn Sink], run: &[[Vec<Note>; 2]]) {
    let mut known = HashMap::new();
    let rss = SeriesKey::new("rss", "challenge", "bytes");
    for (second, loops) in run.iter().enumerate() {
        for (loop_index, notes) in loops.iter().enumerate() {
            let tick = tick_of((loop_index as u16, second as u32), notes, &mut known);
            sinks.iter_mut().for_each(|sink| sink.tick(&tick).unwrap());
        }
        // Taken at the end of the second, and the last one after the end of the run.
        let at = Instant::from_nanos((second as u64 + 1) * 1_000_000_142);
        let sample = Sample { at, value: second as f64 };
        let seen = Observed { samples: vec![(rss.clone(), sample)], ..Observed::default() };
        sinks.iter_mut().for_each(|sink| sink.observed(&seen).unwrap());
        if second % 3 == 0 {
            sinks.iter_mut().for_each(|sink| sink.flush().unwrap());
        }
    }
    sinks.iter_mut().for_each(|sink| sink.flush().unwrap());
}

fn assert_same(stored: &Stored, memory: &MemoryRun, windows: &[(u32, u32)]) {
    assert_eq!((stored.manifest(), stored.end()), (memory.manifest(), memory.end()));
    assert_eq!((stored.seconds(), stored.keys()), (memory.seconds(), memory.keys()));
    assert_eq!(stored.recorded(), memory.recorded());
    assert_eq!(stored.series(), memory.series());
    assert_eq!(stored.metrics(), memory.metrics());
    assert_eq!(stored.exemplars().unwrap(), memory.exemplars().unwrap());
    let windows =
        windows.iter().map(|(from, length)| *from..from + length).chain([memory.whole(), 0..u32::MAX]);
    for window in windows {
        for (id, _) in memory.keys() {
            let window = || window.clone();
            assert_eq!(
                sparse(&stored.histogram(*id, window()).unwrap()),
                sparse(&memory.histogram(*id, window()).unwrap())
            );
            let each = |run: &dyn Run| {
                let found = run.histograms(*id, window()).unwrap();
                found.iter().map(|(second, h)| (*second, sparse(h))).collect::<Vec<_>>()
            };
            assert_eq!(each(stored), each(memory));
            assert_eq!(stored.counts(*id, window()).unwrap(), memory.counts(*id, window()).unwrap());
            assert_eq!(stored.total(*id).unwrap(), memory.total(*id).unwrap());
        }
        for (id, _) in memory.metrics() {
            let answer = |run: &dyn Run| run.metric(*id, window.clone()).unwrap();
            assert_eq!(answer(stored), answer(memory));
        }
        for series in memory.series() {
            let answer = |run: &dyn Run| run.samples(series, window.clone()).unwrap();
            assert_eq!(answer(stored), answer(memory));
        }
    }
}

/// A histogram's content, whatever order its pages came in.
fn sparse(histogram: &evidence::Histogram) -> Vec<(u64, u64, u64)> {
    histogram.buckets().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_and_memory_answer_alike(run in seconds(), windows in prop::collection::vec((0..9u32, 0..9u32), 3)) {
        let folder = tempfile::tempdir().unwrap();
        let [killed, sealed] = ["killed", "sealed"].map(|name| folder.path().join(name));
        let [mut first, mut second] = [&killed, &sealed]
            .map(|path| Writer::create(path, &manifest(), Overwrite::Refuse).unwrap());
        let mut memory = MemoryRun::new(manifest());
        feed(&mut [&mut first, &mut second, &mut memory], &run);
        drop(first);
        assert_same(&Stored::open(&killed).unwrap(), &memory, &windows);
        let end = completed(run.len() as u32);
        second.end(&end).unwrap();
        drop(second);
        memory.finish(end);
        assert_same(&Stored::open(&sealed).unwrap(), &memory, &windows);
    }
}
