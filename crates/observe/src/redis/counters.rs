//! The counters of a server, and whether two readings of them can be compared.

use super::info::Info;

/// Counters that become rates: the field of `INFO`, and our name.
pub(super) const RATES: [(&str, &str); 6] = [
    ("total_commands_processed", "redis_commands"),
    ("evicted_keys", "redis_evicted"),
    ("expired_keys", "redis_expired"),
    ("rejected_connections", "redis_rejected"),
    ("keyspace_hits", "redis_hits"),
    ("keyspace_misses", "redis_misses"),
];
const HITS: usize = 4;
const MISSES: usize = 5;

/// Others that `CONFIG RESETSTAT` sets back to 0. They fall where those above have grown beyond what they were.
const BESIDES: [&str; 5] = [
    "total_connections_received",
    "total_net_input_bytes",
    "total_net_output_bytes",
    "total_reads_processed",
    "total_writes_processed",
];

/// One reading.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Counters {
    run_id: String,
    /// In the order of [`RATES`]; none where the server has no such counter.
    values: [Option<f64>; RATES.len()],
    besides: [Option<f64>; BESIDES.len()],
    /// How often `INFO` was called before this reading, which was by `INFO`, too.
    infos: Option<u64>,
    /// What the server counts of `CONFIG RESETSTAT`: only the last call, since it sets this back, too.
    resetstat: Option<String>,
}

/// Why counters cannot be compared with what they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anew {
    /// The server was restarted.
    Restarted,
    Reset,
}

impl Counters {
    pub(super) fn read(info: &Info<'_>) -> Counters {
        Counters {
            run_id: info.text("run_id").to_owned(),
            values: RATES.map(|(field, _)| info.number(field)),
            besides: BESIDES.map(|field| info.number(field)),
            infos: info.calls("info"),
            // Before Redis 7 subcommands are not counted separately.
            resetstat: info.command("config|resetstat").map(str::to_owned),
        }
    }

    /// The beginning of the server's id, for people.
    pub(super) fn short_id(&self) -> &str {
        self.run_id.get(..8).unwrap_or_default()
    }

    /// What was counted since `base`, in the order of [`RATES`].
    pub(super) fn since(&self, base: &Counters) -> Result<[Option<f64>; RATES.len()], Anew> {
        if self.run_id != base.run_id {
            return Err(Anew::Restarted);
        }
        let pairs = self.values.iter().zip(&base.values).chain(self.besides.iter().zip(&base.besides));
        let has_fallen = pairs.into_iter().any(|(now, before)| now < before && now.is_some());
        // The reading of the base has been counted since, unless the server does not count calls.
        let lacks_own = match (self.infos, base.infos) {
            (Some(now), Some(before)) => now <= before,
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => self.resetstat.is_some(),
        };
        if has_fallen || lacks_own || self.resetstat != base.resetstat {
            return Err(Anew::Reset);
        }
        Ok(std::array::from_fn(|at| Some(self.values[at]? - base.values[at]?)))
    }
}

/// The share of lookups that found their key, of what [`Counters::since`] returned; none where there were no lookups.
pub(super) fn hit_ratio(grown: &[Option<f64>; RATES.len()]) -> Option<f64> {
    let (hits, misses) = (grown[HITS]?, grown[MISSES]?);
    (hits + misses > 0.0).then(|| hits / (hits + misses))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(lines: &str) -> Counters {
        Counters::read(&Info::read(lines))
    }

    const BASE: &str = "run_id:a\nkeyspace_hits:10\nkeyspace_misses:4\ntotal_connections_received:9\n\
                        cmdstat_info:calls=5,usec=9\n";

    #[test]
    fn what_was_counted_since_is_the_difference() {
        let now = BASE.replace(":10", ":19").replace(":4", ":5").replace("calls=5", "calls=6");
        let grown = read(&now).since(&read(BASE)).unwrap();
        assert_eq!((grown[HITS], grown[MISSES], grown[0]), (Some(9.0), Some(1.0), None));
        assert_eq!(hit_ratio(&grown), Some(0.9));
    }

    #[test]
    fn another_server_and_a_reset_are_distinguished() {
        let since = |now: &str| read(now).since(&read(BASE));
        assert_eq!(since(&BASE.replace("run_id:a", "run_id:b")), Err(Anew::Restarted));
        assert_eq!(since(&BASE.replace(":10", ":3")), Err(Anew::Reset));
        // Hits and misses are beyond what they were.
        let grown = BASE.replace(":10", ":700").replace(":4", ":80").replace("calls=5", "calls=6");
        assert_eq!(since(&grown.replace("received:9", "received:2")), Err(Anew::Reset));
        let resetstat = "cmdstat_config|resetstat:calls=1,usec=61\n";
        assert_eq!(since(&(grown.clone() + resetstat)), Err(Anew::Reset));
        let again =
            read(&(grown.replace("calls=6", "calls=7") + "cmdstat_config|resetstat:calls=1,usec=64\n"));
        assert_eq!(again.since(&read(&(grown.clone() + resetstat))), Err(Anew::Reset));
        let quick = read(&(grown.replace("calls=6", "calls=2") + resetstat));
        assert_eq!(
            quick.since(&read(&(grown + resetstat))),
            Err(Anew::Reset),
            "its own calls are not counted"
        );
    }

    proptest! {
        #[test]
        fn a_ratio_is_a_share_and_nothing_is_negative(before in any::<[u16; 7]>(), after in any::<[u16; 7]>()) {
            let of = |n: [u16; 7]| {
                let values = RATES.iter().zip(n).map(|((field, _), value)| format!("{field}:{value}\n"));
                values.collect::<String>() + &format!("total_connections_received:{}\n", n[6])
            };
            if let Ok(grown) = read(&of(after)).since(&read(&of(before))) {
                prop_assert!(grown.iter().all(|grown| grown.is_some_and(|grown| grown >= 0.0)));
                prop_assert!(hit_ratio(&grown).is_none_or(|ratio| (0.0..=1.0).contains(&ratio)));
            }
        }
    }
}
