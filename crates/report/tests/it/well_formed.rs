//! The page is well-formed however the run ended, loads nothing, and stays small.

use evidence::memory::MemoryRun;
use evidence::{Ending, Judgement, Key, Metric, Outcome, Verdict};
use report::Summary;

use crate::{forms, sample_run};

/// Elements without an end tag.
const WITHOUT_END_TAG: [&str; 4] = ["input", "meta", "br", "wbr"];

/// Check that every start tag has its end tag, in order; the text of `style` and `script` is skipped.
pub(crate) fn check(html: &str) -> Result<usize, String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    let mut elements = 0;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = rest.find('>').ok_or("a tag without an end")?;
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop().ok_or_else(|| format!("</{name}> without a start tag"))?;
            if last != name {
                return Err(format!("</{name}> ends <{last}>"));
            }
            continue;
        }
        elements += 1;
        let name = tag.split([' ', '/', '\n']).next().unwrap_or_default();
        if tag.ends_with('/') || WITHOUT_END_TAG.contains(&name) {
            continue;
        }
        if matches!(name, "style" | "script") {
            let close = format!("</{name}>");
            rest = &rest[rest.find(&close).ok_or("raw text without an end")? + close.len()..];
            continue;
        }
        open.push(name);
    }
    if open.is_empty() { Ok(elements) } else { Err(format!("never ended: {open:?}")) }
}

fn page(run: &MemoryRun) -> String {
    let summary = Summary::of(run, &sample_run::workload(), &sample_run::judgement());
    forms::html(&summary.expect("memory can be read"))
}

#[test]
fn runs_are_rendered_however_they_ended() {
    let endings = [
        (0, None, "killed at second 0 of 105"),
        (1, None, "killed at second 1 of 105"),
        (41, None, "killed at second 41 of 105"),
        (50, Some(Ending::Interrupted), "interrupted at second 50 of 105"),
        (
            20,
            Some(Ending::Aborted("no descriptors".to_owned())),
            "aborted at second 20 of 105: no descriptors",
        ),
        (105, Some(Ending::Completed), "completed"),
    ];
    for (seconds, ending, words) in endings {
        let html = page(&sample_run::run(seconds, ending));
        assert!(check(&html).is_ok_and(|n| n > 50), "{:?}", check(&html));
        assert!(html.contains(words), "{words}");
        assert_eq!(html.contains("This report covers the time until then"), words != "completed");
    }
}

#[test]
fn an_empty_run_is_rendered() {
    let judgement = Judgement {
        rules_version: 1,
        verdict: Verdict::Measured,
        because: String::new(),
        assumes: None,
        claims: Vec::new(),
        findings: Vec::new(),
    };
    let run = MemoryRun::new(sample_run::manifest());
    let summary = Summary::of(&run, &sample_run::workload(), &judgement).expect("memory can be read");
    check(&forms::html(&summary)).expect("balanced");
    for text in [forms::markdown(&summary), forms::json(&summary), forms::junit(&summary)] {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn the_page_loads_nothing() {
    let html = page(&sample_run::run(105, Some(Ending::Completed)));
    for loading in [" src=", "<link", "@import", "url(", "<iframe", "fetch("] {
        assert!(!html.contains(loading), "{loading}");
    }
}

#[test]
fn an_hour_of_many_endpoints_is_a_page_of_less_than_a_megabyte() {
    let mut run = MemoryRun::new(sample_run::manifest());
    for second in 0..3_600u32 {
        for endpoint in 0..20u32 {
            let key = Key::of(Metric::ResponseTime)
                .scenario("play")
                .phase("gameplay")
                .endpoint(&format!("endpoint {endpoint}"));
            run.record(&key.clone().outcome(Outcome::Ok), second, u64::from(700 + second % 97 * endpoint), 3);
            run.record(&key.outcome(Outcome::Timeout), second, 10_000_000, 1);
        }
    }
    let html = page(&run);
    check(&html).expect("balanced");
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert!(html.contains("one point per 12 seconds"));
}
