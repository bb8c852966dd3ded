use super::*;

fn refusal(text: &str) -> String {
    recognise(text.as_bytes()).expect_err(text).to_string()
}

/// What `hey -n 200` prints.
const HEY: &str = "
Summary:
  Total:\t0.0512 secs
  Slowest:\t0.0210 secs
  Fastest:\t0.0003 secs
  Average:\t0.0101 secs
  Requests/sec:\t3906.2500

Response time histogram:
  0.000 [1]\t|
  0.021 [199]\t|■■■■

Latency distribution:
  10% in 0.0008 secs
  99% in 0.0209 secs

Status code distribution:
  [200]\t190 responses
  [503]\t10 responses
";

#[test]
fn results_of_other_tools_are_refused_by_name() {
    for (text, tool) in [
        (HEY, "is the summary of hey,"),
        (
            "Summary:\n  Success rate:\t100.00%\n  Total:\t2.0 sec\n  Requests/sec:\t99.9\n",
            "is the text of oha,",
        ),
        ("Running 10s test @ http://127.0.0.1\n  2 threads and 10 connections\n", "is the text of wrk,"),
        ("This is ApacheBench, Version 2.3\n", "is the text of ApacheBench,"),
        ("Requests      [total, rate, throughput]  100, 50.5, 2.73\n", "vegeta report -type=json"),
        (
            "{\"aggregate\":{\"counters\":{\"http.requests\":3}},\"intermediate\":[]}",
            "is the report of Artillery,",
        ),
        (
            "{\"latency\":{\"average\":1},\"requests\":{},\"throughput\":{},\"non2xx\":0}",
            "is the JSON of autocannon,",
        ),
    ] {
        let refusal = refusal(text);
        assert!(refusal.contains(tool) && refusal.contains("supported are k6's NDJSON"), "{refusal}");
    }
}

#[test]
fn words_inside_of_a_document_are_not_its_format() {
    // Each has a word that the formats have, in a text or deeper in the document.
    for text in [
        r#"{"note":"\"fastest\" and \"endReason\"","x":1}"#,
        r#"{"run":{"fastest":1,"slowest":2,"count":3}}"#,
        r#"{"results":{"latencies":{"mean":3},"requests":5}}"#,
        r#"{"a":{"summary":{},"latencyPercentiles":{}}}"#,
        r#"[{"metric":"x","data":1}]"#,
        r#"{"config":{},"metadata":{"version":"1"},"results":{"metrics":[]}}"#,
    ] {
        assert!(refusal(text).contains("is JSON, but in none of the supported formats"), "{text}");
    }
}

#[test]
fn a_document_is_recognised_in_one_line_in_several_and_cut() {
    let ghz = r#"{"date":"x","endReason":"normal","options":{"call":"a"},"count":60,"total":1,"details":[{"latency":1"#;
    for text in [ghz.to_owned(), ghz.replace(',', ",\n  ")] {
        assert_eq!(recognise(text.as_bytes()).ok(), Some(Format::GhzJson), "{text}");
    }
    let oha = r#"{"summary":{"successRate":1.0,"fastest":0.1},"latencyPercentiles":{"p50":0.1}}"#;
    assert_eq!(recognise(oha.as_bytes()).ok(), Some(Format::OhaJson));
    let k6 = r#"{"config":{"duration":1},"metadata":{"k6Version":"1.5.0"},"results":{"metrics":[{"name":"a""#;
    assert_eq!(recognise(k6.as_bytes()).ok(), Some(Format::K6Summary));
}
