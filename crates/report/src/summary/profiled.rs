//! Profiles that were captured in a run, each with what was completed in its very window.

use ::profile::{CallTree, Top, TopOptions, View, ViewOptions, read, since, top};
use evidence::run::{ReadError, completed};
use evidence::{Profile, ProfileKind, Run, Sampling};
use serde::Serialize;

/// The functions that are listed.
const MOST_ROWS: usize = 20;

/// One profile of a window.
#[derive(Debug, Clone, Serialize)]
pub struct Profiled {
    /// The target's name.
    pub target: String,
    /// Of what: `cpu`, `heap`, `goroutine`, `mutex` or `block`.
    pub kind: String,
    /// What in the plan asked for it.
    pub mark: String,
    /// The second of the run in which its window begins.
    pub begin_s: u32,
    /// The second in which it ends.
    pub end_s: u32,
    /// Whether samples were taken for it: `on`, `off` or `unknown`.
    pub sampling: String,
    /// Requests that ended well in the window: what a cost per request is divided by.
    pub ok: u64,
    /// Requests that did not.
    pub failed: u64,
    /// The functions that cost most; none when the profile cannot be read.
    pub top: Option<Top>,
    /// All stacks, for the flame graph.
    #[serde(skip)]
    pub tree: Option<CallTree>,
    /// Why it cannot be read, or what must be known of it.
    pub remark: Option<String>,
}

impl Profiled {
    /// What one request that ended well cost, in the unit of [`Profiled::top`]. A state costs nothing, and what was not
    /// sampled is not known.
    pub fn per_request(&self) -> Option<f64> {
        let top = self.top.as_ref().filter(|top| !top.kind.is_state())?;
        (self.ok > 0 && self.sampling != Sampling::Off.to_string()).then(|| top.total as f64 / self.ok as f64)
    }

    /// `shop cpu, 15m`.
    pub fn title(&self) -> String {
        format!("{} {}, {}", self.target, self.kind, self.mark)
    }
}

/// Every profile of a window; what was taken at a window's beginning goes into that of the window.
pub(super) fn of(run: &dyn Run) -> Result<Vec<Profiled>, ReadError> {
    let captured = run.profiles()?;
    let windows = captured.iter().filter(|profile| profile.begin < profile.end);
    windows.map(|profile| one(run, profile, &captured)).collect()
}

fn one(run: &dyn Run, profile: &Profile, captured: &[Profile]) -> Result<Profiled, ReadError> {
    let (begin_s, end_s) = (profile.begin.second(), profile.end.second());
    let counts = completed(run, &(begin_s..end_s))?;
    let (looked, remark) = match look(profile, captured) {
        Ok(looked) => (Some(looked), not_sampled(profile.sampling)),
        Err(why) => (None, Some(why)),
    };
    let (top, tree) = looked.unzip();
    Ok(Profiled {
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

fn not_sampled(sampling: Sampling) -> Option<String> {
    match sampling {
        Sampling::On => None,
        Sampling::Off => Some(
            "sampling was off at the target: this says nothing, not even that there is nothing".to_owned(),
        ),
        Sampling::Unknown => Some(
            "the target does not tell whether it took samples: if there is nothing here, nothing is known"
                .to_owned(),
        ),
    }
}

fn look(profile: &Profile, captured: &[Profile]) -> Result<(Top, CallTree), String> {
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
            captured.iter().find(is_start).ok_or("what it was at the beginning of its window is missing")?;
        let start = read(&start.bytes).map_err(|error| format!("its beginning cannot be read: {error}"))?;
        whole = since(&start, &whole).map_err(|error| error.to_string())?;
    }
    let view =
        View::of(&whole, ViewOptions { sample_type, focus: None }).map_err(|error| error.to_string())?;
    let listed = top(&view, TopOptions { most: MOST_ROWS, ..TopOptions::default() });
    Ok((listed, CallTree::of(&view)))
}
