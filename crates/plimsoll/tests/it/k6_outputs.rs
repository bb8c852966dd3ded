//! What `-o` writes of k6 scripts, and thresholds that end them. What is expected was recorded from k6 1.8.1.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use testbed::{Behaviour, Site};

use crate::command::TestFolder;
use crate::terminal;

/// Every kind of values, with tags of every origin.
const TAGGED: &str = "
    import http from 'k6/http';
    import { check, group } from 'k6';
    import { Counter, Trend } from 'k6/metrics';
    import exec from 'k6/execution';
    const cc = new Counter('cc'), tt = new Trend('tt', true);
    export const options = {
        scenarios: { s1: { executor: 'per-vu-iterations', vus: 1, iterations: 1, tags: { sc: '1' } } },
        tags: { top: 'x' },
        thresholds: {
            cc: ['count>0', { threshold: 'count<100', abortOnFail: true, delayAbortEval: '10s' }],
            'tt{a:b}': ['max<1000'],
        },
    };
    export function setup() { cc.add(9); }
    export default function () {
        http.get(`${__ENV.BASE}/named/1`, { tags: { name: 'N', my: 'tag' } });
        group('g1', () => check(1, { 'ok<': (v) => v == 1 }, { ct: 'y' }));
        exec.vu.tags.mine = 'v';
        http.get(`${__ENV.BASE}/404`);
        cc.add(1, { a: 'b' });
        tt.add(1.5);
    }
    export function teardown() { cc.add(5); }";

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The tags of each value of a metric.
fn tags_of<'a>(lines: &'a [Value], metric: &str) -> Vec<&'a Value> {
    let is_value = |line: &&Value| line["type"] == "Point" && line["metric"] == metric;
    lines.iter().filter(is_value).map(|line| &line["data"]["tags"]).collect()
}

#[test]
fn every_value_is_written_with_its_time_and_its_tags() {
    let site = Site::new().at("/404", Behaviour::status(404)).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new("");
    folder.write("script.js", TAGGED);
    let url = format!("http://{}", target.addr());
    let base = format!("BASE={url}");
    let fixed = ["run", "script.js", "-q", "-e", &base, "--evidence", "run.plimsoll"];
    let outputs = ["-o", "json=a.json", "--out", "csv=a.csv", "-o", "json=a.json.gz"];
    folder.plimsoll(&[&fixed[..], &outputs].concat()).exits_with(0);
    let text = folder.read("a.json");
    let mut unpacked = String::new();
    let packed = std::fs::File::open(folder.path("a.json.gz")).unwrap();
    GzDecoder::new(packed).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, text);

    for announced in [
        r#"{"type":"Metric","data":{"name":"cc","type":"counter","contains":"default","thresholds":["count>0",{"threshold":"count<100","abortOnFail":true,"delayAbortEval":"10s"}],"submetrics":null},"metric":"cc"}"#,
        r#"{"type":"Metric","data":{"name":"http_req_duration","type":"trend","contains":"time","thresholds":[],"submetrics":[{"name":"http_req_duration{expected_response:true}","suffix":"expected_response:true","tags":{"expected_response":"true"}}]},"metric":"http_req_duration"}"#,
        r#"{"type":"Metric","data":{"name":"tt","type":"trend","contains":"time","thresholds":[],"submetrics":[{"name":"tt{a:b}","suffix":"a:b","tags":{"a":"b"}}]},"metric":"tt"}"#,
    ] {
        assert_eq!(text.lines().filter(|line| *line == announced).count(), 1, "{announced}");
    }
    let lines = lines(&text);
    let missing = format!("{url}/404");
    let requests = [
        json!({"expected_response": "true", "group": "", "method": "GET", "my": "tag", "name": "N", "proto": "HTTP/1.1",
            "sc": "1", "scenario": "s1", "status": "200", "top": "x", "url": "N"}),
        json!({"error_code": "1404", "expected_response": "false", "group": "", "method": "GET", "mine": "v",
            "name": missing, "proto": "HTTP/1.1", "sc": "1", "scenario": "s1", "status": "404", "top": "x", "url": missing}),
    ];
    let at_end = json!({"group": "", "mine": "v", "sc": "1", "scenario": "s1", "top": "x"});
    let with_a = json!({"a": "b", "group": "", "mine": "v", "sc": "1", "scenario": "s1", "top": "x"});
    let once = |name: &str| json!({"group": format!("::{name}"), "top": "x"});
    let check = json!({"check": "ok<", "ct": "y", "group": "::g1", "sc": "1", "scenario": "s1", "top": "x"});
    let group = json!({"group": "::g1", "sc": "1", "scenario": "s1", "top": "x"});
    for (metric, expected) in [
        ("http_reqs", &requests[..]),
        ("http_req_waiting", &requests),
        ("http_req_failed", &requests),
        ("cc", &[once("setup"), with_a, once("teardown")]),
        ("tt", std::slice::from_ref(&at_end)),
        ("checks", &[check]),
        ("group_duration", &[group]),
        ("iterations", std::slice::from_ref(&at_end)),
        ("iteration_duration", std::slice::from_ref(&at_end)),
    ] {
        assert_eq!(tags_of(&lines, metric), expected.iter().collect::<Vec<_>>(), "{metric}");
    }
    assert!(text.contains(r#""check":"ok\u003c""#), "as Go writes it");
    let table = folder.read("a.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(
        rows[0],
        "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,\
         status,subproto,tls_version,url,extra_tags,metadata"
    );
    let values = lines.iter().filter(|line| line["type"] == "Point").count();
    assert_eq!(rows.len(), values + 1);
    let row = rows.iter().find(|row| row.starts_with("tt,")).unwrap();
    let (name, rest) = row.split_once(',').unwrap();
    let (time, rest) = rest.split_once(',').unwrap();
    assert!(time.parse::<u64>().is_ok(), "{time}");
    assert_eq!((name, rest), ("tt", "1.500000,,,,,,,,,s1,,,,,,mine=v&sc=1&top=x,"));
}

#[test]
fn system_tags_decide_which_tags_are_written() {
    let folder = TestFolder::new("");
    folder.write("script.js", "export default function () {}");
    let fixed =
        ["run", "script.js", "-q", "--evidence", "run.plimsoll", "--system-tags", "vu,iter,scenario,group"];
    let ran = folder.plimsoll(&[&fixed[..], &["-o", "json", "-o", "csv=v.csv", "--no-summary"]].concat());
    ran.exits_with(0).stdout_contains(&[
        r#""value":1,"tags":{"group":"","scenario":"default"},"metadata":{"iter":"0","vu":"1"}}}"#,
    ]);
    let table = folder.read("v.csv");
    assert!(table.starts_with("metric_name,timestamp,metric_value,group,scenario,extra_tags,metadata\n"));
    assert!(table.contains(",1.000000,,default,,iter=0&vu=1\n"), "{table}");
}

#[test]
fn an_output_that_cannot_be_made_is_named() {
    let folder = TestFolder::new("");
    folder.write("script.js", "export default function () {}");
    for (output, message) in [
        ("influxdb=http://localhost:8086/k6", "the output 'influxdb' is not supported"),
        ("cloud", "the output 'cloud' is not supported"),
        ("json=missing/x.json", "cannot write missing/x.json: No such file or directory"),
    ] {
        folder.plimsoll(&["run", "script.js", "-o", output]).exits_with(255).stderr_contains(&[message]);
    }
}

#[test]
fn a_threshold_ends_the_run_once_it_does_not_hold() {
    let script = |delay: &str, checked: &str| {
        format!(
            "import {{ sleep }} from 'k6'; import {{ Counter }} from 'k6/metrics';
            const cc = new Counter('cc'), late = new Counter('late');
            export const options = {{ vus: 1, duration: '1h', thresholds: {{
                cc: [{{ threshold: 'count<3', abortOnFail: true{delay} }}],
                late: [{{ threshold: 'count>5', abortOnFail: {checked} }}],
                dropped_iterations: ['count<1'],
            }} }};
            export default function () {{ cc.add(1); sleep(0.05); }}
            export function teardown() {{ console.log('torn down'); }}"
        )
    };
    for (delay, checked, passed_s) in [("", "false", 2), (", delayAbortEval: '3s'", "true", 4)] {
        let folder = TestFolder::new("");
        folder.write("script.js", script(delay, checked));
        let outputs = ["--evidence", "run.plimsoll", "-o", "json=a.json"];
        folder.plimsoll(&[&["run", "script.js", "-q"][..], &outputs].concat()).exits_with(99).stderr_contains(&[
            "ERRO thresholds on metrics 'cc' were crossed; at least one has abortOnFail enabled, stopping test prematurely",
            "INFO torn down",
        ]);
        let seconds = tags_of(&lines(&folder.read("a.json")), "vus").len();
        assert!(seconds >= passed_s - 1, "{seconds}: not evaluated before");
    }
}

#[test]
fn the_summary_has_colours_on_a_terminal() {
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        "export const options = { iterations: 1, thresholds: { iterations: ['count<5'] } }; export default function () {}",
    );
    let (script, evidence) = (folder.path("script.js"), folder.path("run.plimsoll"));
    let fixed = [
        "run",
        script.to_str().unwrap(),
        "-q",
        "--force",
        "--evidence",
        evidence.to_str().unwrap(),
        "--k6-exit-codes",
    ];
    let (seen, code) = terminal::run(&fixed, None);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("\x1b[32m✓\x1b[0m \x1b[37m'count<5'\x1b[0m"), "{seen:?}");
    let (plain, _) = terminal::run(&[&fixed[..], &["--no-color"]].concat(), None);
    assert!(plain.contains("✓ 'count<5'"), "{plain:?}");
}

#[test]
fn a_rate_without_values_meets_its_thresholds() {
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        "import { Rate, Counter } from 'k6/metrics'; new Rate('rr'); new Counter('cc');
        export const options = { iterations: 1, thresholds: { rr: ['rate>0.9'], cc: ['count<5'] } };
        export default function () {}",
    );
    let ran = folder.plimsoll(&["run", "script.js", "-q", "--evidence", "run.plimsoll", "--k6-exit-codes"]);
    ran.exits_with(0).stdout_contains(&["✓ 'rate>0.9' rate=0.00%"]);
}
