//! Selections: several goals of a challenge made active at once, named by the user or drawn at random.

use kit::clock::UtcMs;

use super::{Activation, ActivityChange, GoalRow, UserGoals, is_locked, set_active};
use crate::catalog::{Catalog, ChallengeIndex, GoalIndex};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// The challenge that all of the goals belong to.
    pub challenge: ChallengeIndex,
    /// Which of its goals.
    pub choice: Choice,
    /// What becomes of its other goals.
    pub others: OtherGoals,
}

/// Which goals are selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// These, in this order.
    Named(Vec<GoalIndex>),
    /// Some that can be selected.
    Drawn(Draw),
}

/// A draw without replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// How many goals, if there are as many.
    pub count: usize,
    /// Whether goals that are active may be drawn.
    pub active: ActiveGoals,
    /// The same seed and the same goals to draw from have the same result.
    pub seed: u64,
}

/// Whether goals that are active may be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveGoals {
    /// They may.
    Included,
    /// They may not.
    Excluded,
}

/// What becomes of a challenge's active goals that are not selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherGoals {
    /// They stay active.
    Kept,
    /// They become inactive.
    Replaced,
}

impl ActiveGoals {
    /// Excluded if the flag is given and true.
    #[must_use]
    pub fn excluded_if(flag: Option<bool>) -> Self {
        if flag == Some(true) { Self::Excluded } else { Self::Included }
    }
}

impl OtherGoals {
    /// Replaced if the flag is given and true.
    #[must_use]
    pub fn replaced_if(flag: Option<bool>) -> Self {
        if flag == Some(true) { Self::Replaced } else { Self::Kept }
    }
}

/// What a selection changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The selected goals, in the order of their names, or as drawn.
    pub goals: Vec<GoalRow>,
    /// Goals that became inactive, in document order.
    pub replaced: Vec<GoalIndex>,
    /// Active goals of the challenge afterwards.
    pub total_active: usize,
    pub at: UtcMs,
}

/// Why nothing was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectRefusal {
    /// A prerequisite of this goal is not completed.
    Locked(GoalIndex),
    /// The target of this goal is reached.
    Completed(GoalIndex),
    /// The reward of this goal was granted.
    Claimed(GoalIndex),
    /// No goal is left to draw.
    NoneLeft,
}

/// Makes the selected goals active; all of them, or changes nothing.
///
/// # Errors
/// When a named goal is not active and is completed or locked, or there is none to draw.
pub fn select(
    catalog: &Catalog,
    user: &mut UserGoals,
    selection: &Selection,
    now: UtcMs,
) -> Result<Selected, SelectRefusal> {
    let chosen = match &selection.choice {
        Choice::Named(goals) => named(catalog, user, goals)?,
        Choice::Drawn(draw) => drawn(catalog, user, selection, *draw)?,
    };
    let of_challenge = || catalog.challenge(selection.challenge).goals.clone().map(GoalIndex);
    let is_active = |user: &UserGoals, goal: GoalIndex| user.row(goal).is_some_and(|row| row.is_active);
    let replaced: Vec<GoalIndex> = match selection.others {
        OtherGoals::Kept => Vec::new(),
        OtherGoals::Replaced => {
            of_challenge().filter(|goal| is_active(user, *goal) && !chosen.contains(goal)).collect()
        }
    };
    let mut set = |goal: &GoalIndex, activation| {
        set_active(catalog, user, ActivityChange { goal: *goal, activation }, now).clone()
    };
    for goal in &replaced {
        set(goal, Activation::Off);
    }
    let goals = chosen.iter().map(|goal| set(goal, Activation::On)).collect();
    let total_active = of_challenge().filter(|goal| is_active(user, *goal)).count();
    Ok(Selected { goals, replaced, total_active, at: now })
}

/// Each of them once. A goal that is active already may be named again, whatever its state: so a request can be repeated.
fn named(catalog: &Catalog, user: &UserGoals, goals: &[GoalIndex]) -> Result<Vec<GoalIndex>, SelectRefusal> {
    let mut once = Vec::with_capacity(goals.len());
    for goal in goals {
        if once.contains(goal) {
            continue;
        }
        if !user.row(*goal).is_some_and(|row| row.is_active) {
            selectable(catalog, user, *goal)?;
        }
        once.push(*goal);
    }
    Ok(once)
}

fn selectable(catalog: &Catalog, user: &UserGoals, goal: GoalIndex) -> Result<(), SelectRefusal> {
    match user.row(goal) {
        Some(row) if row.claimed_at.is_some() => Err(SelectRefusal::Claimed(goal)),
        Some(row) if row.completed_at.is_some() => Err(SelectRefusal::Completed(goal)),
        _ if is_locked(catalog, user, goal) => Err(SelectRefusal::Locked(goal)),
        _ => Ok(()),
    }
}

/// Goals in the order of random numbers, one for each: the first of them are a draw without replacement.
fn drawn(
    catalog: &Catalog,
    user: &UserGoals,
    selection: &Selection,
    draw: Draw,
) -> Result<Vec<GoalIndex>, SelectRefusal> {
    let excludes_active = draw.active == ActiveGoals::Excluded || selection.others == OtherGoals::Replaced;
    let may_be_drawn = |goal: &GoalIndex| {
        let is_active = user.row(*goal).is_some_and(|row| row.is_active);
        !(is_active && excludes_active) && selectable(catalog, user, *goal).is_ok()
    };
    let of_challenge = catalog.challenge(selection.challenge).goals.clone().map(GoalIndex);
    let mut pool: Vec<GoalIndex> = of_challenge.filter(may_be_drawn).collect();
    if pool.is_empty() {
        return Err(SelectRefusal::NoneLeft);
    }
    pool.sort_by_key(|goal| random(draw.seed, goal.0));
    pool.truncate(draw.count);
    Ok(pool)
}

/// The number at a position of the SplitMix64 sequence of a seed: Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014.
fn random(seed: u64, position: u32) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(position) + 1));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;
