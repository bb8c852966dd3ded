//! What moved between profiles of the same target, kind and mark, for each successful request of their very windows.

use std::collections::BTreeMap;

use evidence::run::{ReadError, completed};
use evidence::{Profile, ProfileKind, Run};
use serde::Serialize;

use super::Swept;

/// How many functions of a comparison are kept.
const MOST_MOVERS: usize = 30;

/// Two profiles of the same target, kind and mark, the baseline's and another side's.
#[derive(Debug, Clone, Serialize)]
pub struct ProfilePair {
    /// The side that is held against the baseline.
    pub side: usize,
    /// The target's name.
    pub target: String,
    /// What it is a profile of.
    pub kind: ProfileKind,
    /// The mark in the plan.
    pub mark: String,
    /// What moved; none where they cannot be compared.
    pub moved: Option<profile::Comparison>,
    /// Why they cannot be compared; empty where they can.
    pub note: String,
}

/// Target, kind, mark, and which of several with that mark.
type Which = (String, ProfileKind, String, usize);

/// A captured window, with the snapshot at its beginning where what it shows accumulates.
struct Window {
    end: Profile,
    begin: Option<Profile>,
}

pub(super) fn of(sides: &[Swept<'_>]) -> Result<Vec<ProfilePair>, ReadError> {
    let Some(base) = sides.first() else { return Ok(Vec::new()) };
    let of_base = windows(base.side.run)?;
    let mut pairs = Vec::new();
    for (side, other) in sides.iter().enumerate().skip(1) {
        let of_other = windows(other.side.run)?;
        for (which, window) in &of_base {
            let Some(other_window) = of_other.get(which) else { continue };
            let compared = compared((base.side.run, window), (other.side.run, other_window))?;
            let (target, kind, mark, _) = which.clone();
            let (moved, note) = match compared {
                Ok(moved) => (Some(moved), String::new()),
                Err(note) => (None, note),
            };
            pairs.push(ProfilePair { side, target, kind, mark, moved, note });
        }
    }
    Ok(pairs)
}

fn windows(run: &dyn Run) -> Result<BTreeMap<Which, Window>, ReadError> {
    let (begins, ends): (Vec<Profile>, Vec<Profile>) =
        run.profiles()?.into_iter().partition(|profile| profile.begin == profile.end);
    let mut windows: BTreeMap<Which, Window> = BTreeMap::new();
    for end in ends {
        let is_its = |begin: &&Profile| {
            (&begin.target, begin.kind, &begin.mark, begin.end)
                == (&end.target, end.kind, &end.mark, end.begin)
        };
        let begin = begins.iter().find(is_its).cloned();
        let nth = |which: &Which| (&which.0, which.1, &which.2) == (&end.target, end.kind, &end.mark);
        let nth = windows.keys().filter(|which| nth(which)).count();
        windows.insert((end.target.clone(), end.kind, end.mark.clone(), nth), Window { end, begin });
    }
    Ok(windows)
}

/// What moved, or why that cannot be told.
fn compared(
    (base_run, base): (&dyn Run, &Window),
    (new_run, new): (&dyn Run, &Window),
) -> Result<Result<profile::Comparison, String>, ReadError> {
    let requests = [successes(base_run, &base.end)?, successes(new_run, &new.end)?];
    Ok(moved([base, new], requests))
}

fn moved([base, new]: [&Window; 2], [before, after]: [u64; 2]) -> Result<profile::Comparison, String> {
    let (base, new) = (read(base)?, read(new)?);
    let options = profile::ViewOptions { sample_type: sample_type(&new), focus: None };
    let [base, new] =
        [&base, &new].map(|profile| profile::View::of(profile, options).map_err(|e| e.to_string()));
    let (base, new) = (base?, new?);
    let sides = [(&base, before), (&new, after)]
        .map(|(view, requests)| profile::Side { view, requests: Some(requests) });
    let mut moved = profile::compare(sides[0], sides[1]).map_err(|error| error.to_string())?;
    moved.movers.truncate(MOST_MOVERS);
    Ok(moved)
}

/// Of what was allocated the bytes, not what is in use; else the profile's own choice.
fn sample_type(profile: &profile::Profile) -> Option<&'static str> {
    profile.sample_types.iter().any(|found| found.name == "alloc_space").then_some("alloc_space")
}

fn read(window: &Window) -> Result<profile::Profile, String> {
    let read = |captured: &Profile| profile::read(&captured.bytes).map_err(|error| error.to_string());
    let end = read(&window.end)?;
    match &window.begin {
        Some(begin) => profile::since(&read(begin)?, &end).map_err(|error| error.to_string()),
        None => Ok(end),
    }
}

/// Requests that ended well in the very window of a profile.
fn successes(run: &dyn Run, captured: &Profile) -> Result<u64, ReadError> {
    let rows = completed(run, &(captured.begin.second()..captured.end.second()))?;
    Ok(rows.iter().map(|row| row.ok).sum())
}
