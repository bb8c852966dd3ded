//! Which metrics are kept: names in which `*` matches any part.

/// What is kept when nothing is named: the runtime of Go, what clients of most languages say of their process, and what shows pools
/// and pauses, by which a limit is named.
const USUAL: [&str; 28] = [
    "go_goroutines",
    "go_memstats_heap_*",
    // What an experiment needs to compare allocations.
    "go_memstats_alloc_bytes_total",
    "go_memstats_mallocs_total",
    "go_memstats_next_gc_bytes",
    "go_gc_heap_live_bytes",
    "go_gc_duration_seconds*",
    "process_*",
    "*_in_use",
    "*_max",
    "*_limit",
    "*_size",
    "*_wait_seconds_*",
    "*_use_seconds_*",
    "*_usage_seconds_*",
    "*_wait_duration_seconds_total",
    "go_sql_*",
    "hikaricp_connections*",
    "pgbouncer_*",
    "tomcat_threads_*",
    "jetty_threads_*",
    "db_client_connections_*",
    "*_gc_*_seconds_*",
    "nodejs_eventloop_lag_*",
    // How long calls of other services take.
    "http*_client_*_sum",
    "httpclient_request_duration_seconds_sum",
    "*rpc_client_*_sum",
    "db_client_operation_duration_seconds_sum",
];

/// Patterns of names.
#[derive(Debug, Clone)]
pub(super) struct Keep(Vec<String>);

impl Keep {
    /// Keep these, or what is usual when there are none.
    pub(super) fn new(patterns: &[String]) -> Keep {
        match patterns {
            [] => Keep(USUAL.map(str::to_owned).to_vec()),
            named => Keep(named.to_vec()),
        }
    }

    /// Keep these names too.
    pub(super) fn and(mut self, names: &[String]) -> Keep {
        self.0.extend_from_slice(names);
        self
    }

    /// Whether a metric of this name is kept.
    pub(super) fn keeps(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| matches(pattern.as_bytes(), name.as_bytes()))
    }
}

/// Goes back to the last star alone, which is enough and takes no more steps than pattern times name.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut of_name) = (0, 0);
    let mut star = None;
    while of_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, of_name));
                at += 1;
            }
            Some(byte) if *byte == name[of_name] => {
                at += 1;
                of_name += 1;
            }
            _ => {
                let Some((star_at, from)) = star else { return false };
                star = Some((star_at, from + 1));
                (at, of_name) = (star_at + 1, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_kept(pattern: &str, name: &str) -> bool {
        Keep::new(&[pattern.to_owned()]).keeps(name)
    }

    #[test]
    fn a_star_matches_any_part() {
        for pattern in
            ["go_gc_seconds", "*", "go_*", "*_seconds", "go_*_seconds", "*gc*", "go_gc_seconds*", "**"]
        {
            assert!(is_kept(pattern, "go_gc_seconds"), "{pattern}");
        }
        for pattern in ["", "go", "go_*_second", "*_sec", "x*", "go_gc_seconds_*"] {
            assert!(!is_kept(pattern, "go_gc_seconds"), "{pattern}");
        }
        assert!(is_kept("*ab*ab", "abxabab"));
    }

    #[test]
    fn the_runtime_is_kept_when_nothing_is_named() {
        let usual = Keep::new(&[]);
        for name in
            ["go_goroutines", "go_memstats_heap_objects", "process_open_fds", "go_gc_duration_seconds"]
        {
            assert!(usual.keeps(name), "{name}");
        }
        for name in [
            "db_in_use",
            "db_max",
            "db_wait_seconds_total",
            "db_use_seconds_total",
            "hikaricp_connections_max",
            "jvm_gc_pause_seconds_sum",
            "http_client_request_duration_seconds_sum",
            "rpc_client_duration_sum",
            "grpc_client_handling_seconds_sum",
        ] {
            assert!(usual.keeps(name), "{name} shows a pool, a pause or calls");
        }
        assert!(!usual.keeps("http_requests_total"));
        let needed = usual.and(&["http_requests_total".to_owned()]);
        assert!(needed.keeps("http_requests_total") && needed.keeps("go_goroutines"));
    }

    proptest! {
        #[test]
        fn the_pieces_of_a_name_keep_it(name in "[a-c]{0,12}", cuts in proptest::collection::vec(0..12_usize, 0..4)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(name.len())).collect();
            cuts.sort_unstable();
            // Every other piece is replaced by a star.
            let mut pattern = String::new();
            let mut from = 0;
            for (index, cut) in cuts.iter().chain([&name.len()]).enumerate() {
                match index % 2 {
                    0 => pattern.push_str(&name[from..*cut]),
                    _ => pattern.push('*'),
                }
                from = *cut;
            }
            prop_assert!(is_kept(&pattern, &name), "{} does not keep {}", pattern, name);
        }
    }
}
