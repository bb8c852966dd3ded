//! Every rule. What each tests is decided in `rules`, by the thresholds of `thresholds`.

use evidence::Severity;

use super::{Guard, Rule};

mod cautions;
mod steadiness;

const LOAD_CLAIMS: &str = "every objective on requests of the scenario and phase it fires in";
const DIFFERENCES: &str = "differences between runs, within its scope; no objective of a run by itself";
const TIME_CLAIMS: &str = "objectives on response, service and iteration time";

/// Every rule, in the order in which findings of one severity are shown.
pub const RULES: &[Rule] = &[
    Rule {
        id: "L1",
        title: "offered-load-not-reached",
        severity: Severity::Invalid,
        tests: "Arrivals that were not dropped late, as a share of those scheduled, for each scenario and \
                phase: below 99 % is invalid, below 99.5 % a caution; below 95 % in any 10 s is a caution. \
                Arrivals dropped at the cap are the target's slowness: they count as infinitely slow and are \
                not held against the generator.",
        guards: LOAD_CLAIMS,
        why: "A target that was asked for less than planned looks faster than it is.",
        next: "Find what held the generator back (L3 says whether it was its CPU), or plan a lower rate.",
        guard: Guard::Load,
    },
    Rule {
        id: "L2",
        title: "dropped-or-late",
        severity: Severity::Invalid,
        tests: "For each scenario and phase: arrivals dropped late above 1 % are invalid, above 0.1 % a \
                caution; a 99th percentile of start lag above 5 % of the gated quantile, and at least 1 ms, is \
                invalid for that quantile (with a closed model a caution). For each open scenario: a cap on \
                virtual users below peak rate × longest time limit is a caution.",
        guards: "late drops: every objective on requests of that scenario and phase; start lag: the quantile \
                 it is held against; a low cap: objectives on times of that scenario",
        why: "The generator's own debt is part of every response time, and arrivals that never started have \
              none.",
        next: "Give the generator more loops, cores or machines; raise `max_vus` where the cap is the doubt.",
        guard: Guard::Load,
    },
    Rule {
        id: "L3",
        title: "generator-saturated",
        severity: Severity::Invalid,
        tests: "For each phase: a loop that used more than 80 % of a core over any 10 s (or over the whole \
                phase if it is shorter), or a 99th percentile of loop stalls above 2 ms. CPU that was not \
                measured is a caution.",
        guards: "every objective on requests at an offered rate in that phase; with a closed model it is a \
                 caution",
        why: "The generator, not the target, was at its limit: its waits are in the numbers.",
        next: "Give the generator its own cores or a second machine, or lower the load.",
        guard: Guard::OfferedLoad,
    },
    Rule {
        id: "L4",
        title: "closed-loop-or-capped",
        severity: Severity::Invalid,
        tests: "A closed model; or at least 99 % of the cap on virtual users in use for at least 1 % of a \
                phase; or completed iterations a second × mean iteration time at 90 % of the cap or more.",
        guards: "objectives that speak of a rate: all of an open scenario, goodput and throughput of a closed \
                 one; other objectives of a closed scenario hold with its number of virtual users. A cap only \
                 flatters, so an objective that is missed all the same stays missed",
        why: "Where the number of virtual users sets the load, a slow target is asked for less, and rate and \
              latency describe the cap.",
        next: "Use an arrival-rate executor, raise `max_vus`, or state the objective for a number of virtual \
               users.",
        guard: Guard::LoadUnlessMissed,
    },
    cautions::L5,
    Rule {
        id: "L6",
        title: "accounting-identity",
        severity: Severity::Invalid,
        tests: "For each scenario and phase: scheduled = started + dropped; started = iterations done + \
                cancelled + in flight at the end. For each endpoint: requests = responses of every outcome + in \
                flight at the end; no more service times than response times. For a completed run: scheduled \
                = the plan's arrivals, within 1; of a number of iterations, no more than the plan's. Any other gap is invalid. What is in flight is known only of \
                runs that were ended in order; of others the difference is stated.",
        guards: "everything: books that do not balance void the run, objectives or none",
        why: "If requests are missing from the books, nobody knows how they went.",
        next: "Do not use this run. Keep the run file: it is evidence of a fault in the generator.",
        guard: Guard::Everything,
    },
    Rule {
        id: "L7",
        title: "end-of-run-cutoff",
        severity: Severity::Caution,
        tests: "At least 10 failures in the last second, as many as there were requests in flight before it, within 15 %.",
        guards: "error rates and times of the last phase",
        why: "What the end of the run cut off did not fail: it was not given the time to end.",
        next: "Give scenarios a `graceful_stop` that is as long as their longest answer.",
        guard: Guard::Named,
    },
    Rule {
        id: "C1",
        title: "error-rates-differ",
        severity: Severity::Invalid,
        tests: "For each endpoint and phase that two runs have in common: shares of failed and dropped arrivals more \
                than 0.1 percentage points apart, where the test of two shares gives chance less than 0.001.",
        guards: DIFFERENCES,
        why: "The run that fails more answers fewer requests and leaves out the slow ones: its survivors look faster. \
              The error rate is the result.",
        next: "Mend what fails, and run both again.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C2",
        title: "workload-mismatch",
        severity: Severity::Invalid,
        tests: "For each phase: mixes of endpoints a total variation of more than 1 % apart, where the chi-square test \
                gives chance less than 0.001. For each endpoint with hardly any failure: bytes received for an answer \
                more than 2 % apart. For the plans: other data files, rows or ways to pick them.",
        guards: DIFFERENCES,
        why: "Other requests, or other answers, take another time: the difference is the workload's.",
        next: "Run both with the same plan, seed and data, against stores with the same content.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C3",
        title: "load-shape-mismatch",
        severity: Severity::Invalid,
        tests: "Phases, executors, rates, starts, spacing of arrivals, caps, steps, time limits or think times of two \
                plans differ.",
        guards: DIFFERENCES,
        why: "Latency depends on load: effects of the target and of the load's shape cannot be told apart.",
        next: "Run both with the same plan and the same `--load` and `--time-scale`.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C4",
        title: "environment-mismatch",
        severity: Severity::Invalid,
        tests: "Processor model, cores, CPU quota, memory, kernel or frequency governor of the generator's machine \
                differ. Another machine of the same kind, or another version or number of loops of the generator, is a \
                caution. Of targets: version or settings of the database behind one, limits of its container or of its \
                database's connections, where both runs tell of them, are invalid; reached at another host is a caution. \
                Flags and log levels are not in a run file.",
        guards: DIFFERENCES,
        why: "A faster machine makes a faster run of the same program.",
        next: "Run both on the same machine, one after the other, with the same generator.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C5",
        title: "not-the-shipped-config",
        severity: Severity::Info,
        tests: "Which targets were reached without TLS. Whether rate limits, authentication, logging and retries are \
                those of production is not in a run file, and is told as unknown.",
        guards: "claims on production",
        why: "What is switched off in the test costs nothing there.",
        next: "Run with the configuration that ships, and say so in the plan's name.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C6",
        title: "state-not-reset",
        severity: Severity::Invalid,
        tests: "First values, within 15 s, of series on rows, dead rows, table sizes, keys and memory of stores that \
                both runs watched: more than 5 % apart. With no such series it is told as unknown.",
        guards: DIFFERENCES,
        why: "A larger table is slower to read, and a warm cache faster: what the run before left is in this one.",
        next: "Reset the stores, or restore a snapshot, before each run.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C7",
        title: "baseline-provenance",
        severity: Severity::Invalid,
        tests: "Evidence that was changed after its seal, or imported as finished numbers, is invalid. Evidence that was \
                never sealed, or imported in full, is a caution.",
        guards: DIFFERENCES,
        why: "A number that cannot be worked out again from its evidence is hearsay.",
        next: "Run it again, and keep the run file.",
        guard: Guard::Differences,
    },
    Rule {
        id: "C8",
        title: "not-one-change",
        severity: Severity::Caution,
        tests: "What the manifests tell apart: the program's digest, the load, the data, the seed, the machine, the \
                generator's version. More than one is a caution; none is told as an A/A run, or as unknown.",
        guards: DIFFERENCES,
        why: "Of two changes at once nobody knows which one made the difference.",
        next: "Change one thing at a time.",
        guard: Guard::Differences,
    },
    Rule {
        id: "S1",
        title: "single-run",
        severity: Severity::Inconclusive,
        tests: "Runs are compared, and there is one of each. Silent where a run stands beside itself.",
        guards: DIFFERENCES,
        why: "Starts of one and the same program differ, often by more than the change that is looked for; requests \
              within a run, however many, say nothing of that.",
        next: "Repeat both in random order, started afresh each time; and one against itself, to know the spread.",
        guard: Guard::Differences,
    },
    Rule {
        id: "Q1",
        title: "pooled-phases",
        severity: Severity::Invalid,
        tests: "One objective pools phases, scenarios or endpoints of at least 100 observations each whose \
                failure rates differ by more than 1 percentage point or whose medians differ by more than a \
                factor of 2.",
        guards: TIME_CLAIMS,
        why: "A quantile of two populations describes neither: it is the slower one's, at another rank.",
        next: "State the objective for one phase and one endpoint: `p95(list, phase = steady) < 50ms`.",
        guard: Guard::Named,
    },
    Rule {
        id: "Q2",
        title: "censored-quantile",
        severity: Severity::Invalid,
        tests: "The share of arrivals that took at least 98 % of their step's time limit is 1 − q or more. \
                Where the bound lies below the limit the objective is missed whatever the true value, and it \
                is a caution.",
        guards: "objectives on a quantile of response time",
        why: "The quantile is the time limit, not a response time: its true value is unknown.",
        next: "Raise the step's `timeout` above the bound, or lower the load.",
        guard: Guard::Named,
    },
    Rule {
        id: "Q3",
        title: "survivors-only",
        severity: Severity::Invalid,
        tests: "A mean, a lowest or a highest time is of successes only; failed or dropped arrivals above 1 % \
                are invalid for it, above 0.1 % a caution. Quantiles count them as infinitely slow instead.",
        guards: "objectives on `avg`, `min` and `max` of times",
        why: "A number about those that got through says nothing of those that did not.",
        next: "Ask for a quantile, which counts failures, and bound `error_rate` beside it.",
        guard: Guard::Named,
    },
    Rule {
        id: "Q4",
        title: "impossible-or-bimodal",
        severity: Severity::Invalid,
        tests: "For each endpoint and phase of at least 400 successes: a mean above the 95th percentile is a \
                caution. For each: p50 > p95, p95 > p99 or p99 > max is impossible, hence invalid.",
        guards: "objectives on times of that endpoint and phase",
        why: "A mean above the 95th percentile means two kinds of answers, one far slower; a quantile between \
              them moves with their shares.",
        next: "Look at the latency distribution in the report, and at the slowest exchanges.",
        guard: Guard::Times,
    },
    cautions::Q5,
    Rule {
        id: "Q7",
        title: "profile-window-or-denominator",
        severity: Severity::Invalid,
        tests: "No request ended in the window of a profile; or a heap, mutex or block profile has no snapshot from the \
                beginning of its window, so that it counts from the start of the process.",
        guards: "costs for each request in that profile",
        why: "A cost for each request needs the requests of that very window, and no others.",
        next: "Set the mark inside a phase with load, and look why the first snapshot is missing.",
        guard: Guard::Named,
    },
    cautions::Q8,
    Rule {
        id: "Q9",
        title: "not-measured-is-not-zero",
        severity: Severity::Invalid,
        tests: "A profile was captured while the target took no samples for it; where the target does not tell, it is a \
                caution.",
        guards: "that there was nothing to see: no contention, no allocation",
        why: "A profiler that is off sees nothing, whatever there is.",
        next: "Switch it on in the target: in Go, `runtime.SetMutexProfileFraction` and `runtime.SetBlockProfileRate`.",
        guard: Guard::Named,
    },
    Rule {
        id: "S4",
        title: "too-few-tail-samples",
        severity: Severity::Inconclusive,
        tests: "m = n × (1 − q) arrivals lie beyond a quantile: below 100, or below 20 after division by the \
                design effect of 10 s batches, it is not gated; below 20 its value is no more than a hint. \
                A clustered tail is only a caution where the interval from batches, 3 times as wide, is \
                clear of the bound. For a quantile that is infinite, m is at least the number of failed and dropped arrivals.",
        guards: "objectives on quantiles of times",
        why: "A tail of a few requests is luck: the next run has another one.",
        next: "Run longer, offer more, or ask for a lower quantile.",
        guard: Guard::Named,
    },
    cautions::S9,
    steadiness::T1,
    steadiness::T2,
    Rule {
        id: "T4",
        title: "functional-failure-phase",
        severity: Severity::Invalid,
        tests: "Successes below 50 % of all arrivals that were due in a phase, or of those of one endpoint in \
                a phase.",
        guards: "objectives on times that count requests of that phase and endpoint; objectives on errors and \
                 goodput stand, and fail",
        why: "The latency of a target that does not work is not its latency.",
        next: "Run the plan with `--once`, and look at the failed exchanges in the report.",
        guard: Guard::Times,
    },
    steadiness::T5,
    Rule {
        id: "O1",
        title: "observation-gap",
        severity: Severity::Caution,
        tests: "Every observer that had something to say: with the seconds of the run that its series do not cover, and \
                its first notices. What was gone, not readable, late or restarted is a caution, the rest for information.",
        guards: "nothing by itself: an objective on a series that was not measured is not decided for that reason",
        why: "A gap is no zero: what a target did while nobody saw it is not known.",
        next: "Look at `notices` in the run file, and mend what kept the observer from seeing.",
        guard: Guard::Named,
    },
    cautions::M4,
    cautions::M5,
    Rule {
        id: "M6",
        title: "partial-pass",
        severity: Severity::Fail,
        tests: "Some objectives pass, and any other does not: one that is missed fails the run; one that \
                could not be decided is a caution here, and keeps the run from passing.",
        guards: "the whole run",
        why: "Four of five is not a pass: each objective was declared because it must hold.",
        next: "State each objective's own answer; mend the one that is missed.",
        guard: Guard::Named,
    },
];
