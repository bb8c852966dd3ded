use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use evidence::KeyId;
use evidence::metric::{MetricId, MetricKind};
use plans::{Overrides, load};
use proptest::prelude::*;
use workload::FilesInMemory;

use super::*;
use crate::program::MetNames;

/// Of the plan, and those that all further names of a scenario are counted for.
const TAKEN: usize = 4;
const MOST: usize = 256;
const SCENARIOS: [&str; 2] = ["one", "two"];

fn program() -> Arc<Program> {
    let scenario = |name| {
        format!(
            "[[scenarios]]\nname = \"{name}\"\nexecutor = \"constant-vus\"\nvus = 1\nduration = \"1s\"\n\
             [[scenarios.steps]]\nname = \"planned\"\nget = \"http://127.0.0.1:1/\"\n"
        )
    };
    let files = FilesInMemory::one("plan.toml", format!("version = 1\n{}", SCENARIOS.map(scenario).concat()));
    let plan = load(Path::new("plan.toml"), &files, &|_| None, &Overrides::default()).unwrap();
    Arc::new(Program::compile(plan).unwrap())
}

/// A request of one loop.
#[derive(Debug, Clone, Copy)]
struct Met {
    of_loop: usize,
    scenario: usize,
    name: usize,
}

fn text(name: usize) -> String {
    if name == 0 { "planned".to_owned() } else { format!("/{name}") }
}

/// One process: what its loops share, and the names and keys that each has met.
struct Process {
    program: Arc<Program>,
    met: BTreeMap<usize, MetNames>,
    keys: BTreeMap<(usize, usize, Name), KeyId>,
}

impl Process {
    fn new() -> Process {
        Process { program: program(), met: BTreeMap::new(), keys: BTreeMap::new() }
    }

    /// The name that the request is counted for.
    fn name_of(&mut self, met: Met) -> Name {
        let names = self.met.entry(met.of_loop).or_default();
        let index = names.endpoint(&self.program.directory, ScenarioIndex(met.scenario), &text(met.name));
        self.program.directory.endpoint(index).name.clone()
    }

    /// Count it in the tick of its loop.
    fn count(&mut self, met: Met, tick: &mut Tick) {
        let name = self.name_of(met);
        let new = KeyId(self.keys.keys().filter(|(of_loop, ..)| *of_loop == met.of_loop).count() as u32);
        let id = *self.keys.entry((met.of_loop, met.scenario, name.clone())).or_insert_with(|| {
            let key = Key::of(Metric::Requests).scenario(SCENARIOS[met.scenario]).endpoint(&name);
            tick.new_keys.push((new, key));
            new
        });
        tick.add(id, 0, 1);
    }
}

type Sums = BTreeMap<(String, String), u64>;

/// What a recorder counts if workers of so many loops hand over a tick after each so many requests; and how many names were folded
/// in all.
fn over_workers(requests: &[Met], loops: usize, a_tick: usize) -> (Sums, u64) {
    let coordinator = program();
    let names = MergedNames::new(coordinator.clone());
    let mut workers: BTreeMap<usize, Process> = BTreeMap::new();
    let mut known: BTreeMap<(usize, KeyId), Key> = BTreeMap::new();
    let mut sums = Sums::new();
    for part in requests.chunks(a_tick) {
        let mut ticks: BTreeMap<usize, Tick> = BTreeMap::new();
        for met in part {
            let worker = workers.entry(met.of_loop / loops).or_insert_with(Process::new);
            worker.count(*met, ticks.entry(met.of_loop).or_default());
        }
        for (of_loop, mut tick) in ticks {
            names.fold(&mut tick);
            known.extend(tick.new_keys.iter().map(|(id, key)| ((of_loop, *id), key.clone())));
            for count in tick.counts() {
                let key = &known[&(of_loop, count.key)];
                *sums.entry((key.scenario.to_string(), key.endpoint.to_string())).or_default() += count.value;
            }
        }
    }
    workers.values().for_each(|worker| names.add_folded(&worker.program.folded_names()));
    (sums, coordinator.folded_endpoints())
}

fn requests(most_names: usize) -> impl Strategy<Value = Vec<Met>> {
    let met = (0..6_usize, 0..2_usize, 0..most_names);
    let met = met.prop_map(|(of_loop, scenario, name)| Met { of_loop, scenario, name });
    proptest::collection::vec(met, 1..1_500)
}

/// How often each name was requested.
fn requested(requests: &[Met]) -> Sums {
    let mut sums = Sums::new();
    for met in requests {
        *sums.entry((SCENARIOS[met.scenario].to_owned(), text(met.name))).or_default() += 1;
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn names_that_fit_are_those_of_one_process_over_any_number_of_workers(
        requests in requests((MOST - TAKEN) / 2),
        a_tick in 1..400_usize,
    ) {
        for loops in [1, 2, 3, 6] {
            prop_assert_eq!(over_workers(&requests, loops, a_tick), (requested(&requests), 0));
        }
    }

    #[test]
    fn past_the_limit_there_are_as_many_names_as_in_one_process_and_no_request_is_lost(
        requests in requests(400),
        a_tick in 1..400_usize,
    ) {
        let asked = requested(&requests);
        let mut one = Process::new();
        let in_one: BTreeSet<_> = requests.iter().map(|met| (met.scenario, one.name_of(*met))).collect();
        for loops in [1, 2, 3, 6] {
            let (sums, folded) = over_workers(&requests, loops, a_tick);
            prop_assert_eq!(sums.values().sum::<u64>(), requests.len() as u64);
            let own = |name: &&str| *name != "all other names";
            let own_of_one = in_one.iter().map(|(_, name)| &**name).filter(own).count();
            let own_names: Vec<_> = sums.keys().filter(|(_, name)| own(&name.as_str())).collect();
            prop_assert_eq!(own_names.len(), own_of_one);
            // A name that one worker has folded and another not is in both rows, and counts as folded.
            let whole = own_names.iter().filter(|name| sums[**name] == asked[**name]).count();
            prop_assert_eq!(folded as usize, asked.len() - whole);
            let names_of = |worker: usize| {
                let its = requests.iter().filter(|met| met.of_loop / loops == worker);
                its.map(|met| (met.scenario, met.name)).collect::<BTreeSet<_>>().len()
            };
            if (0..6).all(|worker| names_of(worker) <= MOST - TAKEN) {
                prop_assert_eq!(whole, own_names.len());
            }
        }
    }
}

fn metric(name: &str, tags: &[(&str, &str)], phase: &str) -> MetricKey {
    let tags = tags.iter().map(|(name, value)| (Name::from(*name), Name::from(*value))).collect();
    MetricKey { kind: MetricKind::Trend, name: name.into(), tags, phase: phase.into() }
}

/// What becomes of these metrics of one tick.
fn folded(names: &MergedNames, metrics: impl IntoIterator<Item = MetricKey>) -> Vec<MetricKey> {
    let mut tick = Tick::default();
    tick.metrics.new = metrics.into_iter().zip(0..).map(|(key, id)| (MetricId(id), key)).collect();
    names.fold(&mut tick);
    tick.metrics.new.into_iter().map(|(_, key)| key).collect()
}

#[test]
fn metrics_of_all_workers_have_the_limit_of_one_process() {
    let names = MergedNames::new(program());
    let of_worker = |worker: usize| {
        let name = move |n: usize| metric("took", &[("url", &format!("{worker}/{n}"))], "all");
        (0..600).map(name).collect::<Vec<_>>()
    };
    assert_eq!(folded(&names, of_worker(0)), of_worker(0));
    let second = folded(&names, of_worker(1));
    let own = crate::metrics::METRICS_LIMIT - 600;
    assert_eq!(second[..own], of_worker(1)[..own]);
    assert!(second[own..].iter().all(|key| *key == metric(MetricKey::FOLDED, &[], "all")));
    // Also where a worker has folded it itself, and in another phase.
    let again = [metric(MetricKey::FOLDED, &[], "all"), metric("took", &[("url", "0/3")], "late")];
    assert_eq!(folded(&names, again.clone()), again);
}

#[test]
fn groups_past_the_limit_still_belong_to_their_metric() {
    let names = MergedNames::new(program());
    let groups = |worker: usize| {
        (0..600).map(move |n| metric("took", &[("group", &format!("::{worker}/{n}"))], "all"))
    };
    folded(&names, groups(0));
    let second = folded(&names, groups(1));
    assert_eq!(second[599], metric("took", &[("group", "::(other)")], "all"));
}

#[test]
fn checks_of_all_workers_have_the_limit_of_one_process() {
    let names = MergedNames::new(program());
    let mut tick = Tick::default();
    let check = |n: u32| Key::of(Metric::CheckPassed).scenario("one").tag(Key::CHECK, &format!("check {n}"));
    tick.new_keys = (0..300).map(|n| (KeyId(n), check(n))).collect();
    names.fold(&mut tick);
    let kept: BTreeSet<_> = tick.new_keys.iter().map(|(_, key)| key.tags[Key::CHECK].to_string()).collect();
    assert_eq!(kept.len(), MOST + 1);
    assert_eq!(&*tick.new_keys[299].1.tags[Key::CHECK], "all other names");
}
