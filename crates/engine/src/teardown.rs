//! What a run's teardown has counted, as one more tick of the run.

use evidence::{Instance, Key, KeyId, Tick};

/// What the one iteration of these ticks has counted of its requests, and added to metrics, as the run's teardown in this
/// second: in no phase of the load, and from no loop of it. The iteration itself is not load.
pub fn teardown_tick(ticks: Vec<Tick>, second: u32) -> Tick {
    let mut all = Tick::default();
    (all.instance, all.second, all.is_last) = (Instance::TEARDOWN, second, true);
    for tick in ticks {
        let of_requests = tick.new_keys.iter().filter(|(_, key)| !key.endpoint.is_empty());
        all.new_keys.extend(of_requests.map(|(id, key)| {
            let name = || Key::TEARDOWN.into();
            (*id, Key { scenario: name(), phase: name(), ..key.clone() })
        }));
        let is_known = |all: &Tick, id: KeyId| all.new_keys.iter().any(|(known, _)| *known == id);
        for (id, times) in tick.histograms().filter(|(id, _)| is_known(&all, *id)).collect::<Vec<_>>() {
            all.merge(id, times);
        }
        for count in tick.counts() {
            if is_known(&all, count.key) {
                all.add(count.key, second, count.value);
            }
        }
        for (id, sums) in tick.metrics.sums() {
            all.metrics.merge(id, sums);
        }
        let metrics = tick.metrics.new.into_iter();
        all.metrics.new.extend(metrics.map(|(id, mut key)| {
            key.phase = Key::TEARDOWN.into();
            (id, key)
        }));
    }
    all
}
