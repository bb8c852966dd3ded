//! The phases of requests with a complete response, named as in k6: mean time and share of each.

use std::collections::BTreeMap;

use evidence::Metric;
use serde::Serialize;

use crate::number;

/// Only names that are met while running are looked up, so most runs have no such phase.
const RESOLVING: &str = "resolving";

/// The phases of a request, in the order in which they occur.
const PHASES: [(Metric, &str); 7] = [
    (Metric::BlockedNs, "blocked"),
    (Metric::ResolvingNs, RESOLVING),
    (Metric::ConnectingNs, "connecting"),
    (Metric::TlsHandshakingNs, "tls_handshaking"),
    (Metric::SendingNs, "sending"),
    (Metric::WaitingNs, "waiting"),
    (Metric::ReceivingNs, "receiving"),
];

/// The total time of each phase.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PhaseSums {
    ns: [u64; PHASES.len()],
}

/// One phase of the requests of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestPhase {
    /// `blocked`, `resolving` (only where it took time), `connecting`, `tls_handshaking`, `sending`, `waiting` or `receiving`.
    pub name: &'static str,
    /// Its mean over all requests with a complete response, including those without this phase.
    pub avg_ms: f64,
    /// Its share of all phases together, 0 to 1.
    pub share: f64,
}

impl PhaseSums {
    /// Those of the parts of requests, by metric.
    pub(super) fn of_parts(parts: &BTreeMap<Metric, u64>) -> PhaseSums {
        PhaseSums { ns: PHASES.map(|(metric, _)| parts.get(&metric).copied().unwrap_or(0)) }
    }

    /// The phases as means over `requests` requests; empty when nothing was measured.
    pub(super) fn of(&self, requests: u64) -> Vec<RequestPhase> {
        let all: f64 = self.ns.iter().map(|ns| *ns as f64).sum();
        if all == 0.0 || requests == 0 {
            return Vec::new();
        }
        let phase = |((_, name), ns): (&(Metric, &'static str), &u64)| RequestPhase {
            name,
            avg_ms: *ns as f64 / requests as f64 / 1e6,
            share: *ns as f64 / all,
        };
        let shown = |((_, name), ns): &(&(Metric, &str), &u64)| *name != RESOLVING || **ns > 0;
        PHASES.iter().zip(&self.ns).filter(shown).map(phase).collect()
    }
}

impl RequestPhase {
    /// The same of a row that may not have this phase.
    pub(crate) fn text_of(phase: Option<&RequestPhase>) -> String {
        phase.map_or_else(|| number::time(0.0), RequestPhase::in_words)
    }

    /// Its mean and its share: `1.50 ms 75 %`.
    fn in_words(&self) -> String {
        match self.avg_ms {
            0.0 => number::time(0.0),
            avg_ms => format!("{} {:>4}", number::time(avg_ms), number::whole_percent(self.share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_shown_as_means_and_shares() {
        assert_eq!(PhaseSums::default().of(3), []);
        let mut parts = BTreeMap::from([(Metric::SendingNs, 1_000_000), (Metric::WaitingNs, 3_000_000)]);
        let sums = PhaseSums::of_parts(&parts);
        assert_eq!(sums.of(0), []);
        let words: Vec<_> = sums.of(2).iter().map(|p| format!("{} {}", p.name, p.in_words())).collect();
        let expected = "blocked 0 µs, connecting 0 µs, tls_handshaking 0 µs, sending 500 µs 25 %, waiting 1.50 ms 75 %, \
                        receiving 0 µs";
        assert_eq!(words.join(", "), expected);
        parts.insert(Metric::ResolvingNs, 4_000_000);
        let phases = PhaseSums::of_parts(&parts).of(2);
        let looked_up = phases.iter().find(|phase| phase.name == "resolving");
        assert_eq!((phases.len(), RequestPhase::text_of(looked_up).as_str()), (7, "2.00 ms 50 %"));
        assert_eq!(RequestPhase::text_of(None), "0 µs");
    }
}
