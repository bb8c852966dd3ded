//! Files of each format, as their tool wrote them, read into a run.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod tools;

use std::collections::BTreeMap;
use std::path::PathBuf;

use evidence::memory::MemoryRun;
use evidence::{Metric, Outcome, Run as _};
use import::{Filler, Format, Reading, RunSpan, Survey};

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The results of both passes over a file.
struct Imported {
    survey: Survey,
    reading: Reading,
    run: MemoryRun,
}

fn import(format: Format, bytes: &[u8]) -> Imported {
    assert_eq!(import::recognise(&bytes[..bytes.len().min(import::HEAD_BYTES)]).unwrap(), format);
    let mut survey = Survey::default();
    let reading = import::read(format, &mut &bytes[..], &mut survey).unwrap();
    let mut run = MemoryRun::new(evidence::Manifest::named(""));
    let span = survey.span().unwrap_or(RunSpan { begin: 0, end: 0 });
    let mut filler = Filler::new(&mut run, span);
    assert_eq!(
        import::read(format, &mut &bytes[..], &mut filler).unwrap(),
        reading,
        "the second pass differs"
    );
    assert_eq!(filler.finish().unwrap(), 0);
    Imported { survey, reading, run }
}

impl Imported {
    /// Totals by metric, endpoint and outcome.
    fn totals(&self) -> Vec<String> {
        let mut totals: BTreeMap<String, u64> = BTreeMap::new();
        for (id, key) in self.run.keys() {
            let outcome = key.outcome.map(|outcome| format!(" {outcome}")).unwrap_or_default();
            let total = match key.metric.shape() {
                evidence::key::Shape::Histogram => self.run.histogram(*id, self.run.whole()).unwrap().count(),
                evidence::key::Shape::Counter if key.metric.name().ends_with("_ns") => continue,
                evidence::key::Shape::Counter => self.run.total(*id).unwrap(),
            };
            let of = format!("{} {}/{}{outcome}", key.metric, key.scenario, key.endpoint);
            *totals.entry(of).or_default() += total;
        }
        totals.into_iter().map(|(of, total)| format!("{of}: {total}")).collect()
    }

    fn figure(&self, of: &str, name: &str) -> f64 {
        let found = self.survey.figures.iter().find(|figure| figure.of == of && figure.name == name);
        found.unwrap_or_else(|| panic!("no {name} of {of}")).value
    }
}

#[test]
fn k6s_ndjson_and_csv_give_the_same_totals() {
    let ndjson = import(Format::K6Ndjson, &fixture("k6.ndjson"));
    let csv = import(Format::K6Csv, &fixture("k6.csv"));
    assert_eq!((ndjson.reading.malformed, csv.reading.malformed), (0, 0));
    assert_eq!(ndjson.totals(), csv.totals());
    let text = ndjson.totals().join("\n");
    insta::assert_snapshot!(text, @r"
    bytes_in browse/: 2014
    bytes_in stalled/: 0
    bytes_out browse/: 2327
    bytes_out stalled/: 0
    check_failed browse/(checks): 1
    check_passed browse/(checks): 12
    dropped stalled/: 5
    iteration_time browse/: 13
    iteration_time stalled/: 4
    iterations_done browse/: 13
    iterations_done stalled/: 4
    requests browse/POST http://127.0.0.1:43781/buy: 13
    requests browse/list: 13
    requests stalled/GET http://127.0.0.1:1/gone: 4
    response_time browse/POST http://127.0.0.1:43781/buy http_5xx: 1
    response_time browse/POST http://127.0.0.1:43781/buy ok: 12
    response_time browse/list http_5xx: 1
    response_time browse/list ok: 12
    response_time stalled/GET http://127.0.0.1:1/gone refused: 4
    ");
    // The sum over the stream is the count in the summary of the same run.
    let summary = import(Format::K6Summary, &fixture("k6-summary.json"));
    let requests: u64 = ndjson
        .run
        .keys()
        .iter()
        .filter(|(_, key)| key.metric == Metric::Requests)
        .map(|(id, _)| ndjson.run.total(*id).unwrap())
        .sum();
    assert_eq!(requests as f64, summary.figure("http_reqs", "count"));
    assert!(ndjson.survey.has_drops);
}

#[test]
fn k6s_summaries_give_only_figures_and_remarks() {
    for file in ["k6-summary.json", "k6-summary-export.json"] {
        let summary = import(Format::K6Summary, &fixture(file));
        assert_eq!((summary.survey.dated, summary.run.keys().len()), (0, 0), "{file}");
        let p95 = summary.figure("http_req_duration", "p95");
        let unit =
            summary.survey.figures.iter().find(|f| f.of == "http_req_duration").map(|f| f.unit.as_str());
        assert!(p95 > 0.0 && unit == Some("ms"), "{file}: {p95} {unit:?}");
        let mut remarks = summary.survey.remarks.clone();
        remarks.sort();
        assert_eq!(
            remarks,
            [
                "k6 reports that its threshold `p(95)<500` of `http_req_duration` was met",
                "k6 reports that its threshold `rate>0.99` of `checks` was crossed",
            ],
            "{file}"
        );
    }
}

/// The same run as in `k6-summary.json`, in the newer arrangement: the figures that both state are equal.
#[test]
fn k6s_machine_readable_summary_has_the_figures_of_the_older_one() {
    let newer = import(Format::K6Summary, &fixture("k6-summary-machine-readable.json")).survey;
    let older = import(Format::K6Summary, &fixture("k6-summary.json")).survey;
    assert_eq!((newer.contradictory, newer.dated, newer.figures.len()), (0, 0, 40));
    for figure in &newer.figures {
        let other = older.figures.iter().find(|other| (&other.of, &other.name) == (&figure.of, &figure.name));
        let other = other.unwrap_or_else(|| panic!("{figure:?}"));
        assert_eq!(figure.unit, other.unit, "{figure:?}");
        assert!((figure.value - other.value).abs() <= other.value * 1e-9, "{figure:?} {other:?}");
    }
    let facts = ["version", "end"].map(|fact| newer.facts[fact].as_str());
    assert_eq!(facts, ["1.8.1", "2026-11-21T21:19:33.860890628Z"]);
    assert!(newer.facts["duration_ms"].starts_with("2263.3"));
}

#[test]
fn ghz_json_gives_every_call_and_its_text_figures() {
    let json = import(Format::GhzJson, &fixture("ghz.json"));
    assert_eq!(json.totals(), ["requests /demo.Echo.Say: 60", "response_time /demo.Echo.Say ok: 60"]);
    assert_eq!(json.figure("all calls", "count"), 60.0);
    let text = import(Format::GhzText, &fixture("ghz.txt"));
    assert_eq!((text.figure("all calls", "count"), text.reading.malformed, text.survey.dated), (60.0, 0, 0));
    for name in ["avg", "p95", "p99", "max"] {
        let (a, b) = (json.figure("all calls", name), text.figure("all calls", name));
        assert!(a > 0.5 && a < 100.0 && b > 0.5 && b < 100.0, "{name}: {a} and {b} ms");
    }
}

#[test]
fn vegetas_hits_end_at_their_start_plus_their_latency() {
    let results = import(Format::VegetaResults, &fixture("vegeta-results.json"));
    let text = results.totals().join("\n");
    insta::assert_snapshot!(text, @r"
    bytes_in list/GET http://127.0.0.1:8000/list: 192
    bytes_out list/GET http://127.0.0.1:8000/list: 0
    requests list/GET http://127.0.0.1:8000/list: 100
    response_time list/GET http://127.0.0.1:8000/list http_503: 10
    response_time list/GET http://127.0.0.1:8000/list ok: 86
    response_time list/GET http://127.0.0.1:8000/list timeout: 4
    ");
    let (timeouts, _) =
        results.run.keys().iter().find(|(_, key)| key.outcome == Some(Outcome::Timeout)).unwrap();
    let seconds: Vec<u32> = results
        .run
        .histograms(*timeouts, results.run.whole())
        .unwrap()
        .iter()
        .map(|(second, _)| *second)
        .collect();
    assert_eq!(seconds, [30, 31]);
    let report = import(Format::VegetaReport, &fixture("vegeta-report.json"));
    assert_eq!(
        (report.figure("all hits", "p99"), report.figure("all hits", "success")),
        (30_014.400_638, 0.86)
    );
}

/// The three encodings of one attack, two of them written by vegeta itself from the first.
#[test]
fn vegetas_encodings_say_the_same() {
    let json = import(Format::VegetaResults, &fixture("vegeta-encoded.json"));
    assert_eq!(json.totals().len(), 5, "{:?}", json.totals());
    for (format, file) in [(Format::VegetaCsv, "vegeta.csv"), (Format::VegetaBinary, "vegeta.bin")] {
        let other = import(format, &fixture(file));
        assert_eq!(other.reading.malformed, 0, "{file}");
        assert_eq!(other.totals(), json.totals(), "{file}");
        let (a, b) = (other.survey.span().unwrap(), json.survey.span().unwrap());
        assert_eq!((a.begin, a.end), (b.begin, b.end), "{file}");
        assert_eq!(import::recognise(&fixture(file)).unwrap(), format);
    }
    let bytes = fixture("vegeta.bin");
    let cut = import(Format::VegetaBinary, &bytes[..bytes.len() - 20]);
    assert_eq!((cut.reading.cut, cut.reading.malformed), (Some(20), 0));
    let mut broken = bytes.clone();
    // The number of the type of a value in the middle.
    let at =
        bytes.len() / 2 + bytes[bytes.len() / 2..].windows(4).position(|w| w == b"\xff\x80\x01\x04").unwrap();
    broken[at + 1] = 0x90;
    assert_eq!(import(Format::VegetaBinary, &broken).reading.malformed, 1);
}

#[test]
fn a_csv_without_the_requests_that_got_no_answer_says_so() {
    let hey = import(Format::HeyCsv, &fixture("hey.csv"));
    assert_eq!(import::recognise(&fixture("hey.csv")).unwrap(), Format::HeyCsv);
    let expected =
        ["requests /request: 30", "response_time /request http_503: 3", "response_time /request ok: 27"];
    assert_eq!(hey.totals(), expected);
    // 35 with status 200, 5 with 503, of 841 bytes in all, by the server's log; it closed 4 connections without an answer.
    let oha = import(Format::OhaCsv, &fixture("oha.csv"));
    let expected = [
        "bytes_in /request: 841",
        "requests /request: 40",
        "response_time /request http_503: 5",
        "response_time /request ok: 35",
    ];
    assert_eq!(oha.totals(), expected);
    let span = oha.survey.span().unwrap();
    // The first began after 3.17 ms, the last after 1,076.03 ms and took 11.74 ms.
    assert_eq!((span.begin, span.end), (3_171_357, 1_087_771_683));
    let broken = [&fixture("oha.csv")[..], b"1,0,0,0,x,5,200\n"].concat();
    assert_eq!(import(Format::OhaCsv, &broken).reading.malformed, 1);
}

#[test]
fn fortios_figures_are_in_milliseconds_and_add_up() {
    let fortio = import(Format::FortioJson, &fixture("fortio.json"));
    assert_eq!(
        (fortio.survey.contradictory, fortio.survey.facts["started"].as_str()),
        (0, "2026-11-29T11:47:31.203596566Z")
    );
    let figure = |name| fortio.figure("all requests", name);
    // 50 with status 200, 9 with 503 and one without an answer, by the server's log.
    assert_eq!(["count", "status 200", "status 503", "status -1"].map(figure), [60.0, 50.0, 9.0, 1.0]);
    assert!((figure("avg") - 9.488_512_95).abs() < 1e-9 && (figure("max") - 20.420_302).abs() < 1e-9);
    let summary = &fortio.survey.summaries[0];
    assert_eq!((summary.requests, summary.failed), (Some(60), Some(10)));
    // Its p50 is 8.89 ms, and all that is known is that 22 of 60 took 8 ms or less, and 31 took 9 ms or less.
    let quantiles = &summary.times[0].quantiles;
    let shares: Vec<(u64, f64)> =
        quantiles.iter().map(|stated| ((stated.q * 60.0).round() as u64, stated.ms)).collect();
    assert_eq!(shares[1..3], [(9, 3.0), (11, 4.0)]);
    assert!(shares.contains(&(22, 8.0)) && shares.contains(&(31, 9.0)), "{shares:?}");
}

#[test]
fn a_file_that_ends_in_the_middle_of_a_line_is_read_up_to_there() {
    for (format, file, whole) in [
        (Format::K6Ndjson, "k6.ndjson", 391),
        (Format::K6Csv, "k6.csv", 374),
        (Format::VegetaResults, "vegeta-results.json", 100),
    ] {
        let bytes = fixture(file);
        let cut = import(format, &bytes[..bytes.len() - 20]);
        assert_eq!((cut.reading.cut, cut.reading.malformed), (Some(whole), 0), "{file}");
    }
    let bytes = fixture("ghz.json");
    let cut = import(Format::GhzJson, &bytes[..bytes.len() - 200]);
    assert_eq!(cut.reading.cut, Some(cut.reading.records + 1));
    assert!(cut.reading.records > 50);
}

#[test]
fn lines_out_of_order_give_the_same_totals() {
    let text = String::from_utf8(fixture("vegeta-results.json")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    let reversed = import(Format::VegetaResults, (lines.join("\n") + "\n").as_bytes());
    assert_eq!(reversed.totals(), import(Format::VegetaResults, text.as_bytes()).totals());
}

#[test]
fn names_beyond_the_limit_are_counted_as_one() {
    let line = |n: u32| {
        format!(
            "{{\"code\":200,\"timestamp\":\"2026-11-21T09:30:00Z\",\"latency\":5,\"method\":\"GET\",\"url\":\"/{n}\"}}\n"
        )
    };
    let text: String = (0..1_500).map(line).collect();
    let mut run = MemoryRun::new(import(Format::VegetaResults, line(0).as_bytes()).run.manifest().clone());
    let span = RunSpan { begin: 0, end: 2_000_000_000_000_000_000 };
    let mut filler = Filler::new(&mut run, span);
    import::read(Format::VegetaResults, &mut text.as_bytes(), &mut filler).unwrap();
    assert_eq!(filler.finish().unwrap(), 501);
    let others = run.keys().iter().filter(|(_, key)| &*key.endpoint == "(others)").count();
    assert_eq!((others, run.keys().len()), (4, 1_000 * 4));
}

#[test]
fn files_as_their_tools_wrote_them_contradict_nothing() {
    let files = |names: &[(Format, &str)]| -> Vec<Survey> {
        names.iter().map(|(format, name)| import(*format, &fixture(name)).survey).collect()
    };
    for names in [
        vec![(Format::K6Ndjson, "k6.ndjson"), (Format::K6Summary, "k6-summary.json")],
        vec![(Format::K6Csv, "k6.csv"), (Format::K6Summary, "k6-summary-export.json")],
        vec![(Format::K6Ndjson, "k6.ndjson"), (Format::K6Summary, "k6-summary-machine-readable.json")],
        vec![(Format::K6Summary, "k6-failing.json")],
        vec![(Format::GhzJson, "ghz.json")],
        vec![(Format::GhzText, "ghz.txt")],
        vec![(Format::GhzText, "ghz-failing.txt")],
        vec![(Format::VegetaResults, "vegeta-results.json"), (Format::VegetaReport, "vegeta-report.json")],
        vec![(Format::VegetaReport, "vegeta-report.json")],
        vec![
            (Format::LocustStats, "locust_stats.csv"),
            (Format::LocustHistory, "locust_stats_history.csv"),
            (Format::LocustFailures, "locust_failures.csv"),
        ],
        vec![(Format::OhaJson, "oha.json")],
        vec![(Format::FortioJson, "fortio.json")],
        vec![(Format::JmeterCsv, "jmeter.csv")],
        vec![(Format::JmeterXml, "jmeter.xml")],
        vec![(Format::GatlingLog, "gatling.log")],
        vec![(Format::HdrLog, "ten.hlog")],
    ] {
        let surveys = files(&names);
        let surveys: Vec<&Survey> = surveys.iter().collect();
        let mut found = import::contradictions(&surveys, false);
        found.extend(surveys.iter().flat_map(|survey| survey.contradictions.clone()));
        assert_eq!(found, [], "{names:?}");
    }
}

#[test]
fn an_unsupported_file_is_refused_with_what_to_do() {
    let refusal = |head: &[u8]| import::recognise(head).unwrap_err().to_string();
    assert!(refusal(b"hello").contains("in none of the supported formats"));
    assert!(refusal(b"{\"a\": 1}").contains("is JSON, but"));
    assert!(refusal(b"\x89PNG\r\n\x1a\n\0\0").contains("is not text"));
    let bomb = "[".repeat(100_000);
    assert!(import::read(Format::K6Summary, &mut bomb.as_bytes(), &mut Survey::default()).is_err());
}
