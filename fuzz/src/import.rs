//! Files of other tools: two passes over any content agree, and nothing panics.

use ::import::{Event, Filler, Format, Receive, RunSpan, Survey};
use evidence::memory::MemoryRun;
use evidence::{Run as _, SinkError};

use crate::Target;

/// Any format, recognised from the content as in users' files.
pub(crate) const IMPORT: Target = Target {
    name: "import",
    seeds: &[
        br#"{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-21T21:01:25.3Z","value":2.5,"tags":{"expected_response":"true","method":"GET","name":"list","scenario":"a","status":"200","url":"http://h/"}}}
{"metric":"checks","type":"Point","data":{"time":"2026-11-21T21:01:26Z","value":1,"tags":{"check":"ok"}}}
{"metric":"vus","type":"Point","data":{"time":"2026-11-21T21:01:26Z","value":3,"tags":{}}}
"#,
        b"metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,scenario,status,url\nhttp_req_duration,1795294885,2.5,,,1212,false,,GET,list,a,0,http://h/\nhttp_reqs,1795294885,1,,\"a, \"\"b\"\"\",,true,,GET,list,a,200,http://h/\n",
        br#"{"metrics":{"http_req_duration":{"type":"trend","contains":"time","values":{"avg":2.3,"med":2.1,"p(95)":4.0},"thresholds":{"p(95)<5":{"ok":true}}}},"root_group":{}}"#,
        br#"{"config":{"duration":2.5,"execution":"local"},"metadata":{"generatedAt":"2026-11-21T21:01:31Z","k6Version":"1.5.0"},"results":{"checks":{"metrics":[{"name":"checks_failed","type":"rate","contains":"default","values":{"matches":1,"rate":0.1,"total":10}},{"name":"checks_succeeded","type":"rate","contains":"default","values":{"matches":9,"rate":0.9,"total":10}}]},"metrics":[{"name":"http_reqs","type":"counter","contains":"default","values":{"count":30}},{"name":"http_req_duration","type":"trend","contains":"time","values":{"med":2.1,"p(95)":4.0}}]},"version":"1.0.0"}"#,
        br#"{"RunType":"HTTP","StartTime":"2026-11-29T11:47:31Z","ActualQPS":39.5,"DurationHistogram":{"Count":60,"Min":0.002,"Max":0.02,"Avg":0.009,"Data":[{"Start":0.002,"End":0.009000000000000001,"Count":31},{"Start":0.01,"End":0.02,"Count":29}],"Percentiles":[{"Percentile":99.9,"Value":0.02}]},"ErrorsDurationHistogram":{"Count":10},"RetCodes":{"-1":1,"200":50,"503":9}}"#,
        b"response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.0023,0.0007,0.0000,0.0001,0.0014,0.0000,200,0.0012\n",
        b"request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n0.003171357,0.000029704,0.000617317,0.003172444,0.003173525,22,200\n",
        include_bytes!("../../crates/import/tests/fixtures/vegeta.bin"),
        br#"{"date":"2026-11-21T21:01:31Z","endReason":"normal","options":{"call":"a.B.C"},"average":2973824,"fastest":1,"details":[{"timestamp":"2026-11-21T21:01:29Z","latency":3636357,"error":"","status":"OK"},{"timestamp":"2026-11-21T21:01:29Z","latency":5,"status":"DeadlineExceeded"}]}"#,
        b"\nSummary:\n  Count:\t60\n  Slowest:\t6.73 ms\n  Requests/sec:\t59.81\n\nLatency distribution:\n  10 % in 2.58 ms \n\nStatus code distribution:\n  [OK]   60 responses   \n",
        br#"{"attack":"a","seq":0,"code":200,"timestamp":"2026-11-21T09:30:00Z","latency":1500000,"bytes_out":0,"bytes_in":2,"error":"","method":"GET","url":"http://h/"}
"#,
        br#"{"latencies":{"mean":3,"50th":2,"95th":4,"99th":5,"max":6},"requests":100,"status_codes":{"200":100}}"#,
        b"timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,allThreads\n1795384823000,12,list,200,OK,Browse 1-1,true,512,3\n1795384823250,30,\"buy, now\",503,\"Number of samples in transaction : 2, number of failing samples : 1\",Browse 1-2,false,98,3\n",
        br#"<?xml version="1.0" encoding="UTF-8"?><testResults version="1.2"><httpSample t="12" ts="1795384823000" s="true" lb="list &amp; more" rc="200" tn="Browse 1-1" by="512" na="3"><java.net.URL>http://h/</java.net.URL></httpSample><sample t="330" ts="1795384823000" s="true" lb="checkout" rm="Number of samples in transaction : 1"><httpSample t="9" ts="1795384823300" s="false" lb="list" rc="200"/></sample></testResults>"#,
        b"RUN\ta.B\tb\t1795384823000\t \t3.10.5\nUSER\tBrowse\tSTART\t1795384823000\nREQUEST\t\tlist\t1795384823000\t1795384823012\tOK\t \nREQUEST\tBrowse\t7\tg,h\tbuy\t1795384823000\t1795384823040\tKO\tstatus.find.is(200), but actually found 503\nGROUP\tg\t1795384823000\t1795384823050\t40\tKO\nUSER\tBrowse\t7\tEND\t1795384823000\t1795384824000\n",
        b"Type,Name,Request Count,Failure Count,Min Response Time,95%,99%,100%\nPOST,buy,19,4,6.9,68,68,68\n,Aggregated,90,13,6.2,19,69,69\n",
        b"Timestamp,User Count,Type,Name,Requests/s,Failures/s,95%\n1795384823,0,,Aggregated,0.0,0.0,N/A\n1795384824,2,GET,list,4.0,0.5,12\n1795384824,2,,Aggregated,5.0,0.5,12\n",
        b"Method,Name,Error,Occurrences\nGET,list,\"HTTPError('500, x')\",9\n",
        br#"{"summary":{"successRate":0.9,"total":10.0,"slowest":1.2,"average":0.02},"latencyPercentiles":{"p95":0.015,"p99":0.9,"p99.99":null},"latencyPercentilesSuccessful":{"p95":0.014},"statusCodeDistribution":{"200":90,"503":5},"errorDistribution":{"deadline has elapsed":5}}"#,
        b"#[StartTime: 1441812279.474 (seconds since epoch), Wed]\n0.127,1.007,2.769,HISTFAAAAEV42pNpmSzMwMCgyAABTBDKT4GBgdnNYMcCBvsPEBEJISEuATEZMQ4uASkhIR4nrxg9v2lMaxhvMekILGZkKmcCAEf2CsI=\n",
    ],
    words: &[b"NaN", b"1e309", b"-1", b"\"", b"9999-12-31T23:59:59Z", b"details", b"Tag=A,", b"<sample ", b"\t", b";", b"testResults", b"18446744073709551615"],
    run: |input| {
        let Ok(format) = ::import::recognise(&input[..input.len().min(::import::HEAD_BYTES)]) else { return false };
        let mut survey = Survey::default();
        let Ok(reading) = ::import::read(format, &mut &input[..], &mut survey) else { return false };
        let span = survey.span().unwrap_or(RunSpan { begin: 0, end: 0 });
        // The command refuses what does not fit into a run file.
        let is_possible = survey.totals.iter().all(|(metric, total)| *total <= ::import::run_limit(*metric));
        if span.seconds() <= LONGEST_S && is_possible {
            read_again(format, span, input, &reading);
        }
        survey.dated > 0 || !survey.figures.is_empty()
    },
    ..Target::BASE
};

/// 31 days.
const LONGEST_S: u32 = 31 * 86_400;

/// Read the input a second time, into a run in memory, and compare.
fn read_again(format: Format, span: RunSpan, input: &[u8], reading: &::import::Reading) {
    let manifest = serde_json::json!({
        "schema_version": 2, "name": "", "workload": null, "workload_digest": "", "seed": 0, "started_at": "",
        "targets": {}, "environment": {}, "generator": {},
    });
    let mut run = MemoryRun::new(serde_json::from_value(manifest).expect("the manifest has all its fields"));
    let mut filler = Filler::new(&mut run, span);
    let mut counted = CountingReceiver { filler: &mut filler, values: 0 };
    let second = ::import::read(format, &mut &input[..], &mut counted).expect("the first pass read it");
    let values = counted.values;
    assert_eq!(second, *reading, "the second pass differs");
    filler.finish().expect("a run in memory accepts everything");
    let kept = run.keys().iter().filter(|(_, key)| key.metric.shape() == evidence::key::Shape::Histogram);
    let kept: u64 =
        kept.map(|(id, _)| run.histogram(*id, run.whole()).map_or(0, |times| times.count())).sum();
    assert_eq!(kept, values, "times were lost");
}

/// Counts the times that are received.
struct CountingReceiver<'f, 's> {
    filler: &'f mut Filler<'s>,
    values: u64,
}

impl Receive for CountingReceiver<'_, '_> {
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError> {
        self.values += match &event {
            Event::Times { .. } => 1,
            Event::Interval { times, .. } => times.count(),
            _ => 0,
        };
        self.filler.receive(event)
    }
}
