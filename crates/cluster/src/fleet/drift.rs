//! What a worker counts is moved to the seconds in which it happened by the run's clock: that of the worker drifts from it.
//!
//! A count belongs to a second of its loop and not to an instant, so a tick is moved by whole seconds, to the second of the run
//! that it covers most of. What has an instant is moved by the drift itself.

use evidence::{Instant, Observed, Tick};

use crate::clock::OffsetEstimate;

const SECOND_NS: i64 = 1_000_000_000;
/// A tick is moved another second when it is so much nearer to it: without it, ticks would go back and forth where the drift is
/// half a second.
const RELUCTANCE_NS: i64 = SECOND_NS / 20;

/// By how much a worker's clock is ahead of the run's.
#[derive(Debug, Default)]
pub(super) struct Drift {
    ns: i64,
    /// By how many seconds ticks are moved.
    seconds: i32,
}

impl Drift {
    /// The clock was measured; `begun` is what was known of it when the load began. What is less than the error of both is none.
    pub(super) fn measured(&mut self, begun: &OffsetEstimate, now: &OffsetEstimate) {
        let drift_ns = begun.drift_ns(now);
        let error_ns = i64::try_from(begun.error_ns.saturating_add(now.error_ns)).unwrap_or(i64::MAX);
        if drift_ns.saturating_sub(self.ns).saturating_abs() <= error_ns {
            return;
        }
        self.ns = drift_ns;
        let past_ns = drift_ns.saturating_sub(i64::from(self.seconds) * SECOND_NS);
        if past_ns.saturating_abs() > SECOND_NS / 2 + RELUCTANCE_NS {
            let nearest = drift_ns.saturating_add(SECOND_NS / 2).div_euclid(SECOND_NS);
            self.seconds = i32::try_from(nearest).unwrap_or(self.seconds);
        }
    }

    /// Move what a loop counted.
    pub(super) fn correct_tick(&self, tick: &mut Tick) {
        if self.ns != 0 {
            tick.move_back(self.seconds, |at| self.corrected(at));
        }
    }

    /// Move what observers saw.
    pub(super) fn correct_observed(&self, observed: &mut Observed) {
        let samples = observed.samples.iter_mut().map(|(_, sample)| &mut sample.at);
        samples.chain(observed.notices.iter_mut().map(|notice| &mut notice.at)).for_each(|at| {
            *at = self.corrected(*at);
        });
    }

    fn corrected(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos().saturating_add_signed(self.ns.saturating_neg()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evidence::{Key, KeyId, Metric, Sample, SeriesKey};

    use super::*;

    const ERROR_NS: u64 = 1_000_000;

    fn at(offset_ns: i64) -> OffsetEstimate {
        OffsetEstimate { offset_ns, error_ns: ERROR_NS }
    }

    /// What is measured every ten seconds of a clock that gains so many nanoseconds a second, which read 7 s when the load began,
    /// and the tick that the worker's loop hands over in each second of a day.
    fn day_of(gain_ns: i64) -> impl Iterator<Item = (u32, Tick)> {
        let (begun, mut drift) = (at(7 * SECOND_NS), Drift::default());
        (0..86_400_u32).map(move |second| {
            let now = begun.offset_ns + i64::from(second) * gain_ns;
            if second % 10 == 0 {
                drift.measured(&begun, &at(now));
            }
            // When the second of the run is over the worker's clock has passed another one.
            let by_worker = i64::from(second) + (i64::from(second) * gain_ns).div_euclid(SECOND_NS);
            let mut tick = Tick::default();
            tick.second = u32::try_from(by_worker).unwrap();
            tick.new_keys.push((KeyId(0), Key::of(Metric::Requests)));
            tick.add(KeyId(0), tick.second, 1);
            drift.correct_tick(&mut tick);
            (second, tick)
        })
    }

    #[test]
    fn counts_stay_within_a_second_of_when_they_were_made_all_day() {
        // 20 and 100 millionths: 1.7 s and 8.6 s a day.
        for gain_ns in [-100_000, -20_000, 20_000, 100_000] {
            for (second, tick) in day_of(gain_ns) {
                let counted = tick.counts()[0].second;
                assert_eq!(counted, tick.second);
                assert!(counted.abs_diff(second) <= 1, "{gain_ns}: second {second} is counted in {counted}");
            }
        }
    }

    #[test]
    fn a_drift_within_the_error_moves_nothing() {
        let mut drift = Drift::default();
        drift.measured(&at(0), &at(2 * ERROR_NS as i64));
        assert_eq!((drift.ns, drift.seconds), (0, 0));
    }

    #[test]
    fn ticks_do_not_go_back_and_forth_at_half_a_second() {
        let mut drift = Drift::default();
        let moved: Vec<i32> = [499, 510, 490, 560, 520, 460, 440]
            .into_iter()
            .map(|ms| {
                drift.measured(&at(0), &at(ms * 1_000_000));
                drift.seconds
            })
            .collect();
        assert_eq!(moved, [0, 0, 0, 1, 1, 1, 0]);
    }

    #[test]
    fn what_has_an_instant_is_moved_by_the_drift() {
        let mut drift = Drift::default();
        drift.measured(&at(0), &at(-30_000_000));
        let sample = Sample { at: Instant::at(Duration::from_secs(5)), value: 1.0 };
        let mut observed = Observed {
            samples: vec![(SeriesKey::new("cpu", "host", "cores"), sample)],
            ..Observed::default()
        };
        drift.correct_observed(&mut observed);
        assert_eq!(observed.samples[0].1.at, Instant::at(Duration::from_millis(5_030)));
    }
}
