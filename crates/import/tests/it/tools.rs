//! Files of JMeter, Gatling, Locust and oha.

use evidence::manifest::{RequestSummary, StatedQuantile};
use import::{Format, Survey};

use super::{Imported, fixture, import};

fn totals(imported: &Imported) -> String {
    imported.totals().join("\n")
}

#[test]
fn jmeters_csv_and_xml_give_the_same_requests() {
    let csv = import(Format::JmeterCsv, &fixture("jmeter.csv"));
    let xml = import(Format::JmeterXml, &fixture("jmeter.xml"));
    assert_eq!((csv.reading.malformed, xml.reading.malformed, xml.reading.cut), (0, 0, None));
    assert_eq!(csv.totals(), xml.totals());
    insta::assert_snapshot!(totals(&csv), @r"
    bytes_in Browse/buy: 1095
    bytes_in Browse/check: 1048
    bytes_in Browse/list: 2088
    bytes_in Browse/moved: 2223
    bytes_in Search/gone: 5084
    bytes_in Search/slow: 5354
    bytes_out Browse/buy: 1836
    bytes_out Browse/check: 1098
    bytes_out Browse/list: 2178
    bytes_out Browse/moved: 2187
    bytes_out Search/gone: 0
    bytes_out Search/slow: 0
    iteration_time checkout/: 9
    requests Browse/buy: 9
    requests Browse/check: 9
    requests Browse/list: 18
    requests Browse/moved: 9
    requests Search/gone: 2
    requests Search/slow: 2
    response_time Browse/buy http_503: 3
    response_time Browse/buy ok: 6
    response_time Browse/check check: 2
    response_time Browse/check ok: 7
    response_time Browse/list ok: 18
    response_time Browse/moved ok: 9
    response_time Search/gone refused: 2
    response_time Search/slow timeout: 2
    ");
    // From the first start to the last end.
    let span = csv.survey.span().unwrap();
    assert_eq!((span.begin, span.end), (1_795_409_384_619_000_000, 1_795_409_386_786_000_000));
    // Redirects are parts of `moved` in both.
    assert!(csv.survey.remarks[0].contains("`page-0` after `page`"), "{:?}", csv.survey.remarks);
    assert!(xml.survey.remarks.is_empty(), "{:?}", xml.survey.remarks);
}

#[test]
fn jmeters_columns_may_be_in_any_order_with_any_delimiter_and_dates() {
    let text = "label;success;elapsed;timeStamp\na;true;5;2026/11/22 09:00:00.250\na;true;x;1\nb;maybe;5;1795384823000\n";
    let imported = import(Format::JmeterCsv, text.as_bytes());
    assert_eq!(imported.totals(), ["requests /a: 1", "response_time /a ok: 1"]);
    assert_eq!(imported.reading.malformed, 2);
    assert_eq!(imported.reading.first_malformed(), Some((3, "`x` is not a duration in ms".to_owned())));
    assert!(imported.survey.remarks[0].contains("no time zone"), "{:?}", imported.survey.remarks);
}

#[test]
fn numbers_that_no_sample_has_are_malformed() {
    let header = "timeStamp,elapsed,label,success,bytes,allThreads,SampleCount\n";
    for (record, why) in [
        ("1795384823000,-5,a,true,,,", "`-5` is not a duration in ms"),
        ("1795384823000,1000000000000,a,true,,,", "`1000000000000` is not a duration in ms"),
        ("1795384823000,NaN,a,true,,,", "`NaN` is not a duration in ms"),
        ("1795384823000,5,a,true,-1,,", "`-1` is not a count of a sample"),
        ("1795384823000,5,a,true,,1000000000000,", "`1000000000000` is not a count of a sample"),
        ("9223372036854775807,5,a,true,,,", "`9223372036854775807` is not a time"),
        (
            "1795384823000,5,a,true,,,20",
            "`20` is not one sample: samples that were added up have no single times",
        ),
    ] {
        let imported = import(Format::JmeterCsv, format!("{header}{record}\n").as_bytes());
        assert_eq!(imported.reading.first_malformed(), Some((2, why.to_owned())));
        assert!(imported.totals().is_empty());
    }
}

#[test]
fn xml_that_ends_early_is_read_up_to_there_and_a_bomb_is_refused() {
    let bytes = fixture("jmeter.xml");
    let cut = import(Format::JmeterXml, &bytes[..bytes.len() - 250]);
    assert_eq!((cut.reading.records, cut.reading.cut), (57, Some(58)));
    let refused = |text: &str| {
        import::read(Format::JmeterXml, &mut text.as_bytes(), &mut Survey::default()).unwrap_err().to_string()
    };
    assert!(refused(&format!("<testResults>{}", "<a>".repeat(1_000))).contains("nested deeper than 100"));
    let long = format!("<testResults><sample lb=\"{}", "a".repeat(17 << 20));
    assert!(refused(&long).contains("longer than 16 MiB"), "{}", refused(&long));
    assert!(refused("<html></html>").contains("no `testResults`"));
}

#[test]
fn gatlings_log_gives_every_request_with_its_groups() {
    let imported = import(Format::GatlingLog, &fixture("gatling.log"));
    assert_eq!(imported.reading.malformed, 0);
    insta::assert_snapshot!(totals(&imported), @r"
    iteration_time checkout / payment/: 9
    iteration_time checkout/: 9
    requests /check: 9
    requests /checkout / payment / buy: 9
    requests /gone: 2
    requests /list: 9
    requests /slow: 2
    response_time /check check: 3
    response_time /check ok: 6
    response_time /checkout / payment / buy http_503: 3
    response_time /checkout / payment / buy ok: 6
    response_time /gone refused: 2
    response_time /list ok: 9
    response_time /slow timeout: 2
    ");
    assert_eq!(imported.survey.facts["version"], "3.11.5");
    assert!(imported.survey.unknown.contains("ERROR"));
}

#[test]
fn gatlings_logs_of_older_versions_have_users_and_scenarios() {
    let log = |version: &str, request: &str| {
        let text = format!("RUN\ta.B\tb\t1795384823000\t \t{version}\n{request}\n");
        import(Format::GatlingLog, text.as_bytes()).totals()[1].clone()
    };
    let times = "1795384823000\t1795384823012";
    assert_eq!(log("3.2.1", &format!("REQUEST\t7\t\tlist\t{times}\tOK\t ")), "response_time /list ok: 1");
    assert_eq!(
        log("2.3.0", &format!("REQUEST\tBrowse\t7\tshop\tlist\t{times}\tKO\tx")),
        "response_time Browse/shop / list check: 1"
    );
}

#[test]
fn times_that_no_request_has_are_malformed_in_gatlings_log() {
    for (request, why) in [
        ("list\t1795384823012\t1795384823000\tOK\t ", "its end is not after its start, or 31 days later"),
        ("list\t1795384823012\t1799999999999\tOK\t ", "its end is not after its start, or 31 days later"),
        ("list\tnow\t1795384823000\tOK\t ", "`now` is not a time in ms"),
        ("list\t1795384823000\t1795384823012\tok\t ", "a request without `OK` or `KO`"),
    ] {
        let text = format!("RUN\ta.B\tb\t1795384823000\t \t3.10.5\nREQUEST\t\t{request}\n");
        let imported = import(Format::GatlingLog, text.as_bytes());
        assert_eq!(imported.reading.first_malformed(), Some((2, why.to_owned())));
    }
}

#[test]
fn a_binary_log_of_gatling_is_refused_with_what_to_do() {
    let head = b"\0\0\0\0\x063.13.1\0\0\0\0\x16shop.BrowseSimulation\0";
    let why = import::recognise(head).unwrap_err().to_string();
    assert!(why.contains("binary `simulation.log`") && why.contains("Gatling 3.12.0"), "{why}");
}

fn summary<'s>(imported: &'s Imported, endpoint: &str) -> &'s RequestSummary {
    imported.survey.summaries.iter().find(|summary| summary.endpoint == endpoint).unwrap()
}

#[test]
fn locusts_statistics_are_figures_of_each_endpoint_and_of_all() {
    let imported = import(Format::LocustStats, &fixture("locust_stats.csv"));
    assert_eq!((imported.reading.malformed, imported.survey.dated, imported.survey.contradictory), (0, 0, 0));
    assert_eq!(imported.figure("all requests", "count"), 90.0);
    assert_eq!((imported.figure("GET list", "failed"), imported.figure("GET list", "p99")), (9.0, 69.0));
    let all = summary(&imported, "");
    assert_eq!((all.requests, all.failed, all.times[0].count), (Some(90), Some(13), 90));
    assert_eq!(summary(&imported, "buy").failed, Some(4));
}

#[test]
fn locusts_history_and_failures_add_series_and_errors() {
    let history = import(Format::LocustHistory, &fixture("locust_stats_history.csv"));
    assert_eq!((history.reading.malformed, history.survey.figures.len()), (0, 0));
    assert_eq!(history.survey.span().unwrap().seconds(), 6);
    let failures = import(Format::LocustFailures, &fixture("locust_failures.csv"));
    let error = "error: HTTPError('500 Server Error: Internal Server Error for url: buy')";
    assert_eq!(failures.figure("POST buy", error), 4.0);
    let refused = import::recognise(b"Count,Message,Traceback,Nodes\n").unwrap_err().to_string();
    assert!(refused.contains("`_stats.csv`"), "{refused}");
}

#[test]
fn locusts_numbers_that_no_run_has_are_left_out() {
    let text = "Type,Name,Request Count,Failure Count,95%\nGET,a,1000000000000,-2,NaN\n";
    let survey = import(Format::LocustStats, text.as_bytes()).survey;
    assert_eq!((survey.figures.len(), survey.contradictory), (0, 3));
}

#[test]
fn ohas_json_counts_errors_and_failing_statuses_as_failures() {
    let imported = import(Format::OhaJson, &fixture("oha.json"));
    assert_eq!((imported.survey.dated, imported.survey.contradictory), (0, 0));
    assert_eq!(
        (imported.figure("all requests", "p99"), imported.figure("all requests", "status 503")),
        (63.879_033, 12.0)
    );
    let all = summary(&imported, "");
    assert_eq!((all.requests, all.failed), (Some(200), Some(70)));
    let [successes, answered] = &all.times[..] else { panic!("{:?}", all.times) };
    assert_eq!(
        (successes.count, successes.failed, answered.count, answered.failed),
        (130, Some(0), 142, Some(12))
    );
    assert!(successes.quantiles.contains(&StatedQuantile { q: 0.95, ms: 55.884406 }));
}

#[test]
fn summaries_of_k6_ghz_and_vegeta_are_of_their_requests() {
    for file in ["k6-summary.json", "k6-summary-export.json", "k6-summary-machine-readable.json"] {
        let k6 = import(Format::K6Summary, &fixture(file));
        let all = summary(&k6, "");
        assert_eq!((all.requests, all.failed, all.checks_failed), (Some(30), Some(6), Some(1)), "{file}");
        // 5 iterations of 17 with 30 requests were dropped.
        assert_eq!((all.dropped, all.times.len(), all.times[1].count), (9, 2, 24), "{file}");
    }
    let ghz = import(Format::GhzText, &fixture("ghz.txt"));
    let all = summary(&ghz, "");
    assert_eq!((all.requests, all.failed, all.times[0].count), (Some(60), Some(0), 60));
    let vegeta = import(Format::VegetaReport, &fixture("vegeta-report.json"));
    assert_eq!((summary(&vegeta, "").requests, summary(&vegeta, "").failed), (Some(100), Some(14)));
}
