//! Numbers, machines and claims that do not bear what rests on them.

use evidence::Severity;

use crate::rule::{Guard, Rule};

pub(super) const L5: Rule = Rule {
    id: "L5",
    title: "little-mismatch",
    severity: Severity::Invalid,
    tests: "Little's law, L = λW, over the whole seconds of a run, 20 at least: iterations under way against iterations a \
            second × mean iteration time without start lag. More than 2 % apart is a caution, more than 5 % invalid; not \
            tested below 1 under way, and where iterations take 1 % of the run or more. Of an imported run: more than the \
            virtual users or the concurrency that it states.",
    guards: "every objective on requests of that scenario",
    why: "Of rate, time and concurrency each two make the third: if they do not, one of them was miscounted.",
    next: "Do not use this run until it is known which of the three is wrong.",
    guard: Guard::Load,
};

pub(super) const Q5: Rule = Rule {
    id: "Q5",
    title: "averaged-percentiles",
    severity: Severity::Invalid,
    tests: "An objective asks for the mean or a quantile of a series that is itself a quantile of each interval (`…_p50`, \
            `…_p95`, `…_p99`). Or: several imported files have a percentile of the same thing each, and no times of which \
            one could be formed for all.",
    guards: "that objective; objectives on times of the imported run",
    why: "An average of p95s is not a p95: it depends on how the time was cut, and busy intervals count as much as idle ones.",
    next: "Ask for `max`, which is what it says, or for a quantile of times; import files that keep times or histograms.",
    guard: Guard::Times,
};

pub(super) const S9: Rule = Rule {
    id: "S9",
    title: "noisy-host",
    severity: Severity::Invalid,
    tests: "The generator's machine: steal above 1 % in the mean or above 5 % in any 10 s; mean frequencies of 10 s more than \
            5 % apart; somebody waiting for memory more than 5 % of any 10 s; others than the generator and the targets \
            watched using more than 0.25 cores while somebody waits for a processor more than 5 % of 10 s. A caution; in \
            a comparison invalid if in one run alone, unknown if a machine was not watched. Steps of the clock move no \
            time here, since times are taken by a clock that does not step.",
    guards: "a caution for objectives on times; differences between runs",
    why: "What neighbours take is missing in one run and not in the other, and looks like a change of the target.",
    next: "Pin processors and frequency, move to a machine of its own, or run again.",
    guard: Guard::Times,
};

pub(super) const M4: Rule = Rule {
    id: "M4",
    title: "leak-claim",
    severity: Severity::Invalid,
    tests: "An objective on a series whose name speaks of a leak, where `plimsoll leaks` does not say NO_LEAK of that series: \
            it takes 30 min, 12 independent values and, for memory that is collected, 30 collections. The same holds for \
            `plimsoll leaks` itself, which says UNDETERMINED below that.",
    guards: "that objective",
    why: "A bound on memory says how much was used. One snapshot, or a few minutes, say nothing of what is held on to.",
    next: "Run for 30 min or longer, in load cycles with idle phases between, and ask `plimsoll leaks`.",
    guard: Guard::Named,
};

pub(super) const Q8: Rule = Rule {
    id: "Q8",
    title: "profile-sample-too-small",
    severity: Severity::Inconclusive,
    tests: "Functions of a profile with fewer than 25 samples of CPU or of waiting, or fewer than 20 of the heap (about \
            10 MiB at one sample in 512 KiB). They are marked in tables of functions, and are not tested for having moved \
            between two profiles. Where a profile does not say how it was sampled, that is told instead.",
    guards: "what is said of that function",
    why: "A function seen twice may as well have been seen five times, or not at all.",
    next: "Profile for longer, or under more load.",
    guard: Guard::Named,
};

pub(super) const M5: Rule = Rule {
    id: "M5",
    title: "prediction-as-result",
    severity: Severity::Caution,
    tests: "A change was expected of a comparison (`plimsoll compare --expect \"p95 -30%\"`): it is told as expected, beside what \
            was measured of the same endpoints, and not at all where differences are refused.",
    guards: "nothing by itself: what is expected is no evidence",
    why: "An expected gain that stands in a table of results is soon read as one of them.",
    next: "Measure it: repeated runs in random order, of the program with and without the change.",
    guard: Guard::Named,
};
