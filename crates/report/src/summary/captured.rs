//! Profiles captured in a run, each with the requests that ended in its window.

use ::profile::{CallTree, Top, TopOptions, View, ViewOptions, read, since, top};
use evidence::run::{ReadError, completed};
use evidence::{Profile, ProfileKind, Run, Sampling};
use serde::Serialize;

/// The most functions that are listed.
const MOST_ROWS: usize = 20;

/// One profile of a window.
#[derive(Debug, Clone, Serialize)]
pub struct CapturedProfile {
    pub target: String,
    /// Its kind: `cpu`, `heap`, `goroutine`, `mutex` or `block`.
    pub kind: String,
    /// The mark in the plan that requested it.
    pub mark: String,
    /// The second of the run in which its window starts.
    pub begin_s: u32,
    /// The second in which it ends.
    pub end_s: u32,
    /// Whether sampling was on: `on`, `off` or `unknown`.
    pub sampling: String,
    /// Requests that succeeded in the window; costs per request are divided by it.
    pub ok: u64,
    /// Requests that failed in the window.
    pub failed: u64,
    /// The most expensive functions; none when the profile cannot be read.
    pub top: Option<Top>,
    /// All stacks, for the flame graph.
    #[serde(skip)]
    pub tree: Option<CallTree>,
    /// Why it cannot be read, or a remark on how it was sampled.
    pub remark: Option<String>,
}

impl CapturedProfile {
    /// The cost per successful request, in the unit of [`CapturedProfile::top`]; none of a state and of a profile that was
    /// not sampled.
    pub fn per_request(&self) -> Option<f64> {
        let top = self.top.as_ref().filter(|top| !top.kind.is_state())?;
        (self.ok > 0 && self.sampling != Sampling::Off.to_string()).then(|| top.total as f64 / self.ok as f64)
    }

    /// `shop cpu, 15m`.
    pub fn title(&self) -> String {
        format!("{} {}, {}", self.target, self.kind, self.mark)
    }
}

/// Every profile of a window. A snapshot taken at the start of a window is subtracted from the profile at its end.
pub(super) fn of(run: &dyn Run) -> Result<Vec<CapturedProfile>, ReadError> {
    let captured = run.profiles()?;
    let windows = captured.iter().filter(|profile| profile.begin < profile.end);
    windows.map(|profile| captured_profile(run, profile, &captured)).collect()
}

fn captured_profile(
    run: &dyn Run,
    profile: &Profile,
    captured: &[Profile],
) -> Result<CapturedProfile, ReadError> {
    let (begin_s, end_s) = (profile.begin.second(), profile.end.second());
    let counts = completed(run, &(begin_s..end_s))?;
    let (parsed, remark) = match parse(profile, captured) {
        Ok(parsed) => (Some(parsed), sampling_remark(profile.sampling)),
        Err(why) => (None, Some(why)),
    };
    let (top, tree) = parsed.unzip();
    Ok(CapturedProfile {
        target: profile.target.clone(),
        kind: profile.kind.to_string(),
        mark: profile.mark.clone(),
        begin_s,
        end_s,
        sampling: profile.sampling.to_string(),
        ok: counts.iter().map(|row| row.ok).sum(),
        failed: counts.iter().map(|row| row.failed).sum(),
        top,
        tree,
        remark,
    })
}

fn sampling_remark(sampling: Sampling) -> Option<String> {
    match sampling {
        Sampling::On => None,
        Sampling::Off => Some(
            "sampling was off at the target: an empty profile does not show that nothing happened".to_owned(),
        ),
        Sampling::Unknown => Some(
            "the target does not report whether sampling was on: an empty profile does not show that nothing happened"
                .to_owned(),
        ),
    }
}

fn parse(profile: &Profile, captured: &[Profile]) -> Result<(Top, CallTree), String> {
    let mut whole = read(&profile.bytes).map_err(|error| format!("it cannot be read: {error}"))?;
    let sample_type = match profile.kind {
        ProfileKind::Heap => Some("alloc_space"),
        ProfileKind::Mutex | ProfileKind::Block => Some("delay"),
        ProfileKind::Cpu | ProfileKind::Goroutine => None,
    };
    if sample_type.is_some() {
        let is_start = |start: &&Profile| {
            (&start.target, start.kind, &start.mark) == (&profile.target, profile.kind, &profile.mark)
                && (start.begin, start.end) == (profile.begin, profile.begin)
        };
        let start =
            captured.iter().find(is_start).ok_or("the snapshot at the start of its window is missing")?;
        let start = read(&start.bytes)
            .map_err(|error| format!("the snapshot at the start of its window cannot be read: {error}"))?;
        whole = since(&start, &whole).map_err(|error| error.to_string())?;
    }
    let view =
        View::new(&whole, ViewOptions { sample_type, focus: None }).map_err(|error| error.to_string())?;
    let listed = top(&view, TopOptions { most: MOST_ROWS, ..TopOptions::default() });
    Ok((listed, CallTree::build(&view)))
}
