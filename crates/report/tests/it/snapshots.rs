//! Every report of the sample run.

use evidence::Ending;
use report::{Detail, Style, Summary};

use crate::{forms, sample_run};

/// The digest of the sample's evidence.
const DIGEST: &str = "3e33e61f61ea0455c76c632cb91d7a047f7fbc692a42ace9667b0559fd02dc36";

fn demo() -> Summary {
    let run = sample_run::run(105, Some(Ending::Completed));
    let mut summary = Summary::of(&run, &sample_run::workload(), &sample_run::judgement())
        .expect("memory can be read")
        .with_files(&[("evidence", "demo.plimsoll")]);
    summary.header.digest = Some(DIGEST.to_owned());
    summary
}

/// The terminal's page up to the totals of the whole run, and the totals.
fn terminal() -> (String, String) {
    let page = forms::terminal(&demo(), Style::Plain, 80, Detail::Full);
    let (tables, totals) =
        page.split_at(page.find("\narrivals ").expect("the totals begin with arrivals") + 1);
    (tables.to_owned(), totals.to_owned())
}

#[test]
fn the_terminal_starts_with_the_numbers_and_fits_80_columns() {
    insta::assert_snapshot!(terminal().0, @r#"
    FAIL  demo · 2026-11-21T10:40:19Z · 1 min 45 s · completed

    Phase ramp  0 to 10 s
    endpoint         dropped  requests    failed      p50       p95       p99
    list challenges        0     1,051       0 %  2.48 ms   4.66 ms  ~6.11 ms
    set active             0       226       0 %  5.16 ms  ~11.7 ms  ~15.5 ms
    initialize             0       148   0.676 %  8.99 ms  ~17.9 ms  ~24.1 ms
    claim                  0        75       0 %  6.65 ms  ~15.5 ms  ~49.3 ms
    (all requests)         0     1,500  0.0667 %  3.03 ms   10.6 ms  ~17.4 ms

    Phase initialize  10 to 30 s
    endpoint         dropped  requests    failed      p50       p95       p99
    initialize             0     6,000  0.0167 %  9.08 ms   17.3 ms   23.7 ms

    Phase gameplay  30 to 105 s
    endpoint         dropped  requests    failed      p50       p95       p99
    list challenges       20    15,730   0.318 %  2.50 ms   5.23 ms    366 ms
    set active             4     3,371   0.119 %  5.29 ms   11.7 ms    395 ms
    initialize             2     2,248   0.489 %  9.41 ms   19.8 ms    362 ms
    claim                  0     1,125   0.267 %  7.00 ms   14.7 ms   ~427 ms
    stat event             0    30,000   0.137 %   975 µs   2.04 ms    423 ms
    login event            0     7,500   0.120 %  1.38 ms   2.89 ms    428 ms
    (all requests)        26    59,974   0.197 %  1.42 ms   9.60 ms    407 ms
    Response times of successes, from the instant a request was due to its last
    byte. ~ marks a quantile with fewer than 20 samples above it.

    Failures  0.178 % of 67,474 requests
    50  status UNAVAILABLE  gRPC status UNAVAILABLE: draining
                            by endpoint: stat event 41 · login event 9
    43  status 503          list challenges: status 503, expected 200 ·
                            {"errorCode": 20008, "message": "too busy: <write queue>
                            is full"}
                            by endpoint: list challenges 33 · initialize 8 · set
                            active 2
    14  status 500          claim: status 500, expected 200 · {"errorCode": 20008,
                            "message": "too busy: <write queue> is full"}
                            by endpoint: list challenges 8 · initialize 5 · claim 1
    13  timeout             list challenges: no complete response within 10 s ·
                            {"errorCode": 20008, "message": "too busy: <write queue>
                            is full"}
                            by endpoint: list challenges 9 · claim 2 · set active 2
    "#);
}

#[test]
fn the_terminal_ends_with_the_totals_the_verdict_and_the_findings() {
    insta::assert_snapshot!(terminal().1, @r"
    arrivals   67,500 due, 67,474 started, 26 dropped: VU limit 26, generator late 0
      play     30,000 due, 29,974 started, 26 dropped: VU limit 26, generator late 0
      events   37,500 due, 37,500 started, 0 dropped: VU limit 0, generator late 0
    users      play needed about 3.5 virtual users (Little's law), used at most 10
               of 200 allowed
    requests   67,474 ended, 120 failed · grpc:UNAVAILABLE 50 · http_503 43 ·
               http_5xx 14 · timeout 13
    statuses   OK × 37,450 · 200 × 29,904 · UNAVAILABLE × 50 · 503 × 43 · 500 × 14 ·
               no response × 13
    CPU        generator 12.6 CPU-s (0.187 CPU-s per 1,000 requests, whole run);
               challenge 62.5 CPU-s (0.926 CPU-s per 1,000 requests, whole run)
    start lag  p50 55 µs, p99 141 µs, max 1.11 ms

    FAIL  1 of 5 objectives was violated: the error rate of few_errors was 0.187 %,
          the limit is below 0.1 %.

    Objectives
    FAIL  few_errors  error_rate(all) < 0.1%
          0.187 % · limit < 0.1 % · interval 0.161 % to 0.216 % · n = 15,750
          147 of 78,431 arrivals failed or were dropped.
    INCONCLUSIVE  set_fast  p95(set active, phase = gameplay) < 20ms
          19.997 ms · limit < 20 ms · interval ≥ 18.200 ms · n = 15,750
          The interval contains the limit: a longer run would decide.
    PASS  list_fast  p95(list challenges, phase = gameplay) < 50ms
          6.32 ms · limit < 50 ms · interval 6.21 ms to 6.44 ms · n = 15,750
    PASS  goodput  goodput(phase = gameplay, within = 50ms) >= 780/s
          787.4/s · limit ≥ 780/s · interval 784.9/s to 789.8/s · n = 15,750
    PASS  cpu  mean(cpu, target = challenge) < 0.85
          0.621 cores · limit < 0.85 cores · n = 15,750

    Findings
    fail  O1 objective-missed
      –   objective few_errors: 0.187 % of 78,431 arrivals failed or were dropped;
          the limit is below 0.1 %.
    why   Each of these is a user without a response.
    next  Look at the failed exchanges below; nearly all fall into seconds 71 and
          72.
    caution  L4 closed-loop-or-capped
      –   phase gameplay: For 1.9 s all 200 virtual users were in use and 30
          arrivals were dropped.
    why   While arrivals are dropped at the VU limit, the load is not the planned
          load, and the longest waits are missing.
    next  Raise max_vus to at least rate × timeout, or find what stalled the target
          at 1:11.

    exchanges  3 failed, 3 slowest (full text in the HTML report)
    evidence   demo.plimsoll
    digest     3e33e61f61ea0455c76c632cb91d7a047f7fbc692a42ace9667b0559fd02dc36
    ");
}

#[test]
fn findings_are_a_line_each_unless_they_are_asked_for_in_full() {
    let page = forms::terminal(&demo(), Style::Plain, 80, Detail::Brief);
    let (_, end) = page.split_once("\nFindings").expect("it has findings");
    insta::assert_snapshot!(end, @r"
        -v: in full, with why and what next
      fail  O1 objective-missed
            objective few_errors: 0.187 % of 78,431 arrivals failed or were dropped;
            the limit is below 0.1 %.
      caution  L4 closed-loop-or-capped
            phase gameplay: For 1.9 s all 200 virtual users were in use and 30
            arrivals were dropped.

      exchanges  3 failed, 3 slowest (full text in the HTML report)
      evidence   demo.plimsoll
      digest     3e33e61f61ea0455c76c632cb91d7a047f7fbc692a42ace9667b0559fd02dc36
      ");
}

#[test]
fn markdown_has_verdict_claims_findings_and_endpoints() {
    insta::assert_snapshot!(forms::markdown(&demo()), @r#"
    ## ❌ FAIL: demo · 2026-11-21T10:40:19Z · 1 min 45 s · completed

    1 of 5 objectives was violated: the error rate of few\_errors was 0.187 %, the limit is below 0.1 %.


    ### Objectives

    | | claim | observed | limit | interval | n |
    | --- | --- | ---: | ---: | ---: | ---: |
    | ❌ FAIL | **few\_errors** error\_rate(all) &lt; 0.1% · 26 dropped at the VU limit count as failed<br>147 of 78,431 arrivals failed or were dropped. | 0.187 % | &lt; 0.1 % | 0.161 % to 0.216 % | 15,750 |
    | ❔ INCONCLUSIVE | **set\_fast** p95(set active, phase = gameplay) &lt; 20ms · of successes alone 12.6 ms: 146 that failed or were dropped count as infinitely slow<br>The interval contains the limit: a longer run would decide. | 19.997 ms | &lt; 20 ms | ≥ 18.200 ms | 15,750 |
    | ✅ PASS | **list\_fast** p95(list challenges, phase = gameplay) &lt; 50ms | 6.32 ms | &lt; 50 ms | 6.21 ms to 6.44 ms | 15,750 |
    | ✅ PASS | **goodput** goodput(phase = gameplay, within = 50ms) &gt;= 780/s | 787.4/s | ≥ 780/s | 784.9/s to 789.8/s | 15,750 |
    | ✅ PASS | **cpu** mean(cpu, target = challenge) &lt; 0.85 | 0.621 cores | &lt; 0.85 cores | – | 15,750 |

    **Phase ramp** 0 to 10 s

    | endpoint | dropped | requests | throughput | failures | failed | avg | p50 | p95 | p99 | max | received | sent |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | list challenges | 0 | 1,051 | 105.1/s | 0 | 0 % | 2.68 ms | 2.48 ms | 4.66 ms | \~6.11 ms | 17.8 ms | 1.84 MiB | 220 KiB |
    | set active | 0 | 226 | 22.60/s | 0 | 0 % | 5.76 ms | 5.16 ms | \~11.7 ms | \~15.5 ms | 31.7 ms | 406 KiB | 47.2 KiB |
    | initialize | 0 | 148 | 14.80/s | **1** | **0.676 %** | 10.3 ms | 8.99 ms | \~17.9 ms | \~24.1 ms | 67.6 ms | 266 KiB | 30.9 KiB |
    | claim | 0 | 75 | 7.500/s | 0 | 0 % | 8.06 ms | 6.65 ms | \~15.5 ms | \~49.3 ms | 49.3 ms | 135 KiB | 15.7 KiB |
    | (all requests) | 0 | 1,500 | 150.0/s | **1** | **0.0667 %** | 4.16 ms | 3.03 ms | 10.6 ms | \~17.4 ms | 67.6 ms | 2.63 MiB | 313 KiB |

    **Phase initialize** 10 to 30 s

    | endpoint | dropped | requests | throughput | failures | failed | avg | p50 | p95 | p99 | max | received | sent |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | initialize | 0 | 6,000 | 300.0/s | **1** | **0.0167 %** | 9.92 ms | 9.08 ms | 17.3 ms | 23.7 ms | 142 ms | 10.5 MiB | 1.22 MiB |

    **Phase gameplay** 30 to 105 s

    | endpoint | dropped | requests | throughput | failures | failed | avg | p50 | p95 | p99 | max | received | sent |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | list challenges | **20** | 15,730 | 209.7/s | **50** | **0.318 %** | 10.2 ms | 2.50 ms | 5.23 ms | 366 ms | 666 ms | 27.6 MiB | 3.21 MiB |
    | set active | **4** | 3,371 | 44.95/s | **4** | **0.119 %** | 13.8 ms | 5.29 ms | 11.7 ms | 395 ms | 664 ms | 5.92 MiB | 704 KiB |
    | initialize | **2** | 2,248 | 29.97/s | **11** | **0.489 %** | 17.5 ms | 9.41 ms | 19.8 ms | 362 ms | 660 ms | 3.94 MiB | 470 KiB |
    | claim | 0 | 1,125 | 15.00/s | **3** | **0.267 %** | 16.1 ms | 7.00 ms | 14.7 ms | \~427 ms | 662 ms | 1.97 MiB | 235 KiB |
    | stat event | 0 | 30,000 | 400.0/s | **41** | **0.137 %** | 9.89 ms | 975 µs | 2.04 ms | 423 ms | 700 ms | 52.6 MiB | 6.12 MiB |
    | login event | 0 | 7,500 | 100.0/s | **9** | **0.120 %** | 10.4 ms | 1.38 ms | 2.89 ms | 428 ms | 694 ms | 13.2 MiB | 1.53 MiB |
    | (all requests) | **26** | 59,974 | 799.7/s | **118** | **0.197 %** | 10.6 ms | 1.42 ms | 9.60 ms | 407 ms | 700 ms | 105 MiB | 12.2 MiB |

    Response times of successes, from the instant a request was due to its last byte. \~ marks a quantile with fewer than 20 samples above it.

    ### Failures (0.178 % of 67,474 requests)

    - **50 status UNAVAILABLE** gRPC status UNAVAILABLE: draining
    - by endpoint: stat event 41 · login event 9
    - **43 status 503** list challenges: status 503, expected 200 · {"errorCode": 20008, "message": "too busy: &lt;write queue&gt; is full"}
    - by endpoint: list challenges 33 · initialize 8 · set active 2
    - **14 status 500** claim: status 500, expected 200 · {"errorCode": 20008, "message": "too busy: &lt;write queue&gt; is full"}
    - by endpoint: list challenges 8 · initialize 5 · claim 1
    - **13 timeout** list challenges: no complete response within 10 s · {"errorCode": 20008, "message": "too busy: &lt;write queue&gt; is full"}
    - by endpoint: list challenges 9 · claim 2 · set active 2

    ### Findings

    **fail O1 objective-missed**

    | where | what |
    | --- | --- |
    | objective few\_errors | 0.187 % of 78,431 arrivals failed or were dropped; the limit is below 0.1 %. |

    Each of these is a user without a response. _Next:_ Look at the failed exchanges below; nearly all fall into seconds 71 and 72.

    **caution L4 closed-loop-or-capped**

    | where | what |
    | --- | --- |
    | phase gameplay | For 1.9 s all 200 virtual users were in use and 30 arrivals were dropped. |

    While arrivals are dropped at the VU limit, the load is not the planned load, and the longest waits are missing. _Next:_ Raise max\_vus to at least rate × timeout, or find what stalled the target at 1:11.

    - **arrivals** 67,500 due, 67,474 started, 26 dropped: VU limit 26, generator late 0
      - **play** 30,000 due, 29,974 started, 26 dropped: VU limit 26, generator late 0
      - **events** 37,500 due, 37,500 started, 0 dropped: VU limit 0, generator late 0
    - **users** play needed about 3.5 virtual users (Little's law), used at most 10 of 200 allowed
    - **requests** 67,474 ended, 120 failed · grpc:UNAVAILABLE 50 · http\_503 43 · http\_5xx 14 · timeout 13
    - **statuses** OK × 37,450 · 200 × 29,904 · UNAVAILABLE × 50 · 503 × 43 · 500 × 14 · no response × 13
    - **CPU** generator 12.6 CPU-s (0.187 CPU-s per 1,000 requests, whole run); challenge 62.5 CPU-s (0.926 CPU-s per 1,000 requests, whole run)
    - **start lag** p50 55 µs, p99 141 µs, max 1.11 ms

    - **exchanges** 3 failed, 3 slowest (full text in the HTML report)
    - **evidence** demo.plimsoll
    - **digest** 3e33e61f61ea0455c76c632cb91d7a047f7fbc692a42ace9667b0559fd02dc36
    "#);
}

#[test]
fn junit_has_a_failure_for_a_violated_claim_and_an_error_for_an_undecided_one() {
    insta::assert_snapshot!(forms::junit(&demo()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="plimsoll" tests="6" skipped="0" failures="1" errors="1" time="105.000">
        <testsuite name="demo" tests="6" skipped="0" errors="1" failures="1" time="105.000">
            <properties>
                <property name="verdict" value="FAIL"/>
                <property name="workload_digest" value="9f2c6e0b7a4d4b6f8f0f3d0c1a7e5b92c4d8e6f1a2b3c4d5e6f708192a3b4c5d"/>
                <property name="started_at" value="2026-11-21T10:40:19Z"/>
            </properties>
            <testcase name="(the whole run)" classname="demo">
                <system-out>FAIL: 1 of 5 objectives was violated: the error rate of few_errors was 0.187 %, the limit is below 0.1 %.
    O1 objective-missed (fail): 0.187 % of 78,431 arrivals failed or were dropped; the limit is below 0.1 %.
    L4 closed-loop-or-capped (caution): For 1.9 s all 200 virtual users were in use and 30 arrivals were dropped.</system-out>
            </testcase>
            <testcase name="list_fast" classname="demo">
                <system-out>PASS: p95(list challenges, phase = gameplay) &lt; 50ms: 6.32 ms, limit &lt; 50 ms: OK, interval 6.21 ms to 6.44 ms, each end at 95 %, n = 15,750</system-out>
            </testcase>
            <testcase name="set_fast" classname="demo">
                <error message="p95(set active, phase = gameplay) &lt; 20ms: 19.997 ms (of successes alone 12.6 ms: 146 that failed or were dropped count as infinitely slow), limit &lt; 20 ms: not decided, interval ≥ 18.200 ms, each end at 95 %, n = 15,750" type="INCONCLUSIVE">The interval contains the limit: a longer run would decide.</error>
            </testcase>
            <testcase name="few_errors" classname="demo">
                <failure message="error_rate(all) &lt; 0.1%: 0.187 % (26 dropped at the VU limit count as failed), limit &lt; 0.1 %: violated, interval 0.161 % to 0.216 %, each end at 95 %, n = 15,750" type="FAIL">147 of 78,431 arrivals failed or were dropped.</failure>
            </testcase>
            <testcase name="goodput" classname="demo">
                <system-out>PASS: goodput(phase = gameplay, within = 50ms) &gt;= 780/s: 787.4/s, limit ≥ 780/s: OK, interval 784.9/s to 789.8/s, each end at 95 %, n = 15,750</system-out>
            </testcase>
            <testcase name="cpu" classname="demo">
                <system-out>PASS: mean(cpu, target = challenge) &lt; 0.85: 0.621 cores, limit &lt; 0.85 cores: OK, n = 15,750</system-out>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn json_has_its_schema_and_the_documented_fields() {
    let json: serde_json::Value = serde_json::from_str(&forms::json(&demo())).expect("it is JSON");
    let keys: Vec<&String> = json.as_object().expect("an object").keys().collect();
    insta::assert_debug_snapshot!(keys, @r#"
    [
        "accounting",
        "because",
        "checks",
        "claims",
        "connections",
        "cpu",
        "endpoints",
        "failures",
        "findings",
        "generator",
        "headline",
        "phases",
        "rules_version",
        "run",
        "scenarios",
        "schema",
        "series",
        "statuses",
        "totals",
        "verdict",
    ]
    "#);
    let part = |field: &str| {
        field
            .split('/')
            .fold(&json, |value, key| match key.parse::<usize>() {
                Ok(index) => &value[index],
                Err(_) => &value[key],
            })
            .to_string()
    };
    let parts = [
        "schema",
        "verdict",
        "run/end",
        "run/digest",
        "accounting",
        "claims/1",
        "endpoints/1",
        "cpu/0",
        "checks/0",
    ]
    .map(part);
    insta::assert_snapshot!(parts.join("\n"), @r#"
    "plimsoll.report/2"
    "FAIL"
    {"how":"completed"}
    "3e33e61f61ea0455c76c632cb91d7a047f7fbc692a42ace9667b0559fd02dc36"
    {"arrivals":{"dropped_cap":26,"dropped_late":0,"scheduled":67500,"started":67474},"by_outcome":{"grpc:UNAVAILABLE":50,"http_503":43,"http_5xx":14,"ok":67354,"timeout":13},"cancelled":0,"completed":67474,"failed":120,"ok":67354,"requests":67474,"requests_in_flight":0}
    {"bound":{"name":"bound","unit":"ms","value":20.0},"interval":[18.2,null],"name":"set_fast","observed":{"name":"observed","unit":"ms","value":19.997},"reasons":["The interval contains the limit: a longer run would decide."],"samples":15750,"text":"p95(set active, phase = gameplay) < 20ms","verdict":"INCONCLUSIVE"}
    {"arrivals":{"dropped_cap":0,"dropped_late":0,"scheduled":226,"started":226},"by_outcome":{"ok":226},"bytes_in":415840,"bytes_out":48364,"completed":226,"endpoint":"set active","goodput_per_s":22.6,"iteration_time":{"avg_ms":null,"count":0,"max_ms":null,"p50_ms":null,"p90_ms":null,"p95_ms":null,"p99_ms":null},"phase":"ramp","requests":226,"response_time":{"avg_ms":5.756933628318584,"count":226,"max_ms":31.727,"p50_ms":5.155,"p90_ms":8.226799999999999,"p95_ms":11.6769,"p99_ms":15.53318},"scenario":"play","service_time":{"avg_ms":5.696827433628318,"count":226,"max_ms":31.663,"p50_ms":5.095,"p90_ms":8.1692,"p95_ms":11.61845,"p99_ms":15.46918},"statuses":[{"count":226,"outcome":"ok","status":"200"}],"throughput_per_s":22.6}
    {"covered_s":104.999999999,"cpu_seconds":12.602564974780565,"mean_cores":0.12002442833238657,"note":"","per_1000_requests_s":0.1867766098761088,"requests":67474,"seconds":[[0,105]],"target":"generator"}
    {"endpoint":"login event","failed":9,"name":"grpc status","passed":7491,"scenario":"events"}
    "#);
}

/// The table of the first phase, without its caption.
fn first_table(page: &str) -> String {
    let (_, rest) = page.split_once("\nPhase ramp  0 to 10 s\n").expect("it has the phase");
    rest.split("\n\n").next().expect("a table").to_owned()
}

#[test]
fn percentiles_that_were_chosen_take_the_place_of_the_usual_ones_in_every_form() {
    let chosen = || demo().with_percentiles("99.9,50,75".parse().expect("percentiles"));
    let wide = forms::terminal(&chosen(), Style::Plain, 200, Detail::Brief);
    insta::assert_snapshot!(first_table(&wide), @r"
    endpoint            due  dropped  requests  throughput  failures    failed      avg      p50       p75     p99.9      max  received      sent  service p50  service p95
    list challenges   1,051        0     1,051     105.1/s         0       0 %  2.68 ms  2.48 ms   3.26 ms  ~7.92 ms  17.8 ms  1.84 MiB   220 KiB      2.42 ms      4.60 ms
    set active          226        0       226     22.60/s         0       0 %  5.76 ms  5.16 ms   6.62 ms  ~31.7 ms  31.7 ms   406 KiB  47.2 KiB      5.09 ms     ~11.6 ms
    initialize          148        0       148     14.80/s         1   0.676 %  10.3 ms  8.99 ms   12.2 ms  ~67.6 ms  67.6 ms   266 KiB  30.9 KiB      8.92 ms     ~17.8 ms
    claim                75        0        75     7.500/s         0       0 %  8.06 ms  6.65 ms  ~8.51 ms  ~49.3 ms  49.3 ms   135 KiB  15.7 KiB      6.59 ms     ~15.4 ms
    (all requests)    1,500        0     1,500     150.0/s         1  0.0667 %  4.16 ms  3.03 ms   4.81 ms  ~49.3 ms  67.6 ms  2.63 MiB   313 KiB      2.97 ms      10.5 ms
    ");
    let narrow = forms::terminal(&chosen(), Style::Plain, 60, Detail::Brief);
    insta::assert_snapshot!(first_table(&narrow), @r"
    endpoint     requests    failed      p50       p75     p99.9
    list chall…     1,051       0 %  2.48 ms   3.26 ms  ~7.92 ms
    set active        226       0 %  5.16 ms   6.62 ms  ~31.7 ms
    initialize        148   0.676 %  8.99 ms   12.2 ms  ~67.6 ms
    claim              75       0 %  6.65 ms  ~8.51 ms  ~49.3 ms
    (all reque…     1,500  0.0667 %  3.03 ms   4.81 ms  ~49.3 ms
    ");
    let (markdown, html) = (forms::markdown(&chosen()), forms::html(&chosen()));
    assert!(markdown.contains("| avg | p50 | p75 | p99.9 | max |"), "{markdown}");
    for head in ["p50", "p75", "p99.9"] {
        assert!(html.contains(&format!(">{head}</th>")), "{head}");
    }
    let json: serde_json::Value = serde_json::from_str(&forms::json(&chosen())).expect("it is JSON");
    let row = &json["endpoints"][0];
    let of = &row["percentiles"];
    assert_eq!(of[0], serde_json::json!({"percentile": 50.0, "time_ms": row["response_time"]["p50_ms"]}));
    assert_eq!((&of[1]["percentile"], &of[2]["percentile"]), (&75.0.into(), &99.9.into()));
    assert!(json["totals"][0]["percentiles"][2]["time_ms"].is_number());
    assert!(
        serde_json::from_str::<serde_json::Value>(&forms::json(&demo()))
            .is_ok_and(|usual| usual["endpoints"][0]["percentiles"].is_null())
    );
}

#[test]
fn the_mean_and_the_bytes_are_shown_where_the_width_allows_it() {
    let wide = forms::terminal(&demo(), Style::Plain, 200, Detail::Brief);
    insta::assert_snapshot!(first_table(&wide), @r"
    endpoint            due  dropped  requests  throughput  failures    failed      avg      p50       p90       p95       p99      max  received      sent  service p50  service p95
    list challenges   1,051        0     1,051     105.1/s         0       0 %  2.68 ms  2.48 ms   4.08 ms   4.66 ms  ~6.11 ms  17.8 ms  1.84 MiB   220 KiB      2.42 ms      4.60 ms
    set active          226        0       226     22.60/s         0       0 %  5.76 ms  5.16 ms   8.23 ms  ~11.7 ms  ~15.5 ms  31.7 ms   406 KiB  47.2 KiB      5.09 ms     ~11.6 ms
    initialize          148        0       148     14.80/s         1   0.676 %  10.3 ms  8.99 ms  ~16.8 ms  ~17.9 ms  ~24.1 ms  67.6 ms   266 KiB  30.9 KiB      8.92 ms     ~17.8 ms
    claim                75        0        75     7.500/s         0       0 %  8.06 ms  6.65 ms  ~12.8 ms  ~15.5 ms  ~49.3 ms  49.3 ms   135 KiB  15.7 KiB      6.59 ms     ~15.4 ms
    (all requests)    1,500        0     1,500     150.0/s         1  0.0667 %  4.16 ms  3.03 ms   7.68 ms   10.6 ms  ~17.4 ms  67.6 ms  2.63 MiB   313 KiB      2.97 ms      10.5 ms
    ");
}
