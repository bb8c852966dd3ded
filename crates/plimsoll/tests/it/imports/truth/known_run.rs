//! Runs of which every request is known.

use jiff::Timestamp;

/// The start of the run, in milliseconds since 1970.
const EPOCH_MS: u64 = 1_769_000_000_000;
/// Between the starts of two requests.
pub(super) const EVERY_MS: u64 = 100;
const REQUESTS: u64 = 1_800;

/// The requests of a run, in order.
pub(super) struct KnownRun {
    pub(super) requests: Vec<KnownRequest>,
    random: SplitMix,
}

#[derive(Clone, Copy)]
pub(super) struct KnownRequest {
    /// From 0.
    pub(super) number: u64,
    /// Milliseconds since 1970.
    pub(super) start: u64,
    pub(super) ms: u64,
    pub(super) has_failed: bool,
}

impl KnownRequest {
    pub(super) fn end(&self) -> u64 {
        self.start + self.ms
    }

    pub(super) fn status(&self) -> u32 {
        if self.has_failed { 500 } else { 200 }
    }

    pub(super) fn is_slow(&self) -> bool {
        self.ms >= 50
    }
}

/// A time in milliseconds as RFC 3339.
pub(super) fn rfc3339(ms: u64) -> String {
    Timestamp::from_millisecond(i64::try_from(ms).unwrap()).unwrap().to_string()
}

impl KnownRun {
    /// With and without failures, with and without slow requests.
    pub(super) const KINDS: u64 = 4;

    pub(super) fn new(seed: u64) -> KnownRun {
        let mut random = SplitMix(seed);
        let (fails, is_slow) = (seed % 2 == 1, seed / 2 % 2 == 1);
        let request = |number| {
            let has_failed = fails && random.below(100) < 6;
            let slow = is_slow && !has_failed && random.below(100) < 20;
            let ms = if slow { 100 + random.below(100) } else { 8 + random.below(5) };
            KnownRequest { number, start: EPOCH_MS + number * EVERY_MS, ms, has_failed }
        };
        let requests = (0..REQUESTS).map(request).collect();
        KnownRun { requests, random }
    }

    /// Whether each objective was met.
    pub(super) fn truth(&self) -> [bool; 3] {
        let share = |is_it: fn(&KnownRequest) -> bool| {
            self.requests.iter().filter(|request| is_it(request)).count() as f64 / self.requests.len() as f64
        };
        [
            share(|request| request.has_failed) < 0.02,
            share(|request| request.has_failed || request.is_slow()) <= 0.10,
            share(|request| !request.has_failed && request.is_slow()) == 0.0,
        ]
    }

    pub(super) fn failed(&self) -> u64 {
        self.requests.iter().filter(|request| request.has_failed).count() as u64
    }

    /// The `q`-quantile of the times, of all or of successes.
    pub(super) fn quantile(&self, q: f64, is_of_all: bool) -> u64 {
        let counted = self.requests.iter().filter(|request| is_of_all || !request.has_failed);
        let mut times: Vec<u64> = counted.map(|request| request.ms).collect();
        times.sort_unstable();
        times[((times.len() - 1) as f64 * q).ceil() as usize]
    }

    /// A number below `limit`, another for each run.
    pub(super) fn number(&self, limit: u64) -> u64 {
        SplitMix(self.random.0).below(limit)
    }
}

/// SplitMix64, by S. Vigna: <https://prng.di.unimi.it/splitmix64.c>.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }
}
