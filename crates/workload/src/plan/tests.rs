//! Plans through the one door: [`load`] on files that are held in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::connection::Scheme;
use crate::model::{HttpOrigin, Pick, ProcessRef, ReadyProbe, Request};

mod connecting;
mod executors;
mod http;
mod observation;

/// Files in memory; those of the repository, if asked for.
#[derive(Default)]
struct InMemory {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Files for InMemory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

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

fn with(plan: &str, others: &[(&str, &str)]) -> InMemory {
    let files = [("plan.toml", plan)].into_iter().chain(others.iter().copied());
    InMemory { files: files.map(|(path, text)| (path.into(), text.into())).collect() }
}

fn env(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "s3cret-token".to_owned())
}

fn load_with(plan: &str, others: &[(&str, &str)], overrides: &Overrides) -> Result<LoadedPlan, PlanErrors> {
    load(Path::new("plan.toml"), &with(plan, others), &env, overrides)
}

/// The plan, which must be right.
fn good(plan: &str) -> Workload {
    load_with(plan, &[], &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}")).workload
}

/// What is wrong with a plan.
fn errors(plan: &str, others: &[(&str, &str)]) -> String {
    match load_with(plan, others, &Overrides::default()) {
        Ok(_) => "nothing".to_owned(),
        Err(errors) => errors.to_string(),
    }
}

/// A sound plan around `more`, which begins at line 12.
fn around(more: &str) -> String {
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
fn the_demo_is_a_good_plan() {
    let plan = load(Path::new("examples/demo.toml"), &Repository, &env, &Overrides::default());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    assert_snapshot!(crate::offer::offer(&plan.workload).render(), @r"
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
fn the_plans_for_the_challenge_service_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/challenge");
    let names = std::fs::read_dir(folder).expect("it is in the repository");
    let mut count = 0;
    for name in names.map(|entry| entry.expect("it can be listed").file_name()) {
        let path = Path::new("examples/challenge").join(&name);
        let plan = load(&path, &Repository, &env, &Overrides::default());
        let plan = plan.unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(plan.workload.name.as_str()));
        assert!(!plan.workload.objectives.is_empty(), "{} asks nothing", path.display());
        count += 1;
    }
    assert!(count > 20, "{count} plans");
}

#[test]
fn a_minimal_plan_gets_every_default() {
    let workload = good(&around(""));
    assert_eq!((workload.name.as_str(), workload.seed), ("plan", 1));
    assert_eq!(
        workload.phases.iter().map(|p| (p.name.as_str(), p.end)).collect::<Vec<_>>(),
        [("run", 10 * S)]
    );
    let scenario = &workload.scenarios[0];
    assert_eq!((scenario.max_vus, scenario.graceful_stop, scenario.start), (300, 30 * S, Duration::ZERO));
    let Flow::Sequence(steps) = &scenario.flow else { panic!("no weights make a sequence") };
    assert_eq!((steps[0].timeout, steps[0].think), (30 * S, Duration::ZERO));
    let Request::Http { target, method, path, .. } = &steps[0].request else { panic!("it is HTTP") };
    assert_eq!((target.as_str(), method.as_str(), path.source()), ("shop", "GET", "/shop/items"));
}

const S: Duration = Duration::from_secs(1);

#[test]
fn unknown_keys_name_line_key_and_the_nearest() {
    let plan = r#"version = 1
sede = 3
[targets.shop]
url = "http://127.0.0.1:8000"
proces = { port = 1 }
[[scenarios]]
name = "browse"
executor = "constant-vus"
vus = 1
duration = "1s"
maxvus = 3
[[scenarios.steps]]
name = "list"
get = "${shop.url}/"
expects = { status = 200 }
expect = { stat = 200 }
zzz = 1
"#;
    assert_snapshot!(errors(plan, &[]), @r"
    plan.toml:2:1: the plan has no key `sede`; did you mean `seed`?
    plan.toml:5:1: target `shop` has no key `proces`; did you mean `process`?
    plan.toml:11:1: a scenario has no key `maxvus`; did you mean `max_vus`?
    plan.toml:15:1: a step has no key `expects`; did you mean `expect`?
    plan.toml:16:12: `expect` has no key `stat`; did you mean `status`?
    plan.toml:17:1: a step has no key `zzz`; known are `name`, `weight`, `get`, `post`, `put`, `patch`, `delete`, `head`, `url`, `grpc`, `method`, `headers`, `json`, `body`, `message`, `messages`, `repeat`, `every`, `cancel_after`, `deadline`, `auth`, `redirects`, `compress`, `expect`, `extract`, `timeout`, `think`
    ");
}

#[test]
fn all_errors_are_reported_together() {
    let plan = r#"version = 2
[targets.shop]
url = "ftp://shop.test"
[data.users]
file = "users.csv"
pick = "uniq"
[[phases]]
name = "up"
duration = "10"
[[scenarios]]
name = "browse"
executor = "constant-rate"
phases = ["upp"]
rate = "0/s"
[[scenarios.steps]]
name = "list"
get = "${shopp.url}/items"
weight = 0
headers = { "bad name" = "${nobody}" }
expect = { status = 99, grpc_status = "OK", json = { "$.[" = 1 } }
extract = { a = { regex = "(" }, b = { header = "x", json = "$" } }
timeout = "soon"
[objectives]
fast = "p95(lisst, phase = upp) < 50"
"#;
    assert_snapshot!(errors(plan, &[("users.csv", "id,name\n1,a\n2\n")]), @r#"
    plan.toml:1:11: only `version = 1` is known; this plan needs another version of the command
    plan.toml:3:7: `ftp://shop.test` is no URL; write `http://host:port/path`
    plan.toml:5:8: users.csv:3: this row has 1 field, the header line has 2; give every row a value for each column
    plan.toml:6:8: `pick` is sequential, random or unique; did you mean `unique`?
    plan.toml:9:12: `10` is no duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
    plan.toml:12:12: there is no executor `constant-rate`; did you mean `constant-arrival-rate`?
    plan.toml:13:11: there is no phase `upp`; did you mean `up`?
    plan.toml:17:7: there is no target `shopp`; did you mean `shop`?
    plan.toml:18:10: `weight` takes a whole number from 1 to 1000000, not 0
    plan.toml:19:13: `bad name` is no header name
    plan.toml:19:26: no step before this one extracts `nobody`; extract it in an earlier step: `extract = { nobody = "$.path" }`
    plan.toml:20:21: `status` takes a whole number from 100 to 599, not 99
    plan.toml:20:25: this step answers with `status`, not with `grpc_status`
    plan.toml:20:54: `$.[` is no JSON path: at position 2, in dot member name, must start with lowercase alpha or '_'; write one like `$.items[0].id`
    plan.toml:21:27: `(` is no regular expression: error: unclosed group
    plan.toml:21:38: a value comes from one of `json`, `header` and `regex`, or is a JSON path: `"$.token"`
    plan.toml:22:11: `soon` is no duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
    plan.toml:24:8: `50` is no duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
        p95(lisst, phase = upp) < 50
                                  ^
    "#);
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    assert_snapshot!(errors("version = 1\nname = \"x\n[targets\n", &[]), @r#"
    plan.toml:2:10: not TOML: invalid basic string, expected `"`
    plan.toml:3:9: not TOML: unclosed table, expected `]`
    "#);
    assert_snapshot!(errors("", &[]), @r"
    plan.toml:1:1: a plan needs one scenario or more: `[[scenarios]]`
    plan.toml:1:1: the plan needs `version`: `version = 1`
    ");
    let missing = load(Path::new("no.toml"), &with("", &[]), &env, &Overrides::default());
    assert_snapshot!(missing.expect_err("it is missing"), @"no.toml: cannot be read: entity not found; check the path");
}

#[test]
fn values_must_come_from_somewhere() {
    let more = r#"headers = { a = "${token}", b = "${users.name}", c = "${env.TOKEN}", d = "${env.NONE}" }
body = "${shop.url} ${user.id} ${random(3, 1)}"
extract = { tokn = "$.token" }
[[scenarios.steps]]
name = "buy"
post = "${shop.url}/buy/${token}"
json = { a = ["${users.id}", "${tokn}"] }
[data.users]
generate = "user-{1..10}"
"#;
    assert_snapshot!(errors(&around(more), &[]), @r#"
    plan.toml:12:17: no step before this one extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    plan.toml:12:33: data `users` has no column `name`; it has `id`
    plan.toml:12:74: the environment variable `NONE` is not set; set it
    plan.toml:13:8: `random(3, 1)`: the first must not be above the second
    plan.toml:17:8: no step before this one extracts `token`; did you mean `tokn`?
    "#);
}

#[test]
fn steps_of_a_mix_do_not_see_each_other() {
    let more = r#"weight = 1
extract = { token = "$.token" }
[[scenarios.steps]]
name = "buy"
weight = 1
get = "${shop.url}/${token}"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/"
"#;
    assert_snapshot!(errors(&around(more), &[]), @r#"
    plan.toml:17:7: no step before this one extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    plan.toml:18:1: there are two steps `list` here; rename one
    plan.toml:18:1: this step has no `weight`, others of the scenario have; give all steps one (a mix) or none (a sequence)
    "#);
    let set_up =
        "[[scenarios.setup]]\nname = \"login\"\nget = \"${shop.url}/\"\nextract = { token = \"$.t\" }\n";
    let sound = more.replacen("extract = { token = \"$.token\" }\n", "", 1);
    let sound = sound.split("[[scenarios.steps]]\nname = \"list\"").next().expect("there is a first part");
    assert_eq!(good(&around(&format!("{sound}{set_up}"))).scenarios[0].setup.len(), 1);
}

#[test]
fn grpc_calls_are_held_against_their_description() {
    let plan = |call: &str, message: &str| {
        format!(
            "version = 1\n[targets.orders]\ngrpc = \"localhost:50051\"\nproto = [\"shop.proto\"]\n[[scenarios]]\nname = \"buy\"\nexecutor = \"constant-vus\"\nvus = 2\nduration = \"5s\"\n[[scenarios.steps]]\nname = \"place\"\ngrpc = \"{call}\"\nmessage = {message}\n"
        )
    };
    let check =
        |call: &str, message: &str, proto: &str| errors(&plan(call, message), &[("shop.proto", proto)]);
    let sound = "{ userId = \"${uuid()}\", amount = \"${random(1, 9)}\" }";
    assert_eq!(check("orders/shop.v1.Orders/Place", sound, PROTO), "nothing");
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
    plan.toml:15:12: `br` is not known; what is sent is compressed by `"gzip"`
    "#);
    assert_snapshot!(check("order/shop.v1.Orders/Place", "{}", PROTO), @"plan.toml:12:8: there is no target `order`; did you mean `orders`?");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{ usrId = \"a\" }", PROTO), @"plan.toml:13:11: shop.v1.Order has no field `usrId`; did you mean `userId`?");
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{ amount = \"many\" }", PROTO), @r#"plan.toml:13:11: field `amount` cannot be "many": not a shop.v1.Order: invalid digit found in string"#);
    assert_snapshot!(check("orders/shop.v1.Orders/Place", "{}", "syntax = \"proto3\";\nmessage Order {"), @"plan.toml:4:9: shop.proto: expected a message field, oneof, reserved range, enum, message, option or '}', but reached end of file");
    assert_snapshot!(check("orders/a/B", "{}", "syntax = \"proto3\";\nimport \"other.proto\";"), @"plan.toml:4:9: shop.proto:2:1: import 'other.proto' not found");
    assert_snapshot!(errors(&plan("orders/shop.v1.Orders/Place", "{}"), &[]), @"plan.toml:4:9: shop.proto cannot be read: entity not found; check the path");
}

#[test]
fn data_must_be_there_and_enough() {
    let plan =
        |data: &str| around(&format!("headers = {{ user = \"${{users.id}}\" }}\n[data.users]\n{data}"));
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
    assert_snapshot!(errors(&ramp("vus = 3"), &[]), @"plan.toml:12:1: `vus` does not go with this executor; it takes `start_rate` and `stages`");
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
fn every_key_of_a_step_arrives() {
    let more = r#"think = "2s"
timeout = "1500ms"
headers = { X-User = "${users.id}" }
json = { name = "a \"quote\" ${users.id}", n = 3, deep = [true, 1.5] }
expect = { status = [200, 409], headers = { ETag = "x" }, body_contains = ["a", "b"], json = { "$.a" = 1 } }
extract = { z = "$.z", a = { header = "X-A" }, m = { regex = "m=(\\w+)" } }
[data.users]
generate = "user-{1..3}"
pick = "random"
[targets.shop.wait_ready]
url = "${shop.url}/ready"
"#;
    let workload = good(&around(more).replacen("get =", "method = \"PATCH\"\nurl =", 1));
    let step = workload.scenarios[0].flow.steps().next().expect("there is one").clone();
    let Request::Http { method, headers, body, .. } = &step.request else { panic!("it is HTTP") };
    assert_eq!(method, "PATCH");
    assert_eq!(
        headers.iter().map(|(n, v)| (n.as_str(), v.source())).collect::<Vec<_>>(),
        [("x-user", "${users.id}"), ("content-type", "application/json")]
    );
    assert_snapshot!(body.source(), @r#"{"deep":[true,1.5],"n":3,"name":"a \"quote\" ${users.id | json}"}"#);
    assert_eq!((step.think, step.timeout), (2 * S, Duration::from_millis(1500)));
    assert_eq!(step.extract.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
    assert_eq!((step.expect.status.as_slice(), step.expect.body_contains.len()), ([200, 409].as_slice(), 2));
    assert_eq!(workload.data["users"].pick, Pick::Random);
    let ready = workload.targets["shop"].wait_ready.as_ref().map(|ready| &ready.probe);
    assert_eq!(ready, Some(&ReadyProbe::Url("http://127.0.0.1:8000/shop/ready".into())));
}

#[test]
fn a_target_that_is_moved_takes_its_base_path_along() {
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
fn what_asks_and_watches_a_grpc_target_follows_it() {
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
fn overrides_change_what_they_say_and_nothing_else() {
    let demo = |overrides: &Overrides| load(Path::new("examples/demo.toml"), &Repository, &env, overrides);
    let overrides = Overrides {
        targets: [("challenge", "http://[::1]:9/c"), ("events", "other:7")]
            .map(|(a, b)| (a.into(), b.into()))
            .into(),
        time_scale: Some(0.1),
        load: Some(0.5),
        seed: Some(9),
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
    assert_snapshot!(crate::offer::offer(&workload).render(), @r"
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
    };
    assert_snapshot!(demo(&wrong).expect_err("they are wrong"), @r"
    command line: `x` is no host and port; write `127.0.0.1:8000`
    command line: a load of -1 is not above 0, or too high
    command line: a time scale of NaN is not above 0, or makes the run too long
    command line: there is no target `chalenge`; did you mean `challenge`?
    ");
}

#[test]
fn a_workload_survives_its_archive_form() {
    let plan = load(Path::new("examples/demo.toml"), &Repository, &env, &Overrides::default());
    let workload = plan.unwrap_or_else(|errors| panic!("{errors}")).workload;
    let text = serde_json::to_string(&workload).expect("a workload is JSON");
    assert_eq!(serde_json::from_str::<Workload>(&text).expect("it is a workload"), workload);
}

#[test]
fn secrets_of_the_environment_stay_out_of_the_workload() {
    let plan = around("headers = { authorization = \"Bearer ${env.TOKEN}\" }\n");
    let plan = load_with(&plan, &[], &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.env["TOKEN"], "s3cret-token");
    assert!(!serde_json::to_string(&plan.workload).expect("a workload is JSON").contains("s3cret"));
}

#[test]
fn the_example_of_the_manual_is_a_good_plan() {
    let manual = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md"))
        .expect("the manual is there");
    let example =
        manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let files = [("shop.proto", PROTO), ("users.csv", "id,password\nu1,p1\nu2,p2\n")];
    let plan = load_with(example, &files, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.workload.scenarios.len(), 3);
}

/// Pieces of plans, sound and not, in any order.
fn fragment() -> impl Strategy<Value = String> {
    let pieces = [
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
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..25)
        .prop_map(|pieces| pieces.concat())
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
