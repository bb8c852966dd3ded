//! Two readers, one number: runs of every kind in all five forms. The JSON report is compared with plain SQL over the run
//! file, the terminal and the page with both, and Markdown and JUnit, which the same document makes, with those.

mod archive_page;
pub(crate) mod forms;
mod markup;
pub(crate) mod report;
mod runs;
pub(crate) mod shown;
mod sql;

use serde_json::Value;

use forms::{Form, html, terminal};
use report::{array, text};
use runs::ReportedRun;
use shown::{Expected, Numbers, difference, disagreement};

/// Numbers that the JSON report has and SQL alone does not give: of the plan, of judgements, of the source of an import,
/// and of the endpoints of a phase together.
const NOT_IN_TABLES: [&str; 7] =
    ["claim/", "finding/", "source/", "phase/", "run/", "environment/", "headline/"];

/// What every form must give: the numbers of the JSON report, and those that are in the run file alone.
fn expected(run: &ReportedRun) -> Numbers {
    let mut all = run.in_file.clone();
    all.extend(report::numbers(&run.report));
    all
}

#[track_caller]
fn none(found: &[String]) {
    assert!(found.is_empty(), "{} disagreements:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_json_report_gives_what_sql_finds_in_the_run_file() {
    let mut found = Vec::new();
    for run in runs::all() {
        for (what, reported) in report::numbers(&run.report) {
            let differs = match run.in_file.get(&what) {
                Some(in_file) => difference(&reported, in_file),
                None if matches!(reported, Expected::Missing | Expected::Text(_)) => None,
                None if NOT_IN_TABLES.iter().any(|start| what.starts_with(start)) => None,
                // How many endpoints are not listed, and their failures.
                None if what.ends_with(" more") => None,
                // By Little's law, and as the plan has it.
                None if what.ends_with("/needed")
                    || what.ends_with("/cap")
                    || what.ends_with("/used_at_most") =>
                {
                    None
                }
                None => Some("is not in the run file".to_owned()),
            };
            found.extend(differs.map(|why| format!("{}: {what}: {why}", run.name)));
        }
    }
    none(&found);
}

fn scenarios(report: &Value) -> Vec<&str> {
    array(&report["scenarios"]).iter().map(|scenario| text(&scenario["name"])).collect()
}

/// Each form with its name.
fn forms(run: &ReportedRun) -> [(&'static str, Form); 2] {
    let scenarios = scenarios(&run.report);
    [("terminal", terminal::form(&run.terminal, &scenarios)), ("HTML", html::form(&run.html))]
}

/// The words with digits of a text, without the signs of Markdown.
fn numbers(text: &str) -> impl Iterator<Item = String> {
    let has_digit = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    let plain =
        |word: &str| word.replace(['\\', '*'], "").trim_matches([',', '.', ';', ':', '(', ')']).to_owned();
    let words: Vec<String> =
        text.replace("<br>", " ").split_whitespace().filter(has_digit).map(plain).collect();
    words.into_iter()
}

#[test]
fn markdown_has_every_endpoint_and_objective_and_junit_a_case_for_each_objective() {
    for run in runs::all() {
        let markdown: std::collections::BTreeSet<String> = numbers(&run.markdown).collect();
        let scenarios = scenarios(&run.report);
        let form = terminal::form(&run.terminal, &scenarios);
        let shown = form.shown.iter().filter(|(what, text)| is_in_markdown(what) && !text.contains(' '));
        for (what, text) in shown.filter(|(_, text)| text.contains(|c: char| c.is_ascii_digit())) {
            assert!(markdown.contains(text), "{}: {what}: {text} is missing in:\n{}", run.name, run.markdown);
        }
        let suite = markup::Node::parse(&run.junit);
        let names: Vec<&str> = suite.all("testcase").iter().map(|case| case.attribute("name")).collect();
        let claims = array(&run.report["claims"]).iter().map(|claim| text(&claim["name"]));
        assert_eq!(
            names,
            std::iter::once("(the whole run)").chain(claims).collect::<Vec<_>>(),
            "{}",
            run.name
        );
    }
}

/// Counts of endpoints and objectives, which no form leaves out.
fn is_in_markdown(what: &str) -> bool {
    let is_count = |end: &str| what.ends_with(end);
    what.starts_with("row/") && (is_count("/requests") || is_count("/failed"))
        || what.starts_with("claim/") && is_count("/n")
}

#[test]
fn markdown_and_junit_show_no_number_that_the_terminal_and_the_page_do_not() {
    let mut found = Vec::new();
    for run in runs::all() {
        let page = markup::Node::parse(&run.html);
        let sentences = report_sentences(&run.report);
        let said = sentences.iter().chain([&run.terminal]).map(String::as_str);
        let known: std::collections::BTreeSet<String> =
            page.texts().into_iter().chain(said).flat_map(numbers).collect();
        let suite = markup::Node::parse(&run.junit);
        let markdown = run.markdown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        for (name, text) in [("Markdown", markdown), ("JUnit", suite.texts().join("\n"))] {
            let cut = |number: &String| number.ends_with('…');
            let other = numbers(&text).filter(|number| !cut(number) && !known.contains(number));
            found.extend(other.map(|number| format!("{}: {name}: {number}", run.name)));
        }
    }
    none(&found);
}

#[test]
fn every_form_shows_the_numbers_of_the_json_report() {
    let mut found = Vec::new();
    for run in runs::all() {
        let expected = expected(run);
        for (name, form) in forms(run) {
            for (what, text) in &form.shown {
                let wrong = match expected.get(what) {
                    Some(expected) => disagreement(text, expected),
                    None => disagreement(text, &Expected::Missing)
                        .map(|_| format!("shows `{text}`, which no other has")),
                };
                found.extend(wrong.map(|why| format!("{}: {name}: {what}: {why}", run.name)));
            }
        }
    }
    none(&found);
}

#[test]
fn every_form_has_the_same_sentences() {
    let mut found = Vec::new();
    for run in runs::all() {
        let findings: Vec<String> = array(&run.report["findings"]).iter().map(finding).collect();
        let sentences = report_sentences(&run.report);
        for (name, form) in forms(run) {
            let wrong =
                other_findings(name, &form, &findings).into_iter().chain(other_sentences(&form, &sentences));
            found.extend(wrong.map(|why| format!("{}: {name}: {why}", run.name)));
            for (label, text) in &form.source {
                found.extend(
                    other_source(&run.report, label, text).map(|why| format!("{}: {name}: {why}", run.name)),
                );
            }
        }
    }
    none(&found);
}

fn finding(finding: &Value) -> String {
    let of = |key: &str| text(&finding[key]);
    format!("{} {} {}: {}", of("severity"), of("rule"), of("title"), of("what"))
}

/// Everything that is said in the report.
fn report_sentences(report: &Value) -> Vec<String> {
    let mut all = vec![text(&report["because"]).to_owned()];
    for claim in array(&report["claims"]) {
        all.push(text(&claim["text"]).to_owned());
        all.extend(array(&claim["reasons"]).iter().map(|reason| text(reason).to_owned()));
    }
    for finding in array(&report["findings"]) {
        all.extend(["what", "why", "next"].map(|key| text(&finding[key]).to_owned()));
        let of_kind = |kind| Some(format!("{kind} {}", finding["scope"][kind].as_str()?));
        let kinds = ["phase", "scenario", "endpoint", "objective", "series"];
        let named: Vec<String> = kinds.into_iter().filter_map(of_kind).collect();
        all.push(if named.is_empty() { "the whole run".to_owned() } else { named.join(" · ") });
    }
    all
}

/// The findings of a rule are together; the terminal lists five, and how many more there are.
fn other_findings(form_name: &str, form: &Form, findings: &[String]) -> Vec<String> {
    let rule = |finding: &String| finding.split(' ').nth(1).unwrap().to_owned();
    let mut cards: Vec<Vec<String>> = Vec::new();
    for finding in findings {
        match cards.iter_mut().find(|card| rule(&card[0]) == rule(finding)) {
            Some(card) => card.push(finding.clone()),
            None => cards.push(vec![finding.clone()]),
        }
    }
    let most = if form_name == "terminal" { 5 } else { usize::MAX };
    let mut expected = Vec::new();
    for card in cards {
        expected.extend(card.iter().take(most).cloned());
        if form_name == "terminal" && card.len() > most {
            let about = card[0].split(": ").next().unwrap();
            expected.push(format!("{about}: and {} more", card.len() - most));
        }
    }
    let same_number = (form.findings.len() != expected.len())
        .then(|| format!("{} findings, not {}", form.findings.len(), expected.len()));
    let other = form.findings.iter().zip(&expected).filter(|(shown, expected)| shown != expected);
    same_number
        .into_iter()
        .chain(other.map(|(shown, expected)| format!("`{shown}` is not `{expected}`")))
        .collect()
}

fn other_sentences(form: &Form, sentences: &[String]) -> Vec<String> {
    let is_said = |shown: &&String| {
        sentences.iter().any(|sentence| sentence.contains(shown.as_str()) || shown.starts_with(sentence))
    };
    let unsaid = form.sentences.iter().filter(|shown| !is_said(shown));
    unsaid.map(|shown| format!("`{shown}` is not in the JSON report")).collect()
}

/// A line on the source of an import: figures, whose numbers are compared, or a text.
fn other_source(report: &Value, label: &str, shown: &str) -> Option<String> {
    let source = &report["run"]["source"];
    // The terminal cuts long labels.
    let is_its = |figure: &&Value| match label.strip_suffix('…') {
        Some(start) => text(&figure["of"]).starts_with(start),
        None => text(&figure["of"]) == label,
    };
    let figures: Vec<&Value> = array(&source["figures"]).iter().filter(is_its).collect();
    if figures.is_empty() {
        let texts = format!("{source}");
        let is_missing = label == "missing";
        return (!is_missing && !texts.contains(&shown.replace('"', "\\\"")))
            .then(|| format!("`{label} {shown}` is not in the JSON report"));
    }
    let numbers = report::numbers(report);
    let texts: Vec<&str> = shown.split(" · ").collect();
    if texts.len() != figures.len() {
        return Some(format!("{} figures of {label}, not {}", texts.len(), figures.len()));
    }
    let wrong = texts.into_iter().zip(figures).find_map(|(shown, figure)| {
        let name = text(&figure["name"]);
        let number = shown.strip_prefix(name).map(str::trim);
        let expected = &numbers[&format!("source/{}/{name}", text(&figure["of"]))];
        number.map_or(Some("another name".to_owned()), |number| disagreement(number, expected))
    });
    wrong.map(|why| format!("{label}: {why}"))
}

#[test]
fn the_queries_of_the_archive_page_give_the_numbers_of_the_report() {
    let found: Vec<String> =
        runs::all().iter().flat_map(|run| archive_page::disagreements(run, &expected(run))).collect();
    none(&found);
}

#[test]
fn an_objective_on_throughput_observes_the_rate_of_its_row() {
    let single = ["short", "one endpoint", "killed", "interrupted"];
    for run in runs::all().iter().filter(|run| single.contains(&run.name)) {
        let is_get = |row: &&Value| row["endpoint"] == "get";
        let row = array(&run.report["endpoints"]).iter().find(is_get).unwrap();
        let claim = &run.report["claims"][0];
        assert_eq!(claim["name"], "held");
        assert_eq!(claim["observed"]["value"], row["throughput_per_s"], "{}", run.name);
    }
}

/// What is said where the generator's own process was not observed.
const LOOPS: &str = "loops only: the process was not observed";

#[test]
fn samples_cover_a_run_to_its_end_once() {
    for run in runs::all() {
        let is_watched = run.report["run"]["end"]["how"] != "killed" && run.report["run"]["source"].is_null();
        // A machine that is busy may begin to watch when a short run is nearly over: there are no two readings then.
        let has_samples = |cpu: &&Value| !cpu["cpu_seconds"].is_null() && cpu["note"] != LOOPS;
        assert!(run.name != "ordinary" || array(&run.report["cpu"]).iter().filter(has_samples).count() == 2);
        for cpu in array(&run.report["cpu"]).iter().filter(|_| is_watched).filter(has_samples) {
            let seconds = &run.report["run"]["seconds"];
            assert_eq!(cpu["seconds"], serde_json::json!([[0, seconds]]), "{}: {cpu}", run.name);
            assert_eq!(cpu["requests"], run.report["accounting"]["completed"], "{}: {cpu}", run.name);
            assert_eq!(cpu["note"], "", "{}: {cpu}", run.name);
        }
    }
}
