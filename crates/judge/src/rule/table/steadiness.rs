//! Rules on steady state.

use evidence::Severity;

use super::DIFFERENCES;
use crate::rule::{AffectedClaims, Rule};

pub(super) const T1: Rule = Rule {
    id: "T1",
    title: "warm-up-included",
    severity: Severity::Invalid,
    tests: "For each endpoint of at least 10 requests a second in phases of 60 s and more whose load is planned to \
            be constant: the second from which p50, p95 (from 40 requests a second on), the rate and the share of \
            successes all stay at one level within 5 % (segments of least squares; the rest at least 60 s and half \
            of the phase, without drift). If that is not the first second, it is a caution; where an objective on \
            a quantile has another result without the seconds before, and its value changes by more than 2.5 %, it \
            is invalid for that objective. In a comparison both runs are cut at the later of the two, which is \
            reported with the values from there on; a p50 or p95 that the cut changes by more than 2.5 % is \
            invalid.",
    affects: "objectives on times of that endpoint and phase; differences between runs there",
    why: "Times during the warm-up of caches, pools and compilers are not those of steady state.",
    next: "Put a warm-up phase before it, and state objectives for the phase after that.",
    affected: AffectedClaims::Times,
};

pub(super) const T2: Rule = Rule {
    id: "T2",
    title: "not-steady",
    severity: Severity::Inconclusive,
    tests: "Where T1 looks for a steady state: there is none, because a series drifts (5 % over the steady part, \
            of which at least 2 % is significant), changes its level in the second half, oscillates, or because in \
            any 5 s far more requests failed than in the rest (5 percentage points). A comparison also reports \
            which phases are too short to know.",
    affects: DIFFERENCES,
    why: "An endpoint that does not reach steady state has no level to compare with another run: the difference \
          depends on the moment.",
    next: "Run longer, and find out what grows, recurs or breaks: plots and observed series show when.",
    affected: AffectedClaims::Differences,
};

pub(super) const T5: Rule = Rule {
    id: "T5",
    title: "carry-over",
    severity: Severity::Invalid,
    tests: "Responses to requests that were due in an earlier phase and ended from the second second of a phase \
            on, for as long as they are at least 10 % of all responses: at least 10 of them are a caution, and \
            invalid where working them off took 5 % of the phase or more.",
    affects: "objectives on times of that phase",
    why: "The backlog of one phase is in the times of the next: they describe both.",
    next: "Leave time between the two for requests in flight to end, or start the phase later.",
    affected: AffectedClaims::Times,
};
