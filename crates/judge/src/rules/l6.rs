//! L6: the books balance, or the run is void.

use evidence::{Finding, Metric, Scope, Severity};
use workload::Scenario;

use super::imported;
use crate::facts::{Cell, Facts, Stretch};
use crate::rule::{named, with_figures};
use crate::thresholds::PLAN_GAP;
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.source.is_some() {
        return imported::books(facts);
    }
    let mut findings: Vec<Finding> = facts.tables.stretches.iter().filter_map(arrivals).collect();
    findings.extend(iterations(facts));
    findings.extend(requests(facts));
    findings.extend(facts.tables.cells.iter().filter_map(service_times));
    if facts.is_complete() {
        findings.extend((0..facts.workload.scenarios.len()).filter_map(|place| plan(facts, place)));
    }
    findings.extend(given_up(facts));
    findings
}

fn gap(scope: Scope, what: String, (left, right): ((&str, u64), (&str, u64))) -> Finding {
    let difference = left.1.abs_diff(right.1) as f64;
    let figures = [
        (left.0, left.1 as f64, "1"),
        (right.0, right.1 as f64, "1"),
        ("gap", difference, "1"),
        ("threshold", 0.0, "1"),
    ];
    with_figures(named("L6").finding(Severity::Invalid, scope, what), &figures)
}

/// scheduled = started + dropped.
fn arrivals(stretch: &Stretch) -> Option<Finding> {
    let accounted = stretch.started + stretch.dropped();
    if stretch.scheduled == accounted {
        return None;
    }
    let what = format!(
        "{} arrivals of `{}` were scheduled in `{}`, {} started or dropped ({} {}).",
        words::whole(stretch.scheduled),
        stretch.place.scenario,
        stretch.place.phase,
        words::whole(accounted),
        words::whole(stretch.scheduled.abs_diff(accounted)),
        side(stretch.scheduled, accounted)
    );
    Some(gap(
        stretch.place.scope(),
        what,
        (("scheduled", stretch.scheduled), ("started + dropped", accounted)),
    ))
}

fn side(whole: u64, parts: u64) -> &'static str {
    if whole > parts { "missing" } else { "too many" }
}

/// started = done + cancelled + in flight at the end.
fn iterations(facts: &Facts<'_>) -> Vec<Finding> {
    let parts = facts.tables.stretches.iter().map(|s| (s.place.scope(), s.started, s.done + s.cancelled));
    balance(parts.collect(), ("iterations", facts.in_flight().map(|(_, iterations)| iterations)))
}

/// requests = responses of every outcome + in flight at the end.
fn requests(facts: &Facts<'_>) -> Vec<Finding> {
    let parts = facts.tables.cells.iter().map(|c| (c.place.scope(), c.requests, c.responses()));
    balance(parts.collect(), ("requests", facts.in_flight().map(|(requests, _)| requests)))
}

/// What was begun must have ended, place by place, but for what was in flight, which is known for the run
/// as a whole; and not at all (`None`) for a run that was not ended in order.
fn balance(parts: Vec<(Scope, u64, u64)>, (what, in_flight): (&str, Option<u64>)) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (scope, begun, ended) in parts.iter().filter(|(_, begun, ended)| ended > begun) {
        let text = format!("{} {what} were begun, {} ended.", words::whole(*begun), words::whole(*ended));
        findings.push(gap(scope.clone(), text, (("begun", *begun), ("ended", *ended))));
    }
    let (begun, ended) = parts.iter().fold((0, 0), |(b, e), (_, begun, ended)| (b + begun, e + ended));
    let open = begun.saturating_sub(ended);
    match in_flight {
        _ if !findings.is_empty() => {}
        Some(in_flight) if open != in_flight => {
            let text = format!(
                "{} {what} were begun, {} ended and {} were in flight at the end ({} {}).",
                words::whole(begun),
                words::whole(ended),
                words::whole(in_flight),
                words::whole(open.abs_diff(in_flight)),
                side(open, in_flight)
            );
            findings.push(gap(
                Scope::default(),
                text,
                (("begun", begun), ("ended + in flight", ended + in_flight)),
            ));
        }
        None if open > 0 => {
            let text = format!(
                "{} of {} {what} have no end: they were in flight when the run broke off, which cannot be checked.",
                words::whole(open),
                words::whole(begun)
            );
            findings.push(named("L6").finding(Severity::Info, Scope::default(), text));
        }
        _ => {}
    }
    findings
}

/// A service time belongs to a response.
fn service_times(cell: &Cell) -> Option<Finding> {
    let responses = cell.responses();
    if cell.service_all <= responses {
        return None;
    }
    let what = format!(
        "{} has {} service times for {} responses.",
        cell.place.words(),
        words::whole(cell.service_all),
        words::whole(responses)
    );
    Some(gap(cell.place.scope(), what, (("service times", cell.service_all), ("responses", responses))))
}

/// A completed run has scheduled what the plan says; iterations only as far as their longest time allowed.
fn plan(facts: &Facts<'_>, place: usize) -> Option<Finding> {
    let scenario = &facts.workload.scenarios[place];
    let planned = facts.workload.arrivals_planned(place).filter(|planned| planned.is_exact)?.count;
    let its = facts.tables.stretches.iter().filter(|s| *s.place.scenario == *scenario.name);
    let scheduled: u64 = its.map(|s| s.scheduled).sum();
    let scope = Scope { scenario: Some(scenario.name.clone()), ..Scope::default() };
    if scenario.executor.iterations().is_some() && scheduled < planned {
        return Some(ran_out_of_time((scenario, scope), (planned, scheduled)));
    }
    if scheduled.abs_diff(planned) <= PLAN_GAP {
        return None;
    }
    let what = format!(
        "The plan has {} arrivals of `{}`, the run scheduled {} ({} {}).",
        words::whole(planned),
        scenario.name,
        words::whole(scheduled),
        words::whole(planned.abs_diff(scheduled)),
        side(planned, scheduled)
    );
    Some(gap(scope, what, (("planned", planned), (Metric::Scheduled.name(), scheduled))))
}

/// What ended a number of iterations was its time.
fn ran_out_of_time((scenario, scope): (&Scenario, Scope), (planned, begun): (u64, u64)) -> Finding {
    let what = format!(
        "The longest duration of `{}`, {}, was over when {} of its {} iterations had begun.",
        scenario.name,
        words::ms(scenario.executor.duration().as_secs_f64() * 1e3),
        words::whole(begun),
        words::whole(planned)
    );
    let figures = [("planned", planned as f64, "1"), ("begun", begun as f64, "1")];
    with_figures(named("L6").finding(Severity::Info, scope, what), &figures)
}

/// What the generator itself gave up, so that nobody has to wonder where it went.
fn given_up(facts: &Facts<'_>) -> Option<Finding> {
    let cancelled = |cell: &Cell| cell.outcomes.get(&evidence::Outcome::Cancelled).copied().unwrap_or(0);
    let cancelled: u64 = facts.tables.cells.iter().map(cancelled).sum();
    let in_flight = facts.in_flight().map_or(0, |(requests, _)| requests);
    if cancelled + in_flight == 0 {
        return None;
    }
    let what = format!(
        "{} requests were cancelled by the generator and {} still in flight at the end; they count neither as \
         answers nor as failures.",
        words::whole(cancelled),
        words::whole(in_flight)
    );
    let figures = [("cancelled", cancelled as f64, "1"), ("in flight", in_flight as f64, "1")];
    Some(with_figures(named("L6").finding(Severity::Info, Scope::default(), what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::{Metric, Outcome};

    use crate::testing::{Bench, Load};

    #[test]
    fn every_missing_entry_is_found() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.count(Metric::Scheduled, "steady", "list", 5);
        bench.count(Metric::Started, "steady", "list", 2);
        bench.count(Metric::Requests, "steady", "list", 3);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play] 6,005 arrivals of `play` were scheduled in `steady`, 6,002 started or dropped (3 missing).
          scheduled Some(6005.0) 1, started + dropped Some(6002.0) 1, gap Some(3.0) 1, threshold Some(0.0) 1
        invalid [] 6,002 iterations were begun, 6,000 ended and 0 were in flight at the end (2 missing).
          begun Some(6002.0) 1, ended + in flight Some(6000.0) 1, gap Some(2.0) 1, threshold Some(0.0) 1
        invalid [] 6,003 requests were begun, 6,000 ended and 0 were in flight at the end (3 missing).
          begun Some(6003.0) 1, ended + in flight Some(6000.0) 1, gap Some(3.0) 1, threshold Some(0.0) 1
        invalid [play] The plan has 6,000 arrivals of `play`, the run scheduled 6,005 (5 too many).
          planned Some(6000.0) 1, scheduled Some(6005.0) 1, gap Some(5.0) 1, threshold Some(0.0) 1
        "#);
    }

    #[test]
    fn a_response_without_a_request_is_found_where_it_is() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.respond("steady", "list", Outcome::Reset, 1);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play/list] 6,000 requests were begun, 6,001 ended.
          begun Some(6000.0) 1, ended Some(6001.0) 1, gap Some(1.0) 1, threshold Some(0.0) 1
        "#);
    }

    #[test]
    fn a_completed_run_has_scheduled_what_was_planned() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.plan_rate(200.0);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [play] The plan has 14,000 arrivals of `play`, the run scheduled 6,000 (8,000 missing).
          planned Some(14000.0) 1, scheduled Some(6000.0) 1, gap Some(8000.0) 1, threshold Some(0.0) 1
        "#);
    }

    #[test]
    fn iterations_that_their_time_left_over_are_told() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.plan_iterations(6_000);
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
        bench.plan_iterations(7_000);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        info [play] The longest duration of `play`, 70 s, was over when 6,000 of its 7,000 iterations had begun.
          planned Some(7000.0) 1, begun Some(6000.0) 1
        "#);
    }

    #[test]
    fn a_killed_run_has_an_open_end() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100)).killed();
        bench.count(Metric::Requests, "steady", "list", 12);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"info [] 12 of 6,012 requests have no end: they were in flight when the run broke off, which cannot be checked."#);
    }

    #[test]
    fn balanced_books_say_only_what_was_given_up() {
        let bench =
            Bench::new().offer("steady", "list", Load { cap: 3, late: 2, failed: 7, ..Load::of(100) });
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
        let mut bench = bench;
        bench.count(Metric::Requests, "steady", "list", 4);
        bench.respond("steady", "list", Outcome::Cancelled, 4);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        info [] 4 requests were cancelled by the generator and 0 still in flight at the end; they count neither as answers nor as failures.
          cancelled Some(4.0) 1, in flight Some(0.0) 1
        "#);
    }
}
