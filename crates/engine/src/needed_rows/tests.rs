use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use evidence::{Instance, Instant};
use plans::{Overrides, load};
use proptest::prelude::*;
use workload::FilesInMemory;
use workload::Timetable;

use super::*;
use crate::vu_slots::{BegunIterations, ScenarioShare, VuSlots};

const ROWS: u64 = 500;

fn plan(executor: &str, pick: &str) -> LoadedPlan {
    let text = format!(
        "version = 1\n[data.users]\nfile = \"users.csv\"\npick = \"{pick}\"\n[[scenarios]]\nname = \"load\"\n{executor}\n\
         [[scenarios.steps]]\nname = \"get\"\nget = \"http://127.0.0.1:1/${{users.id}}\"\n"
    );
    let rows: String = (0..ROWS).map(|row| format!("user-{row},{row}\n")).collect();
    let files = FilesInMemory::from_iter([("plan.toml", text), ("users.csv", format!("id,number\n{rows}"))]);
    load(Path::new("plan.toml"), &files, &|_| None, &Overrides::default()).unwrap()
}

fn groups(groups: u32, loops: u16) -> impl Iterator<Item = LoopGroup> {
    let places = vec![(loops, Instance::default()); groups as usize];
    LoopGroup::several(&places).into_iter()
}

/// The numbers of the arrivals that the loops of a group make, as they make them.
fn made(workload: &Workload, group: &LoopGroup) -> BTreeSet<u64> {
    let scenario = &workload.scenarios[0];
    let begun = BegunIterations::new(group.of_shared(scenario.max_vus));
    let mut numbers = BTreeSet::new();
    for segment in (0..group.loops).map(|index| group.segment(index)) {
        if let Some(timetable) = Timetable::new(workload, 0, segment) {
            numbers.extend(timetable.map(|(number, _)| number));
            continue;
        }
        let share = ScenarioShare { segment, begun: begun.clone() };
        let mut slots = VuSlots::new(&scenario.executor, Instant::EPOCH, &share).unwrap();
        while let Some(arrival) = slots.take() {
            numbers.insert(arrival.number);
            slots.release(arrival.vu_slot.unwrap(), arrival.due + Duration::from_millis(1));
        }
    }
    numbers
}

/// Executors that make at most `ROWS` arrivals.
fn executors() -> impl Strategy<Value = String> {
    let timed = (1..100_u32, prop::bool::ANY).prop_map(|(rate, is_random)| {
        let arrivals = if is_random { "poisson" } else { "even" };
        format!(
            "executor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\nduration = \"3s\"\nmax_vus = 10\narrivals = \"{arrivals}\""
        )
    });
    let counted = (1..20_u32, 1..25_u32, prop::bool::ANY).prop_map(|(vus, each, is_shared)| {
        let (name, iterations) =
            if is_shared { ("shared-iterations", vus * each) } else { ("per-vu-iterations", each) };
        format!("executor = \"{name}\"\nvus = {vus}\niterations = {iterations}\nmax_duration = \"3s\"")
    });
    prop_oneof![timed, counted]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_row_that_an_arrival_takes_is_kept_and_no_other(
        executor in executors(),
        pick in prop_oneof![Just("sequential"), Just("random"), Just("unique")],
        (count, loops) in (1..6_u32, 1..4_u16),
    ) {
        let whole = plan(&executor, pick);
        let workload = &whole.workload;
        let picker = RowPicker::new(workload, RowTaker::Arrivals(0_usize.into()), "users").unwrap();
        for group in groups(count, loops) {
            let mut kept = whole.clone();
            group.keep_needed_rows(&mut kept);
            prop_assert_eq!(kept.tables["users"].rows(), ROWS);
            let numbers = made(workload, &group);
            let mut taken = BTreeSet::new();
            for number in &numbers {
                let row = picker.row(&Draw::new(workload.seed, 0, *number));
                let value = |plan: &LoadedPlan, column| plan.tables["users"].value(row, column);
                prop_assert_eq!(value(&kept, 0), value(&whole, 0));
                prop_assert_eq!(value(&kept, 1), value(&whole, 1));
                taken.insert(row);
            }
            // A group without virtual users may keep the row of one iteration that another makes.
            let needed = group.needed_rows(workload, "users", ROWS).unwrap().count();
            prop_assert!(needed == taken.len() as u64 || numbers.is_empty(), "{} {:?}", needed, taken);
        }
    }
}

#[test]
fn all_rows_are_kept_where_the_numbers_are_not_known_before() {
    let group = groups(4, 1).next().unwrap();
    let unlimited = "executor = \"constant-vus\"\nvus = 3\nduration = \"3s\"";
    assert_eq!(group.needed_rows(&plan(unlimited, "sequential").workload, "users", ROWS), None);
    let of_users = "executor = \"per-vu-iterations\"\nvus = 3\niterations = 2\nmax_duration = \"3s\"\n\
                    [[scenarios.setup]]\nname = \"log-in\"\nget = \"http://127.0.0.1:1/${users.number}\"";
    let mut loaded = plan(of_users, "unique");
    group.keep_needed_rows(&mut loaded);
    assert_eq!(loaded.tables["users"].value(ROWS - 1, 0), format!("user-{}", ROWS - 1));
}
