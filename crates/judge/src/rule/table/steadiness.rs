//! Whether what was measured had settled.

use evidence::Severity;

use super::DIFFERENCES;
use crate::rule::{Guard, Rule};

pub(super) const T1: Rule = Rule {
    id: "T1",
    title: "warm-up-included",
    severity: Severity::Invalid,
    tests: "For each endpoint of at least 10 requests a second in phases of 60 s and more whose load does not change on \
            purpose: the second from which p50, p95 (from 40 requests a second on), the rate and the share of successes \
            all keep to one level within 5 % (segments of least squares; the rest at least 60 s and half of the phase, \
            without drift). If that is not the first, it is a caution; where an objective on a quantile has another \
            answer without what came before, and its value moves by more than 2.5 %, it is invalid for that objective. \
            In a comparison both runs are cut at the later of the two, which is told with what follows; a p50 or p95 \
            that the cut moves by more than 2.5 % is invalid.",
    guards: "objectives on times of that endpoint and phase; differences between runs there",
    why: "Caches, pools and compilers that are still warming up are in the numbers of the target at work.",
    next: "Put a phase before it that warms the target up, and state objectives for the phase after that.",
    guard: Guard::Times,
};

pub(super) const T2: Rule = Rule {
    id: "T2",
    title: "not-steady",
    severity: Severity::Inconclusive,
    tests: "Where T1 looks for a steady state: there is none, because a series drifts (5 % over the steady part, of which 2 % \
            beyond doubt), changes its level in the second half, goes up and down, or because in any 5 s far more \
            failed than in the rest (5 percentage points). A comparison also tells which phases are too short to know.",
    guards: DIFFERENCES,
    why: "What has not settled has no level that another run could be held against: the difference depends on when one looks.",
    next: "Run longer, and find out what grows, recurs or breaks: plots and observed series show when.",
    guard: Guard::Differences,
};

pub(super) const T5: Rule = Rule {
    id: "T5",
    title: "carry-over",
    severity: Severity::Invalid,
    tests: "Responses to requests that were due in an earlier phase and ended from the second second of a phase on, for as \
            long as they are at least 10 % of what ends: at least 10 of them are a caution, and invalid where working \
            them off took 5 % of the phase or more.",
    guards: "objectives on times of that phase",
    why: "The queue of one phase is in the times of the next: they describe both.",
    next: "Leave time between the two for what is under way to end, or begin the phase later.",
    guard: Guard::Times,
};
