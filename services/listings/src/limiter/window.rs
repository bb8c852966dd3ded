//! A sliding window: one caller's calls of one method in the last minute, in steps of five seconds. Pure: the time is a
//! parameter.

/// The length of a step, in milliseconds.
pub(super) const STEP_MS: u64 = 5_000;
/// Steps of a minute and the current one: a call counts for at least 60 and at most 65 seconds.
pub(super) const STEPS: usize = 13;

#[derive(Debug, Default, Clone)]
pub(super) struct SlidingWindow {
    counts: [u32; STEPS],
    newest: u64,
}

impl SlidingWindow {
    /// Counts a call at this time (in milliseconds of any clock), or returns after how many milliseconds another call
    /// will be admitted. When the clock is set back, the window stays at its newest step until the clock has caught up.
    pub(super) fn try_count(&mut self, now_ms: u64, max: u32) -> Result<(), u64> {
        self.advance(now_ms / STEP_MS);
        let sum: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        if sum < u64::from(max) {
            self.counts[index_of(self.newest)] += 1;
            return Ok(());
        }
        let steps = STEPS as u64;
        let oldest = (1..=steps).find(|age| self.counts[index_of(self.newest + age)] > 0);
        let expires_ms = (self.newest + oldest.unwrap_or(steps)) * STEP_MS;
        Err(expires_ms.saturating_sub(now_ms).max(1))
    }

    /// Whether no call counts any more at this time.
    pub(super) fn is_expired(&self, now_ms: u64) -> bool {
        now_ms / STEP_MS >= self.newest + STEPS as u64
    }

    fn advance(&mut self, step: u64) {
        let passed = step.saturating_sub(self.newest);
        for age in 1..=passed.min(STEPS as u64) {
            self.counts[index_of(self.newest + age)] = 0;
        }
        self.newest = self.newest.max(step);
    }
}

fn index_of(step: u64) -> usize {
    // The remainder is below the number of steps.
    usize::try_from(step % STEPS as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_minute_exceeds_the_limit_and_a_retry_after_the_wait_is_admitted(
            pauses in prop::collection::vec(0..9_000_u64, 1..300), max in 1..20_u32,
        ) {
            let (mut window, mut now, mut admitted) = (SlidingWindow::default(), 1_000_000, Vec::new());
            for pause in pauses {
                now += pause;
                match window.try_count(now, max) {
                    Ok(()) => admitted.push(now),
                    Err(wait) => {
                        prop_assert!(wait <= STEPS as u64 * STEP_MS);
                        prop_assert!(window.clone().try_count(now + wait, max).is_ok());
                        prop_assert!(window.clone().try_count(now + wait - 1, max).is_err());
                    }
                }
            }
            for (first, at) in admitted.iter().enumerate() {
                let in_a_minute = admitted[first..].iter().take_while(|other| **other < at + 60_000).count();
                prop_assert!(in_a_minute <= max as usize);
            }
        }
    }

    #[test]
    fn a_window_expires_after_a_minute_and_a_step() {
        let mut window = SlidingWindow::default();
        for _ in 0..3 {
            window.try_count(100_000, 3).unwrap();
        }
        assert!(window.try_count(159_999, 3).is_err());
        assert!(!window.is_expired(160_000) && window.is_expired(220_000));
        assert!(window.try_count(165_000, 3).is_ok());
        assert!(
            window.try_count(0, 3).is_ok(),
            "a clock that is set back keeps the window at its newest step"
        );
    }
}
