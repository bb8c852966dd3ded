//! Processor profiles of random slots: which pairs have them and when, and the time of a request in each function.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use conduct::failure::{CommandResult, Failure};
use evidence::run::completed;
use evidence::{CostPlace, Profile, ProfileKind, Run};
use judge::experiment::Cost;
use workload::Workload;
use workload::draw::mix;
use workload::experiment::Design;
use workload::observation::{Mark, ProfileMark};

/// The longest profile that is not asked for.
const LONGEST: Duration = Duration::from_secs(30);
const NANOS_A_MS: f64 = 1e6;

/// The profile of both runs of pair `number`, from 1; none where it has none.
pub(crate) fn mark(design: &Design, workload: &Workload, number: u32) -> Option<ProfileMark> {
    let asked = design.profiles.as_ref()?;
    if !is_sampled(design.seed, number, asked.share) {
        return None;
    }
    let phase = workload.phases.iter().max_by_key(|phase| phase.end - phase.start)?;
    // A window that ends with the run is not over before it.
    let run_end = workload.phases.last()?.end.as_secs();
    let (from, to) =
        (phase.start.as_secs_f64().ceil() as u64, phase.end.as_secs().min(run_end - run_end.min(1)));
    let length = asked.length.unwrap_or(((phase.end - phase.start) / 2).min(LONGEST));
    let length_s = length.as_secs().clamp(1, to.saturating_sub(from).max(1));
    let slack = to.saturating_sub(from + length_s);
    let begin = from + mix(mix(design.seed ^ 0x7361_6d70_6c65).wrapping_add(number.into())) % (slack + 1);
    Some(ProfileMark {
        at: Mark::At(Duration::from_secs(begin)),
        kinds: vec![ProfileKind::Cpu],
        target: asked.target.clone(),
        length: Duration::from_secs(length_s),
    })
}

/// Whether a pair is one of this share of all: evenly spread, from a random one on.
fn is_sampled(seed: u64, number: u32, share: f64) -> bool {
    let offset = mix(seed ^ 0x0073_6861_7265) as f64 / u64::MAX as f64;
    let until = |pairs: u32| (f64::from(pairs) * share + offset).floor();
    until(number) > until(number - 1)
}

/// A function: milliseconds of a request, and the number of samples that it is made of.
type FunctionTime = (f64, f64);

/// The time of a request in each function, on both sides; nothing where one of them has no profile.
pub(crate) fn costs(sides: [&dyn Run; 2]) -> CommandResult<Vec<Cost>> {
    let [a, b] = sides.map(functions);
    let (Some(a), Some(b)) = (a?, b?) else { return Ok(Vec::new()) };
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let cost = |name: &String| {
        let [a, b] = [&a, &b].map(|side| side.get(name).copied().unwrap_or_default());
        Cost { place: CostPlace::Function, name: name.clone(), ms: [a.0, b.0], samples: Some([a.1, b.1]) }
    };
    Ok(names.into_iter().map(cost).collect())
}

/// The functions of all processor profiles of a run; none where it has none, or no request ended in their windows.
fn functions(run: &dyn Run) -> CommandResult<Option<BTreeMap<String, FunctionTime>>> {
    let profiles = run.profiles().map_err(Failure::own)?;
    let (mut functions, mut requests) = (BTreeMap::<String, FunctionTime>::new(), 0_u64);
    for profile in profiles.iter().filter(|profile| profile.kind == ProfileKind::Cpu) {
        let window = profile.begin.second()..profile.end.second();
        let done = completed(run, &window).map_err(Failure::own)?;
        // One that cannot be read is as good as none: the target sent it.
        let Some(rows) = rows(profile) else { continue };
        requests += done.iter().map(|row| row.ok + row.failed).sum::<u64>();
        for row in rows {
            let (ms, samples) = functions.entry(row.name).or_default();
            *ms += row.flat as f64 / NANOS_A_MS;
            *samples += row.samples.unwrap_or_default();
        }
    }
    if requests == 0 || functions.is_empty() {
        return Ok(None);
    }
    functions.values_mut().for_each(|(ms, _)| *ms /= requests as f64);
    Ok(Some(functions))
}

fn rows(captured: &Profile) -> Option<Vec<profile::Row>> {
    let read = profile::read(&captured.bytes).ok()?;
    let options = profile::ViewOptions { sample_type: Some("cpu"), focus: None };
    let view = profile::View::new(&read, options).ok()?;
    let all = profile::TopOptions { most: usize::MAX, least_share: 0.0, ..profile::TopOptions::default() };
    let is_time = view.value_type().unit == "nanoseconds";
    is_time.then(|| profile::top(&view, all).rows)
}

#[cfg(test)]
mod tests {
    use workload::experiment::SlotProfiles;
    use workload::model::Phase;

    use super::*;

    /// A workload of a warm-up of 3 s and a phase up to second 20.
    fn workload() -> Workload {
        let phase = |name: &str, start, end| Phase {
            name: name.to_owned(),
            start: Duration::from_secs(start),
            end: Duration::from_secs(end),
        };
        Workload { phases: vec![phase("warm-up", 0, 3), phase("steady", 3, 20)], ..Workload::named("test") }
    }

    #[test]
    fn a_profile_lies_in_the_longest_phase_and_ends_before_the_run() {
        let profiles = SlotProfiles { target: "api".to_owned(), length: None, share: 1.0 };
        let design = Design { profiles: Some(profiles), ..Design::default() };
        let mut begins = BTreeSet::new();
        for number in 1..=100 {
            let mark = mark(&design, &workload(), number).unwrap();
            let Mark::At(begin) = mark.at else { panic!("{mark:?}") };
            assert_eq!(mark.length, Duration::from_secs(8));
            assert!(
                begin >= Duration::from_secs(3) && begin + mark.length <= Duration::from_secs(19),
                "{mark:?}"
            );
            begins.insert(begin);
        }
        assert_eq!(begins.len(), 9, "{begins:?}");
        assert_eq!(mark(&Design::default(), &workload(), 1), None);
    }

    #[test]
    fn a_share_of_the_pairs_is_sampled_from_a_random_one_on() {
        for (share, of_sixteen) in [(1.0, 16), (0.5, 8), (0.25, 4), (0.0, 0)] {
            for seed in 0..50 {
                let sampled = (1..=16).filter(|number| is_sampled(seed, *number, share)).count();
                assert_eq!(sampled, of_sixteen, "{share} {seed}");
            }
        }
        let firsts = (0..1_000).filter(|seed| is_sampled(*seed, 1, 0.5)).count();
        assert!((430..570).contains(&firsts), "{firsts}");
    }
}
