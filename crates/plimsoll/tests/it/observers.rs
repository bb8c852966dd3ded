//! Everything that a plan can have watched, in one run beside real servers.

use std::collections::BTreeSet;

use peers::go::{Settings, Target};
use peers::postgres::{ADMIN, Cluster, DATABASE};
use peers::redis::Redis;
use rusqlite::Connection;
use serde_json::Value;

use crate::command::TestFolder;

fn plan(shop: &Target, cluster: &Cluster, redis: &Redis) -> String {
    let address = shop.address();
    format!(
        "version = 1\nprecheck = false\n[targets.shop]\nurl = \"http://{address}\"\nprocess = {{ pid = {pid} }}\n\
         [targets.shop.observe]\nprometheus = {{ url = \"http://{address}/metrics\", keep = [\"gotarget_*\"] }}\n\
         cgroup = \"/sys/fs/cgroup/no/such/group\"\n\
         [targets.db.observe]\npostgres = {{ url = \"postgresql://{ADMIN}@{db}/{DATABASE}\", tables = [\"orders\"] }}\n\
         [targets.cache.observe]\nredis = \"redis://{cache}\"\n\
         [[phases]]\nname = \"steady\"\nduration = \"5s\"\n\
         [[scenarios]]\nname = \"play\"\nexecutor = \"constant-arrival-rate\"\nrate = \"20/s\"\n\
         phases = [\"steady\"]\n[[scenarios.steps]]\nname = \"work\"\nget = \"${{shop.url}}/work?ms=2\"\n\
         [objectives]\nrows = \"max(pg_table_rows, target = db) < 10\"\n",
        pid = shop.pid(),
        db = cluster.address(),
        cache = redis.address(),
    )
}

#[test]
fn the_plans_observers_are_in_the_run_file_and_the_reports() {
    let shop = Target::start(Settings::default()).unwrap();
    let cluster = Cluster::start().unwrap();
    cluster
        .sql(DATABASE, "CREATE TABLE orders (id int); INSERT INTO orders VALUES (1); ANALYZE orders")
        .unwrap();
    let redis = Redis::start(&[]).unwrap();
    let folder = TestFolder::new(&plan(&shop, &cluster, &redis));
    let ran = folder.plimsoll(&[
        "run",
        "plan.toml",
        "--quiet",
        "-o",
        "run.plimsoll",
        "--json",
        "run.json",
        "--html",
        "run.html",
    ]);
    ran.exits_with(0);
    let report = folder.json("run.json");
    let series: BTreeSet<(&str, &str)> = (report["series"].as_array().unwrap().iter())
        .map(|series| (series["target"].as_str().unwrap(), series["name"].as_str().unwrap()))
        .collect();
    for one in [
        ("shop", "cpu"),
        ("shop", "gotarget_request_seconds_count"),
        ("shop", "gotarget_request_seconds_p95"),
        ("db", "pg_commits"),
        ("db", "pg_table_rows"),
        ("cache", "redis_commands"),
        ("host", "host_cpu"),
        ("host", "host_memory_available"),
        ("generator", "observer_cpu"),
        ("generator", "observer_took"),
    ] {
        assert!(series.contains(&one), "{one:?} is not in {series:?}");
    }
    let db = &report["run"]["targets"]["db"];
    assert_eq!(db["postgres_settings"].as_str().map(str::len), Some(64), "{db}");
    let findings = report["findings"].as_array().unwrap();
    let gap = |finding: &&Value| {
        finding["rule"] == "O1" && finding["what"].as_str().unwrap().starts_with("shop cgroup")
    };
    let gap = findings.iter().find(gap).unwrap();
    assert!(gap["what"].as_str().unwrap().contains("there is no control group of version 2"), "{gap}");
    let page = folder.read("run.html");
    assert!(page.contains("<dt>watching</dt>") && page.contains("gotarget_request_seconds_p95"));
}

/// 20 requests a second of 20 ms each.
const CORES_IN_USE: f64 = 0.4;

/// A load that ends in the middle of a second.
fn ends_between_seconds(shop: &Target, redis: &Redis) -> String {
    format!(
        "version = 1\nprecheck = false\n[targets.shop]\nurl = \"http://{address}\"\nprocess = {{ pid = {pid} }}\n\
         [targets.shop.observe]\nprometheus = {{ url = \"http://{address}/metrics\", keep = [\"gotarget_*\"] }}\n\
         [targets.cache.observe]\nredis = {{ url = \"redis://{cache}\", every = \"60s\" }}\n\
         [[phases]]\nname = \"steady\"\nduration = \"2100ms\"\n[[phases]]\nname = \"end\"\nduration = \"700ms\"\n\
         [[scenarios]]\nname = \"play\"\nexecutor = \"constant-arrival-rate\"\nrate = \"20/s\"\n\
         phases = [\"steady\", \"end\"]\n[[scenarios.steps]]\nname = \"work\"\nget = \"${{shop.url}}/work?ms=20\"\n",
        address = shop.address(),
        pid = shop.pid(),
        cache = redis.address(),
    )
}

/// CPU time that a process used so far, as the system counts it, in seconds.
fn cpu_s(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn rates_cover_a_run_to_its_end() {
    let shop = Target::start(Settings::default()).unwrap();
    let redis = Redis::start(&[]).unwrap();
    let folder = TestFolder::new(&ends_between_seconds(&shop, &redis));
    let before = cpu_s(shop.pid());
    folder
        .plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--json", "run.json"])
        .exits_with(0);
    let used = cpu_s(shop.pid()) - before;

    let file = Connection::open(folder.path("run.plimsoll")).unwrap();
    let answered = "SELECT max(due_ns + response_time_ns) FROM exemplars WHERE phase = 'end'";
    let answered: i64 = file.query_row(answered, [], |row| row.get(0)).unwrap();
    let last = "SELECT max(at_ns) FROM samples JOIN series USING (series) WHERE target = ?1 AND name = ?2";
    for (target, name) in [
        ("shop", "cpu"),
        ("shop", "gotarget_request_seconds_count"),
        ("cache", "redis_commands"),
        ("host", "host_cpu"),
        ("generator", "cpu"),
    ] {
        let last: Option<i64> = file.query_row(last, [target, name], |row| row.get(0)).unwrap();
        assert!(last >= Some(answered), "{name} of {target}: {last:?}, the last answer came at {answered}");
    }
    // What the run shows is what the system counted, but for ticks of 10 ms and the dry run before it. The time before
    // the first look, if the machine was too busy for it to precede the load, counts like the time after it.
    let first = "SELECT min(at_ns) FROM samples JOIN series USING (series) WHERE target = 'shop'";
    let first: i64 = file.query_row(first, [], |row| row.get(0)).unwrap();
    let unseen = first as f64 / 1e9 * CORES_IN_USE;
    let shown = folder.json("run.json")["cpu"][1].clone();
    assert_eq!(shown["target"], "shop");
    let shown = shown["cpu_seconds"].as_f64().unwrap();
    assert!((shown - used).abs() < 0.1 + unseen, "{shown} s are shown, and {used} s were used");
}
