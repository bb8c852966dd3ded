//! Overload of any service: how a run above its highest good load is read.
//!
//! The plans have a half that is offered all the time (`steady`), a part that expects success (`answered`) and a part
//! of the same size that expects refusals (`refused`), then a phase for each second after the load.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::highest_load::{FIRST_LOAD, GOOD_SHARE, highest};
use super::run_report::{RunReport, TimeQuantiles};
use super::table::{count, figure};
use xtask::service_process::ServiceProcess;

/// Hundredths of a processor for the service.
pub(super) const SHARE_PERCENT: u32 = 20;
/// Requests a second of the plans at `--load 1`.
pub(super) const PLANNED_PER_S: f64 = 1_000.0;
/// The phase before the load.
const BEFORE: &str = "before";
/// The phase of the load.
const OVERLOAD: &str = "overload";
/// Phases of a second each after it.
const AFTER: u32 = 8;

/// How exactly the highest good load is known, as a share of it.
const BEST_IS_KNOWN_TO: f64 = 0.1;

/// After its last surplus request, a service is limited for some more seconds at the most.
const RELEASED_WITHIN: Duration = Duration::from_secs(10);
const RELEASE_CHECKED_EVERY: Duration = Duration::from_millis(100);

/// The columns of [`cells`].
pub(super) const HEAD: &[&str] = &[
    "load",
    "offered a second",
    "good a second",
    "of its best",
    "less the cost of refusing",
    "refused a second",
    "refused in ms: p50",
    "p95",
    "p99",
    "unanswered",
    "MB before",
    "most",
    "after",
    "recovered after s",
    "service cores",
    "generator cores",
];

/// The service's highest good load, measured before it is overloaded.
pub(super) struct BestLoad {
    /// Successes within 100 ms, a second.
    pub(super) good_per_s: f64,
    /// CPU-seconds of one refusal.
    pub(super) refusal_cpu_s: Option<f64>,
    /// What limits it.
    pub(super) bottleneck: Bottleneck,
}

/// The resource that limits a service.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bottleneck {
    /// This many hundredths of a processor, of which refusals take a part.
    Processor(u32),
    /// A system behind it, of which refusals take nothing.
    Sink,
}

/// A plan that offers a multiple of the highest good load.
pub(super) struct OverloadPlan {
    pub(super) times: f64,
    pub(super) plan: &'static str,
}

/// A run above the highest good load.
pub(super) struct OverloadRun {
    pub(super) report: RunReport,
    /// How many times the highest good load was offered.
    pub(super) times: f64,
    /// The plan's name for the service.
    pub(super) target: &'static str,
    /// The outcome of a refusal.
    pub(super) refused: &'static str,
    /// The service's resident memory before the run and after it.
    pub(super) before_mb: f64,
    pub(super) after_mb: f64,
}

/// Successes within 100 ms a second at the highest good load. `offer` runs the plan of one step at a load.
///
/// # Errors
/// Those of `offer`; when not even the first load is good, or the service stays limited after a step.
pub(super) fn highest_good(
    service: &ServiceProcess,
    offer: impl Fn(f64) -> Result<RunReport>,
) -> Result<f64> {
    let best = highest(|load| {
        let good_per_s = offer(load)?.observed("good")?;
        println!("  {:.0} offered a second, {good_per_s:.0} good", load * PLANNED_PER_S);
        await_release(service)?;
        Ok((good_per_s >= GOOD_SHARE * load * PLANNED_PER_S).then_some(good_per_s))
    })?;
    ensure!(best > 0.0, "not even {:.0} a second were good", FIRST_LOAD * PLANNED_PER_S);
    Ok(best)
}

/// Waits until the service does not limit requests any more: the next load would meet the end of this overload.
fn await_release(service: &ServiceProcess) -> Result<()> {
    let admin: SocketAddr = service.address("admin")?.parse().context("no address of the admin port")?;
    let began = Instant::now();
    loop {
        let metrics = String::from_utf8(peers::go::get(admin, "/metrics")?).context("no metrics")?;
        if !is_limited(&metrics)? {
            return Ok(());
        }
        ensure!(began.elapsed() < RELEASED_WITHIN, "requests are still limited after the load");
        std::thread::sleep(RELEASE_CHECKED_EVERY);
    }
}

/// Whether a service limits requests, by its metrics.
fn is_limited(metrics: &str) -> Result<bool> {
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let overloaded =
        samples.filter_map(|line| line.split_once(' ')).find(|(name, _)| name.ends_with("_overloaded"));
    let (_, value) = overloaded.context("no metric says whether requests are limited")?;
    Ok(value != "0")
}

/// A row below [`HEAD`].
///
/// # Errors
/// When the report has not the rows and objectives of the plans.
pub(super) fn cells(run: &OverloadRun, best: &BestLoad) -> Result<Vec<String>> {
    let report = &run.report;
    let refusals = report.endpoint(OVERLOAD, "refused")?;
    let [steady, answered] = ["steady", "answered"].map(|name| report.observed(name));
    // As many of the part that expects refusals succeed as of the part that expects success: both have the same size.
    let good_per_s = steady? + 2.0 * answered?;
    let ended = report.endpoints().filter(|row| row.phase() == OVERLOAD);
    let refused_per_s = refused_per_s(report, run.refused);
    let unanswered: u64 = ended.map(|row| row.outcome("timeout")).sum::<u64>() + report.dropped();
    let share = good_per_s / best.good_per_s;
    let refused_ms: TimeQuantiles = refusals.service_time();
    Ok(vec![
        format!("{:.0} ×", run.times),
        count(best.good_per_s * run.times),
        count(good_per_s),
        format!("{:.1} %", share * 100.0),
        best.less_refusing(share, refused_per_s)
            .map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0)),
        count(refused_per_s),
        figure(refused_ms.p50_ms, 2),
        figure(refused_ms.p95_ms, 2),
        figure(refused_ms.p99_ms, 2),
        count(unanswered as f64),
        figure(Some(run.before_mb), 0),
        figure(report.series_max(run.target, "rss").map(|bytes| bytes / 1e6), 0),
        figure(Some(run.after_mb), 0),
        recovered_after_s(report)
            .map_or_else(|| "not observed".to_owned(), |seconds| format!("{seconds:.1}")),
        figure(report.cores(run.target), 2),
        figure(report.cores("generator"), 2),
    ])
}

impl BestLoad {
    /// What the service served, as a share of what the refusals left it time for; `None` when that is not known, or more
    /// than it can be: a refusal without other work costs more than one under full load.
    fn less_refusing(&self, share: f64, refused_per_s: f64) -> Option<f64> {
        let rest = share / self.left_for_work(refused_per_s)?;
        (rest <= share.max(1.0 + BEST_IS_KNOWN_TO)).then_some(rest)
    }

    /// The share of the service's processor time that refusals leave for work; `None` when their cost is not known, or
    /// exceeds the whole.
    fn left_for_work(&self, refused_per_s: f64) -> Option<f64> {
        let Bottleneck::Processor(percent) = self.bottleneck else { return Some(1.0) };
        let left = 1.0 - refused_per_s * self.refusal_cpu_s? / (f64::from(percent) / 100.0);
        (left > 0.0).then_some(left)
    }
}

/// Refusals a second over the phase of the load, whether the plan expects them or not.
fn refused_per_s(report: &RunReport, outcome: &str) -> f64 {
    let rows = report.endpoints().filter(|row| row.phase() == OVERLOAD && row.ended() > 0);
    rows.map(|row| {
        let refused = if row.name() == "refused" { row.outcome("ok") } else { row.outcome(outcome) };
        row.throughput_per_s() * refused as f64 / row.ended() as f64
    })
    .sum()
}

/// Seconds from the end of the load to the end of the first phase from which on p95 stayed within twice its value
/// before the load, failures counting as slow.
fn recovered_after_s(report: &RunReport) -> Option<f64> {
    let healthy_ms = report.endpoint(BEFORE, "steady").ok()?.response_time().p95_ms? * 2.0;
    let is_back = |phase: &str| {
        report.endpoint(phase, "steady").is_ok_and(|row| {
            let is_right = row.ended() > 0 && row.outcome("ok") == row.ended();
            is_right && row.response_time().p95_ms.is_some_and(|p95_ms| p95_ms <= healthy_ms)
        })
    };
    let last_bad = (1..=AFTER).rev().find(|second| !is_back(&format!("after-{second}")));
    let back = last_bad.map_or(1, |second| second + 1);
    let end_s = report.phase_end_s(&format!("after-{back}"))?;
    Some(end_s - report.phase_end_s(OVERLOAD)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn whether_requests_are_limited_is_read_from_the_sample_of_the_metric() {
        let metrics = |value: &str| {
            format!(
                "# HELP demo_overloaded 1 while connections are limited.\n# TYPE demo_overloaded gauge\ndemo_overloaded {value}\n# EOF\n"
            )
        };
        assert!(!is_limited(&metrics("0")).unwrap() && is_limited(&metrics("1")).unwrap());
        assert!(is_limited("# HELP demo_overloaded 1 while connections are limited.\n").is_err());
    }

    fn row(phase: &str, endpoint: &str, p95_ms: f64, by_outcome: Value) -> Value {
        json!({ "phase": phase, "endpoint": endpoint, "throughput_per_s": 100.0, "by_outcome": by_outcome,
            "response_time": { "p95_ms": p95_ms } })
    }

    /// A run whose seconds after the load had these p95s.
    fn run_report(after_ms: [f64; AFTER as usize]) -> RunReport {
        let mut report = super::super::run_report::tests::report();
        let ok = || json!({ "ok": 100 });
        let mut rows = vec![
            row(BEFORE, "steady", 2.0, ok()),
            row(OVERLOAD, "steady", 90.0, json!({ "ok": 40, "http_503": 60 })),
            row(OVERLOAD, "answered", 90.0, json!({ "ok": 50, "http_503": 25, "timeout": 25 })),
            row(OVERLOAD, "refused", 1.0, json!({ "ok": 80, "check": 20 })),
        ];
        let mut phases = vec![json!({ "name": OVERLOAD, "end_s": 15.0 })];
        for (index, p95_ms) in after_ms.into_iter().enumerate() {
            let name = format!("after-{}", index + 1);
            rows.push(row(&name, "steady", p95_ms, ok()));
            phases.push(json!({ "name": name, "end_s": 16.0 + index as f64 }));
        }
        report["endpoints"] = rows.into();
        report["phases"] = phases.into();
        RunReport::new(report, None).expect("a sound report")
    }

    #[test]
    fn recovery_counts_from_the_last_bad_second() {
        let expect = [
            ([3.0; 8], Some(1.0)),
            ([50.0, 5.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0], Some(3.0)),
            ([3.0, 3.0, 9.0, 3.0, 3.0, 3.0, 3.0, 3.0], Some(4.0)),
            ([9.0; 8], None),
        ];
        for (after_ms, seconds) in expect {
            assert_eq!(recovered_after_s(&run_report(after_ms)), seconds, "{after_ms:?}");
        }
    }

    #[test]
    fn refusals_are_counted_whether_they_were_expected_or_not() {
        let per_s = refused_per_s(&run_report([3.0; 8]), "http_503");
        assert!((per_s - (60.0 + 25.0 + 80.0)).abs() < 1e-9, "{per_s}");
    }

    #[test]
    fn refusals_take_their_share_of_the_processor() {
        let bottleneck = Bottleneck::Processor(SHARE_PERCENT);
        let best = BestLoad { good_per_s: 1_000.0, refusal_cpu_s: Some(10e-6), bottleneck };
        let left = best.left_for_work(2_000.0).expect("there is some");
        assert!((left - 0.9).abs() < 1e-9, "{left}");
        assert_eq!(best.left_for_work(1e6), None);
        assert_eq!(best.less_refusing(0.9, 1e6), None);
        assert!(best.less_refusing(0.9, 2_000.0).is_some_and(|rest| (rest - 1.0).abs() < 1e-9));
        assert_eq!(best.less_refusing(0.9, 15_000.0), None, "the best is 1");
        assert_eq!(BestLoad { bottleneck: Bottleneck::Sink, ..best }.left_for_work(1e6), Some(1.0));
        assert_eq!(BestLoad { refusal_cpu_s: None, ..best }.left_for_work(1.0), None);
    }
}
