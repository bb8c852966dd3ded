//! Samples are dated a little after the second that they cover; costs name the seconds that they are of.

use std::time::Duration;

use evidence::memory::MemoryRun;
use evidence::{Ending, Instant, Key, Metric, Observed, Outcome, RunEnd, Sample, SeriesKey, Sink};
use report::summary::Summary;
use report::{Detail, Reported as _, Style, document};
use workload::{Phase, Workload};

use crate::{forms, judgements, sample_run};

/// How long after the second its samples are dated.
const LATE_NS: u64 = 142_000;
/// Three phases of six seconds: CPU and requests per second.
const PHASES: [(&str, f64, u64); 3] = [("light", 0.012, 10), ("heavy", 0.9, 100), ("after", 0.012, 10)];
const PHASE_S: u64 = 6;
const SECONDS: u64 = 18;

fn workload() -> Workload {
    let mut workload = sample_run::workload();
    workload.phases = PHASES
        .iter()
        .enumerate()
        .map(|(index, (name, ..))| Phase {
            name: (*name).to_owned(),
            start: Duration::from_secs(index as u64 * PHASE_S),
            end: Duration::from_secs((index as u64 + 1) * PHASE_S),
        })
        .collect();
    workload
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// The run, with a sample of CPU and of descriptors at each second from 1 on and at each of `closing`, in seconds.
fn run(closing: &[f64]) -> MemoryRun {
    let mut run = MemoryRun::new(sample_run::manifest());
    for second in 0..SECONDS {
        let (phase, _, requests) = PHASES[(second / PHASE_S) as usize];
        let key = |metric| Key::of(metric).scenario("play").phase(phase).endpoint("claim");
        for metric in [Metric::Scheduled, Metric::Started, Metric::Requests] {
            run.add(&key(metric), second as u32, requests);
        }
        run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second as u32, 5_000, requests);
    }
    let whole_seconds = (1..SECONDS).map(|second| second * 1_000_000_000 + LATE_NS);
    for at in whole_seconds.chain(closing.iter().map(|s| nanos(*s))) {
        let index = (at / 1_000_000_000).saturating_sub(1) / PHASE_S;
        let (_, cores, _) = PHASES[(index as usize).min(2)];
        let sample = |name, unit, value| {
            (SeriesKey::new(name, "challenge", unit), Sample { at: Instant::from_nanos(at), value })
        };
        let samples = vec![sample("cpu", "cores", cores), sample("fds", "1", 100.0 * cores)];
        run.observed(&Observed { samples, ..Observed::default() }).expect("memory takes it");
    }
    run.finish(RunEnd::new(Ending::Completed, SECONDS as u32 - 1));
    run
}

fn summary(run: &MemoryRun) -> Summary {
    Summary::of(run, &workload(), &judgements::measured()).expect("memory")
}

#[test]
fn each_phase_has_the_samples_that_cover_it() {
    let summary = summary(&run(&[18.000_142]));
    for series in &summary.series {
        let of_phases: Vec<(f64, f64, u64)> =
            series.phases.iter().flatten().map(|of| (of.min, of.max, of.samples)).collect();
        let scale = if series.name == "fds" { 100.0 } else { 1.0 };
        let expected: Vec<(f64, f64, u64)> =
            PHASES.iter().map(|(_, cores, _)| (cores * scale, cores * scale, PHASE_S)).collect();
        assert_eq!(of_phases, expected, "{}", series.name);
    }
}

#[test]
fn cpu_per_request_is_of_the_answers_of_the_seconds_that_samples_cover() {
    // Without a sample at the end of the watch 17 of the 18 seconds; with one all, however short its interval is.
    for (closing, seconds) in
        [(&[][..], 17.0), (&[18.000_142][..], 18.0), (&[17.7][..], 18.0), (&[17.2], 18.0)]
    {
        let run = run(closing);
        let cpu = summary(&run).cpu.into_iter().find(|cpu| cpu.target == "challenge").expect("observed");
        let light = seconds - 6.0;
        let last_s = closing.first().map_or(1.0, |at_s| (at_s - 17.0).min(1.0));
        let expected = ((light - 1.0 + last_s) * 0.012 + 6.0 * 0.9) * 1_000.0 / (light * 10.0 + 600.0);
        let seen = cpu.per_1000_requests_s.expect("covered");
        assert!((seen - expected).abs() < 1e-3, "closed at {closing:?}: {seen} and not {expected}");
    }
}

#[test]
fn a_comparison_has_the_cost_of_each_short_phase() {
    let (open, closed) = (run(&[]), run(&[18.000_142]));
    let comparison = judgements::compared([&open, &closed], &workload());
    let costs: Vec<String> = comparison
        .phases
        .iter()
        .map(|phase| {
            let cost = phase.costs.iter().find(|cost| cost.name == "CPU/request of challenge");
            let values = cost.map(|cost| cost.values.clone()).unwrap_or_default();
            let texts =
                values.iter().map(|value| value.finite().map_or("–".to_owned(), |ms| format!("{ms:.2}")));
            format!("{} {}", phase.name, texts.collect::<Vec<_>>().join(" "))
        })
        .collect();
    // The last phase of the first run has no closing sample, and 5 of its 6 seconds are too few.
    assert_eq!(costs, ["light 1.20 1.20", "heavy 9.00 9.00", "after – 1.20"]);
}

#[test]
fn every_report_names_the_seconds_of_a_cost() {
    let run = run(&[]);
    let summary = summary(&run);
    let seconds = "seconds 0 to 17";
    let cpu = |page: String| {
        let from = page.find("per 1,000 requests").unwrap_or_else(|| panic!("{page}"));
        page[from..].replace("\n           ", " ")
    };
    assert!(cpu(forms::terminal(&summary, Style::Plain, 100, Detail::Full)).contains(seconds));
    assert!(cpu(forms::markdown(&summary)).contains(seconds));
    assert!(cpu(forms::html(&summary)).contains(seconds));
    let json: serde_json::Value = serde_json::from_str(&forms::json(&summary)).expect("JSON");
    let cpu = json["cpu"].as_array().expect("a list").iter().find(|cpu| cpu["target"] == "challenge");
    let cpu = cpu.expect("observed");
    assert_eq!((cpu["seconds"].to_string(), cpu["requests"].as_u64()), ("[[0,17]]".to_owned(), Some(710)));
    let comparison = judgements::compared([&run, &run], &workload());
    for page in [
        forms::terminal(&comparison, Style::Plain, 100, Detail::Full),
        document::markdown(&comparison.document()),
        document::html(&comparison.document()),
    ] {
        assert!(page.contains("seconds 6 to 12"), "{page}");
    }
    let json: serde_json::Value = serde_json::from_str(&comparison.json()).expect("JSON");
    assert_eq!(json["phases"][1]["costs"][0]["seconds"].to_string(), "[[[6,12]],[[6,12]]]");
}

#[test]
fn the_first_numbers_of_a_run_under_way_are_of_its_phase_under_way() {
    let run = run(&[]);
    let phase = |summary: &Summary| summary.headline.as_ref().expect("requests ended").phase.clone();
    assert_eq!(phase(&summary(&run)), "heavy", "most requests were due there");
    let so_far = summary(&run).so_far();
    assert_eq!(phase(&so_far), "after");
    let html = forms::html(&so_far);
    assert!(html.contains("Phase after so far; response times of successes"), "{html}");
    assert!(html.contains("18 s of 18 s, in after"), "{html}");
}

#[test]
fn what_ends_after_the_load_counts_in_its_last_second_of_a_chart_of_times() {
    // Of few that were in flight, and of all of a second in which the target stalled.
    for (us, requests, expected_ms) in [(900, 3, 5.0), (2_000_000, 200, 2_000.0)] {
        let mut run = run(&[]);
        let key = Key::of(Metric::ResponseTime).scenario("play").phase("after").endpoint("claim");
        run.record(&key.outcome(Outcome::Ok), SECONDS as u32, us, requests);
        run.finish(RunEnd::new(Ending::Completed, SECONDS as u32));
        let p95 = &summary(&run).timeline.endpoints[0].p95_ms;
        let last = SECONDS as usize - 1;
        assert!(p95[last].is_some_and(|ms| (ms / expected_ms - 1.0).abs() < 0.01), "{p95:?}");
        assert_eq!(p95.get(last + 1).copied().flatten(), None, "{p95:?}");
    }
}
