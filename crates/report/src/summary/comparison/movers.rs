//! What moved between profiles of the same target, kind and mark, per successful request in their windows.

use std::collections::BTreeMap;

use evidence::run::{ReadError, completed};
use evidence::{Profile, ProfileKind, Run};
use serde::Serialize;

use super::TalliedSide;

/// The most functions in the comparison of two profiles.
const MAX_MOVERS: usize = 30;

/// A profile of the baseline and one of another side, of the same target, kind and mark.
#[derive(Debug, Clone, Serialize)]
pub struct ProfilePair {
    /// The side that is compared with the baseline.
    pub side: usize,
    pub target: String,
    /// The kind of both profiles.
    pub kind: ProfileKind,
    /// Their mark in the plan.
    pub mark: String,
    /// What moved; none where they cannot be compared.
    pub moved: Option<profile::Comparison>,
    /// Why they cannot be compared; empty where they can.
    pub note: String,
}

/// Identifies a profile of a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ProfileKey {
    target: String,
    kind: ProfileKind,
    mark: String,
    /// Which of several profiles with the same mark, from 0.
    number: usize,
}

/// The profile of a window, with the snapshot at the window's start for kinds that accumulate.
struct ProfileWindow<'a> {
    run: &'a dyn Run,
    end: Profile,
    begin: Option<Profile>,
}

pub(super) fn of(sides: &[TalliedSide<'_>]) -> Result<Vec<ProfilePair>, ReadError> {
    let Some(base) = sides.first() else { return Ok(Vec::new()) };
    let base_windows = windows(base.side.run)?;
    let mut pairs = Vec::new();
    for (side, other) in sides.iter().enumerate().skip(1) {
        let windows = windows(other.side.run)?;
        for (key, base_window) in &base_windows {
            let Some(window) = windows.get(key) else { continue };
            let (moved, note) = match compared(base_window, window)? {
                Ok(moved) => (Some(moved), String::new()),
                Err(note) => (None, note),
            };
            let ProfileKey { target, kind, mark, .. } = key.clone();
            pairs.push(ProfilePair { side, target, kind, mark, moved, note });
        }
    }
    Ok(pairs)
}

fn windows(run: &dyn Run) -> Result<BTreeMap<ProfileKey, ProfileWindow<'_>>, ReadError> {
    let (begins, ends): (Vec<Profile>, Vec<Profile>) =
        run.profiles()?.into_iter().partition(|profile| profile.begin == profile.end);
    let mut windows: BTreeMap<ProfileKey, ProfileWindow<'_>> = BTreeMap::new();
    for end in ends {
        let is_its = |begin: &&Profile| {
            (&begin.target, begin.kind, &begin.mark, begin.end)
                == (&end.target, end.kind, &end.mark, end.begin)
        };
        let begin = begins.iter().find(is_its).cloned();
        let is_alike =
            |key: &&ProfileKey| (&key.target, key.kind, &key.mark) == (&end.target, end.kind, &end.mark);
        let number = windows.keys().filter(is_alike).count();
        let key = ProfileKey { target: end.target.clone(), kind: end.kind, mark: end.mark.clone(), number };
        windows.insert(key, ProfileWindow { run, end, begin });
    }
    Ok(windows)
}

/// What moved, or why the profiles cannot be compared.
fn compared(
    base: &ProfileWindow<'_>,
    new: &ProfileWindow<'_>,
) -> Result<Result<profile::Comparison, String>, ReadError> {
    let requests = [base.successes()?, new.successes()?];
    Ok(moved([base, new], requests))
}

fn moved(windows: [&ProfileWindow<'_>; 2], requests: [u64; 2]) -> Result<profile::Comparison, String> {
    let (base, new) = (windows[0].read()?, windows[1].read()?);
    let options = profile::ViewOptions { sample_type: sample_type(&new), focus: None };
    let view = |profile| profile::View::new(profile, options).map_err(|error| error.to_string());
    let (base, new) = (view(&base)?, view(&new)?);
    let side = |view, requests| profile::Side { view, requests: Some(requests) };
    let mut moved = profile::compare(side(&base, requests[0]), side(&new, requests[1]))
        .map_err(|error| error.to_string())?;
    moved.movers.truncate(MAX_MOVERS);
    Ok(moved)
}

/// Allocated bytes where the profile has them, otherwise the profile's default.
fn sample_type(profile: &profile::Profile) -> Option<&'static str> {
    profile.sample_types.iter().any(|found| found.name == "alloc_space").then_some("alloc_space")
}

impl ProfileWindow<'_> {
    fn read(&self) -> Result<profile::Profile, String> {
        let read = |captured: &Profile| profile::read(&captured.bytes).map_err(|error| error.to_string());
        let end = read(&self.end)?;
        match &self.begin {
            Some(begin) => profile::since(&read(begin)?, &end).map_err(|error| error.to_string()),
            None => Ok(end),
        }
    }

    /// Requests that succeeded in the window.
    fn successes(&self) -> Result<u64, ReadError> {
        let rows = completed(self.run, &(self.end.begin.second()..self.end.end.second()))?;
        Ok(rows.iter().map(|row| row.ok).sum())
    }
}
