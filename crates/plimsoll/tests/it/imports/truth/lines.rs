//! Formats with a line or an element for each request, or for each of its metrics.

use std::fmt::Write as _;

use serde_json::json;

use super::edit::{changed, cut_lines, cut_off, with, without};
use super::known_run::{EVERY_MS, KnownRequest, KnownRun, rfc3339};
use super::summaries::k6_summary;
use super::{Damage, Files};

pub(super) const INTACT: &[Damage] = &[
    ("jmeter-csv", |run| file("a.jtl", jmeter_csv(run))),
    ("jmeter-csv with transactions", |run| file("a.jtl", with_transactions(run))),
    ("jmeter-xml", |run| file("a.xml", jmeter_xml(run))),
    ("k6-ndjson", |run| file("a.ndjson", k6_ndjson(run))),
    ("k6-csv", |run| file("a.csv", k6_csv(run))),
    ("k6-ndjson with its summary", |run| {
        vec![("a.ndjson".to_owned(), k6_ndjson(run)), ("a.json".to_owned(), k6_summary(run).to_string())]
    }),
    ("vegeta-results", |run| file("a.json", vegeta(run))),
    ("gatling-log", |run| file("a.log", gatling(run))),
];

pub(super) const DAMAGES: &[Damage] = &[
    ("jmeter-csv, line ends in messages", |run| {
        file(
            "a.jtl",
            changed(&jmeter_csv(run), has_failed, |line| line.replace("Oops", "No file.\nSee the log")),
        )
    }),
    ("jmeter-csv, delimiters in messages", |run| {
        file("a.jtl", changed(&jmeter_csv(run), has_failed, |line| line.replace("Oops", "No, none, at all")))
    }),
    ("jmeter-csv, line ends and delimiters", |run| {
        let change = |line: &str| line.replace("Oops", "No, none\n\nat all, \"so\nto say");
        file("a.jtl", changed(&jmeter_csv(run), has_failed, change))
    }),
    ("jmeter-csv, failures without their end", |run| file("a.jtl", cut_lines(&jmeter_csv(run), has_failed))),
    ("jmeter-csv, failures without their start", |run| {
        file("a.jtl", changed(&jmeter_csv(run), has_failed, |line| line[9..].to_owned()))
    }),
    ("jmeter-csv, slow ones without a line end", |run| {
        let text = jmeter_csv(run);
        let joined =
            changed(&text, |line| is_slow_or_failed(run, line), |line| format!("{}\u{1}", &line[..40]));
        file("a.jtl", joined.replace("\u{1}\n", ""))
    }),
    ("jmeter-csv, cut off", |run| file("a.jtl", cut_off(run, &jmeter_csv(run)))),
    ("jmeter-csv, failures that are no failures", |run| {
        file("a.jtl", changed(&jmeter_csv(run), has_failed, |line| line.replace("false", "true")))
    }),
    ("jmeter-csv, failures cut from transactions", |run| {
        let text = with_transactions(run);
        file("a.jtl", without(&text, |line| has_failed(line) && !line.contains("checkout")))
    }),
    ("jmeter-xml, failures cut from transactions", |run| {
        let is_failure = |line: &str| line.contains("s=\"false\"") && !line.contains("checkout");
        file("a.xml", without(&jmeter_xml(run), is_failure))
    }),
    ("jmeter-xml, cut off", |run| file("a.xml", cut_off(run, &jmeter_xml(run)))),
    ("jmeter-xml, failures that are no failures", |run| {
        file("a.xml", jmeter_xml(run).replace("s=\"false\"", "s=\"true\""))
    }),
    ("k6-ndjson, lines of failures cut", |run| file("a.ndjson", cut_lines(&k6_ndjson(run), is_500))),
    ("k6-ndjson, times of failures missing", |run| {
        file("a.ndjson", without(&k6_ndjson(run), |line| is_500(line) && line.contains("http_req_duration")))
    }),
    ("k6-ndjson, all but the outcome of failures missing", |run| {
        let is_lost = |line: &str| is_500(line) && !line.contains("http_req_failed");
        file("a.ndjson", without(&k6_ndjson(run), is_lost))
    }),
    ("k6-ndjson, outcomes and times of failures missing", |run| {
        let is_lost = |line: &str| is_500(line) && !line.contains("http_req_waiting");
        file("a.ndjson", without(&k6_ndjson(run), is_lost))
    }),
    ("k6-ndjson, times of failures as of successes", |run| {
        let is_it = |line: &str| is_500(line) && line.contains("http_req_duration");
        let ok = |line: &str| line.replace("\"500\"", "\"200\"").replace("\"false\"", "\"true\"");
        file("a.ndjson", changed(&k6_ndjson(run), is_it, ok))
    }),
    ("k6-ndjson, cut off", |run| file("a.ndjson", cut_off(run, &k6_ndjson(run)))),
    ("k6-ndjson, two lines in one", |run| {
        let joined = changed(&k6_ndjson(run), is_500, |line| format!("{line}\u{1}"));
        file("a.ndjson", joined.replace("\u{1}\n", ""))
    }),
    ("k6-ndjson, failures in the summary alone", |run| {
        vec![
            ("a.ndjson".to_owned(), without(&k6_ndjson(run), is_500)),
            ("a.json".to_owned(), k6_summary(run).to_string()),
        ]
    }),
    ("k6-ndjson, slow ones in the summary alone", |run| {
        let is_slow = |line: &str| number_of(line).is_some_and(|number| run.requests[number].is_slow());
        vec![
            ("a.ndjson".to_owned(), without(&k6_ndjson(run), is_slow)),
            ("a.json".to_owned(), k6_summary(run).to_string()),
        ]
    }),
    ("k6-csv, lines of failures cut", |run| {
        file(
            "a.csv",
            changed(&k6_csv(run), |line| line.contains(",500,"), |line| line[..line.len() / 2].to_owned()),
        )
    }),
    ("k6-csv, times of failures missing", |run| {
        let is_lost = |line: &str| line.contains(",500,") && line.contains("http_req_duration");
        file("a.csv", without(&k6_csv(run), is_lost))
    }),
    ("k6-csv, cut off", |run| file("a.csv", cut_off(run, &k6_csv(run)))),
    ("vegeta-results, failures missing", |run| {
        // The last one is not numbered above others, so that its loss does not show.
        let last = format!("\"seq\":{}", run.requests.len() - 1);
        file("a.json", without(&vegeta(run), |line| line.contains("\"code\":500") && !line.contains(&last)))
    }),
    ("vegeta-results, lines of failures cut", |run| {
        file("a.json", cut_lines(&vegeta(run), |line| line.contains("\"code\":500")))
    }),
    ("vegeta-results, cut off", |run| file("a.json", cut_off(run, &vegeta(run)))),
    ("gatling-log, failures cut", |run| {
        file("a.log", changed(&gatling(run), is_failed_request, |line| line[..30].to_owned()))
    }),
    ("gatling-log, failures missing in groups", |run| {
        file("a.log", without(&gatling(run), is_failed_request))
    }),
    ("gatling-log, cut off between lines", |run| {
        let text = cut_off(run, &gatling(run));
        file("a.log", text[..=text.rfind('\n').unwrap()].to_owned())
    }),
    ("gatling-log, cut off", |run| file("a.log", cut_off(run, &gatling(run)))),
];

fn file(name: &str, text: String) -> Files {
    vec![(name.to_owned(), text)]
}

fn has_failed(line: &str) -> bool {
    line.contains(",false,")
}

fn is_slow_or_failed(run: &KnownRun, line: &str) -> bool {
    let start = line.split(',').next().unwrap();
    run.requests
        .iter()
        .find(|request| request.start.to_string() == start)
        .is_some_and(|request| request.has_failed || request.is_slow())
}

fn is_500(line: &str) -> bool {
    line.contains("\"500\"")
}

fn is_failed_request(line: &str) -> bool {
    line.starts_with("REQUEST") && line.contains("\tKO\t")
}

/// The number of the request in the name of a line of k6.
fn number_of(line: &str) -> Option<usize> {
    line.split_once("\"n\":\"")?.1.split('"').next()?.parse().ok()
}

fn jmeter_row(request: &KnownRequest) -> String {
    let KnownRequest { start, ms, has_failed, .. } = request;
    let (status, words, message) = if *has_failed { (500, "Server Error", "Oops") } else { (200, "OK", "") };
    let (success, errors) = (!has_failed, u8::from(*has_failed));
    format!(
        "{start},{ms},list,{status},{words},Users 1-1,text,{success},{message},100,50,1,1,http://x/,{ms},1,{errors},0,0\n"
    )
}

const JMETER: &str = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,\
                      sentBytes,grpThreads,allThreads,URL,Latency,SampleCount,ErrorCount,IdleTime,Connect\n";

fn jmeter_csv(run: &KnownRun) -> String {
    JMETER.to_owned() + &run.requests.iter().map(jmeter_row).collect::<String>()
}

/// Every two requests are a transaction.
fn with_transactions(run: &KnownRun) -> String {
    let mut text = JMETER.to_owned();
    for pair in run.requests.chunks(2) {
        pair.iter().for_each(|request| text += &jmeter_row(request));
        let failed = pair.iter().filter(|request| request.has_failed).count();
        let _ = writeln!(
            text,
            "{},{},checkout,,\"Number of samples in transaction : {}, number of failing samples : {failed}\",\
             Users 1-1,,{},,200,100,1,1,null,5,1,{},40,0",
            pair[0].start,
            pair.iter().map(|request| request.ms).sum::<u64>(),
            pair.len(),
            failed == 0,
            usize::from(failed > 0)
        );
    }
    text
}

fn jmeter_xml(run: &KnownRun) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n".to_owned();
    for pair in run.requests.chunks(2) {
        let failed = pair.iter().filter(|request| request.has_failed).count();
        let _ = writeln!(
            text,
            "<sample t=\"{}\" it=\"{EVERY_MS}\" ts=\"{}\" s=\"{}\" lb=\"checkout\" rc=\"\" rm=\"Number of samples in transaction : {}, \
             number of failing samples : {failed}\" tn=\"Users 1-1\" by=\"200\" ec=\"{}\">",
            pair.iter().map(|request| request.ms).sum::<u64>(),
            pair[0].start,
            failed == 0,
            pair.len(),
            usize::from(failed > 0)
        );
        for request in pair {
            let _ = writeln!(
                text,
                " <httpSample t=\"{}\" it=\"0\" ts=\"{}\" s=\"{}\" lb=\"list\" rc=\"{}\" rm=\"\" tn=\"Users 1-1\" by=\"100\" \
                 sc=\"1\" ec=\"{}\"/>",
                request.ms,
                request.start,
                !request.has_failed,
                request.status(),
                u8::from(request.has_failed)
            );
        }
        text += "</sample>\n";
    }
    text + "</testResults>\n"
}

/// The metrics of a request, with their values.
fn k6_points(request: &KnownRequest) -> [(&'static str, u64); 4] {
    [
        ("http_reqs", 1),
        ("http_req_duration", request.ms),
        ("http_req_waiting", request.ms),
        ("http_req_failed", u64::from(request.has_failed)),
    ]
}

fn k6_ndjson(run: &KnownRun) -> String {
    let mut text = String::new();
    for request in &run.requests {
        let tags = json!({
            "expected_response": (!request.has_failed).to_string(), "method": "GET", "name": "list",
            "scenario": "default", "status": request.status().to_string(), "n": request.number.to_string(),
        });
        for (metric, value) in k6_points(request) {
            let data = json!({"time": rfc3339(request.end()), "value": value, "tags": tags});
            let _ = writeln!(text, "{}", json!({"metric": metric, "type": "Point", "data": data}));
        }
    }
    text
}

fn k6_csv(run: &KnownRun) -> String {
    let mut text =
        "metric_name,timestamp,metric_value,expected_response,method,name,scenario,status,url\n".to_owned();
    for request in &run.requests {
        for (metric, value) in k6_points(request) {
            let (ok, status) = (!request.has_failed, request.status());
            let seconds = request.end() / 1_000;
            let _ = writeln!(text, "{metric},{seconds},{value},{ok},GET,list,default,{status},http://x/");
        }
    }
    text
}

fn vegeta(run: &KnownRun) -> String {
    let line = |request: &KnownRequest| {
        format!(
            "{{\"attack\":\"a\",\"seq\":{},\"code\":{},\"timestamp\":\"{}\",\"latency\":{},\"bytes_out\":0,\"bytes_in\":2,\
             \"error\":\"\",\"method\":\"GET\",\"url\":\"http://x/\"}}\n",
            request.number,
            request.status(),
            rfc3339(request.start),
            request.ms * 1_000_000
        )
    };
    run.requests.iter().map(line).collect()
}

/// Four users from the start to the end; every request is in a group of its own.
fn gatling(run: &KnownRun) -> String {
    let [first, last] = [0, run.requests.len() - 1].map(|at| run.requests[at]);
    let mut text = format!("RUN\ta.B\tb\t{}\t \t3.11.5\n", first.start);
    text += &format!("USER\tBrowse\tSTART\t{}\n", first.start).repeat(4);
    for request in &run.requests {
        let (start, end, ms) = (request.start, request.end(), request.ms);
        let (status, message) = if request.has_failed { ("KO", "status, found 500") } else { ("OK", " ") };
        let _ = writeln!(text, "REQUEST\tshop\tlist\t{start}\t{end}\t{status}\t{message}");
        let _ = writeln!(text, "GROUP\tshop\t{start}\t{end}\t{ms}\t{status}");
    }
    text + &format!("USER\tBrowse\tEND\t{}\n", last.end()).repeat(4)
}

/// That `with` finds what it replaces is checked there.
#[test]
fn the_files_have_what_is_damaged_in_them() {
    let run = KnownRun::new(3);
    for (text, part) in [
        (jmeter_csv(&run), "Oops"),
        (jmeter_xml(&run), "s=\"false\""),
        (k6_ndjson(&run), "\"500\""),
        (k6_csv(&run), ",500,"),
        (vegeta(&run), "\"code\":500"),
        (gatling(&run), "\tKO\t"),
    ] {
        let _ = with(&text, part, "");
    }
}
