//! One caller's calls of one method in the last minute, in steps of five seconds. Pure: the time is given.

/// A step, in milliseconds.
pub(super) const STEP_MS: u64 = 5_000;
/// A minute and the step that has begun: a call is remembered for a minute at least and for 65 seconds at most.
pub(super) const STEPS: usize = 13;

#[derive(Debug, Default, Clone)]
pub(super) struct Window {
    counts: [u32; STEPS],
    newest: u64,
}

impl Window {
    /// Counts a call at this time (in milliseconds of any clock), or says after how many milliseconds another will
    /// be counted. A clock that is set back stands still meanwhile.
    pub(super) fn take(&mut self, now_ms: u64, max: u32) -> Result<(), u64> {
        self.advance(now_ms / STEP_MS);
        let sum: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        if sum < u64::from(max) {
            self.counts[place(self.newest)] += 1;
            return Ok(());
        }
        let steps = STEPS as u64;
        let oldest = (1..=steps).find(|age| self.counts[place(self.newest + age)] > 0);
        let leaves = (self.newest + oldest.unwrap_or(steps)) * STEP_MS;
        Err(leaves.saturating_sub(now_ms).max(1))
    }

    /// Whether nothing is remembered at this time.
    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        now_ms / STEP_MS >= self.newest + STEPS as u64
    }

    fn advance(&mut self, step: u64) {
        let passed = step.saturating_sub(self.newest);
        for age in 1..=passed.min(STEPS as u64) {
            self.counts[place(self.newest + age)] = 0;
        }
        self.newest = self.newest.max(step);
    }
}

fn place(step: u64) -> usize {
    // The remainder is below the number of steps.
    usize::try_from(step % STEPS as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn in_no_minute_are_there_more_and_when_told_so_another_is_counted(
            pauses in prop::collection::vec(0..9_000_u64, 1..300), max in 1..20_u32,
        ) {
            let (mut window, mut now, mut taken) = (Window::default(), 1_000_000, Vec::new());
            for pause in pauses {
                now += pause;
                match window.take(now, max) {
                    Ok(()) => taken.push(now),
                    Err(wait) => {
                        prop_assert!(wait <= STEPS as u64 * STEP_MS);
                        prop_assert!(window.clone().take(now + wait, max).is_ok());
                        prop_assert!(window.clone().take(now + wait - 1, max).is_err());
                    }
                }
            }
            for (first, at) in taken.iter().enumerate() {
                let in_a_minute = taken[first..].iter().take_while(|other| **other < at + 60_000).count();
                prop_assert!(in_a_minute <= max as usize);
            }
        }
    }

    #[test]
    fn after_a_minute_and_a_step_everything_is_forgotten() {
        let mut window = Window::default();
        for _ in 0..3 {
            window.take(100_000, 3).unwrap();
        }
        assert!(window.take(159_999, 3).is_err());
        assert!(!window.is_over(160_000) && window.is_over(220_000));
        assert!(window.take(165_000, 3).is_ok());
        assert!(window.take(0, 3).is_ok(), "a clock set back stands still");
    }
}
