//! Everything that a plan can have watched, in one run beside real servers.

use std::collections::BTreeSet;

use peers::go::{Settings, Target};
use peers::postgres::{ADMIN, Cluster, DATABASE};
use peers::redis::Redis;
use serde_json::Value;

use crate::command::TestFolder;

fn plan(shop: &Target, cluster: &Cluster, redis: &Redis) -> String {
    let address = shop.address();
    format!(
        "version = 1\n[targets.shop]\nurl = \"http://{address}\"\nprocess = {{ pid = {pid} }}\n\
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
        "-q",
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
