//! The generator: starts each arrival when it is due, unless its thread does not run.
//!
//! It acts as the engine's loop does: it sleeps until the next arrival is due or a response has come; after a stall it
//! handles what has come meanwhile first, then what is due. Which requests a stall perturbs is decided by the engine's
//! own definition.

use std::time::Duration;

use evidence::{Disturbed, Instant, Outcome, Perturbation};

use crate::episodes::Episodes;
use crate::target::Target;

/// An arrival that could not be started for so long is dropped, as by the engine.
const LATE_AFTER: Duration = Duration::from_secs(1);

/// What became of one arrival.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
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

impl Fate {
    fn of(due: Instant) -> Fate {
        Fate { due, sent: None, ended: None, outcome: Outcome::Cancelled, perturbed: Perturbed::No }
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
    pub(crate) fates: Vec<Fate>,
    /// How late each turn of the loop was, with its instant.
    pub(crate) stalls: Vec<(Instant, Duration)>,
}

/// Offers `arrivals`, in order, to the target, and waits for responses until `end`.
pub(crate) fn offer(
    arrivals: &[Instant],
    target: &mut Target,
    mut stalls: Episodes,
    end: Instant,
) -> Offered {
    let mut offered =
        Offered { fates: arrivals.iter().map(|due| Fate::of(*due)).collect(), stalls: Vec::new() };
    let mut perturbation = Perturbation::new(Disturbed::default());
    let (mut next, mut in_flight) = (0, 0);
    loop {
        let due = arrivals.get(next).copied().unwrap_or(Instant::NEVER);
        let wake = due.min(target.next_response());
        if wake > end {
            return offered;
        }
        let now = stalls.end_at(wake);
        let late = now.since(due);
        perturbation.woke(now, late);
        offered.stalls.push((now, late));
        while let Some(response) = target.take_response(now) {
            perturbation.looked(now, in_flight);
            in_flight -= 1;
            let fate = &mut offered.fates[response.arrival];
            (fate.ended, fate.outcome) = (Some(now), response.outcome);
            if perturbation.concerns(fate.due) {
                fate.perturbed = Perturbed::Yes;
            }
        }
        perturbation.looked(now, in_flight);
        while arrivals.get(next).is_some_and(|due| *due <= now) {
            if now.since(arrivals[next]) <= LATE_AFTER {
                offered.fates[next].sent = Some(now);
                target.offer(now, next);
                in_flight += 1;
            }
            next += 1;
        }
        perturbation.looked(now, in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::episodes::{EpisodeLength, EpisodeShape};
    use crate::random::Random;
    use crate::target::{FIFO, TargetShape};

    const SHAPE: TargetShape = TargetShape { service_ms: 1.0, ..FIFO };

    /// An arrival each 10 ms for a minute, beside these stalls.
    fn minute(stalls: Option<EpisodeShape>) -> Offered {
        let arrivals: Vec<Instant> = (0..6_000).map(|n| Instant::from_nanos(n * 10_000_000)).collect();
        let random = Random::new(1);
        let mut target = Target::new(SHAPE, &random);
        let end = Instant::from_nanos(90_000_000_000);
        offer(&arrivals, &mut target, Episodes::new(stalls, random.fork(0)), end)
    }

    fn perturbed(offered: &Offered) -> usize {
        offered.fates.iter().filter(|fate| fate.perturbed == Perturbed::Yes).count()
    }

    #[test]
    fn without_stalls_every_arrival_starts_when_it_is_due() {
        let offered = minute(None);
        assert!(offered.fates.iter().all(|fate| fate.sent == Some(fate.due) && fate.ended.is_some()));
        assert_eq!(perturbed(&offered), 0);
    }

    #[test]
    fn what_is_late_is_perturbed() {
        let length = EpisodeLength::LogUniform { shortest_s: 0.02, longest_s: 0.05 };
        let offered = minute(Some(EpisodeShape { gap_s: 1.0, length }));
        let late = offered
            .fates
            .iter()
            .filter(|fate| fate.sent.is_some_and(|at| at.since(fate.due).as_millis() > 1));
        assert!(late.clone().count() > 50);
        assert!(late.clone().all(|fate| fate.perturbed == Perturbed::Yes));
        assert!(perturbed(&offered) < 1_000, "{}", perturbed(&offered));
    }

    #[test]
    fn what_is_later_than_a_second_is_dropped() {
        let length = EpisodeLength::LogUniform { shortest_s: 1.5, longest_s: 1.6 };
        let offered = minute(Some(EpisodeShape { gap_s: 10.0, length }));
        let dropped = offered.fates.iter().filter(|fate| fate.sent.is_none()).count();
        assert!(dropped > 100, "{dropped}");
        let latest = offered.fates.iter().filter_map(|fate| Some(fate.sent?.since(fate.due))).max();
        assert!(latest.unwrap() <= LATE_AFTER);
    }
}
