//! The checks on two short runs. What was not observed is `unknown`, never `pass`.

use std::collections::BTreeMap;

use conduct::judged::StoredRun;
use conduct::once;
use evidence::run::ReadError;
use evidence::{GrpcCode, Histogram, Key, Outcome, Run, SeriesKey};
use figures::Figures;
use report::number::{self, brief};
use report::quick::{QuickCheck, QuickState};

use crate::health_service;

fn check(name: &'static str, state: QuickState, what: impl Into<String>) -> QuickCheck {
    QuickCheck { name, state, what: what.into() }
}

/// The checks of a target that did not answer at all.
pub(super) fn unreachable(why: &str) -> Vec<QuickCheck> {
    let others = ["ready", "status", "rate limiter", "latency", "resources"];
    let mut checks = vec![check("reachable", QuickState::Fail, why)];
    checks.extend(others.map(|name| check(name, QuickState::Unknown, "nothing answered")));
    checks
}

/// The checks on a slow run and a burst.
pub(super) fn of(slow: &StoredRun, burst: &StoredRun) -> Result<Vec<QuickCheck>, ReadError> {
    let calm = Seen::of(slow)?;
    let (all, slow, burst) = (Seen::of(burst)?, &slow.run, &burst.run);
    let reachable = if calm.answers() > 0 {
        check(
            "reachable",
            QuickState::Pass,
            format!(
                "{} {} answered",
                number::counted(calm.answers(), "request"),
                brief::were(calm.answers())
            ),
        )
    } else {
        let first = slow.exemplars()?.into_iter().find(|exchange| exchange.outcome != Outcome::Ok);
        let reasons = first.iter().flat_map(once::reasons).collect::<Vec<_>>().join("; ");
        let why = if reasons.is_empty() { reasons } else { format!(": {reasons}") };
        check("reachable", QuickState::Fail, format!("no answer: {}{why}", calm.failures()))
    };
    Ok(vec![
        reachable,
        ready(slow, &calm),
        status(&calm),
        limiter(slow, &all, burst)?,
        latency(&calm),
        resources(slow)?,
    ])
}

/// How requests of a run ended.
struct Seen {
    outcomes: BTreeMap<Outcome, u64>,
    ok: Histogram,
}

impl Seen {
    fn of(stored: &StoredRun) -> Result<Seen, ReadError> {
        let figures = Figures::fold(&stored.run, &stored.workload)?;
        let mut seen = Seen { outcomes: BTreeMap::new(), ok: Histogram::new() };
        for row in figures.endpoints().filter(|row| *row.key.phase != *Key::SETUP) {
            seen.ok.merge(&row.ok);
            for (outcome, n) in &row.outcomes {
                *seen.outcomes.entry(*outcome).or_default() += n;
            }
        }
        Ok(seen)
    }

    fn count(&self, matches: impl Fn(Outcome) -> bool) -> u64 {
        self.outcomes.iter().filter(|(outcome, _)| matches(**outcome)).map(|(_, n)| n).sum()
    }

    fn answers(&self) -> u64 {
        self.count(Outcome::is_answer)
    }

    fn failures(&self) -> String {
        let failed = self.outcomes.iter().filter(|(outcome, n)| outcome.is_failure() && **n > 0);
        let texts: Vec<String> = failed.map(|(outcome, n)| format!("{n} ended in {outcome}")).collect();
        if texts.is_empty() { "nothing ended".to_owned() } else { texts.join(", ") }
    }
}

/// Whether the run's requests are health checks themselves: calls of gRPC's health service.
fn asks_for_health(run: &dyn Run) -> bool {
    let scenarios = run.manifest().workload["scenarios"].to_string();
    scenarios.contains(health_service::CHECK)
}

/// A run begins after the readiness check has passed, where there is one.
fn ready(slow: &dyn Run, calm: &Seen) -> QuickCheck {
    if asks_for_health(slow) && calm.answers() > 0 {
        let unimplemented = GrpcCode::from_name("UNIMPLEMENTED").map(Outcome::Grpc);
        let (ok, all) = (calm.count(|outcome| outcome == Outcome::Ok), calm.answers());
        return match calm.count(|outcome| Some(outcome) == unimplemented) {
            0 if ok == all => check("ready", QuickState::Pass, "it answers SERVING"),
            0 => check("ready", QuickState::Fail, format!("it answered SERVING {ok} times of {all}")),
            _ => check(
                "ready",
                QuickState::Unknown,
                "it has no health service; name a call: grpc://HOST:PORT/SERVICE/METHOD",
            ),
        };
    }
    let targets = &slow.manifest().workload["targets"];
    let is_asked =
        targets.as_object().is_some_and(|all| all.values().any(|target| !target["wait_ready"].is_null()));
    match is_asked {
        true => check("ready", QuickState::Pass, "its readiness check passed before the first request"),
        false if calm.answers() == 0 => check("ready", QuickState::Unknown, "no answer"),
        false => check(
            "ready",
            QuickState::Unknown,
            "no readiness check is known; name one with `wait_ready` in a plan",
        ),
    }
}

fn status(calm: &Seen) -> QuickCheck {
    let (ok, failed) = (calm.count(|outcome| outcome == Outcome::Ok), calm.count(Outcome::is_failure));
    match (ok, failed) {
        (0, 0) => check("status", QuickState::Unknown, "nothing ended"),
        (ok, 0) => check("status", QuickState::Pass, format!("all {ok} as expected")),
        (ok, failed) => check("status", QuickState::Fail, format!("of {}: {}", ok + failed, calm.failures())),
    }
}

/// Headers that rate limiters send.
fn is_limiter_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "retry-after"
        || name.starts_with("x-ratelimit")
        || name.starts_with("x-rate-limit")
        || name.starts_with("ratelimit")
}

fn limiter(slow: &dyn Run, seen: &Seen, burst: &dyn Run) -> Result<QuickCheck, ReadError> {
    let name = "rate limiter";
    let exhausted = GrpcCode::from_name("RESOURCE_EXHAUSTED").map(Outcome::Grpc);
    let refused = seen.count(|o| matches!(o, Outcome::Http429 | Outcome::Http503) || Some(o) == exhausted);
    let all = seen.count(|_| true);
    if refused > 0 {
        let what = format!("{refused} of {all} requests of a short burst were refused: {}", seen.failures());
        return Ok(check(name, QuickState::Fail, what));
    }
    let exemplars = [slow.exemplars()?, burst.exemplars()?].concat();
    let header =
        exemplars.iter().flat_map(|kept| &kept.response_headers).find(|(name, _)| is_limiter_header(name));
    Ok(match header {
        Some((header, value)) => {
            check(name, QuickState::Fail, format!("the response has `{header}: {value}`"))
        }
        None if seen.answers() == 0 => {
            check(name, QuickState::Unknown, "no request of the burst was answered")
        }
        None => check(name, QuickState::Pass, format!("a burst of {all} requests at 100/s was not refused")),
    })
}

fn latency(calm: &Seen) -> QuickCheck {
    let at = |q| number::time_or_none(calm.ok.quantile(q).finite_us().map(|us| us / 1e3));
    match calm.ok.count() {
        0 => check("latency", QuickState::Unknown, "no request succeeded"),
        n => {
            let what =
                format!("p50 {}, p95 {} of {} at 5/s", at(0.5), at(0.95), number::counted(n, "request"));
            check("latency", QuickState::Pass, what)
        }
    }
}

fn resources(slow: &dyn Run) -> Result<QuickCheck, ReadError> {
    let mut texts = Vec::new();
    for name in ["cpu", "rss", "threads", "fds"] {
        let is_it = |series: &&SeriesKey| &*series.name == name && &*series.target != SeriesKey::GENERATOR;
        let Some(series) = slow.series().iter().find(is_it) else { continue };
        let values: Vec<f64> =
            slow.samples(series, slow.whole())?.iter().map(|sample| sample.value).collect();
        if let Some(highest) = values.into_iter().reduce(f64::max) {
            texts.push(format!("{name} at most {}", number::with_unit(Some(highest), &series.unit)));
        }
    }
    Ok(match texts.is_empty() {
        true => check(
            "resources",
            QuickState::Unknown,
            "its process is not on this machine, or cannot be watched",
        ),
        false => check("resources", QuickState::Pass, texts.join(", ")),
    })
}
