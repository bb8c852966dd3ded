//! L1: less was offered than the plan asked for, through the generator's own fault.

use evidence::{Finding, Severity};

use crate::facts::{Facts, Stretch};
use crate::rule::{named, with_figures};
use crate::thresholds::{KEPT_CAUTION, KEPT_IN_WINDOW, KEPT_INVALID, WINDOW_S};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts
        .tables
        .stretches
        .iter()
        .filter_map(|stretch| whole(facts, stretch).or_else(|| window(stretch)))
        .collect()
}

/// Over the whole phase.
fn whole(facts: &Facts<'_>, stretch: &Stretch) -> Option<Finding> {
    let kept = kept((stretch.scheduled, stretch.dropped_late));
    let severity = match kept {
        k if k < KEPT_INVALID => Severity::Invalid,
        k if k < KEPT_CAUTION => Severity::Caution,
        _ => return None,
    };
    let length_s =
        facts.span(&stretch.place.phase).map_or(0.0, |span| span.length_s()).max(f64::MIN_POSITIVE);
    let asked = stretch.scheduled as f64 / length_s;
    let delivered = asked * kept;
    let what = format!(
        "Asked for {}, delivered {} ({}). These latencies describe {}.",
        words::rate(asked),
        words::rate(delivered),
        words::percent(kept),
        words::rate(delivered)
    );
    let figures = [
        ("arrivals scheduled", stretch.scheduled as f64, "1"),
        ("dropped late", stretch.dropped_late as f64, "1"),
        ("delivered share", kept * 100.0, "%"),
        ("threshold", KEPT_INVALID * 100.0, "%"),
    ];
    Some(with_figures(named("L1").finding(severity, stretch.place.scope(), what), &figures))
}

/// Over its worst few seconds.
fn window(stretch: &Stretch) -> Option<Finding> {
    let (first, last) = (*stretch.by_second.first_key_value()?.0, *stretch.by_second.last_key_value()?.0);
    let latest_start = last.saturating_sub(WINDOW_S - 1).max(first);
    let in_window = |start: u32| {
        let counts = stretch.by_second.range(start..start.saturating_add(WINDOW_S));
        counts.fold((0, 0), |(s, l), (_, (scheduled, late))| (s + scheduled, l + late))
    };
    // A window's share can only change where a second with late drops enters it, so others are passed over.
    let starts = stretch.by_second.iter().filter(|(_, (_, late))| *late > 0);
    let starts = starts.flat_map(|(second, _)| {
        let from = second.saturating_sub(WINDOW_S - 1).max(first);
        from..=(*second).min(latest_start)
    });
    let (worst, start) = starts.map(|s| (kept(in_window(s)), s)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    if worst >= KEPT_IN_WINDOW {
        return None;
    }
    let what = format!(
        "From second {start} on, {} of the arrivals due within {WINDOW_S} s were delivered.",
        words::percent(worst)
    );
    let figures = [("delivered share", worst * 100.0, "%"), ("threshold", KEPT_IN_WINDOW * 100.0, "%")];
    Some(with_figures(named("L1").finding(Severity::Caution, stretch.place.scope(), what), &figures))
}

fn kept((scheduled, late): (u64, u64)) -> f64 {
    1.0 - late as f64 / scheduled.max(1) as f64
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn late_drops_are_held_against_the_generator() {
        let bench = Bench::new().offer("steady", "list", Load { late: 31, ..Load::of(99) });
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play] Asked for 130/s, delivered 99/s (76.2 %). These latencies describe 99/s.
          arrivals scheduled Some(7800.0) 1, dropped late Some(1860.0) 1, delivered share Some(76.15384615384615) %, threshold Some(99.0) %
        "#);
    }

    #[test]
    fn a_short_lack_is_a_caution() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(10));
        bench.offer_once(30, "list", Load { late: 10, ..Load::of(0) });
        bench.offer_once(60, "list", Load::of(5_000));
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [steady/play] From second 21 on, 90.9 % of the arrivals due within 10 s were delivered.
          delivered share Some(90.9090909090909) %, threshold Some(95.0) %
        "#);
    }

    #[test]
    fn arrivals_dropped_at_the_cap_are_the_targets_slowness() {
        let bench = Bench::new().offer("steady", "list", Load { cap: 50, ..Load::of(100) });
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
