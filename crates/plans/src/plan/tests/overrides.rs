//! Overrides of the command line.

use super::*;

#[test]
fn a_moved_target_uses_the_new_base_path() {
    let plan = r#"
version = 1
[targets.shop]
url = "http://127.0.0.1:1/old"
wait_ready = { url = "${shop.url}/ready" }
[[scenarios]]
name = "s"
executor = "constant-vus"
vus = 1
duration = "1s"
[[scenarios.steps]]
name = "a"
get = "${shop.url}/a?b=c"
"#;
    let moved = |to: &str| {
        let targets = BTreeMap::from([("shop".to_owned(), to.to_owned())]);
        let overrides = Overrides { targets, ..Overrides::default() };
        let workload = load_with(plan, &[], &overrides).unwrap_or_else(|errors| panic!("{errors}")).workload;
        let Request::Http { path, .. } = &workload.scenarios[0].flow.steps().next().unwrap().request else {
            panic!("an HTTP step")
        };
        let probe = &workload.targets["shop"].wait_ready.as_ref().unwrap().probe;
        (path.source().to_owned(), probe.clone())
    };
    let ready = |url: &str| ReadyProbe::Url(url.to_owned());
    assert_eq!(moved("http://h:2/new/v2"), ("/new/v2/a?b=c".to_owned(), ready("http://h:2/new/v2/ready")));
    assert_eq!(moved("http://h:2"), ("/a?b=c".to_owned(), ready("http://h:2/ready")));
}

#[test]
fn readiness_and_process_of_a_moved_grpc_target_follow() {
    let moved = |ready: &str| {
        let plan = format!(
            "version = 1\n[targets.orders]\ngrpc = \"127.0.0.1:50051\"\nproto = [\"shop.proto\"]\n\
             process = {{ port = 50051 }}\nwait_ready = {{ grpc_health = {ready} }}\n\
             [[scenarios]]\nname = \"place\"\nexecutor = \"constant-arrival-rate\"\nrate = \"1/s\"\n\
             duration = \"1s\"\n[[scenarios.steps]]\nname = \"place\"\ngrpc = \"orders/shop.v1.Orders/Place\"\n"
        );
        let overrides =
            Overrides { targets: [("orders".into(), "[::1]:7".into())].into(), ..Overrides::default() };
        let loaded = load_with(&plan, &[("shop.proto", PROTO)], &overrides);
        let orders = loaded.unwrap_or_else(|errors| panic!("{errors}")).workload.targets["orders"].clone();
        match orders.wait_ready.map(|ready| ready.probe) {
            Some(ReadyProbe::GrpcHealth { authority, .. }) => (authority, orders.process),
            other => panic!("{other:?}"),
        }
    };
    let process = || Some(ProcessRef::Port(7));
    assert_eq!(moved("true"), ("[::1]:7".to_owned(), process()));
    assert_eq!(moved("\"127.0.0.1:50051\""), ("[::1]:7".to_owned(), process()));
    assert_eq!(moved("\"other:9\""), ("other:9".to_owned(), process()));
}

#[test]
fn the_pages_at_the_address_of_a_moved_target_follow_it() {
    let plan = r#"
version = 1
[targets.shop]
url = "http://127.0.0.1:8081"
[targets.shop.observe]
prometheus = { url = "http://127.0.0.1:8081/metrics?all=1", keep = ["go_*"] }
pprof = "http://127.0.0.1:6060/debug/pprof"
[[scenarios]]
name = "s"
executor = "constant-vus"
vus = 1
duration = "1s"
[[scenarios.steps]]
name = "a"
get = "${shop.url}/a"
"#;
    let observed = |to: &str| {
        let targets = BTreeMap::from([("shop".to_owned(), to.to_owned())]);
        let overrides = Overrides { targets, ..Overrides::default() };
        let loaded = load_with(plan, &[], &overrides).unwrap_or_else(|errors| panic!("{errors}"));
        let observe = &loaded.workload.targets["shop"].observe;
        (observe.prometheus.as_ref().unwrap().url.clone(), observe.pprof.clone().unwrap())
    };
    let elsewhere = "http://127.0.0.1:6060/debug/pprof".to_owned();
    let moved = observed("https://[::1]:9");
    assert_eq!(
        moved,
        ("https://[::1]:9/metrics?all=1".to_owned(), elsewhere),
        "what has a port of its own stays"
    );
}

#[test]
fn overrides_are_applied_and_checked() {
    let demo = |overrides: &Overrides| load(Path::new("examples/demo.toml"), &Repository, &env, overrides);
    let overrides = Overrides {
        targets: [("challenge", "http://[::1]:9/c"), ("events", "other:7")]
            .map(|(a, b)| (a.into(), b.into()))
            .into(),
        time_scale: Some(0.1),
        load: Some(0.5),
        seed: Some(9),
        until_decided: false,
        abort_on_fail: false,
    };
    let workload = demo(&overrides).unwrap_or_else(|errors| panic!("{errors}")).workload;
    assert_eq!(workload.seed, 9);
    let challenge = &workload.targets["challenge"];
    assert_eq!(challenge.process, Some(ProcessRef::Port(9)));
    let ready = challenge.wait_ready.as_ref().map(|ready| &ready.probe);
    assert_eq!(ready, Some(&ReadyProbe::Url("http://[::1]:9/c/healthz".into())));
    assert_eq!(
        workload.targets["events"].grpc.as_ref().map(|g| (g.host.as_str(), g.port)),
        Some(("other", 7))
    );
    assert_snapshot!(workload::offer::offer(&workload).render(), @r"
    second  phase       arrive  play  finish  progress
    0       ramp            75     -       -         -
    1-2     initialize     150     -       -         -
    3-9     gameplay         -   148       1       249
    10      gameplay         -    74       1       125
    all                    375  1110       8      1868
    ");
    assert_eq!(workload.scenarios[0].graceful_stop, 3 * S);
    let wrong = Overrides {
        targets: [("chalenge", "http://x"), ("events", "x")].map(|(a, b)| (a.into(), b.into())).into(),
        time_scale: Some(f64::NAN),
        load: Some(-1.0),
        seed: None,
        until_decided: false,
        abort_on_fail: false,
    };
    assert_snapshot!(demo(&wrong).expect_err("they are wrong"), @r"
    command line: `x` is not a host and port; write `127.0.0.1:8000`
    command line: a load of -1 is not above 0, or too high
    command line: a time scale of NaN is not above 0, or makes the run too long
    command line: there is no target `chalenge`; did you mean `challenge`?
    ");
}
