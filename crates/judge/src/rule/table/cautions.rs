//! Rules on unreliable numbers, machines and claims.

use evidence::Severity;

use crate::rule::{AffectedClaims, Rule};

pub(super) const L5: Rule = Rule {
    id: "L5",
    title: "little-mismatch",
    severity: Severity::Invalid,
    tests: "Little's law, L = λW, over the whole seconds of a run, 20 at least: concurrent iterations compared \
            with iterations a second × mean iteration time without start lag. More than 2 % apart is a caution, \
            more than 5 % invalid; not tested below 1 concurrent iteration, and where iterations take 1 % of the \
            run or more. For an imported run: more than the virtual users or the concurrency that it states.",
    affects: "every objective on requests of that scenario",
    why: "Two of rate, time and concurrency determine the third: if they do not agree, one of them was measured \
          wrongly.",
    next: "Do not use this run until it is known which of the three is wrong.",
    affected: AffectedClaims::Load,
};

pub(super) const Q5: Rule = Rule {
    id: "Q5",
    title: "averaged-percentiles",
    severity: Severity::Invalid,
    tests: "An objective is on the mean or a quantile of a series that is itself a quantile of each interval \
            (`…_p50`, `…_p95`, `…_p99`). Or: several imported files each have a percentile of the same metric, and \
            no times from which one could be computed for all.",
    affects: "that objective; objectives on times of the imported run",
    why: "An average of p95s is not a p95: it depends on the intervals, and busy intervals count as much as idle \
          ones.",
    next: "Use `max`, which is exact, or a quantile of times; import files that contain times or histograms.",
    affected: AffectedClaims::Times,
};

pub(super) const S9: Rule = Rule {
    id: "S9",
    title: "noisy-host",
    severity: Severity::Invalid,
    tests: "The generator's machine: steal above 1 % in the mean or above 5 % in any 10 s; mean frequencies of 10 \
            s more than 5 % apart; a process waiting for memory for more than 5 % of any 10 s; processes other \
            than the generator and the observed targets using more than 0.25 cores while a process waits for a \
            processor for more than 5 % of 10 s. A caution; in a comparison invalid if in one run alone, unknown \
            if a machine was not observed. Steps of the system clock change no time here, since times are taken \
            from a monotonic clock.",
    affects: "a caution for objectives on times; differences between runs",
    why: "Load of neighbours in one run and not in the other looks like a change of the target.",
    next: "Pin processors and frequency, use a dedicated machine, or run again.",
    affected: AffectedClaims::Times,
};

pub(super) const M4: Rule = Rule {
    id: "M4",
    title: "leak-claim",
    severity: Severity::Invalid,
    tests: "An objective on a series, with `leak` in its name, where the answer of `plimsoll leaks` on that series \
            is not NO_LEAK: that takes 30 min, 12 independent values and, for memory that is garbage-collected, 30 \
            collections. `plimsoll leaks` itself answers UNDETERMINED below that.",
    affects: "that objective",
    why: "A bound on memory is about how much was used. One snapshot, or a few minutes, do not show what is never \
          released.",
    next: "Run for 30 min or longer, in load cycles with idle phases between, and use `plimsoll leaks`.",
    affected: AffectedClaims::Named,
};

pub(super) const Q8: Rule = Rule {
    id: "Q8",
    title: "profile-sample-too-small",
    severity: Severity::Inconclusive,
    tests: "Functions of a profile with fewer than 25 samples of CPU or of waiting, or fewer than 20 of the heap \
            (about 10 MiB at one sample in 512 KiB). They are marked in tables of functions, and their difference \
            between two profiles is not tested. Where a profile does not contain how it was sampled, that is \
            reported instead.",
    affects: "statements about that function",
    why: "The number of samples is random: two samples may as well have been five, or none.",
    next: "Profile for longer, or under more load.",
    affected: AffectedClaims::Named,
};

pub(super) const M5: Rule = Rule {
    id: "M5",
    title: "prediction-as-result",
    severity: Severity::Caution,
    tests: "A change was expected of a comparison (`plimsoll compare --expect \"p95 -30%\"`): it is reported as \
            expected, beside what was measured of the same endpoints, or without it where differences are refused.",
    affects: "nothing by itself: an expectation is not evidence",
    why: "An expected gain in a table of results is easily mistaken for a result.",
    next: "Measure it: repeated runs in random order, of the program with and without the change.",
    affected: AffectedClaims::Named,
};
