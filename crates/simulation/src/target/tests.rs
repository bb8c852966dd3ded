use super::*;

/// The mean response time in ms of what succeeded, and the share of each outcome, of 200,000 Poisson arrivals at 100/s.
fn served(shape: TargetShape) -> (f64, impl Fn(Outcome) -> f64) {
    let mut random = Random::new(11);
    let mut target = Target::new(shape, &Random::new(12));
    let mut due = vec![Instant::EPOCH];
    for _ in 0..200_000 {
        due.push(due[due.len() - 1] + Duration::from_secs_f64(random.exponential(0.01)));
    }
    let mut responses = Vec::new();
    for (arrival, at) in due.iter().enumerate() {
        while let Some(response) = target.take_response(*at) {
            responses.push(response);
        }
        target.offer(*at, arrival);
    }
    while let Some(response) = target.take_response(target.next_response()) {
        responses.push(response);
    }
    assert_eq!(responses.len(), due.len());
    assert!(responses.is_sorted_by_key(|response| response.at));
    let ok: Vec<f64> = responses
        .iter()
        .filter(|response| response.outcome == Outcome::Ok)
        .map(|response| response.at.since(due[response.arrival]).as_secs_f64() * 1e3)
        .collect();
    let share = move |outcome| {
        responses.iter().filter(|response| response.outcome == outcome).count() as f64
            / responses.len() as f64
    };
    (ok.iter().sum::<f64>() / ok.len() as f64, share)
}

/// Both disciplines of one worker with exponential demands: mean demand ÷ (1 − use).
#[test]
fn one_worker_has_the_mean_response_time_of_theory() {
    for server in [Server::Fifo { workers: 1 }, Server::Sharing] {
        let (mean_ms, share) = served(TargetShape { server, ..FIFO });
        assert!((mean_ms - 15.0).abs() < 0.6, "{server:?}: {mean_ms}");
        assert!((share(Outcome::Ok) - 1.0).abs() < 1e-9);
    }
    // Erlang's C for two workers at the same use of each.
    let two = TargetShape { server: Server::Fifo { workers: 2 }, service_ms: 12.0, ..FIFO };
    let (mean_ms, _) = served(two);
    assert!((mean_ms - 12.0 / (1.0 - 0.36)).abs() < 0.6, "{mean_ms}");
}

/// Twelve places, 80 % busy: (1 − ρ) ρ¹² ÷ (1 − ρ¹³) of all are refused.
#[test]
fn a_full_queue_refuses_as_many_as_in_theory() {
    let shape = TargetShape { service_ms: 8.0, admission: Admission::Queue { places: 12 }, ..FIFO };
    let (_, share) = served(shape);
    assert!((share(Outcome::Http503) - 0.0145).abs() < 0.002, "{}", share(Outcome::Http503));
}

#[test]
fn a_limit_below_the_load_refuses_the_rest() {
    let shape = TargetShape { admission: Admission::Limited { per_s: 80.0, burst: 10.0 }, ..FIFO };
    let (_, share) = served(shape);
    assert!((share(Outcome::Http429) - 0.2).abs() < 0.01, "{}", share(Outcome::Http429));
}

#[test]
fn failures_have_their_share() {
    let (_, share) = served(TargetShape { failing: 0.01, ..FIFO });
    assert!((share(Outcome::Http5xx) - 0.01).abs() < 0.001, "{}", share(Outcome::Http5xx));
}
