//! Histograms, decoded by SQL as `docs/archive.md` describes them: HdrHistogram's V2 encoding.

use rusqlite::Row;

use super::super::report::{ALL_REQUESTS, label_of, only_step};
use super::super::shown::{Expected, Numbers};
use super::{Reading, rows};

/// Of histograms, each bucket that has values: `low` and `high` in µs, and `n`.
///
/// After 40 bytes of header there are counts as ZigZag LEB128 numbers; one of at most zero means that many empty buckets,
/// and one at least. Below 2,048 µs a bucket is as wide as 1 µs, from there on twice as wide with each doubling.
const BUCKETS: &str = "
    positions (at) AS (
        SELECT 41 UNION ALL SELECT at + 1 FROM positions WHERE at < (SELECT max(length(v2)) FROM histograms)),
    bytes AS (
        SELECT key, second, at, instr('0123456789ABCDEF', substr(hex(substr(v2, at, 1)), 1, 1)) * 16 - 16
            + instr('0123456789ABCDEF', substr(hex(substr(v2, at, 1)), 2, 1)) - 1 AS byte
        FROM histograms JOIN positions ON at <= length(v2)),
    divided AS (
        SELECT *, coalesce(sum(byte < 128) OVER (PARTITION BY key, second ORDER BY at
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS place FROM bytes),
    placed AS (SELECT *, at - min(at) OVER (PARTITION BY key, second, place) AS digit FROM divided),
    zigzag AS (SELECT key, second, place, sum((byte & 127) << (7 * digit)) AS z FROM placed GROUP BY 1, 2, 3),
    numbers AS (SELECT key, second, place, iif(z & 1, -(z >> 1) - 1, z >> 1) AS number FROM zigzag),
    slots AS (
        SELECT key, number AS n, sum(iif(number > 0, 1, max(1, -number)))
            OVER (PARTITION BY key, second ORDER BY place) - 1 AS slot FROM numbers),
    buckets AS (
        SELECT key, n, iif(slot < 2048, slot, (slot % 1024 + 1024) << (slot / 1024 - 1)) AS low,
            iif(slot < 2048, slot, ((slot % 1024 + 1025) << (slot / 1024 - 1)) - 1) AS high
        FROM slots WHERE n > 0)";

/// The buckets of one distribution, ascending.
type Buckets = Vec<(f64, f64, f64)>;

pub(super) fn add(all: &mut Numbers, reading: &Reading<'_>) {
    let query = format!(
        "WITH RECURSIVE {BUCKETS}
         SELECT metric, phase, scenario, endpoint, low, high, sum(n) FROM buckets JOIN keys USING (key)
         WHERE (coalesce(outcome, 'ok') = 'ok' AND metric IN ('response_time', 'service_time'))
             OR metric = 'iteration_time'
         GROUP BY 1, 2, 3, 4, 5, 6
         UNION ALL
         SELECT metric, phase, 'all', '{ALL_REQUESTS}', low, high, sum(n) FROM buckets JOIN keys USING (key)
         WHERE coalesce(outcome, 'ok') = 'ok' AND metric IN ('response_time', 'service_time')
         GROUP BY metric, phase, low, high
         UNION ALL
         SELECT replace(metric, 'step_lag', 'start_lag'), '', '', '', low, high, sum(n) FROM buckets JOIN keys USING (key)
         WHERE metric IN ('start_lag', 'step_lag', 'loop_stall') GROUP BY 1, 5, 6 ORDER BY 1, 2, 3, 4, 5"
    );
    let found = rows(reading.file, &query, [], |row: &Row<'_>| {
        let of: [String; 4] = [0, 1, 2, 3].map(|column| row.get_unwrap(column));
        let bucket: [f64; 3] = [4, 5, 6].map(|column| row.get_unwrap(column));
        (of, bucket)
    });
    for alike in found.chunk_by(|a, b| a.0 == b.0) {
        let [metric, phase, scenario, endpoint] = &alike[0].0;
        let buckets: Buckets = alike.iter().map(|(_, [low, high, n])| (*low, *high, *n)).collect();
        let label = match endpoint.as_str() {
            ALL_REQUESTS => endpoint.clone(),
            endpoint => label_of(reading.report, scenario, endpoint),
        };
        let row = format!("row/{phase}/{label}");
        let what = match metric.as_str() {
            "start_lag" => "generator/start lag ".to_owned(),
            "loop_stall" => "generator/loop stall ".to_owned(),
            "service_time" => format!("{row}/svc "),
            // The times of whole iterations are shown where there are no requests.
            "iteration_time" if !endpoint.is_empty() => continue,
            "iteration_time" if only_step(reading.report, scenario).is_some() => continue,
            _ => format!("{row}/"),
        };
        statistics(all, &what, &buckets);
    }
}

fn statistics(all: &mut Numbers, what: &str, buckets: &Buckets) {
    let count: f64 = buckets.iter().map(|(_, _, n)| n).sum();
    let sum: f64 = buckets.iter().map(|(low, high, n)| (low + high) / 2.0 * n).sum();
    let (_, highest, _) = buckets[buckets.len() - 1];
    all.insert(format!("{what}avg"), Expected::Number(sum / count / 1e3));
    all.insert(format!("{what}max"), Expected::Number(highest / 1e3));
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
        let rank = (q * count).max(1.0);
        let mut below = 0.0;
        let within = buckets.iter().find(|(_, _, n)| {
            below += n;
            below >= rank - 1e-9
        });
        let (low, high, _) = within.unwrap();
        all.insert(format!("{what}{name}"), Expected::Between(low / 1e3, high / 1e3));
    }
}
