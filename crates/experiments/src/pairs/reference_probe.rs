//! Which metrics of runs in turn the reference probe corrects, and by how much: decided before the first pair, by a calibration.

use conduct::run_request::ProbeUse;
use conduct::screen::note;
use evidence::Calibration;
use workload::Quantity;
use workload::experiment::{Design, Experiment, GateMetric, Probe};
use workload::objective::CostKind;

/// Of processor time without a calibration: on a machine that is slower by a share all work takes longer by this share.
const USUAL_SLOPE: f64 = 1.0;

/// The metrics with the slopes by which they are corrected.
pub(super) fn with_slopes(experiment: &Experiment, calibration: Option<&Calibration>) -> Vec<GateMetric> {
    let Experiment { design, metrics, .. } = experiment;
    let with_slope = |metric: &GateMetric| {
        let probe_slope = slope(metric, design, calibration);
        GateMetric { probe_slope, ..metric.clone() }
    };
    metrics.iter().map(with_slope).collect()
}

fn slope(metric: &GateMetric, design: &Design, calibration: Option<&Calibration>) -> Option<f64> {
    if design.together.is_some() || design.probe == Probe::Off {
        return None;
    }
    let noise = calibration.and_then(|found| found.metrics.iter().find(|noise| noise.of == metric.source));
    let gain = noise.and_then(|noise| noise.probe);
    let is_cpu = matches!(metric.quantity, Quantity::Cost { cost: CostKind::Cpu, .. });
    match gain {
        Some(gain) if gain.is_enough => Some(gain.slope),
        _ if design.probe == Probe::On && is_cpu => Some(gain.map_or(USUAL_SLOPE, |gain| gain.slope)),
        _ => None,
    }
}

/// Whether the probe runs beside the load: where it corrects something, or is to be calibrated.
pub(super) fn needed(design: &Design, metrics: &[GateMetric]) -> ProbeUse {
    let is_used = metrics.iter().any(|metric| metric.probe_slope.is_some());
    match design.probe {
        _ if design.together.is_some() => ProbeUse::None,
        Probe::On => ProbeUse::Runs,
        Probe::Auto if is_used => ProbeUse::Runs,
        Probe::Auto | Probe::Off => ProbeUse::None,
    }
}

/// Say what the probe corrects.
pub(super) fn announce(experiment: &Experiment, calibration: Option<&Calibration>) {
    let corrected = with_slopes(experiment, calibration);
    let corrected = corrected.iter().filter_map(|metric| {
        metric.probe_slope.map(|slope| format!("{} by {slope:.2} of its change", metric.name))
    });
    let corrected: Vec<String> = corrected.collect();
    if !corrected.is_empty() {
        note(format_args!("the reference probe corrects {}", corrected.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use evidence::{EffectScale, MetricNoise, ProbeGain};
    use workload::experiment::{Timing, Together};
    use workload::objective::parse_quantity;

    use super::*;

    const CPU: &str = "cpu_per_request(target = web)";
    const P50: &str = "p50(list)";

    /// A calibration whose probe lowers the deviation of these.
    fn calibration(helped: &[&str]) -> Calibration {
        let noise = |of: &str| MetricNoise {
            name: of.to_owned(),
            of: of.to_owned(),
            unit: "ms".to_owned(),
            scale: EffectScale::Relative,
            median: 1.0,
            deviation: 0.1,
            within_run: None,
            between_starts: None,
            between_pairs: 0.1,
            probe: Some(ProbeGain {
                slope: 0.9,
                deviation: 0.02,
                ratio_limit: 0.3,
                is_enough: helped.contains(&of),
            }),
        };
        Calibration {
            version: Calibration::VERSION,
            name: String::new(),
            made_at: String::new(),
            host: Default::default(),
            workload: String::new(),
            pairs: 8,
            slot_s: 10.0,
            pair_s: 24.0,
            metrics: [CPU, P50].map(noise).into(),
        }
    }

    /// The slopes of processor time and of a time, and whether the probe runs.
    fn slopes(probe: Probe, together: bool, helped: Option<&[&str]>) -> ([Option<f64>; 2], ProbeUse) {
        let metric = |of: &str| GateMetric::new(of, of, parse_quantity(of, &|_| true).unwrap());
        let together = together.then(Together::default);
        let experiment = Experiment {
            name: String::new(),
            plan: Default::default(),
            folder: Default::default(),
            arms: Default::default(),
            design: Design { probe, together, ..Design::default() },
            metrics: [CPU, P50].map(metric).into(),
            timing: Timing::Given,
        };
        let found = with_slopes(&experiment, helped.map(calibration).as_ref());
        let slopes = [found[0].probe_slope, found[1].probe_slope];
        (slopes, needed(&experiment.design, &found))
    }

    #[test]
    fn unless_it_is_asked_for_the_probe_corrects_what_a_calibration_has_shown_it_to_help() {
        let none = ([None, None], ProbeUse::None);
        assert_eq!(slopes(Probe::Auto, false, None), none);
        assert_eq!(slopes(Probe::Auto, false, Some(&[])), none);
        assert_eq!(slopes(Probe::Auto, false, Some(&[CPU])), ([Some(0.9), None], ProbeUse::Runs));
        assert_eq!(slopes(Probe::Auto, false, Some(&[CPU, P50])), ([Some(0.9); 2], ProbeUse::Runs));
        assert_eq!(slopes(Probe::Off, false, Some(&[CPU, P50])), none);
        assert_eq!(slopes(Probe::Auto, true, Some(&[CPU, P50])), none, "both have the same machine");
    }

    #[test]
    fn where_it_is_asked_for_it_corrects_processor_time_and_no_time_that_it_does_not_help() {
        assert_eq!(slopes(Probe::On, false, None), ([Some(1.0), None], ProbeUse::Runs));
        assert_eq!(slopes(Probe::On, false, Some(&[])), ([Some(0.9), None], ProbeUse::Runs));
        assert_eq!(slopes(Probe::On, false, Some(&[P50])), ([Some(0.9); 2], ProbeUse::Runs));
    }
}
