//! The page of a run that goes on is the report itself, and what keeps it up to date.

use evidence::{Ending, Verdict};
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
    assert!(html.contains("each verdict below may still change") && !html.contains("killed"));
    let mut judgement = sample_run::judgement();
    judgement.claims[0].verdict = Verdict::Invalid;
    let run = sample_run::run(60, None);
    let open = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read").so_far();
    assert!(!forms::html(&open).contains(">INVALID</span></td>"), "what is in flight may decide it");
    for word in ["met so far", "violated so far", "undecided so far"] {
        assert!(html.contains(&format!(">{word}</span></td>")), "{word}");
    }
    for verdict in [">PASS<", ">FAIL<", ">INCONCLUSIVE<"] {
        assert!(!html.contains(verdict), "{verdict}");
    }
    let before = document::html(&Document::before("checkout <b>"));
    assert!(before.contains("NOT BEGUN: checkout &#60;b&#62;"), "{before}");
}
