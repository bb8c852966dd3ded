//! The page of a run that goes on is the report itself, and what keeps it up to date.

use evidence::{Ending, RuleId, Severity, Verdict};
use report::document::{self, LiveState};
use report::{Document, Reported as _, Summary};

use crate::{forms, policy, sample_run, well_formed};

fn summary(seconds: u32, ending: Option<Ending>) -> Summary {
    let run = sample_run::run(seconds, ending);
    Summary::of(&run, &sample_run::workload(), &sample_run::judgement()).expect("memory can be read")
}

/// What is between the first `from` and the next `to`, with both.
fn part<'a>(html: &'a str, from: &str, to: &str) -> &'a str {
    let begin = html.find(from).unwrap_or_else(|| panic!("no {from}"));
    let length = html[begin..].find(to).unwrap_or_else(|| panic!("no {to} after {from}"));
    &html[begin..begin + length + to.len()]
}

#[test]
fn a_live_page_without_its_additions_is_the_report() {
    let summary = summary(105, Some(Ending::Completed));
    for is_last in [false, true] {
        let page = document::live_html(&summary.document(), &LiveState { version: 7, is_last });
        well_formed::check(&page.html).expect("balanced");
        let report = forms::html(&summary);
        let policy = |html| part(html, "<meta http-equiv=\"Content-Security-Policy\"", ">").to_owned();
        let style = part(&page.html, "</style>\n<style>", "</head>").replacen("</style>\n", "", 1);
        let script = part(&page.html, "<aside id=\"live\"", "</body>").replace("</body>", "");
        let without = page.html.replace(&policy(&page.html), &policy(&report));
        let without = without.replace(style.trim_end_matches("</head>"), "").replace(&script, "");
        assert_eq!(without, report);
        assert_eq!(
            page.html.contains("http-equiv=\"refresh\""),
            !is_last,
            "without scripts it loads itself again"
        );
    }
}

#[test]
fn a_live_page_runs_its_own_scripts_and_asks_its_own_server_alone() {
    let summary = summary(60, None).so_far();
    let page = document::live_html(&summary.document(), &LiveState { version: 1, is_last: false });
    policy::check(&page.html);
    assert!(
        page.html.contains(&page.policy) && page.policy.ends_with("connect-src 'self'"),
        "{}",
        page.policy
    );
    assert!(!forms::html(&summary).contains("connect-src"));
}

#[test]
fn a_run_that_goes_on_has_no_verdict_yet() {
    let html = forms::html(&summary(60, None).so_far());
    assert!(html.contains("<title>UNDER WAY: ") && html.contains("60 s of 105 s"));
    assert!(html.contains("<progress max=\"1\" value=\"0.57"), "60 of 105 s");
    assert!(
        html.contains("<span class=\"n limit\">&#60; 50 ms</span>"),
        "the bound is beside the value: {html}"
    );
    assert!(
        !html.contains("<p class=\"notice\">")
            && !html.contains("<dt>state</dt>")
            && !html.contains("killed")
    );
    let mut judgement = sample_run::judgement();
    judgement.claims[0].verdict = Verdict::Invalid;
    let run = sample_run::run(60, None);
    let open = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read").so_far();
    assert!(!forms::html(&open).contains(">INVALID</span>"), "what is in flight may decide it");
    for word in ["met so far", "violated so far", "undecided so far"] {
        assert!(html.contains(&format!(">{word}</span></li>")), "{word}");
    }
    for verdict in [">PASS<", ">FAIL<", ">INCONCLUSIVE<"] {
        assert!(!html.contains(verdict), "{verdict}");
    }
    let before = document::html(&Document::before("checkout <b>"));
    assert!(before.contains("NOT BEGUN: checkout &#60;b&#62;"), "{before}");
}

#[test]
fn the_numbers_come_first_then_the_objectives_and_the_course_and_the_phase_under_way_before_the_others() {
    let places = [
        "class=\"tiles\"",
        "<section id=\"objectives\"",
        "<section id=\"plots\"",
        "<section id=\"endpoints\"",
        "<section id=\"findings\"",
    ];
    let under_way = forms::html(&summary(60, None).so_far());
    let over = forms::html(&summary(105, Some(Ending::Completed)));
    for html in [&under_way, &over] {
        let at = |what: &str| html.find(what).unwrap_or_else(|| panic!("no {what}"));
        assert!(places.map(at).is_sorted(), "{:?}", places.map(at));
        let charts: Vec<&str> =
            html.split("<figcaption><b>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
        assert_eq!(charts[..2], ["Offered load and throughput", "list challenges"], "{charts:?}");
    }
    let tiles = |html| part(html, "<ul class=\"tiles\">", "</ul>").matches("class=\"name\"").count();
    assert_eq!((tiles(&under_way), tiles(&over)), (5, 6), "at its end arrivals were dropped");
    let captions: Vec<&str> =
        under_way.split("<b>Phase ").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(captions[..2], ["gameplay", "ramp"], "{captions:?}");
    for sign in ["✓", "✗", "?"] {
        assert!(under_way.contains(&format!("<i aria-hidden=\"true\">{sign}</i>")), "{sign}");
    }
}

#[test]
fn a_cost_that_was_not_measured_has_no_number_among_the_first() {
    let html = forms::html(&summary(60, None).so_far());
    let tiles = part(&html, "<ul class=\"tiles\">", "</ul>");
    assert!(!tiles.contains("CPU") && !tiles.contains("measured for"), "{tiles}");
}

#[test]
fn a_run_of_which_no_request_has_ended_says_that_and_nothing_it_does_not_know() {
    let html = forms::html(&summary(0, None).so_far());
    assert!(html.contains("No request has ended yet.") && html.contains("less than 1 s"), "{html}");
    for empty in ["0 µs", "not known", "no named checks", "was due", "id=\"objectives\""] {
        assert!(!html.contains(empty), "{empty}");
    }
}

#[test]
fn what_invalidates_a_run_under_way_and_a_lost_worker_are_in_its_head_once() {
    let mut judgement = sample_run::judgement();
    let finding = |rule, severity, title: &'static str, what: &str| {
        let mut finding = judgement.findings[0].clone();
        (finding.rule, finding.severity, finding.title, finding.what) =
            (rule, severity, title.into(), what.to_owned());
        finding
    };
    let lost = finding(RuleId::W1, Severity::Inconclusive, "worker-vanished", "At 7 s worker 1 vanished.");
    let load =
        finding(RuleId::L1, Severity::Invalid, "offered-load-not-reached", "Planned 300/s, offered 200/s.");
    judgement.findings.extend([lost.clone(), lost, load]);
    let run = sample_run::run(60, None);
    let open = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read").so_far();
    let html = forms::html(&open);
    let notices: Vec<&str> =
        html.split("<p class=\"notice\">").skip(1).filter_map(|rest| rest.split("</p>").next()).collect();
    let expected = [
        "W1 worker-vanished: At 7 s worker 1 vanished.",
        "INVALID so far, L1 offered-load-not-reached: Planned 300/s, offered 200/s.",
    ];
    for text in expected {
        assert_eq!(notices.iter().filter(|notice| **notice == text).count(), 1, "{notices:?}");
    }
}

/// The number of points that a line of a page's first chart with this class has.
fn points(html: &str, class: &str) -> usize {
    let line = part(html, &format!("<path class=\"line {class}\""), "/>");
    let path = part(line, " d=\"", "\"/>");
    path.matches(['M', 'L']).count()
}

#[test]
fn curves_of_load_end_where_the_load_ends_and_not_in_a_part_of_a_second() {
    let mut summary = summary(105, Some(Ending::Completed));
    let classes = ["c0", "c4", "offered"];
    let whole = classes.map(|class| points(&forms::html(&summary), class));
    summary.header.elapsed_s = 104.25;
    assert_eq!(classes.map(|class| points(&forms::html(&summary), class)), whole.map(|n| n - 1));
    // The load ended at 100 s, and what was in flight later.
    summary.phases.last_mut().unwrap().covered_s -= 5.0;
    let drained = classes.map(|class| points(&forms::html(&summary), class));
    assert_eq!(drained, [whole[0] - 1, whole[1] - 5, whole[2] - 5]);
}
