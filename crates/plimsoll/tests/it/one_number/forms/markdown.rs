//! Markdown's form: tables of cells between bars, and lists.

use super::{
    Form, Table, captured, claim, finding, must_be_known, parts, phase_requests, reason, virtual_users,
};

const KNOWN: [&str; 1] = ["~ marks a quantile with fewer than 20 samples above it."];

pub(in super::super) fn form(text: &str, scenarios: &[&str]) -> Form {
    let mut form = Form::default();
    let mut lines = text.lines().peekable();
    let heading = lines.next().unwrap();
    assert!(heading.starts_with("## "), "{heading}");
    let mut card = String::new();
    while let Some(line) = lines.next() {
        let plain = plain(line);
        if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
            table(&mut form, &card, rows);
        } else if let Some(about) = line.strip_prefix("**").and_then(|line| line.strip_suffix("**")) {
            card = self::plain(about);
        } else if let Some((why, next)) = plain.split_once(" _Next:_ ") {
            form.sentences.extend([why.to_owned(), next.to_owned()]);
        } else if let Some(about) = line.strip_prefix("- **") {
            let [label, text] = parts("{}** {}", about);
            form.source.push((self::plain(label), self::plain(text)));
        } else if let Some(statuses) = plain.strip_prefix("Statuses: ") {
            super::terminal::statuses(&mut form, &statuses.replace('\u{a0}', " "));
        } else if let Some(costs) = plain.strip_prefix("CPU: ") {
            costs.split("; ").for_each(|text| cpu(&mut form, text));
        } else if let Some(found) = captured("Start lag p99 {}; workload `{}`; evidence `{}`", &plain) {
            let names = ["generator/start lag p99", "run/workload SHA-256", "run/evidence SHA-256"];
            names.iter().zip(found).for_each(|(name, text)| form.show(*name, text));
        } else if let Some((phase, requests)) = identity(&plain) {
            phase_requests(&mut form, phase, requests);
        } else if let Some((name, users)) = users(&plain, scenarios) {
            virtual_users(&mut form, name, users);
        } else if let Some(found) = captured("{} · {} · {}", &plain).filter(|found| is_start(found[0])) {
            form.show("run/started", found[0]);
            form.show("run/elapsed", found[1]);
            end(&mut form, found[2]);
        } else if form.shown.is_empty() && !plain.is_empty() {
            form.sentences.push(plain);
        } else if !plain.starts_with("Imported from ") {
            must_be_known(&plain, &KNOWN);
        }
    }
    form
}

/// A phase, and what became of its requests.
pub(super) fn identity(line: &str) -> Option<(&str, &str)> {
    line.split_once(": ").filter(|(_, requests)| requests.contains(" requests begun = "))
}

fn users<'a>(line: &'a str, scenarios: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let is_named = |name: &&&str| line.starts_with(&format!("{name}: "));
    scenarios.iter().find(is_named).map(|name| (*name, &line[name.len() + 2..]))
}

pub(super) fn end(form: &mut Form, text: &str) {
    if text == "completed" {
        return;
    }
    let (name, at, of) = match captured("{} at {} s of {} s", text) {
        Some(found) => ("run/stopped at", found[1], found[2]),
        None => {
            let [_, second, of] = parts("{} at second {} of {}", text);
            ("run/seconds", second, of)
        }
    };
    form.show(name, at);
    form.show("run/planned seconds", of);
}

/// Text without its escapes.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap() } else { c });
    }
    [("&lt;", "<"), ("&gt;", ">"), ("&#64;", "@"), ("&amp;", "&")]
        .iter()
        .fold(out, |text, (name, sign)| text.replace(name, sign))
}

/// The cells of a row; a bar that is escaped belongs to its cell.
fn cells(line: &str) -> Vec<String> {
    let inner = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).unwrap();
    let inner = inner.replace("\\|", "\u{1}");
    inner.split(" | ").map(|cell| cell.replace('\u{1}', "\\|").trim().to_owned()).collect()
}

fn table(form: &mut Form, card: &str, mut rows: Vec<Vec<String>>) {
    let mut heads = rows.remove(0);
    assert!(rows.remove(0).iter().all(|cell| cell.starts_with("---")), "{heads:?}");
    if let Some(claim) = heads[0].strip_prefix("| ") {
        // The head of the first column is empty.
        heads.splice(0..1, [String::new(), claim.to_owned()]);
    }
    let table = Table { heads, rows };
    match table.heads[0].as_str() {
        "phase" => endpoints(form, &table),
        "outcome" => {
            for row in &table.rows {
                form.show(format!("all/kind {}", plain(&row[0])), &row[1]);
                form.show(format!("all/kind {} share", plain(&row[0])), &row[2]);
            }
        }
        "where" => {
            for row in &table.rows {
                finding(form, card, [&plain(&row[0]), &plain(&row[1])]);
            }
        }
        _ => claims(form, &table),
    }
}

fn endpoints(form: &mut Form, table: &Table) {
    for row in &table.rows {
        let what = format!("row/{}/{}", plain(&row[0]), plain(&row[1]));
        for (head, text) in table.heads.iter().zip(row).skip(2) {
            match (head.as_str(), captured("**{}** ({})", text)) {
                ("failed", Some(found)) => {
                    form.row(&what, &[("failed", found[0]), ("failed share", found[1])])
                }
                ("failed", None) => form.row(&what, &[("failed share", text)]),
                _ => form.row(&what, &[(head, text)]),
            }
        }
    }
}

fn claims(form: &mut Form, table: &Table) {
    let expected = ["claim", "observed", "limit", "interval", "n"];
    assert_eq!(table.heads[1..], expected, "a table that is not known to this test");
    for row in &table.rows {
        let [name, rest] = parts("**{}** {}", &row[1]);
        rest.split("<br>").for_each(|text| reason(form, &plain(text)));
        let figures: Vec<String> = row[2..].iter().map(|cell| plain(cell)).collect();
        let [observed, limit, interval, samples] = &figures[..] else { panic!("{row:?}") };
        claim(form, &plain(name), [observed, limit, interval, samples]);
    }
}

fn cpu(form: &mut Form, text: &str) {
    let (target, text) = text.split_once(' ').unwrap();
    match captured("{} per 1,000 requests ({})", text) {
        Some(found) => {
            form.show(format!("cpu/{target}/per 1,000 requests"), found[0]);
            form.show(format!("cpu/{target}/of"), found[1]);
        }
        None => form.show(format!("cpu/{target}/note"), text),
    }
}

/// Whether this is when a run started, or that it is not known.
fn is_start(text: &str) -> bool {
    text.ends_with('Z') || text == evidence::Manifest::UNKNOWN_START
}
