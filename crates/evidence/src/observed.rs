//! What observers hand over besides the values of series: what they have to say, and profiles.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::series::{Sample, SeriesKey};
use crate::time::Instant;

/// What was observed since the last hand-over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Values of series.
    pub samples: Vec<(SeriesKey, Sample)>,
    /// What the values cannot say.
    pub notices: Vec<Notice>,
    /// Profiles that were captured.
    pub profiles: Vec<Profile>,
}

impl Observed {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.notices.is_empty() && self.profiles.is_empty()
    }

    /// Add what another observer saw.
    pub fn extend(&mut self, other: Observed) {
        self.samples.extend(other.samples);
        self.notices.extend(other.notices);
        self.profiles.extend(other.profiles);
    }
}

/// A sentence about series that their numbers cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// When it was noticed.
    pub at: Instant,
    /// The observer's name: that of the target, and what of it was watched.
    pub observer: String,
    /// The part of the generator that it is about; none where it is about a target, a machine or the whole run.
    pub instance: Option<Instance>,
    /// What kind of trouble it is.
    pub kind: NoticeKind,
    /// A sentence for the reader of the report, without a full stop.
    pub text: String,
}

/// The kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// What is watched could not be found, or has ended: its series have a gap from here on.
    Gone,
    /// It was found after it could not be: its series begin or go on here.
    Appeared,
    /// Another took its place, or its counters began anew: rates have a gap of one sample.
    Restarted,
    /// Part of what was asked for cannot be read.
    Unreadable,
    /// Several answer to the reference, and one of them is watched.
    Several,
    /// Samples were not taken when they were due.
    Late,
    /// Worth knowing; it affects nothing.
    Remark,
    /// The load was stopped at this instant, before its planned end: by a signal, or by a stop rule of the plan.
    Stopped,
    /// A user marked an event at this instant: a deployment, a failover. It affects nothing.
    Mark,
}

impl NoticeKind {
    const ALL: [(NoticeKind, &'static str); 9] = [
        (NoticeKind::Gone, "gone"),
        (NoticeKind::Appeared, "appeared"),
        (NoticeKind::Restarted, "restarted"),
        (NoticeKind::Unreadable, "unreadable"),
        (NoticeKind::Several, "several"),
        (NoticeKind::Late, "late"),
        (NoticeKind::Remark, "remark"),
        (NoticeKind::Stopped, "stopped"),
        (NoticeKind::Mark, "mark"),
    ];
}

impl fmt::Display for NoticeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&Self::ALL, *self, f)
    }
}

impl FromStr for NoticeKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(&Self::ALL, name)
    }
}

/// A profile as it was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The target, by its name in the plan.
    pub target: String,
    /// What it is a profile of.
    pub kind: ProfileKind,
    /// The mark in the plan that asked for it, such as `15m` or `in phase steady`.
    pub mark: String,
    /// What it covers: from its window's beginning to its end, on the run's clock. A profile that accumulates since
    /// the process began covers, less the one with the same mark and an empty window before it, the time in between.
    pub begin: Instant,
    /// See [`Profile::begin`].
    pub end: Instant,
    /// Whether the target took samples for it at all.
    pub sampling: Sampling,
    /// pprof's format, as the target sent it.
    pub bytes: Vec<u8>,
}

/// What a profile is of, by the names of Go's endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileKind {
    /// Time on a processor.
    Cpu,
    /// Memory in use and allocated.
    Heap,
    /// Stacks of all goroutines.
    Goroutine,
    /// Waiting for mutexes that others hold.
    Mutex,
    /// Waiting for anything.
    Block,
}

impl ProfileKind {
    /// Every kind, with its name.
    pub const ALL: [(ProfileKind, &'static str); 5] = [
        (ProfileKind::Cpu, "cpu"),
        (ProfileKind::Heap, "heap"),
        (ProfileKind::Goroutine, "goroutine"),
        (ProfileKind::Mutex, "mutex"),
        (ProfileKind::Block, "block"),
    ];
}

impl fmt::Display for ProfileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&Self::ALL, *self, f)
    }
}

impl FromStr for ProfileKind {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(&Self::ALL, name)
    }
}

/// Whether samples were taken for a profile. An empty profile says nothing unless they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// They were.
    On,
    /// They were not.
    Off,
    /// The target does not report it.
    Unknown,
}

impl Sampling {
    const ALL: [(Sampling, &'static str); 3] =
        [(Sampling::On, "on"), (Sampling::Off, "off"), (Sampling::Unknown, "unknown")];
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(&Self::ALL, *self, f)
    }
}

impl FromStr for Sampling {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named(&Self::ALL, name)
    }
}

/// A name that is none of those known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a known name")]
pub struct UnknownName(pub String);

fn named<T: Copy>(all: &[(T, &str)], name: &str) -> Result<T, UnknownName> {
    let found = all.iter().find(|(_, known)| *known == name);
    found.map(|(value, _)| *value).ok_or_else(|| UnknownName(name.to_owned()))
}

fn write_name<T: Copy + PartialEq>(all: &[(T, &str)], value: T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let found = all.iter().find(|(known, _)| *known == value);
    f.write_str(found.expect("every value has its name").1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_name_that_leads_back_to_it() {
        for (kind, name) in NoticeKind::ALL {
            assert_eq!((kind.to_string().as_str(), name.parse()), (name, Ok(kind)));
        }
        for (kind, name) in ProfileKind::ALL {
            assert_eq!((kind.to_string().as_str(), name.parse()), (name, Ok(kind)));
        }
        for (sampling, name) in Sampling::ALL {
            assert_eq!((sampling.to_string().as_str(), name.parse()), (name, Ok(sampling)));
        }
        assert_eq!("heat".parse::<ProfileKind>().unwrap_err().to_string(), "`heat` is not a known name");
    }
}
