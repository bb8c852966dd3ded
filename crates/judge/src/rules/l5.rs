//! L5: rate, time and concurrency that cannot all be right.

use evidence::{Finding, Scope, Severity, Source};

use crate::facts::{Concurrency, Facts};
use crate::rule::{named, with_figures};
use crate::thresholds::{LEAST_WINDOW_S, LITTLE_CAUTION, LITTLE_INVALID};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = facts.concurrencies.iter().filter_map(own).collect();
    findings.extend(facts.source.and_then(|source| imported(facts, source)));
    findings
}

fn own(found: &Concurrency) -> Option<Finding> {
    let apart = ((found.seen - found.implied).abs() - found.cut) / found.seen;
    let severity = severity(apart)?;
    let what = format!(
        "`{}` had {} iterations under way, and its rate and times make {}: they cannot all be right.",
        found.scenario,
        words::number(found.seen),
        words::number(found.implied)
    );
    let scope = Scope { scenario: Some(found.scenario.clone()), ..Scope::default() };
    Some(with_figures(named("L5").finding(severity, scope, what), &figures(found.seen, found.implied)))
}

/// Of what another tool did only one side is known: as many were allowed at once, and fewer may have been under way. More
/// cannot have been.
fn imported(facts: &Facts<'_>, source: &Source) -> Option<Finding> {
    let (most, implied) = users(facts).or_else(|| stated(source))?;
    let severity = severity(implied / most - 1.0)?;
    let what = format!(
        "{} says that at most {} were under way at once, and its rate and times make {}: they cannot all be right.",
        source.tool,
        words::number(most),
        words::number(implied)
    );
    let finding = named("L5").finding(severity, Scope::default(), what);
    Some(with_figures(finding, &figures(most, implied)))
}

/// Virtual users in the mean, and iterations a second × their mean time.
fn users(facts: &Facts<'_>) -> Option<(f64, f64)> {
    let users = facts.virtual_users.filter(|_| facts.seconds >= LEAST_WINDOW_S)?;
    let stretches = facts.tables.stretches.iter();
    let took_s: f64 = stretches
        .flat_map(|stretch| [&stretch.iteration_ok, &stretch.iteration_failed])
        .map(|times| times.mean_us().unwrap_or(0.0) * times.count() as f64 / 1e6)
        .sum();
    (users > 0.0 && took_s > 0.0).then_some((users, took_s / f64::from(facts.seconds)))
}

/// What the source says of itself: concurrency of ghz, highest number of virtual users of k6.
fn stated(source: &Source) -> Option<(f64, f64)> {
    let figure =
        |of: &str, name: &str| source.figures.iter().find(|f| f.of == of && f.name == name).map(|f| f.value);
    let ghz = || {
        let most = source.facts.get("concurrency")?.parse::<f64>().ok()?;
        Some((most, figure("all calls", "rate")? * figure("all calls", "avg")? / 1_000.0))
    };
    let k6 = || {
        let most = figure("vus_max", "max").or_else(|| figure("vus_max", "value"))?;
        Some((most, figure("iterations", "rate")? * figure("iteration_duration", "avg")? / 1_000.0))
    };
    ghz().or_else(k6).filter(|(most, implied)| *most > 0.0 && implied.is_finite())
}

fn severity(apart: f64) -> Option<Severity> {
    match apart {
        apart if apart > LITTLE_INVALID => Some(Severity::Invalid),
        apart if apart > LITTLE_CAUTION => Some(Severity::Caution),
        _ => None,
    }
}

fn figures(seen: f64, implied: f64) -> [(&'static str, f64, &'static str); 3] {
    [("under way", seen, "1"), ("rate × time", implied, "1"), ("threshold", LITTLE_INVALID * 100.0, "%")]
}

#[cfg(test)]
mod tests {
    use evidence::{SeriesKey, Source, SourceFigure};

    use crate::testing::{Bench, Load, minutes};

    /// 50 iterations a second, each of 101 ms: five are under way.
    fn with_active(active: f64) -> Bench {
        let mut bench = minutes(|_| Load { us: 100_000, ..Load::of(50) });
        bench.observe(&SeriesKey::new("active", SeriesKey::GENERATOR, "1").part("play"), 0..300, active);
        bench
    }

    #[test]
    fn what_is_under_way_is_rate_times_time() {
        assert_eq!(with_active(5.02).findings(super::rule), "nothing");
        insta::assert_snapshot!(with_active(5.2).findings(super::rule), @r"
        caution [play] `play` had 5.2 iterations under way, and its rate and times make 5.02: they cannot all be right.
          under way Some(5.200000000000028) 1, rate × time Some(5.022435) 1, threshold Some(5.0) %
        ");
        insta::assert_snapshot!(with_active(6.0).findings(super::rule), @r"
        invalid [play] `play` had 6 iterations under way, and its rate and times make 5.02: they cannot all be right.
          under way Some(6.0) 1, rate × time Some(5.022435) 1, threshold Some(5.0) %
        ");
    }

    /// Each second's iterations take longer than those before, so that at the end more are under way than ended.
    #[test]
    fn a_backlog_that_grows_is_cut_off_at_the_end() {
        let load = |second: u32| Load { us: 10_000 * u64::from(second), ..Load::of(50) };
        let mut bench = minutes(load);
        bench.observe(&SeriesKey::new("active", SeriesKey::GENERATOR, "1").part("play"), 0..300, 77.0);
        assert_eq!(bench.findings(super::rule), "nothing");
    }

    #[test]
    fn short_runs_and_hardly_any_concurrency_say_nothing() {
        let mut idle = minutes(|_| Load::of(50));
        idle.observe(&SeriesKey::new("active", SeriesKey::GENERATOR, "1").part("play"), 0..300, 0.9);
        assert_eq!(idle.findings(super::rule), "nothing");
        assert_eq!(minutes(|_| Load::of(50)).findings(super::rule), "nothing", "nobody counted");
    }

    #[test]
    fn another_tool_cannot_have_had_more_under_way_than_it_says() {
        let ghz = |rate: f64| {
            let figure = |name: &str, value, unit: &str| SourceFigure {
                of: "all calls".to_owned(),
                name: name.to_owned(),
                value,
                unit: unit.to_owned(),
            };
            let mut bench = Bench::unwatched();
            bench.import(Source {
                tool: "ghz".to_owned(),
                figures: vec![figure("rate", rate, "1/s"), figure("avg", 20.0, "ms")],
                facts: [("concurrency".to_owned(), "50".to_owned())].into(),
                ..Source::default()
            });
            bench.findings(super::rule)
        };
        assert_eq!(ghz(2_400.0), "nothing", "some were idle");
        insta::assert_snapshot!(ghz(4_000.0), @r"
        invalid [] ghz says that at most 50 were under way at once, and its rate and times make 80: they cannot all be right.
          under way Some(50.0) 1, rate × time Some(80.0) 1, threshold Some(5.0) %
        ");
    }

    #[test]
    fn virtual_users_bound_what_was_under_way() {
        let mut bench = minutes(|_| Load { us: 100_000, ..Load::of(50) });
        bench.import(Source { tool: "k6".to_owned(), ..Source::default() });
        bench.observe(&SeriesKey::new("virtual_users", SeriesKey::GENERATOR, "1"), 0..300, 3.0);
        insta::assert_snapshot!(bench.findings(super::rule), @r"
        invalid [] k6 says that at most 3 were under way at once, and its rate and times make 5.02: they cannot all be right.
          under way Some(3.0) 1, rate × time Some(5.024934999999999) 1, threshold Some(5.0) %
        ");
    }
}
