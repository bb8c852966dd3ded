//! Times in which something is different from usual, at random instants and of random lengths.

use std::time::Duration;

use evidence::Instant;

use crate::random::Random;

/// How often episodes begin and how long they last. Gaps are exponential; lengths too, or log-uniform between two limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EpisodeShape {
    /// From the end of one to the beginning of the next, in the mean.
    pub(crate) gap_s: f64,
    pub(crate) length: EpisodeLength,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum EpisodeLength {
    Exponential { mean_s: f64 },
    LogUniform { shortest_s: f64, longest_s: f64 },
}

impl EpisodeLength {
    fn draw_s(self, random: &mut Random) -> f64 {
        match self {
            EpisodeLength::Exponential { mean_s } => random.exponential(mean_s),
            EpisodeLength::LogUniform { shortest_s, longest_s } => {
                shortest_s * (longest_s / shortest_s).powf(random.uniform())
            }
        }
    }

    fn mean_s(self) -> f64 {
        match self {
            EpisodeLength::Exponential { mean_s } => mean_s,
            EpisodeLength::LogUniform { shortest_s, longest_s } => {
                (longest_s - shortest_s) / (longest_s / shortest_s).ln()
            }
        }
    }
}

impl EpisodeShape {
    /// Episodes of this length that take this share of the time, 0 to 1.
    pub(crate) fn sharing(share: f64, length: EpisodeLength) -> EpisodeShape {
        EpisodeShape { gap_s: length.mean_s() * (1.0 - share) / share, length }
    }
}

/// Episodes in order of time, none where there is no shape. Questions must be asked in order of time too.
#[derive(Debug, Clone)]
pub(crate) struct Episodes {
    shape: Option<EpisodeShape>,
    random: Random,
    begin: Instant,
    end: Instant,
}

impl Episodes {
    pub(crate) fn new(shape: Option<EpisodeShape>, random: Random) -> Episodes {
        let mut episodes = Episodes { shape, random, begin: Instant::NEVER, end: Instant::EPOCH };
        episodes.next();
        episodes
    }

    fn next(&mut self) {
        let Some(shape) = self.shape else { return };
        self.begin = self.end + Duration::from_secs_f64(self.random.exponential(shape.gap_s));
        self.end = self.begin + Duration::from_secs_f64(shape.length.draw_s(&mut self.random));
    }

    /// The end of the episode that `at` is in; `at` itself outside of them.
    pub(crate) fn end_at(&mut self, at: Instant) -> Instant {
        while self.shape.is_some() && self.end <= at {
            self.next();
        }
        if self.begin <= at { self.end } else { at }
    }

    pub(crate) fn contains(&mut self, at: Instant) -> bool {
        self.end_at(at) > at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn episodes_take_their_share_of_the_time() {
        for length in [
            EpisodeLength::Exponential { mean_s: 0.02 },
            EpisodeLength::LogUniform { shortest_s: 0.001, longest_s: 0.05 },
        ] {
            let shape = EpisodeShape::sharing(0.5, length);
            let mut episodes = Episodes::new(Some(shape), Random::new(3));
            let inside =
                (0..200_000u64).filter(|ms| episodes.contains(Instant::from_nanos(ms * 1_000_000))).count();
            assert!((inside as f64 / 200_000.0 - 0.5).abs() < 0.02, "{inside}");
        }
        assert!(!Episodes::new(None, Random::new(3)).contains(Instant::EPOCH));
    }
}
