//! What was observed: statistics over the time that samples cover, CPU-seconds, CPU per request.

use rusqlite::Row;

use super::super::report::{array, text};
use super::super::shown::{Expected, Numbers};
use super::{Reading, one, rows};

/// Samples with what they cover, `begin_ns` to `end_ns`, as `docs/archive.md` describes it; rates over less than half of
/// a usual interval are joined with the one before.
const COVERED: &str = "
    dated AS (
        SELECT series, at_ns, value, unit = 'cores' OR unit LIKE '%/s' AS is_rate,
            lag(at_ns) OVER (PARTITION BY series ORDER BY at_ns) AS before_ns
        FROM samples JOIN series USING (series)),
    distances AS (
        SELECT series, at_ns - before_ns AS ns, count(*) OVER (PARTITION BY series) AS n,
            row_number() OVER (PARTITION BY series ORDER BY at_ns - before_ns) AS place
        FROM dated WHERE before_ns IS NOT NULL),
    usual AS (SELECT series, max(1, round(ns / 1e9)) * 1000000000 AS usual_ns FROM distances WHERE place = n / 2 + 1),
    began AS (
        SELECT series, at_ns, value, is_rate, coalesce(usual_ns, 1000000000) AS usual_ns,
            max(0, CASE WHEN NOT is_rate THEN max(coalesce(before_ns, 0), at_ns - 1000000000)
                WHEN at_ns - before_ns <= 2.5 * coalesce(usual_ns, 1000000000) THEN before_ns
                ELSE at_ns - coalesce(usual_ns, 1000000000) END) AS begin_ns
        FROM dated LEFT JOIN usual USING (series)),
    joined AS (
        SELECT *, sum(NOT is_rate OR at_ns - begin_ns >= 0.5 * usual_ns
            OR begin_ns = 0) OVER (PARTITION BY series ORDER BY at_ns) AS interval
        FROM began),
    covered AS (
        SELECT series, min(begin_ns) AS begin_ns, max(at_ns) AS end_ns,
            iif(is_rate, sum(value * (at_ns - begin_ns)) / sum(at_ns - begin_ns), value) AS value
        FROM joined GROUP BY series, interval)";

pub(super) fn add(all: &mut Numbers, reading: &Reading<'_>) {
    let seconds: f64 = one(reading.file, "SELECT 1 + max(second) FROM ticks").unwrap_or(0.0);
    statistics(all, reading, "", [0.0, seconds]);
    for phase in array(&reading.report["phases"]) {
        let [start, end] = ["start_s", "end_s"].map(|key| phase[key].as_f64().unwrap());
        statistics(all, reading, &format!(" in {}", text(&phase["name"])), [start, end]);
    }
    cpu(all, reading, seconds);
    let watching = "SELECT sum(mean) FROM (
             SELECT sum(value * (end_ns - begin_ns)) / sum(end_ns - begin_ns) AS mean
             FROM covered JOIN series USING (series)
             WHERE name = 'observer_cpu' AND (begin_ns + end_ns) / 2 < ?1 * 1e9 GROUP BY series)";
    let watching =
        rows(reading.file, &format!("WITH {COVERED} {watching}"), [seconds], |row| row.get_unwrap(0));
    all.insert("generator/watching".to_owned(), Expected::of(watching[0]));
}

/// Of the samples whose intervals have their middle in the window.
fn statistics(all: &mut Numbers, reading: &Reading<'_>, of: &str, window_s: [f64; 2]) {
    let query = format!(
        "WITH {COVERED}
         SELECT target, name || coalesce(' (' || nullif(trim(part ||
                 iif(part <> '' AND loop = 0, '', coalesce(' loop ' || loop, ''))), '') || ')', ''),
             CASE unit WHEN 's' THEN 1e3 WHEN 'us' THEN 1e-3 ELSE 1.0 END, count(*),
             coalesce(sum(value * (end_ns - begin_ns)) / nullif(sum(end_ns - begin_ns), 0), avg(value)),
             min(value), max(value), max(last)
         FROM (SELECT *, first_value(value) OVER (PARTITION BY series ORDER BY end_ns DESC) AS last FROM covered
             WHERE (begin_ns + end_ns) / 2 >= ?1 * 1e9 AND (begin_ns + end_ns) / 2 < ?2 * 1e9)
             JOIN series USING (series) LEFT JOIN instances USING (instance) GROUP BY series"
    );
    let found = rows(reading.file, &query, window_s, |row: &Row<'_>| {
        let names: [String; 2] = [0, 1].map(|column| row.get_unwrap(column));
        let numbers: [f64; 6] = [2, 3, 4, 5, 6, 7].map(|column| row.get_unwrap(column));
        (names, numbers)
    });
    for ([target, name], [scale, samples, mean, min, max, last]) in found {
        let mut add =
            |key: &str, n| all.insert(format!("series/{target}/{name}/{key}{of}"), Expected::Number(n));
        add("samples", samples);
        for (key, n) in [("mean", mean), ("min", min), ("max", max), ("last", last)] {
            add(key, n * scale);
        }
    }
}

/// CPU-seconds of the run, and of the seconds that samples cover with the answers of exactly these.
fn cpu(all: &mut Numbers, reading: &Reading<'_>, seconds: f64) {
    let integral = format!(
        "WITH {COVERED} SELECT sum(value * overlap) / 1e9, sum(overlap) / 1e9 FROM (
             SELECT value, min(end_ns, ?3 * 1e9) - max(begin_ns, ?2 * 1e9) AS overlap
             FROM covered JOIN series USING (series) WHERE name = ?4 AND target = ?1) WHERE overlap > 0"
    );
    let answered = "SELECT coalesce(sum(count), 0) FROM histograms JOIN keys USING (key)
         WHERE metric = 'response_time' AND outcome <> 'cancelled' AND second >= ?1 AND second < ?2";
    for use_of in array(&reading.report["cpu"]) {
        let target = text(&use_of["target"]);
        // Where the generator's process was not observed, its loops were.
        let is_of_loops = text(&use_of["note"]).starts_with("loops only");
        let series = if is_of_loops { "loop_cpu" } else { "cpu" };
        let over = |from: f64, to: f64| -> [Option<f64>; 2] {
            let row = |row: &Row<'_>| [0, 1].map(|column| row.get_unwrap(column));
            rows(reading.file, &integral, (target, from, to, series), row)[0]
        };
        let [whole, covered_s] = over(0.0, seconds);
        let (mut cost, mut answers) = (0.0, 0.0);
        for range in array(&use_of["seconds"]) {
            let [from, to] = [0, 1].map(|at| range[at].as_f64().unwrap());
            cost +=
                over(from, to)[0].unwrap_or_else(|| panic!("{use_of}: {}", reading.report["run"]["name"]));
            answers += rows(reading.file, answered, [from, to], |row| row.get_unwrap::<_, f64>(0))[0];
        }
        let mut add = |name: &str, n| all.insert(format!("cpu/{target}/{name}"), Expected::of(n));
        add("CPU-seconds", whole);
        add("mean cores", whole.zip(covered_s).map(|(sum, covered_s)| sum / covered_s));
        let length = |range: &serde_json::Value| range[1].as_f64().unwrap() - range[0].as_f64().unwrap();
        let covered: f64 = array(&use_of["seconds"]).iter().map(length).sum();
        let is_covered = covered >= 0.9 * seconds && answers > 0.0;
        add("per 1,000 requests", is_covered.then(|| 1_000.0 * cost / answers));
    }
}
