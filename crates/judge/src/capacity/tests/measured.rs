//! Probes and overloads that are measured from runs.

use std::time::Duration;

use evidence::capacity::{ProbeStage, Recovery};
use evidence::{Key, Metric, Outcome, Provenance, SeriesKey};
use workload::capacity::OverloadShape;
use workload::{Workload, objective};

use super::super::{OverloadRun, ProbePlace, measure_probe};
use super::{rules, slo};
use crate::Side;
use crate::testing::{Load, TestRun};

#[test]
fn a_probe_has_the_margin_of_its_run() {
    let slos = [objective::parse("fast", "p95(list, phase = steady) < 50ms").unwrap()];
    let rules = rules(&slos);
    let place = ProbePlace { number: 7, stage: ProbeStage::Grid, level: 100.0 };
    let measured = |test_run: TestRun| {
        let TestRun { run, workload, .. } = test_run;
        let side = Side { name: "run", run: &run, workload: &workload, provenance: Provenance::Intact };
        measure_probe(&rules, place, &side).unwrap()
    };
    let run = || TestRun::new().offer("steady", "list", Load { us: 25_000, ..Load::ok(50) });
    let fast = measured(run());
    assert!((fast.margins[0] - 2.0_f64.ln()).abs() < 0.06, "{fast:?}");
    assert_eq!((fast.unusable.as_deref(), fast.has_collapsed), (None, false));
    assert!((fast.goodput - 50.0).abs() < 0.5 && fast.failed == 0.0);
    let late = measured(run().offer("steady", "list", Load { dropped_generator_late: 5, ..Load::ok(0) }));
    assert!(late.unusable.unwrap().starts_with("the generator was late"));
    let ended = measured(run().stopped_by("fast collapses", 40_000));
    assert!(ended.has_collapsed && ended.margins[0] <= 0.0);
    let failing = measured(TestRun::new().offer("steady", "list", Load { failed: 10, ..Load::ok(40) }));
    assert_eq!(failing.values, [None]);
    assert!(failing.margins[0] < -1.38);
}

/// A run at 70 a second, at 120, 150 and 200, and at 70 again, of a target that answers `served` of them a second; the rest
/// is refused, or waits.
fn overloaded(after_us: u64, refusal: Option<Outcome>) -> (TestRun, Workload) {
    let mut test_run = TestRun::new().offer("steady", "list", Load::ok(1));
    let shape = OverloadShape::around(0.7, &[1.2, 1.5, 2.0], Duration::from_secs(10));
    test_run.plan_rate(100.0);
    let measured = test_run.workload.phases[1].clone();
    let workload = shape.apply_to(&test_run.workload, &measured);
    for (at, (name, factor, length)) in shape.parts.iter().enumerate() {
        let offered = (factor * 100.0) as u64;
        let key = |metric| Key::of(metric).scenario("play").phase(name).endpoint("list");
        let begin = workload.phases[at].start.as_secs() as u32;
        for second in begin..begin + length.as_secs() as u32 {
            let served = offered.min(100);
            let us = if name == "after" { after_us } else { 10_000 };
            test_run.run.add(&key(Metric::Scheduled), second, offered);
            test_run.run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, us, served);
            if let Some(refusal) = refusal.filter(|_| offered > served) {
                let refused = key(Metric::ResponseTime).outcome(refusal);
                test_run.run.record(&refused, second, 2_000, offered - served);
            }
        }
    }
    let in_flight = SeriesKey::new("in_flight", SeriesKey::GENERATOR, "1");
    test_run.observe(&in_flight, 0..70, 3.0);
    (test_run, workload)
}

#[test]
fn an_overload_shows_what_is_kept_how_it_is_refused_and_whether_it_comes_back() {
    let slos = [slo()];
    let answer = |(test_run, workload): &(TestRun, Workload)| {
        let factors = [0.7, 1.2, 1.5, 2.0, 0.7];
        OverloadRun { run: &test_run.run, workload, slos: &slos, factors: &factors, goodput: 100.0 }
            .answer()
            .unwrap()
    };
    let good = answer(&overloaded(10_000, Some(Outcome::Http503)));
    assert_eq!(good.parts.len(), 5);
    let double = &good.parts[3];
    assert!((double.kept - 1.0).abs() < 0.05 && (double.offered - 200.0).abs() < 5.0, "{double:?}");
    assert_eq!((double.refused_quickly, double.in_time), (Some(1.0), Some(1.0)));
    assert_eq!((good.recovery, good.recovered_after_s), (Recovery::Recovered, Some(0.0)));
    let stuck = answer(&overloaded(400_000, None));
    assert_eq!((stuck.recovery, stuck.recovered_after_s), (Recovery::NotRecovered, None));
}
