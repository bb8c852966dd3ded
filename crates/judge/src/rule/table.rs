//! The table of all rules. They are implemented in `rules`, with the thresholds of `thresholds`.

use evidence::Severity;

use super::{AffectedClaims, Rule};

mod cautions;
mod steadiness;

const LOAD_CLAIMS: &str = "every objective on requests of the scenario and phase it fires in";
const DIFFERENCES: &str = "differences between runs, within its scope; no objective of a run by itself";
const TIME_CLAIMS: &str = "objectives on response, service and iteration time";

/// Every rule, in the order in which findings of one severity are shown.
pub const RULES: &[Rule] = &[
    Rule {
        id: "A1",
        title: "evidence-changed",
        severity: Severity::Invalid,
        tests: "The SHA-256 digest of the evidence is not the one that its seal contains, or the seal of a run that \
                ended is missing. A run that was killed was never sealed: it has no digest, and is judged without.",
        affects: "everything: changed evidence invalidates the run, with or without objectives, and differences from \
                  other runs",
        why: "Where one number was changed, any other may have been: what the run measured is not known.",
        next: "Use the file as the run left it, or run again. A deliberate change can renew the digest as well: keep \
               the digest of a run elsewhere, and compare.",
        affected: AffectedClaims::Everything,
    },
    Rule {
        id: "L1",
        title: "offered-load-not-reached",
        severity: Severity::Invalid,
        tests: "Arrivals not dropped because the generator was late, as a share of those scheduled, for each \
                scenario and phase: below 99 % is invalid, below 99.5 % a caution; below 95 % in any 10 s is a \
                caution. Arrivals dropped at the VU limit are the target's slowness: they count as infinitely slow \
                and not against the generator.",
        affects: LOAD_CLAIMS,
        why: "A target that gets less load than planned looks faster than it is.",
        next: "Find what slowed the generator down (L3 shows whether it was its CPU), or plan a lower rate.",
        affected: AffectedClaims::Load,
    },
    Rule {
        id: "L2",
        title: "dropped-or-late",
        severity: Severity::Invalid,
        tests: "For each scenario and phase: arrivals dropped because the generator was late are invalid above 1 \
                %, a caution above 0.1 %; a 99th percentile of start lag above 5 % of the objective's limit, and at \
                least 1 ms, is invalid for that quantile (with a closed model a caution). For each open scenario: \
                a VU limit below peak rate × longest time limit is a caution.",
        affects: "dropped arrivals: every objective on requests of that scenario and phase; start lag: the \
                  objective it is compared with; a low VU limit: objectives on times of that scenario",
        why: "Delay in the generator is part of every response time, and arrivals that never started have none.",
        next: "Give the generator more loops, cores or machines; raise `max_vus` where the VU limit is the cause.",
        affected: AffectedClaims::Load,
    },
    Rule {
        id: "L3",
        title: "generator-saturated",
        severity: Severity::Invalid,
        tests: "For each phase: a loop that used more than 80 % of a core over any 10 s (or over the whole phase \
                if it is shorter), or a 99th percentile of loop stalls above 2 ms. CPU that was not measured is a \
                caution.",
        affects: "every objective on requests at an offered rate in that phase; with a closed model it is a \
                  caution",
        why: "The generator, not the target, was at its limit: its delays are in the numbers.",
        next: "Give the generator its own cores or a second machine, or lower the load.",
        affected: AffectedClaims::OfferedLoad,
    },
    Rule {
        id: "L4",
        title: "closed-loop-or-capped",
        severity: Severity::Invalid,
        tests: "A closed model; or at least 99 % of the VU limit in use for at least 1 % of a phase; or completed \
                iterations a second × mean iteration time at 90 % of the VU limit or more.",
        affects: "objectives on a rate: all of an open scenario, goodput and throughput of a closed one; other \
                  objectives of a closed scenario are met with its number of virtual users. A VU limit only makes \
                  results look better, so a violated objective stays violated",
        why: "Where the number of virtual users sets the load, a slow target gets fewer requests, and rate and \
              latency describe the VU limit.",
        next: "Use an arrival-rate executor, raise `max_vus`, or state the objective for a number of virtual \
               users.",
        affected: AffectedClaims::LoadUnlessViolated,
    },
    cautions::L5,
    Rule {
        id: "L6",
        title: "accounting-identity",
        severity: Severity::Invalid,
        tests: "For each scenario and phase: scheduled = started + dropped; started = iterations done + cancelled \
                + in flight at the end. For each endpoint: requests = responses of every outcome + in flight at \
                the end; no more service times than response times. For a completed run: scheduled = the plan's \
                arrivals, within 1; of a number of iterations, no more than the plan's. Any other gap is invalid. \
                What was in flight is known only for runs that ended in order; for others the difference is \
                stated.",
        affects: "everything: counts that do not add up invalidate the run, with or without objectives",
        why: "If requests are missing from the counts, their results are unknown.",
        next: "Do not use this run. Keep the run file: it is evidence of a fault in the generator.",
        affected: AffectedClaims::Everything,
    },
    Rule {
        id: "L7",
        title: "end-of-run-cutoff",
        severity: Severity::Caution,
        tests: "At least 10 failures in the last second, as many as there were requests in flight before it, \
                within 15 %.",
        affects: "error rates and times of the last phase",
        why: "Requests that the end of the run cut off did not fail: they had no time to end.",
        next: "Give scenarios a `graceful_stop` as long as their longest response.",
        affected: AffectedClaims::Named,
    },
    Rule {
        id: "C1",
        title: "error-rates-differ",
        severity: Severity::Invalid,
        tests: "For each endpoint and phase that two runs have in common: shares of failed and dropped arrivals \
                more than 0.1 percentage points apart, where the test of two shares gives a probability below \
                0.001. An imported run that does not know how requests ended is reported as unknown.",
        affects: DIFFERENCES,
        why: "The run with more failures has fewer successes and leaves out the slow ones: its latency looks \
              better. The error rate is the result.",
        next: "Fix what fails, and run both again.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C2",
        title: "workload-mismatch",
        severity: Severity::Invalid,
        tests: "For each phase: mixes of endpoints with a total variation of more than 1 %, where the chi-square \
                test gives a probability below 0.001. For each endpoint with hardly any failure: bytes received \
                for a response more than 2 % apart. For the plans: other data files, rows or ways to pick them.",
        affects: DIFFERENCES,
        why: "Other requests or other responses take other times: the difference is the workload's.",
        next: "Run both with the same plan, seed and data, against stores with the same content.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C3",
        title: "load-shape-mismatch",
        severity: Severity::Invalid,
        tests: "Phases, executors, rates, starts, spacing of arrivals, VU limits, steps, time limits or think \
                times of two plans differ.",
        affects: DIFFERENCES,
        why: "Latency depends on load: effects of the target and of the load's shape cannot be separated.",
        next: "Run both with the same plan and the same `--load` and `--time-scale`.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C4",
        title: "environment-mismatch",
        severity: Severity::Invalid,
        tests: "Processor model, cores, CPU quota, memory, kernel or frequency governor of the generator's machine \
                differ. Another machine of the same kind, or another version or number of loops of the generator, \
                is a caution. For targets: another version or other settings of their database, or other limits of \
                their container or of their database's connections, are invalid where both runs recorded them; a \
                target at another host is a caution. Flags and log levels are not in a run file.",
        affects: DIFFERENCES,
        why: "A faster machine makes a faster run of the same program.",
        next: "Run both on the same machine, one after the other, with the same generator.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C5",
        title: "not-the-shipped-config",
        severity: Severity::Info,
        tests: "Which targets were reached without TLS. Whether rate limits, authentication, logging and retries \
                are those of production is not in a run file, and is reported as unknown.",
        affects: "claims on production",
        why: "A feature that is switched off in the test costs nothing there.",
        next: "Run with the configuration that ships, and state it in the plan's name.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C6",
        title: "state-not-reset",
        severity: Severity::Invalid,
        tests: "First values, within 15 s, of series on rows, dead rows, table sizes, keys and memory of stores \
                that both runs observed: more than 5 % apart. Without such a series it is reported as unknown.",
        affects: DIFFERENCES,
        why: "A larger table is slower to read, and a warm cache faster: data of the run before affects this one.",
        next: "Reset the stores, or restore a snapshot, before each run.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C7",
        title: "baseline-provenance",
        severity: Severity::Invalid,
        tests: "Evidence that was imported as finished numbers is invalid. Evidence that was never sealed, or \
                imported in full, is a caution. Evidence that was changed is a finding of A1.",
        affects: DIFFERENCES,
        why: "A number that cannot be recomputed from its evidence cannot be verified.",
        next: "Run it again, and keep the run file.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "C8",
        title: "not-one-change",
        severity: Severity::Caution,
        tests: "What differs between the manifests: the program's digest, the load, the data, the seed, the \
                machine, the generator's version. More than one difference is a caution; none is reported as an \
                A/A run, or as unknown.",
        affects: DIFFERENCES,
        why: "With two changes at once, the difference cannot be attributed to either.",
        next: "Change one thing at a time.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "S1",
        title: "single-run",
        severity: Severity::Inconclusive,
        tests: "Runs are compared, and there is one of each. No finding where a run is compared with itself.",
        affects: DIFFERENCES,
        why: "Starts of the same program differ, often by more than the change under test; the requests within a \
              run, however many, do not show that.",
        next: "Repeat both in random order, restarted each time; and one against itself, to measure the spread.",
        affected: AffectedClaims::Differences,
    },
    Rule {
        id: "Q1",
        title: "pooled-phases",
        severity: Severity::Invalid,
        tests: "One objective pools phases, scenarios or endpoints of at least 100 observations each whose failure \
                rates differ by more than 1 percentage point or whose medians differ by more than a factor of 2.",
        affects: TIME_CLAIMS,
        why: "A quantile of two populations describes neither: it is the slower one's, at another rank.",
        next: "State the objective for one phase and one endpoint: `p95(list, phase = steady) < 50ms`.",
        affected: AffectedClaims::Named,
    },
    Rule {
        id: "Q2",
        title: "censored-quantile",
        severity: Severity::Invalid,
        tests: "The share of arrivals that took at least 98 % of their step's time limit is 1 − q or more. Where \
                the bound is below the limit the objective is violated whatever the true value, and it is a \
                caution.",
        affects: "objectives on a quantile of response time",
        why: "The quantile is the time limit, not a response time: its true value is unknown.",
        next: "Raise the step's `timeout` above the bound, or lower the load.",
        affected: AffectedClaims::Named,
    },
    Rule {
        id: "Q3",
        title: "survivors-only",
        severity: Severity::Invalid,
        tests: "A mean, a lowest or a highest time is of successes only; failed or dropped arrivals above 1 % are \
                invalid for it, above 0.1 % a caution. Quantiles count them as infinitely slow instead.",
        affects: "objectives on `avg`, `min` and `max` of times",
        why: "A number about successes contains nothing about failures.",
        next: "State a quantile, which counts failures, and a bound on `error_rate` beside it.",
        affected: AffectedClaims::Named,
    },
    Rule {
        id: "Q4",
        title: "impossible-or-bimodal",
        severity: Severity::Invalid,
        tests: "For each endpoint and phase of at least 400 successes: a mean above the 95th percentile is a \
                caution. For each: p50 > p95, p95 > p99 or p99 > max is impossible, hence invalid.",
        affects: "objectives on times of that endpoint and phase",
        why: "A mean above the 95th percentile means two kinds of responses, one far slower; a quantile between \
              them depends on their shares.",
        next: "Look at the latency distribution in the report, and at the slowest exchanges.",
        affected: AffectedClaims::Times,
    },
    cautions::Q5,
    Rule {
        id: "Q7",
        title: "profile-window-or-denominator",
        severity: Severity::Invalid,
        tests: "No request ended in the window of a profile; or a heap, mutex or block profile has no snapshot \
                from the beginning of its window, so that it counts from the start of the process.",
        affects: "costs per request in that profile",
        why: "A cost per request needs the requests of exactly that window.",
        next: "Set the mark inside a phase with load, and find out why the first snapshot is missing.",
        affected: AffectedClaims::Named,
    },
    cautions::Q8,
    Rule {
        id: "Q9",
        title: "not-measured-is-not-zero",
        severity: Severity::Invalid,
        tests: "A profile was captured while the target took no samples for it; where the target does not report \
                whether it did, it is a caution.",
        affects: "conclusions from an empty profile: no contention, no allocation",
        why: "A profiler that is off records nothing, whatever happens.",
        next: "Switch it on in the target: in Go, `runtime.SetMutexProfileFraction` and \
               `runtime.SetBlockProfileRate`.",
        affected: AffectedClaims::Named,
    },
    Rule {
        id: "S4",
        title: "too-few-tail-samples",
        severity: Severity::Inconclusive,
        tests: "m = n × (1 − q) arrivals are beyond a quantile: below 100, or below 20 after division by the \
                design effect of 10 s batches, it is not gated; below 20 its value is no more than a hint. A \
                clustered tail is only a caution where the interval from batches, 3 times as wide, does not \
                include the bound. For a quantile that is infinite, m is at least the number of failed and dropped \
                arrivals.",
        affects: "objectives on quantiles of times",
        why: "A tail of a few requests is chance: the next run has another one.",
        next: "Run longer, offer more, or state a lower quantile.",
        affected: AffectedClaims::Named,
    },
    cautions::S9,
    steadiness::T1,
    steadiness::T2,
    Rule {
        id: "T4",
        title: "functional-failure-phase",
        severity: Severity::Invalid,
        tests: "Successes below 50 % of all arrivals that were due in a phase, or of those of one endpoint in a \
                phase.",
        affects: "objectives on times that count requests of that phase and endpoint; objectives on errors and \
                  goodput are still decided, and fail",
        why: "The latency of failures is not the latency of a working target.",
        next: "Run the plan with `--once`, and look at the failed exchanges in the report.",
        affected: AffectedClaims::Times,
    },
    steadiness::T5,
    Rule {
        id: "O1",
        title: "observation-gap",
        severity: Severity::Caution,
        tests: "Every observer that reported anything: the seconds of the run that its series do not cover, and \
                its first notices. A target that was gone, unreadable, late or restarted is a caution, everything \
                else is info.",
        affects: "nothing by itself: an objective on a series that was not measured is undecided for that reason",
        why: "A gap is not a zero: the state of a target that was not observed is unknown.",
        next: "Look at `notices` in the run file, and fix what stopped the observer.",
        affected: AffectedClaims::Named,
    },
    cautions::M4,
    cautions::M5,
    Rule {
        id: "M6",
        title: "partial-pass",
        severity: Severity::Fail,
        tests: "Some objectives pass, and at least one other does not: a violated one fails the run; one that \
                could not be decided is a caution here, and prevents the run from passing.",
        affects: "the whole run",
        why: "Four of five is not a pass: every objective must be met.",
        next: "Report the verdict on each objective; fix what violates one.",
        affected: AffectedClaims::Named,
    },
];
