//! Run files as earlier versions wrote them, and the whole report that this version gives of each.
//!
//! `GOLDEN=record cargo test -p plimsoll --test it golden` makes the files of this version of the run file and of the rules.
//! `INSTA_UPDATE=always` with the same command accepts reports that changed: read every line of the difference first, since
//! it is what an old run is now said to have been.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use archive::Stored;
use evidence::Run as _;
use evidence::manifest::SCHEMA_VERSION;
use judge::RULES_VERSION;
use serde_json::Value;
use testbed::{Behaviour, CannedResponse, GrpcBehaviour};

use crate::command::TestFolder;

/// A service whose list is fast, whose orders fail now and then, and whose search is slow.
const PLAN: &str = r#"version = 1
precheck = false
[targets.shop]
url = "http://127.0.0.1:8000"
[targets.stock]
grpc = "127.0.0.1:9000"
proto = ["stock.proto"]
[[phases]]
name = "warm-up"
duration = "1s"
[[phases]]
name = "steady"
duration = "2s"
[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
rate = "100/s"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/list"
expect = { body_contains = "item" }
[[scenarios.steps]]
name = "order"
post = "${shop.url}/orders"
body = "{\"item\": 7}"
[[scenarios]]
name = "look-up"
executor = "constant-vus"
vus = 2
[[scenarios.steps]]
name = "stock"
think = "20ms"
grpc = "stock/demo.Stock/Find"
message = { id = "7" }
[objectives]
fast = "p50(list, phase = steady) < 10s"
few_errors = "error_rate(list) < 1%"
rare = "p99.99(stock) < 10s"
"#;

const PROTO: &str = "syntax = \"proto3\"; package demo; message Item { string id = 1; }\n\
                     service Stock { rpc Find(Item) returns (Item); }";

const SCRIPT: &str = "
    import http from 'k6/http';
    import { check, group, sleep } from 'k6';
    import { Trend } from 'k6/metrics';
    const size = new Trend('size');
    export const options = {
        scenarios: {
            buy: { executor: 'constant-arrival-rate', rate: 50, timeUnit: '1s', duration: '2s', preAllocatedVUs: 5, maxVUs: 20 },
            look: { executor: 'shared-iterations', vus: 2, iterations: 40 },
        },
        thresholds: { http_req_failed: ['rate<0.01'], checks: ['rate>0.5'], size: ['avg>=1'] },
    };
    export default function () {
        group('shop', () => {
            const response = http.get(`http://${__ENV.SHOP}/list`, { tags: { name: 'list' } });
            check(response, { 'is 200': (r) => r.status === 200 });
            size.add(response.body.length);
        });
        sleep(0.02);
    }";

/// Where the files are, and those of versions that had no such folder.
fn folders() -> [PathBuf; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    [root.join("tests/golden"), root.join("../archive/tests/files")]
}

fn run_files() -> Vec<PathBuf> {
    let entries = folders().into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "plimsoll")).collect();
    files.sort();
    files
}

/// The name of a file of this version.
fn todays(kind: &str) -> String {
    format!("schema-{SCHEMA_VERSION}-rules-{RULES_VERSION}-{kind}.plimsoll")
}

/// Makes those of this version, unless they are there already.
fn record() {
    if ["plan", "script"].iter().all(|kind| folders()[0].join(todays(kind)).exists()) {
        return;
    }
    let shop = Behaviour::EveryNth {
        nth: 7,
        failing: Box::new(Behaviour::status(503)),
        otherwise: Box::new(CannedResponse::new(200).body("an item").after(Duration::from_millis(2)).into()),
    };
    let (shop, stock) = (testbed::http(shop).unwrap(), testbed::grpc(GrpcBehaviour::Echo).unwrap());
    let folder = TestFolder::new(PLAN);
    folder.write("stock.proto", PROTO);
    folder.write("script.js", SCRIPT);
    let [plan, script] = ["plan", "script"].map(todays);
    let targets = [format!("shop=http://{}", shop.addr()), format!("stock={}", stock.addr())];
    let [to_shop, to_stock] = targets.each_ref().map(|target| ["--target", target]);
    let run = ["run", "plan.toml", "--quiet", "-o", &plan];
    folder.plimsoll(&[&run[..], &to_shop, &to_stock].concat()).exits_with(3);
    let to_shop = format!("SHOP={}", shop.addr());
    let run = ["run", "script.js", "--quiet", "--evidence", &script, "-e", &to_shop];
    folder.plimsoll(&run).exits_with(99);
    for name in [plan, script] {
        fs::copy(folder.path(&name), folders()[0].join(name)).unwrap();
    }
}

/// Leaves ten digits of each fraction: the rest depends on the C library's mathematics.
fn round(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(values) => values.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            let rounded: f64 = format!("{:.9e}", number.as_f64().unwrap()).parse().unwrap();
            *value = rounded.into();
        }
        _ => {}
    }
}

#[test]
fn every_golden_run_file_has_the_report_that_it_had() {
    if std::env::var("GOLDEN").is_ok_and(|what| what == "record") {
        record();
    }
    let folder = TestFolder::new("");
    for file in run_files() {
        fs::copy(&file, folder.path("run.plimsoll")).unwrap();
        folder.plimsoll(&["report", "run.plimsoll", "--json", "report.json"]);
        let mut report = folder.json("report.json");
        round(&mut report);
        let report = serde_json::to_string_pretty(&report).unwrap();
        let settings = || {
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(&folders()[0]);
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings
        };
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        settings().bind(|| insta::assert_snapshot!(name, report));
    }
}

/// What decided then decides now: other rules are another version of them.
#[test]
fn the_golden_files_of_this_version_have_the_judgement_that_was_made_with_them() {
    for kind in ["plan", "script"] {
        let path = folders()[0].join(todays(kind));
        let missing = "make it: GOLDEN=record cargo test -p plimsoll --test it golden";
        assert!(path.exists(), "{} is missing; {missing}", path.display());
        let folder = TestFolder::new("");
        fs::copy(&path, folder.path("run.plimsoll")).unwrap();
        folder.plimsoll(&["report", "run.plimsoll", "--json", "report.json"]);
        let report = folder.json("report.json");
        let run = Stored::open(&path).unwrap();
        let recorded = run.judgements().unwrap().remove(0).judgement;
        assert_eq!((run.manifest().schema_version, recorded.rules_version), (SCHEMA_VERSION, RULES_VERSION));
        let claims = report["claims"].as_array().unwrap();
        let claims = claims.iter().map(|claim| [&claim["name"], &claim["verdict"], &claim["text"]]);
        let findings = report["findings"].as_array().unwrap();
        let findings =
            findings.iter().map(|finding| [&finding["rule"], &finding["severity"], &finding["what"]]);
        let now: Vec<String> = claims.chain(findings).map(|texts| texts.map(text).join(" ")).collect();
        let claims = recorded.claims.iter().map(|of| format!("{} {} {}", of.name, of.verdict, of.text));
        let findings = recorded.findings.iter().map(|of| format!("{} {} {}", of.rule, of.severity, of.what));
        let then: Vec<String> = claims.chain(findings).collect();
        assert_eq!(now, then, "{}: raise RULES_VERSION, and {missing}", path.display());
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
