//! Observers of targets, and profiles.

use evidence::ProfileKind;

use super::*;
use workload::observation::{CgroupRef, Mark, PoolSize};

const OBSERVE: &str = r#"
[targets.shop.observe]
container = "shop-1"
prometheus = { url = "http://127.0.0.1:8080/metrics", keep = ["go_*", "shop_orders_total"], every = "5s" }
postgres = { url = "postgresql://shop:${env.TOKEN}@127.0.0.1/shop", tables = ["orders"] }
redis = "redis://127.0.0.1:6379"
pprof = "http://127.0.0.1:8080/debug/pprof/"
"#;

#[test]
fn every_observer_is_read() {
    let plan = load_with(&valid_with(OBSERVE), &[], &Overrides::default())
        .unwrap_or_else(|errors| panic!("{errors}"));
    let observe = &plan.workload.targets["shop"].observe;
    assert_eq!(observe.cgroup, Some(CgroupRef::Container("shop-1".to_owned())));
    let prometheus = observe.prometheus.as_ref().unwrap();
    assert_eq!((prometheus.keep.len(), prometheus.every), (2, Duration::from_secs(5)));
    let postgres = observe.postgres.as_ref().unwrap();
    // The secret is stored by name.
    assert_eq!(postgres.url, "postgresql://shop:${env.TOKEN}@127.0.0.1/shop");
    assert_eq!((&postgres.tables, postgres.every), (&vec!["orders".to_owned()], Duration::from_secs(1)));
    assert_eq!(observe.redis.as_ref().unwrap().url, "redis://127.0.0.1:6379");
    assert_eq!(observe.pprof.as_deref(), Some("http://127.0.0.1:8080/debug/pprof"));
    assert_eq!(plan.env["TOKEN"], "s3cret-token");
    let stored = serde_json::to_value(&plan.workload).unwrap();
    assert_eq!(serde_json::from_value::<Workload>(stored).unwrap(), plan.workload);
}

#[test]
fn a_target_may_have_observers_only() {
    let plan = valid_with("[targets.db.observe]\npostgres = \"postgresql://me@127.0.0.1/shop\"\n");
    assert_eq!(errors(&plan, &[]), "nothing");
}

#[test]
fn errors_of_observers_are_reported() {
    let wrong = |line: &str| errors(&valid_with(&format!("[targets.shop.observe]\n{line}\n")), &[]);
    assert_snapshot!(wrong("redis = \"127.0.0.1:6379\""), @"plan.toml:13:9: `127.0.0.1:6379` is not a URL; write `redis://HOST:PORT`");
    assert_snapshot!(wrong("postgres = \"postgresql://me:secret@db/shop\""), @"plan.toml:13:12: a plan holds no passwords; write `${env.NAME}` in its place, and `%40` for an `@` elsewhere");
    assert_snapshot!(wrong("prometheus = \"http://${users.id}/metrics\""), @"plan.toml:13:14: only environment variables are allowed here: `${env.NAME}`");
    assert_snapshot!(wrong("prometheus = { url = \"http://h/metrics\", every = \"100ms\", kep = [] }"), @r"
    plan.toml:13:50: observers run once a second at most
    plan.toml:13:59: `prometheus` has no key `kep`; did you mean `keep`?
    ");
    assert_snapshot!(wrong("redis = \"redis://:${env.NONE}@h\""), @"plan.toml:13:9: the environment variable `NONE` is not set: `export NONE=…`");
    assert_snapshot!(wrong("container = \"a\"\ncgroup = \"/b\""), @"plan.toml:12:15: `observe` takes one of `cgroup` and `container`");
}

const POOLS: &str = r#"
[targets.shop.observe]
prometheus = "http://127.0.0.1:8080/metrics"
[[targets.shop.observe.pools]]
name = "stock connections"
in_use = "stock_busy"
size = 8
waited = "stock_blocked_seconds"
[[targets.shop.observe.pools]]
name = "workers"
held = "worker_busy_seconds"
size = "workers"
waiting = "jobs_waiting"
"#;

#[test]
fn pools_are_described_by_their_metrics() {
    let plan = load_with(&valid_with(POOLS), &[], &Overrides::default());
    let pools =
        plan.unwrap_or_else(|errors| panic!("{errors}")).workload.targets["shop"].observe.pools.clone();
    let metrics = pools.iter().map(|pool| pool.metrics().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        metrics.collect::<Vec<_>>(),
        [vec!["stock_busy", "stock_blocked_seconds"], vec!["worker_busy_seconds", "jobs_waiting", "workers"]]
    );
    assert_eq!(pools[0].size, PoolSize::Of(8));
}

#[test]
fn errors_of_pools_are_reported() {
    let wrong = |observe: &str, pool: &str| {
        let pool = format!("[targets.shop.observe]\n{observe}\n[[targets.shop.observe.pools]]\n{pool}\n");
        errors(&valid_with(&pool), &[])
    };
    let page = "prometheus = \"http://h/metrics\"";
    assert_snapshot!(wrong(page, "name = \"workers\"\nsize = 4"), @r#"plan.toml:14:1: a pool needs `in_use = "METRIC"`, or `held = "METRIC"` where a counter has the seconds for which it was held"#);
    assert_snapshot!(wrong(page, "name = \"workers\"\nin_use = \"busy\""), @r#"plan.toml:14:1: pool needs `size`: `size = "METRIC"` or a number"#);
    assert_snapshot!(wrong(page, "in_use = \"busy\"\nsize = 0\nwait = \"x\""), @r#"
    plan.toml:14:1: pool needs `name`: `name = "workers"`
    plan.toml:16:8: `size` takes a whole number from 1 to 1000000, not 0
    plan.toml:17:1: pool has no key `wait`; write `think` in a step, such as `think = "1s"`
    "#);
    assert_snapshot!(wrong("", "name = \"workers\"\nin_use = \"busy\"\nsize = 4"), @r#"plan.toml:12:15: `pools` are read from metrics: `observe` needs `prometheus = "http://HOST:PORT/metrics"`"#);
}

#[test]
fn profiles_have_marks_kinds_and_a_target() {
    let marks = r#"
[[profiles]]
at = "15m"
kinds = ["cpu", "mutex"]
length = "20s"
[[profiles]]
at = "every 10m"
[[profiles]]
at = "in phase all"
"#;
    let whole = "[[phases]]\nname = \"all\"\nduration = \"10s\"\n";
    let plan = valid_with(&format!("{OBSERVE}{marks}{whole}"));
    let overrides = Overrides { time_scale: Some(0.1), ..Overrides::default() };
    let plan = load_with(&plan, &[], &overrides).unwrap_or_else(|errors| panic!("{errors}"));
    let marks = &plan.workload.profiles;
    assert_eq!(marks[0].at, Mark::At(Duration::from_secs(90)));
    assert_eq!(
        (marks[0].kinds.as_slice(), marks[0].length),
        (&[ProfileKind::Cpu, ProfileKind::Mutex][..], Duration::from_secs(2))
    );
    assert_eq!(
        (&marks[1].at, marks[1].length),
        (&Mark::Every(Duration::from_secs(60)), Duration::from_secs(3))
    );
    assert_eq!((&marks[2].at, marks[2].target.as_str()), (&Mark::InPhase("all".to_owned()), "shop"));
}

#[test]
fn errors_of_marks_are_reported() {
    let wrong = |lines: &str| errors(&valid_with(&format!("[[profiles]]\n{lines}\n")), &[]);
    assert_snapshot!(wrong("at = \"15m\""), @r#"plan.toml:12:1: no target can be profiled: give one `observe.pprof = "http://HOST:PORT/debug/pprof"`"#);
    assert_snapshot!(wrong("at = \"in phase x\"\ntarget = \"shop\"\nkinds = [\"heat\"]"), @r#"
    plan.toml:13:6: there is no phase `x`
    plan.toml:14:10: target `shop` cannot be profiled: give it `observe.pprof = "http://HOST:PORT/debug/pprof"` or `process`
    plan.toml:15:10: `heat` is not a kind of profile; there are cpu, heap, goroutine, mutex, block
    "#);
    assert_snapshot!(wrong("at = \"every 1s\"\ntarget = \"none\"\nlength = \"1h\""), @r"
    plan.toml:13:6: profiles are at least 5 s apart
    plan.toml:14:10: there is no target `none`
    plan.toml:15:10: a profile takes 1 s to 600 s
    ");
}
