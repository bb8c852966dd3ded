//! Charts and cards as files of their own.

use evidence::{Ending, Verdict};
use report::{Background, Reported as _, Summary, VerdictCard, chart_files};

use crate::{sample_run, well_formed};

fn demo() -> Summary {
    let run = sample_run::run(105, Some(Ending::Completed));
    Summary::of(&run, &sample_run::workload(), &sample_run::judgement()).expect("memory can be read")
}

#[test]
fn every_chart_of_the_page_has_a_name_and_is_a_file_that_needs_nothing_else() {
    let document = demo().document();
    let charts = chart_files(&document);
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    insta::assert_snapshot!(names.join("\n"), @r"
    offered-load-and-throughput
    response-time-list-challenges
    response-time-set-active
    response-time-initialize
    response-time-claim
    response-time-stat-event
    response-time-login-event
    requests-in-flight
    cpu
    resident-memory
    distribution-ramp
    distribution-initialize
    distribution-gameplay
    ");
    let page = report::document::html(&document);
    assert_eq!(page.matches("<svg class=\"plot\"").count(), names.len(), "every chart of the page");
    for chart in &charts {
        for (background, paper) in [(Background::White, "#ffffff"), (Background::Dark, "#18202a")] {
            let svg = chart.svg(background);
            well_formed::check(&svg).unwrap_or_else(|why| panic!("{}: {why}", chart.name));
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
            assert!(svg.contains(&format!("fill=\"{paper}\"")), "{}", chart.name);
            let of_axis =
                if chart.name.starts_with("distribution") { "share of requests" } else { "run time, min:s" };
            assert!(svg.contains(of_axis), "{}: its x axis says what it shows", chart.name);
            for outside in ["var(", "href", "url(", "@import", "#888888"] {
                assert!(!svg.contains(outside), "{}: {outside}", chart.name);
            }
        }
    }
}

#[test]
fn each_colour_of_a_chart_is_one_of_its_style() {
    let document = demo().document();
    for chart in chart_files(&document) {
        let svg = chart.svg(Background::White);
        for line in svg.split("class=\"line ").skip(1) {
            let class = line.split(['"', ' ']).next().unwrap_or_default();
            assert!(svg.contains(&format!(".line.{class}{{stroke:#")), "{}: {class}", chart.name);
        }
    }
}

#[test]
fn a_card_has_the_elapsed_time_and_the_name_on_a_line_of_its_own() {
    let mut run = demo();
    run.header.elapsed_s = 18.3;
    run.header.name = "checkout of a basket".to_owned();
    run.judgement.verdict = Verdict::Inconclusive;
    let card = VerdictCard::new(&run);
    assert!(card.markdown().contains("2026-11-21T10:40:19Z · 18 s\n"), "{}", card.markdown());
    let svg = card.svg(Background::White);
    let baseline = |text: &str| {
        let before = svg.split(&format!(">{text}<")).next().unwrap_or_default();
        let line = before.rsplit("<text ").next().unwrap_or_default();
        line.split(" y=\"").nth(1).and_then(|y| y.split('"').next()).map(str::to_owned).expect("a text")
    };
    assert_ne!(baseline("INCONCLUSIVE"), baseline("checkout of a basket"));
}

#[test]
fn a_card_has_the_verdict_the_objectives_and_the_first_numbers() {
    let card = VerdictCard::new(&demo());
    insta::assert_snapshot!(card.markdown(), @r#"
    **❌ FAIL** demo · 2026-11-21T10:40:19Z · 1 min 45 s

    1 of 5 objectives was violated: the error rate of few\_errors was 0.187 %, the limit is below 0.1 %.

    | | objective | observed |
    | --- | --- | ---: |
    | ❌ FAIL | **few\_errors** error\_rate(all) &lt; 0.1% · 26 dropped at the VU limit count as failed | 0.187 % |
    | ❔ INCONCLUSIVE | **set\_fast** p95(set active, phase = gameplay) &lt; 20ms · of successes alone 12.6 ms: 146 that failed or were dropped count as infinitely slow | 19.997 ms |
    | ✅ PASS | **list\_fast** p95(list challenges, phase = gameplay) &lt; 50ms | 6.32 ms |
    | ✅ PASS | **goodput** goodput(phase = gameplay, within = 50ms) &gt;= 780/s | 787.4/s |
    | ✅ PASS | **cpu** mean(cpu, target = challenge) &lt; 0.85 | 0.621 cores |

    requests **59,974** · failed **0.197 %** · dropped **26** · throughput **799.7/s** · p50 **1.42 ms** · p95 **9.60 ms** · p99 **407 ms**

    Numbers of phase gameplay
    "#);
    for background in [Background::White, Background::Dark] {
        let svg = card.svg(background);
        well_formed::check(&svg).expect("it is well-formed");
        for part in [">FAIL<", ">demo<", "few_errors", ">0.187 %<", ">p95<", ">9.60 ms<", ">59,974<"] {
            assert!(svg.contains(part), "{part} is missing in {svg}");
        }
    }
}
