//! The generator: starts each arrival when it is due, unless its thread does not run.
//!
//! It acts as the engine's loop does: it sleeps until the next arrival is due or a response has come; after a stall it
//! handles what has come meanwhile first, then what is due. Which requests a stall perturbs is decided by the engine's
//! own definition.

use std::collections::VecDeque;
use std::time::Duration;

use evidence::{Disturbed, Instant, Outcome, Perturbation};

use crate::episodes::Episodes;
use crate::target::Target;

/// An arrival that could not be started for so long is dropped, as by the engine.
const LATE_AFTER: Duration = Duration::from_secs(1);

/// What became of one arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SimulatedRequest {
    pub(crate) due: Instant,
    /// None: dropped because the generator was late.
    pub(crate) sent: Option<Instant>,
    /// When the generator handled its response; none: it never came.
    pub(crate) ended: Option<Instant>,
    pub(crate) outcome: Outcome,
    pub(crate) perturbed: Perturbed,
}

/// Whether a request was under way while the generator stalled, or during the effect of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Perturbed {
    No,
    Yes,
}

impl SimulatedRequest {
    fn due_at(due: Instant) -> SimulatedRequest {
        SimulatedRequest {
            due,
            sent: None,
            ended: None,
            outcome: Outcome::Cancelled,
            perturbed: Perturbed::No,
        }
    }

    /// From the due instant to the end; none where there was none.
    pub(crate) fn response_time(&self) -> Option<Duration> {
        Some(self.ended?.since(self.due))
    }
}

/// The load as it was offered.
#[derive(Debug)]
pub(crate) struct Offered {
    /// In the order in which they were due.
    pub(crate) requests: Vec<SimulatedRequest>,
    /// How late each turn of the loop was, with its instant.
    pub(crate) stalls: Vec<(Instant, Duration)>,
}

/// How a generator offers load.
#[derive(Debug)]
pub(crate) struct Offering {
    /// Until when each response is followed by the user's next request; none in an open model.
    pub(crate) repeated_until: Option<Instant>,
    /// When its thread does not run.
    pub(crate) stalls: Episodes,
    /// How long a request waits for its response, from when it was sent.
    pub(crate) time_limit: Duration,
    /// Until when it waits for responses.
    pub(crate) end: Instant,
}

/// Offers `arrivals`, in order, to the target. A target is not informed of a request whose time limit has passed.
pub(crate) fn offer(arrivals: &[Instant], target: &mut Target, offering: Offering) -> Offered {
    let Offering { repeated_until, mut stalls, time_limit, end } = offering;
    let mut arrivals = arrivals.to_vec();
    let mut generator = Generator {
        offered: Offered {
            requests: arrivals.iter().map(|due| SimulatedRequest::due_at(*due)).collect(),
            stalls: Vec::new(),
        },
        perturbation: Perturbation::new(Disturbed::default()),
        in_flight: 0,
    };
    let mut open: VecDeque<usize> = VecDeque::new();
    let mut next = 0;
    loop {
        while open.front().is_some_and(|first| generator.offered.requests[*first].ended.is_some()) {
            open.pop_front();
        }
        let limit_of = |first: &usize| generator.offered.requests[*first].sent.map(|sent| sent + time_limit);
        let limit = open.front().and_then(limit_of).unwrap_or(Instant::NEVER);
        let due = arrivals.get(next).copied().unwrap_or(Instant::NEVER);
        let wake = due.min(target.next_response()).min(limit);
        if wake > end {
            return generator.offered;
        }
        let now = stalls.end_at(wake);
        generator.woke(now, now.since(due));
        while let Some(response) = target.take_response(now) {
            generator.ended(response.arrival, response.outcome, now);
            if repeated_until.is_some_and(|until| now < until) {
                arrivals.push(now);
                generator.offered.requests.push(SimulatedRequest::due_at(now));
            }
        }
        while open.front().is_some_and(|first| generator.is_over(*first, now, time_limit)) {
            open.pop_front().into_iter().for_each(|first| generator.ended(first, Outcome::Timeout, now));
        }
        generator.looked(now);
        while arrivals.get(next).is_some_and(|due| *due <= now) {
            if now.since(arrivals[next]) <= LATE_AFTER {
                generator.sent(next, now);
                open.push_back(next);
                target.offer(now, next);
            }
            next += 1;
        }
        generator.looked(now);
    }
}

/// A generator at work.
struct Generator {
    offered: Offered,
    perturbation: Perturbation,
    in_flight: u32,
}

impl Generator {
    fn woke(&mut self, now: Instant, late: Duration) {
        self.perturbation.woke(now, late);
        self.offered.stalls.push((now, late));
    }

    fn looked(&mut self, now: Instant) {
        self.perturbation.looked(now, self.in_flight);
    }

    fn sent(&mut self, arrival: usize, now: Instant) {
        self.offered.requests[arrival].sent = Some(now);
        self.in_flight += 1;
    }

    /// Whether the time limit of an arrival that was sent has passed, or it has ended.
    fn is_over(&self, arrival: usize, now: Instant, time_limit: Duration) -> bool {
        let request = &self.offered.requests[arrival];
        request.ended.is_some() || request.sent.is_some_and(|sent| sent + time_limit <= now)
    }

    /// The end of an arrival; nothing where it has ended before.
    fn ended(&mut self, arrival: usize, outcome: Outcome, now: Instant) {
        self.looked(now);
        let request = &mut self.offered.requests[arrival];
        if request.ended.is_some() {
            return;
        }
        self.in_flight -= 1;
        (request.ended, request.outcome) = (Some(now), outcome);
        if self.perturbation.concerns(request.due) {
            request.perturbed = Perturbed::Yes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episodes::{EpisodeLength, EpisodeShape};
    use crate::random::Random;
    use crate::target::{FIFO, Server, TargetShape};

    const SHAPE: TargetShape = TargetShape { service_ms: 1.0, ..FIFO };

    /// An arrival each 10 ms for a minute, beside these stalls.
    fn minute(stalls: Option<EpisodeShape>) -> Offered {
        minute_of(SHAPE, stalls, Duration::from_secs(10))
    }

    fn minute_of(shape: TargetShape, stalls: Option<EpisodeShape>, time_limit: Duration) -> Offered {
        let arrivals: Vec<Instant> = (0..6_000).map(|n| Instant::from_nanos(n * 10_000_000)).collect();
        let random = Random::new(1);
        let mut target = Target::new(shape, &random);
        let end = Instant::from_nanos(90_000_000_000);
        let stalls = Episodes::new(stalls, random.fork(0));
        offer(&arrivals, &mut target, Offering { repeated_until: None, stalls, time_limit, end })
    }

    fn perturbed(offered: &Offered) -> usize {
        offered.requests.iter().filter(|request| request.perturbed == Perturbed::Yes).count()
    }

    #[test]
    fn without_stalls_every_arrival_starts_when_it_is_due() {
        let offered = minute(None);
        assert!(
            offered
                .requests
                .iter()
                .all(|request| request.sent == Some(request.due) && request.ended.is_some())
        );
        assert_eq!(perturbed(&offered), 0);
    }

    #[test]
    fn what_is_late_is_perturbed() {
        let length = EpisodeLength::LogUniform { shortest_s: 0.02, longest_s: 0.05 };
        let offered = minute(Some(EpisodeShape { gap_s: 1.0, length }));
        let late = offered
            .requests
            .iter()
            .filter(|request| request.sent.is_some_and(|at| at.since(request.due).as_millis() > 1));
        assert!(late.clone().count() > 50);
        assert!(late.clone().all(|request| request.perturbed == Perturbed::Yes));
        assert!(perturbed(&offered) < 1_000, "{}", perturbed(&offered));
    }

    #[test]
    fn a_request_ends_at_its_time_limit_and_once() {
        let slow = TargetShape { service_ms: 50.0, server: Server::Fifo { workers: 32 }, ..FIFO };
        let offered = minute_of(slow, None, Duration::from_millis(100));
        let timed_out = offered.requests.iter().filter(|request| request.outcome == Outcome::Timeout);
        let times: Vec<Duration> = timed_out.filter_map(SimulatedRequest::response_time).collect();
        // One exponential time in e² is longer than twice the mean.
        assert!((700..930).contains(&times.len()), "{}", times.len());
        assert!(times.iter().all(|time| *time == Duration::from_millis(100)));
        let others = offered.requests.iter().filter(|request| request.outcome == Outcome::Ok);
        assert!(
            others.filter_map(SimulatedRequest::response_time).all(|time| time <= Duration::from_millis(100))
        );
    }

    #[test]
    fn a_frozen_target_answers_nothing_for_seconds() {
        let length = EpisodeLength::LogUniform { shortest_s: 3.0, longest_s: 4.0 };
        let frozen = TargetShape { frozen: Some(EpisodeShape { gap_s: 10.0, length }), ..SHAPE };
        let offered = minute_of(frozen, None, Duration::from_secs(1));
        let ended: Vec<f64> = offered
            .requests
            .iter()
            .filter(|request| request.outcome == Outcome::Ok)
            .filter_map(|request| Some(request.ended?.as_nanos() as f64 / 1e9))
            .collect();
        let gaps = ended.windows(2).filter(|pair| pair[1] - pair[0] > 2.9).count();
        let timeouts = offered.requests.iter().filter(|request| request.outcome == Outcome::Timeout).count();
        assert!(gaps >= 2 && (200 * gaps..320 * gaps).contains(&timeouts), "{gaps} {timeouts}");
    }

    #[test]
    fn what_is_later_than_a_second_is_dropped() {
        let length = EpisodeLength::LogUniform { shortest_s: 1.5, longest_s: 1.6 };
        let offered = minute(Some(EpisodeShape { gap_s: 10.0, length }));
        let dropped = offered.requests.iter().filter(|request| request.sent.is_none()).count();
        assert!(dropped > 100, "{dropped}");
        let latest =
            offered.requests.iter().filter_map(|request| Some(request.sent?.since(request.due))).max();
        assert!(latest.unwrap() <= LATE_AFTER);
    }
}
