//! Selections by name and at random.

use super::*;

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::catalog::{CatalogSize, generate};
use crate::rules::assign_defaults;

const NOW: UtcMs = UtcMs(1_800_000_000_000);

/// Twelve goals in each of two challenges, the first six of each default; every fifth has the one before it as a
/// prerequisite.
fn catalog() -> Catalog {
    Catalog::parse("test", &generate(CatalogSize { challenges: 2, goals: 12, defaults: 12 })).unwrap()
}

/// With the default goals of both challenges, of which the first of each is claimed and the second completed.
fn user(catalog: &Catalog) -> UserGoals {
    let mut user = UserGoals::default();
    assign_defaults(catalog, &mut user, NOW);
    for first in [0, 12] {
        let claimed = user.row_mut(GoalIndex(first)).unwrap();
        (claimed.completed_at, claimed.claimed_at) = (Some(NOW), Some(NOW));
        user.row_mut(GoalIndex(first + 1)).unwrap().completed_at = Some(NOW);
    }
    user
}

fn switch_off(catalog: &Catalog, user: &mut UserGoals, goals: std::ops::Range<u32>) {
    for goal in goals.map(GoalIndex) {
        set_active(catalog, user, ActivityChange { goal, activation: Activation::Off }, NOW);
    }
}

fn first_challenge(catalog: &Catalog) -> ChallengeIndex {
    catalog.find_challenge("challenge-001").unwrap()
}

fn named_selection(catalog: &Catalog, goals: &[u32], others: OtherGoals) -> Selection {
    let goals = goals.iter().map(|goal| GoalIndex(*goal)).collect();
    Selection { challenge: first_challenge(catalog), choice: Choice::Named(goals), others }
}

fn draw(catalog: &Catalog, draw: Draw, others: OtherGoals) -> Selection {
    Selection { challenge: first_challenge(catalog), choice: Choice::Drawn(draw), others }
}

fn indexes(selected: &Selected) -> Vec<u32> {
    selected.goals.iter().map(|row| row.goal.0).collect()
}

#[test]
fn named_goals_become_active_each_once_in_their_order() {
    let catalog = catalog();
    let mut user = user(&catalog);
    let selection = named_selection(&catalog, &[8, 6, 8, 5], OtherGoals::Kept);
    let selected = select(&catalog, &mut user, &selection, NOW).unwrap();
    assert_eq!((indexes(&selected), selected.total_active), (vec![8, 6, 5], 8));
    assert!(selected.goals.iter().all(|row| row.is_active && row.assigned_at == Some(NOW)));
    assert_eq!(selected.replaced, []);
    let again = select(&catalog, &mut user, &selection, NOW).unwrap();
    assert_eq!((indexes(&again), again.total_active), (vec![8, 6, 5], 8), "a request can be repeated");
}

#[test]
fn the_other_goals_of_the_challenge_are_replaced_and_keep_their_progress() {
    let catalog = catalog();
    let mut user = user(&catalog);
    let before = user.row(GoalIndex(2)).unwrap().clone();
    let selection = named_selection(&catalog, &[7, 1], OtherGoals::Replaced);
    let selected = select(&catalog, &mut user, &selection, NOW).unwrap();
    assert_eq!((indexes(&selected), selected.total_active), (vec![7, 1], 2));
    assert_eq!(selected.replaced, [0, 2, 3, 4, 5].map(GoalIndex));
    let after = user.row(GoalIndex(2)).unwrap().clone();
    assert_eq!(GoalRow { is_active: true, is_changed: before.is_changed, ..after }, before);
    assert!(user.row(GoalIndex(12)).unwrap().is_active, "of another challenge");
}

#[test]
fn goals_that_cannot_be_selected_are_refused_and_then_nothing_changes() {
    let catalog = catalog();
    let mut user = user(&catalog);
    switch_off(&catalog, &mut user, 0..6);
    let before = user.clone();
    for (goals, refusal) in [
        (vec![2, 0], SelectRefusal::Claimed(GoalIndex(0))),
        (vec![2, 1], SelectRefusal::Completed(GoalIndex(1))),
        (vec![2, 4], SelectRefusal::Locked(GoalIndex(4))),
        (vec![9], SelectRefusal::Locked(GoalIndex(9))),
    ] {
        let selection = named_selection(&catalog, &goals, OtherGoals::Replaced);
        assert_eq!(select(&catalog, &mut user, &selection, NOW), Err(refusal));
        assert_eq!(user, before, "{goals:?}");
    }
    user.row_or_new(GoalIndex(3)).completed_at = Some(NOW);
    let unlocked = select(&catalog, &mut user, &named_selection(&catalog, &[4], OtherGoals::Kept), NOW);
    assert_eq!(indexes(&unlocked.unwrap()), [4]);
}

#[test]
fn without_a_goal_that_can_be_drawn_the_draw_is_refused() {
    let catalog = catalog();
    let mut user = user(&catalog);
    let all = Draw { count: 100, active: ActiveGoals::Excluded, seed: 1 };
    let drawn = select(&catalog, &mut user, &draw(&catalog, all, OtherGoals::Kept), NOW).unwrap();
    assert_eq!(indexes(&drawn).into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([6, 7, 8, 10, 11]));
    let refused = select(&catalog, &mut user, &draw(&catalog, all, OtherGoals::Kept), NOW);
    assert_eq!(refused, Err(SelectRefusal::NoneLeft));
}

/// Of 6,000 draws of two goals of five, each goal is expected in 2,400 and each pair in 600; the seeds are fixed, and the
/// bounds are above five standard deviations.
#[test]
fn every_goal_and_every_pair_is_drawn_equally_often() {
    let catalog = catalog();
    let mut goals = [0; 12];
    let mut pairs = std::collections::BTreeMap::new();
    for seed in 0..6_000 {
        let two = Draw { count: 2, active: ActiveGoals::Excluded, seed };
        let drawn =
            select(&catalog, &mut user(&catalog), &draw(&catalog, two, OtherGoals::Kept), NOW).unwrap();
        let mut drawn = indexes(&drawn);
        drawn.iter().for_each(|goal| goals[*goal as usize] += 1);
        drawn.sort_unstable();
        *pairs.entry(drawn).or_insert(0) += 1;
    }
    for goal in [6, 7, 8, 10, 11] {
        assert!((2_400i32 - goals[goal]).abs() < 200, "{goal}: {goals:?}");
    }
    assert_eq!(pairs.len(), 10);
    assert!(pairs.values().all(|count| (600i32 - count).abs() < 125), "{pairs:?}");
}

proptest! {
    #[test]
    fn a_draw_has_no_goal_twice_and_none_that_cannot_be_selected(
        count in 1..20usize, seed in any::<u64>(), excluded in any::<bool>(), replaced in any::<bool>(),
        inactive in prop::collection::btree_set(0..6u32, 0..6),
    ) {
        let catalog = catalog();
        let mut user = user(&catalog);
        inactive.iter().for_each(|goal| switch_off(&catalog, &mut user, *goal..*goal + 1));
        let before = user.clone();
        let request = Draw { count, active: ActiveGoals::excluded_if(Some(excluded)), seed };
        let selection = draw(&catalog, request, OtherGoals::replaced_if(Some(replaced)));
        let pool: BTreeSet<u32> = (0..12u32)
            .filter(|goal| {
                let row = before.row(GoalIndex(*goal));
                let is_active = row.is_some_and(|row| row.is_active);
                let is_locked = [4, 9].contains(goal);
                !is_locked && row.is_none_or(|row| row.completed_at.is_none()) && !(is_active && (excluded || replaced))
            })
            .collect();
        let selected = select(&catalog, &mut user, &selection, NOW).unwrap();
        let drawn: BTreeSet<u32> = indexes(&selected).into_iter().collect();
        prop_assert_eq!(drawn.len(), selected.goals.len());
        prop_assert_eq!(drawn.len(), count.min(pool.len()));
        prop_assert!(drawn.is_subset(&pool));
        let active = user.rows().iter().filter(|row| row.goal.0 < 12 && row.is_active).count();
        prop_assert_eq!(selected.total_active, active);
        prop_assert!(!replaced || active == drawn.len());
        let again = select(&catalog, &mut before.clone(), &selection, NOW).unwrap();
        prop_assert_eq!(again, selected, "the same seed");
    }
}

#[test]
fn generated_numbers_are_those_of_the_published_generator() {
    // The first outputs for the seed 1234567, of the reference implementation.
    let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
    assert_eq!([0, 1, 2].map(|position| random(1_234_567, position)), expected);
    assert_eq!(random(0, 0), 16_294_208_416_658_607_535);
}
