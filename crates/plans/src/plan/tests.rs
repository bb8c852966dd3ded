//! Tests of [`load`], with plans in memory.

use std::io;

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use workload::FilesInMemory;
use workload::connection::Scheme;
use workload::model::{ExtractFrom, HttpOrigin, Pick, ProcessRef, ReadyProbe, Request};
use workload::think::Think;

mod capacity;
mod connecting;
mod errors;
mod executors;
mod headers;
mod http;
mod observation;
mod overrides;
mod stop_rules;
mod stored;
mod think;
mod until_decided;

/// Files of the repository, by paths relative to its root.
struct Repository;

impl Files for Repository {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path))
    }
}

const PROTO: &str = r#"
syntax = "proto3";
package shop.v1;
service Orders { rpc Place(Order) returns (Receipt); rpc Watch(Order) returns (stream Receipt); }
message Order { string user_id = 1; int32 amount = 2; }
message Receipt { string id = 1; }
"#;

fn with(plan: &str, others: &[(&str, &str)]) -> FilesInMemory {
    [("plan.toml", plan)].into_iter().chain(others.iter().copied()).collect()
}

fn env(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "s3cret-token".to_owned())
}

fn load_with(plan: &str, others: &[(&str, &str)], overrides: &Overrides) -> Result<LoadedPlan, PlanErrors> {
    load(Path::new("plan.toml"), &with(plan, others), &env, overrides)
}

/// The workload of a plan without errors.
fn good(plan: &str) -> Workload {
    load_with(plan, &[], &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}")).workload
}

fn errors(plan: &str, others: &[(&str, &str)]) -> String {
    match load_with(plan, others, &Overrides::default()) {
        Ok(_) => "nothing".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

/// A valid plan followed by `more`, which begins at line 12.
fn valid_with(more: &str) -> String {
    format!("{HEAD}{more}")
}

const HEAD: &str = r#"version = 1
[targets.shop]
url = "http://127.0.0.1:8000/shop"
[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
rate = "10/s"
duration = "10s"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/items"
"#;

#[test]
fn the_demo_is_a_valid_plan() {
    let plan = load(Path::new("examples/demo.toml"), &Repository, &env, &Overrides::default());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    assert_snapshot!(workload::offer::offer(&plan.workload).render(), @r"
    second  phase       arrive   play  finish  progress
    0       ramp            15      -       -         -
    1       ramp            45      -       -         -
    2       ramp            75      -       -         -
    3       ramp           105      -       -         -
    4       ramp           135      -       -         -
    5       ramp           165      -       -         -
    6       ramp           195      -       -         -
    7       ramp           225      -       -         -
    8       ramp           255      -       -         -
    9       ramp           285      -       -         -
    10-29   initialize     300      -       -         -
    30-104  gameplay         -    296       2       498
    all                   7500  22200     150     37350
    ");
    assert_eq!(plan.workload.objectives.len(), 11);
}

#[test]
fn the_plans_for_the_challenge_service_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/challenge");
    let names = std::fs::read_dir(folder).expect("the folder is in the repository");
    let mut count = 0;
    for name in names.map(|entry| entry.expect("it can be listed").file_name()) {
        let path = Path::new("examples/challenge").join(&name);
        let plan = load(&path, &Repository, &env, &Overrides::default());
        let plan = plan.unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(plan.workload.name.as_str()));
        assert!(!plan.workload.objectives.is_empty(), "{} has no objectives", path.display());
        count += 1;
    }
    assert!(count > 20, "{count} plans");
}

#[test]
fn a_minimal_plan_has_every_default() {
    let workload = good(&valid_with(""));
    assert_eq!((workload.name.as_str(), workload.seed), ("plan", 1));
    assert_eq!(
        workload.phases.iter().map(|p| (p.name.as_str(), p.end)).collect::<Vec<_>>(),
        [("run", 10 * S)]
    );
    let scenario = &workload.scenarios[0];
    assert_eq!((scenario.max_vus, scenario.graceful_stop, scenario.start), (300, 30 * S, Duration::ZERO));
    let Flow::Sequence(steps) = &scenario.flow else { panic!("no weights make a sequence") };
    assert_eq!((steps[0].timeout, steps[0].think), (30 * S, Think::default()));
    let Request::Http { target, method, path, .. } = &steps[0].request else { panic!("it is HTTP") };
    assert_eq!((target.as_str(), method.as_str(), path.source()), ("shop", "GET", "/shop/items"));
}

const S: Duration = Duration::from_secs(1);

#[test]
fn grpc_calls_are_checked_with_their_description() {
    let plan = |call: &str, message: &str| {
        format!(
            "version = 1\n[targets.orders]\ngrpc = \"localhost:50051\"\nproto = [\"shop.proto\"]\n[[scenarios]]\nname = \"buy\"\nexecutor = \"constant-vus\"\nvus = 2\nduration = \"5s\"\n[[scenarios.steps]]\nname = \"place\"\ngrpc = \"{call}\"\nmessage = {message}\n"
        )
    };
    let check =
        |call: &str, message: &str, proto: &str| errors(&plan(call, message), &[("shop.proto", proto)]);
    let valid = "{ userId = \"${uuid()}\", amount = \"${random(1, 9)}\" }";
    assert_eq!(check("orders/shop.v1.Orders/Place", valid, PROTO), "nothing");
    assert_snapshot!(check("orders/shop.v1.Orders/Plce", "{}", PROTO), @"plan.toml:12:8: target `orders` has no method `shop.v1.Orders/Plce`; did you mean `shop.v1.Orders/Place`?");
    assert_eq!(
        check("orders/shop.v1.Orders/Watch", "{}\ncancel_after = 3\nexpect = { messages = 3 }", PROTO),
        "nothing"
    );
    assert_eq!(
        check("orders/shop.v1.Orders/Watch", "{}\ncancel_after = \"5s\"\ndeadline = \"9s\"", PROTO),
        "nothing"
    );
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{}\ncancel_after = 3", PROTO), @"plan.toml:12:8: `shop.v1.Orders/Place` answers with one message; leave `cancel_after` out");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{}\nrepeat = 3\nevery = \"1s\"", PROTO), @"plan.toml:12:8: `shop.v1.Orders/Place` takes one message; it cannot be sent several, or none");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{}\nmessages = [{}]", PROTO), @"plan.toml:14:12: a call has a `message` or several `messages`, not both");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{}\ndeadline = \"0s\"\ncompress = \"br\"", PROTO), @r#"
    plan.toml:14:12: a deadline is longer than 0
    plan.toml:15:12: `br` is not known; the only compression of requests is `"gzip"`
    "#);
    assert_snapshot!(check("order/shop.v1.Orders/Place", "{}", PROTO), @"plan.toml:12:8: there is no target `order`; did you mean `orders`?");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{ usrId = \"a\" }", PROTO), @"plan.toml:13:11: shop.v1.Order has no field `usrId`; did you mean `userId`?");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{ amount = \"many\" }", PROTO), @r#"plan.toml:13:11: field `amount` cannot be "many": not a shop.v1.Order: invalid digit found in string"#);
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{}", "syntax = \"proto3\";\nmessage Order {"), @"plan.toml:4:9: shop.proto: expected a message field, oneof, reserved range, enum, message, option or '}', but reached end of file");
    assert_snapshot!(check("orders/a/B", "{}", "syntax = \"proto3\";\nimport \"other.proto\";"), @"plan.toml:4:9: shop.proto:2:1: import 'other.proto' not found");
    assert_snapshot!(errors(&plan("orders/shop.v1.Orders/Place", "{}"), &[]), @"plan.toml:4:9: shop.proto cannot be read: entity not found; check the path");
}

#[test]
fn missing_and_insufficient_data_is_an_error() {
    let plan =
        |data: &str| valid_with(&format!("headers = {{ user = \"${{users.id}}\" }}\n[data.users]\n{data}"));
    assert_snapshot!(errors(&plan("file = \"u.csv\""), &[]), @"plan.toml:14:8: u.csv: cannot be read: entity not found; check the path");
    assert_snapshot!(errors(&plan("file = \"u.txt\""), &[("u.txt", "id\n1\n")]), @"plan.toml:14:8: u.txt: data files end in `.csv` or `.json`");
    assert_snapshot!(errors(&plan("file = \"u.csv\""), &[("u.csv", "id,name\n1,a\n2,b,c\n")]), @"plan.toml:14:8: u.csv:3: this row has 3 fields, the header line has 2; give every row a value for each column");
    assert_snapshot!(errors(&plan("generate = \"u-{1..99}\"\npick = \"unique\""), &[]), @r#"plan.toml:13:7: data `users` is unique and has 99 rows, but there are 100 arrivals that need one; add rows or use `pick = "sequential"`"#);
    assert_eq!(errors(&plan("generate = \"u-{1..100}\"\npick = \"unique\""), &[]), "nothing");
    let closed = plan("generate = \"u-{1..99}\"\npick = \"unique\"")
        .replace("constant-arrival-rate", "constant-vus")
        .replace("rate = \"10/s\"", "vus = 1");
    assert_snapshot!(errors(&closed, &[]), @r#"plan.toml:13:7: data `users` is unique, but scenario `browse` makes as many iterations as it can; use `pick = "sequential"`, an arrival rate or a number of iterations"#);
}

#[test]
fn stages_must_fit_their_phases() {
    let plan = |scenario: &str| {
        format!(
            "version = 1\n[[phases]]\nname = \"a\"\nduration = \"10s\"\n[[phases]]\nname = \"b\"\nduration = \"20s\"\n[[scenarios]]\nname = \"x\"\n{scenario}\n[[scenarios.steps]]\nname = \"s\"\nget = \"http://[::1]:80/a\"\n"
        )
    };
    let ramp = |rest: &str| {
        plan(&format!(
            "executor = \"ramping-arrival-rate\"\nstages = [{{ to = \"5/s\", over = \"15s\" }}]\n{rest}"
        ))
    };
    assert_snapshot!(errors(&ramp("phases = [\"a\", \"b\"]"), &[]), @"plan.toml:11:10: the scenario lasts 15s, its phases last 30s; make them fit");
    assert_snapshot!(errors(&ramp("phases = [\"b\", \"a\"]"), &[]), @"plan.toml:12:10: a scenario's phases must follow one another, in order and without a gap");
    assert_snapshot!(errors(&ramp("start = \"16s\""), &[]), @"plan.toml:11:10: the scenario lasts 15s, the phases last from its start 14s; make them fit");
    assert_snapshot!(errors(&ramp("vus = 3"), &[]), @"plan.toml:12:1: `vus` does not apply to this executor; it takes `start_rate` and `stages`; its VU limit is `max_vus`");
    let workload = good(&ramp("start = \"15s\""));
    assert_eq!(workload.scenarios[0].start, 15 * S);
    assert_eq!(
        workload.targets["[::1]:80"].http,
        Some(HttpOrigin { scheme: Scheme::Http, host: "::1".into(), port: 80, base_path: String::new() })
    );
    let constant = good(&plan("executor = \"constant-vus\"\nvus = 3\nphases = [\"b\"]"));
    assert_eq!((constant.scenarios[0].start, constant.scenarios[0].executor.duration()), (10 * S, 20 * S));
}

#[test]
fn every_key_of_a_step_is_read() {
    let more = r#"think = "2s"
timeout = "1500ms"
headers = { X-User = "${users.id}" }
json = { name = "a \"quote\" ${users.id}", n = 3, deep = [true, 1.5] }
expect = { status = [200, 409, "3XX"], headers = { ETag = "x" }, body_contains = ["a", "b"], json = { "$.a" = 1 } }
extract = { z = "$.z", a = { header = "X-A" }, m = { regex = "m=(\\w+)" }, l = { header = "Location", regex = "/(\\d+)" } }
[data.users]
generate = "user-{1..3}"
pick = "random"
[targets.shop.wait_ready]
url = "${shop.url}/ready"
"#;
    let workload = good(&valid_with(more).replacen("get =", "method = \"PATCH\"\nurl =", 1));
    let step = workload.scenarios[0].flow.steps().next().expect("there is one").clone();
    let Request::Http { method, headers, body, .. } = &step.request else { panic!("it is HTTP") };
    assert_eq!(method, "PATCH");
    assert_eq!(
        headers.iter().map(|(n, v)| (n.as_str(), v.source())).collect::<Vec<_>>(),
        [("x-user", "${users.id}"), ("content-type", "application/json")]
    );
    assert_snapshot!(body.source(), @r#"{"deep":[true,1.5],"n":3,"name":"a \"quote\" ${users.id | json}"}"#);
    assert_eq!((step.think, step.timeout), ((2 * S).into(), Duration::from_millis(1500)));
    assert_eq!(step.extract.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["z", "a", "m", "l"]);
    let header = ExtractFrom::HeaderRegex { header: "location".to_owned(), regex: "/(\\d+)".to_owned() };
    assert_eq!(step.extract[3].from, header);
    let statuses: Vec<u16> = [200, 409].into_iter().chain(300..400).collect();
    assert_eq!((&step.expect.status, step.expect.body_contains.len()), (&statuses, 2));
    assert_eq!(workload.data["users"].pick, Pick::Random);
    let ready = workload.targets["shop"].wait_ready.as_ref().map(|ready| &ready.probe);
    assert_eq!(ready, Some(&ReadyProbe::Url("http://127.0.0.1:8000/shop/ready".into())));
}

#[test]
fn a_workload_is_unchanged_by_serialization() {
    let plan = load(Path::new("examples/demo.toml"), &Repository, &env, &Overrides::default());
    let workload = plan.unwrap_or_else(|errors| panic!("{errors}")).workload;
    let text = serde_json::to_string(&workload).expect("a workload is JSON");
    assert_eq!(serde_json::from_str::<Workload>(&text).expect("it is a workload"), workload);
}

#[test]
fn values_of_environment_variables_are_not_in_the_workload() {
    let plan = valid_with("headers = { authorization = \"Bearer ${env.TOKEN}\" }\n");
    let plan = load_with(&plan, &[], &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.env["TOKEN"], "s3cret-token");
    assert!(!serde_json::to_string(&plan.workload).expect("a workload is JSON").contains("s3cret"));
}

#[test]
fn the_example_of_the_manual_is_a_valid_plan() {
    let manual = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md"))
        .expect("the manual is there");
    let example =
        manual.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).expect("an example");
    let files = [("shop.proto", PROTO), ("users.csv", "id,password\nu1,p1\nu2,p2\n")];
    let plan = load_with(example, &files, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.workload.scenarios.len(), 3);
}

/// Fragments of plans, valid and invalid, in any order.
fn fragment() -> impl Strategy<Value = String> {
    let fragments = [
        "[targets.a]\n",
        "url = \"http://h:1\"\n",
        "grpc = \"h:1\"\n",
        "[[scenarios]]\n",
        "name = \"x\"\n",
        "[[scenarios.steps]]\n",
        "get = \"${a.url}/\"\n",
        "executor = \"constant-vus\"\n",
        "executor = \"ramping-vus\"\n",
        "executor = \"shared-iterations\"\n",
        "stages = [{ to = 3, over = \"1s\" }]\n",
        "iterations = 5\n",
        "vus = 1\n",
        "duration = \"1s\"\n",
        "rate = \"1/s\"\n",
        "stages = [{ to = \"1/s\", over = \"1s\" }]\n",
        "[[phases]]\n",
        "phases = [\"x\"]\n",
        "[objectives]\n",
        "o = \"p95(x) < 1ms\"\n",
        "version = 1\n",
        "[data.d]\n",
        "generate = \"{1..2}\"\n",
        "json = { a = [\"${d.id}\"] }\n",
        "expect = 3\n",
        "targets = 1\n",
        "scenarios = [1, { steps = [[]] }]\n",
        "wait_ready = { url = \"${a.url\" }\n",
        "timeout = \"1e400h\"\n",
        "headers = { \"\" = \"${\" }\n",
        "max_vus = 0xffffffffffffffffff\n",
        "extract = { x = { regex = \"a{9}{9}{9}{9}\" } }\n",
    ];
    proptest::collection::vec(proptest::sample::select(fragments.to_vec()), 0..25)
        .prop_map(|fragments| fragments.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = load_with(&text, &[], &Overrides::default());
    }

    #[test]
    fn no_plan_makes_the_reader_panic(text in fragment(), scale in proptest::option::of(any::<f64>())) {
        let overrides = Overrides { time_scale: scale, load: scale, ..Overrides::default() };
        if let Err(errors) = load_with(&text, &[], &overrides) {
            prop_assert!(!errors.0.is_empty());
        }
    }
}
