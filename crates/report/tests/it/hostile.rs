//! Names and bodies come from foreign targets and plans: none becomes markup, an escape code or a line that is too wide.

use evidence::memory::MemoryRun;
use evidence::visible::is_invisible;
use evidence::{
    Exemplar, ExemplarKind, Instant, Judgement, Key, Metric, Notice, NoticeKind, Observed, Outcome, Sink as _,
};
use proptest::prelude::*;
use report::{Background, Detail, Reported as _, Style, Summary, VerdictCard, chart_files};

use crate::{forms, sample_run, well_formed};

fn summary(name: &str, micros: u64) -> Summary {
    let mut manifest = sample_run::manifest();
    manifest.name = name.to_owned();
    manifest.environment.insert(name.to_owned(), name.to_owned());
    let mut run = MemoryRun::new(manifest);
    let key = Key::of(Metric::ResponseTime).scenario(name).phase(name).endpoint(name);
    run.record(&key.clone().outcome(Outcome::Ok), 3, micros, 1_000);
    run.record(&key.clone().outcome(Outcome::Check), 3, micros, 7);
    run.add(&Key { metric: Metric::Scheduled, ..key.clone() }, 3, 1_010);
    run.add(&Key { metric: Metric::DroppedCap, ..key.clone() }, 3, 3);
    run.add(&Key { metric: Metric::CheckFailed, ..key }.tag("check", name), 3, 7);
    run.keep(Exemplar {
        kind: ExemplarKind::Failed,
        scenario: name.into(),
        endpoint: name.into(),
        phase: name.into(),
        outcome: Outcome::Check,
        due: Instant::from_nanos(1),
        response_time_ns: 5,
        service_time_ns: 0,
        request: name.to_owned(),
        request_headers: vec![(name.to_owned(), name.to_owned())],
        request_body: name.to_owned(),
        status: None,
        response_headers: Vec::new(),
        response_body: name.repeat(400),
        detail: name.to_owned(),
        trace_id: Some(name.to_owned()),
    });
    let mark = Notice {
        at: Instant::from_nanos(1),
        observer: name.to_owned(),
        instance: None,
        kind: NoticeKind::Mark,
        text: name.to_owned(),
    };
    run.observed(&Observed { notices: vec![mark], ..Observed::default() }).expect("memory takes all");
    let mut workload = sample_run::workload();
    workload.phases[0].name = name.to_owned();
    let mut summary = Summary::of(&run, &workload, &judgement(name))
        .expect("memory can be read")
        .with_files(&[("evidence", name)]);
    summary.header.digest = Some(name.to_owned());
    summary
}

fn judgement(name: &str) -> Judgement {
    let mut judgement = sample_run::judgement();
    judgement.because = name.to_owned();
    judgement.assumes = Some(name.to_owned());
    for claim in &mut judgement.claims {
        claim.text = name.to_owned();
        claim.reasons.push(name.to_owned().into());
        claim.observed.unit = name.to_owned();
    }
    for finding in &mut judgement.findings {
        finding.title = name.to_owned();
        finding.what = name.to_owned();
        finding.scope.endpoint = Some(name.to_owned());
        finding.figures[0].unit = name.to_owned();
    }
    judgement
}

#[test]
fn markup_in_names_and_bodies_stays_text() {
    let html = forms::html(&summary("</pre></script><img src=x onerror=alert(1)>\"'&<!--", 9_000));
    assert!(!html.contains("<img") && !html.contains("<!--"));
    well_formed::check(&html).expect("balanced");
    let markdown = forms::markdown(&summary("x | y <img src=x> [a](b) `c` @all", 9_000));
    assert!(!markdown.contains("<img") && !markdown.contains("[a](") && !markdown.contains("@all"));
}

#[test]
fn markup_in_names_stays_text_in_charts_and_cards() {
    let hostile = "</text></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"'&<!--";
    let summary = summary(hostile, 9_000);
    let document = summary.document();
    let card = VerdictCard::new(&summary);
    let charts = chart_files(&document);
    assert_eq!(charts.len(), 3, "of the load, of the endpoint, and of its distribution");
    let drawings =
        charts.iter().map(|chart| chart.svg(Background::White)).chain([card.svg(Background::Dark)]);
    for svg in drawings {
        assert!(!svg.contains("<script") && !svg.contains("<img") && !svg.contains("<!--"), "{svg}");
        well_formed::check(&svg).expect("balanced");
    }
    let markdown = card.markdown();
    assert!(!markdown.contains("<script") && !markdown.contains("<img"), "{markdown}");
}

#[test]
fn what_is_not_visible_in_names_is_escaped_in_every_report() {
    let summary = summary("evil\u{1b}[31m\u{7}\u{9b}\u{202e}\u{e0041}\u{200b}\u{2028}\n PASS  name", 9_000);
    let colours =
        ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m"];
    let coloured = forms::terminal(&summary, Style::Colour, 80, Detail::Full);
    let coloured = colours.iter().fold(coloured, |text, colour| text.replace(colour, ""));
    let plain = forms::terminal(&summary, Style::Plain, 80, Detail::Full);
    assert_eq!(coloured, plain, "no colour but the report's own");
    let (markdown, junit, json) = (forms::markdown(&summary), forms::junit(&summary), forms::json(&summary));
    for text in [&plain, &markdown, &junit, &json] {
        assert!(text.lines().all(|line| !line.starts_with(" PASS")), "{text}");
    }
    for page in [plain, markdown, junit, json, forms::html(&summary)] {
        let found: Vec<char> = page.chars().filter(|c| *c != '\n' && is_invisible(*c)).collect();
        assert!(found.is_empty(), "{found:?} in {page}");
    }
}

#[test]
fn markdown_fits_a_job_summary_with_any_content() {
    let mut summary = summary(&"long <name> ".repeat(300), 9_000);
    let (claim, finding, row) =
        (summary.claims[0].clone(), summary.judgement.findings[0].clone(), summary.rows[0].clone());
    summary.claims = vec![claim; 500];
    summary.judgement.findings = vec![finding; 500];
    summary.rows = vec![row; 500];
    assert!(forms::markdown(&summary).len() < 64 * 1_024);
}

/// The columns of a line without its escape codes.
fn columns(line: &str) -> usize {
    let mut plain = String::new();
    let mut is_code = false;
    for c in line.chars() {
        match (is_code, c) {
            (false, '\u{1b}') => is_code = true,
            (true, 'm') => is_code = false,
            (false, c) => plain.push(c),
            (true, _) => {}
        }
    }
    unicode_width::UnicodeWidthStr::width(plain.as_str())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_line_is_wider_than_requested(name in "\\PC{0,60}|[a-z界é ]{0,200}", width in 20usize..200, micros in 1u64..4_000_000_000) {
        let summary = summary(&name, micros);
        for style in [Style::Plain, Style::Colour] {
            for line in forms::terminal(&summary, style, width, Detail::Full).lines() {
                prop_assert!(columns(line) <= width, "{} > {width}: {line:?}", columns(line));
            }
        }
    }

    #[test]
    fn with_any_name_every_start_tag_has_its_end_tag(name in "\\PC{0,40}|[<>&\"'/!a-z\\x00-\\x1f-]{0,40}") {
        let html = forms::html(&summary(&name, 1_000));
        prop_assert!(well_formed::check(&html).is_ok(), "{:?}", well_formed::check(&html));
    }
}
