//! The tables of the page, each by its label.

use super::super::super::markup::Node;
use super::super::super::report::kind;
use super::super::{Form, Table, beside_table, captured, parts, phase_requests, phase_when, virtual_users};

pub(super) fn all(form: &mut Form, document: &mut Node) {
    let mut sections = document.take("section#endpoints");
    sections.extend(document.take("section#other-phases").iter_mut().flat_map(|of| of.take("details")));
    for section in sections {
        // What became of the requests of a phase is below its table.
        let mut phase = String::new();
        for region in section.children() {
            let text = region.text();
            match region.attribute("aria-label") {
                "" if text.contains(" requests begun = ") => phase_requests(form, &phase, &text),
                "" if text.contains(" in the table = ") => beside_table(form, &phase, &text),
                "" => {}
                "Parts of a request" => request_phases(form, &table(region)),
                label => {
                    phase = label.strip_prefix("Phase ").expect("a phase").to_owned();
                    endpoints(form, region, &phase, &table(region));
                }
            }
        }
    }
    for region in document.take("div.scroll") {
        let table = table(&region);
        match region.attribute("aria-label") {
            "Objectives" => {}
            "Scenarios" => scenarios(form, &table),
            "Failures" => failures(form, &region, &table),
            "Requests by the status of their response" => statuses(form, &table),
            "Checks" => checks(form, &table),
            "Generator and targets" if table.heads[0] == "CPU of" => cpu(form, &table),
            "Generator and targets" => series(form, &table),
            label => panic!("the table `{label}` is not known to this test"),
        }
    }
}

/// Heads are those of the last row of heads; a cell is its text.
fn table(region: &Node) -> Table {
    let texts = |row: &Node, tags: [&str; 2]| -> Vec<String> {
        // Row heads come first in every table.
        tags.iter().flat_map(|tag| row.all(tag)).map(Node::text).collect()
    };
    let heads = region.first("thead").unwrap().all("tr");
    let rows = region.first("tbody").unwrap().all("tr");
    Table {
        heads: texts(heads.last().unwrap(), ["th", "td"]),
        rows: rows.into_iter().map(|row| texts(row, ["th", "td"])).collect(),
    }
}

fn expect_heads(table: &Table, heads: &[&str]) {
    assert_eq!(table.heads[..heads.len()], *heads, "heads that are not known to this test");
}

fn endpoints(form: &mut Form, region: &Node, phase: &str, table: &Table) {
    let caption = region.first("caption").unwrap().text();
    let [when] = parts(&format!("Phase {phase} {{}}"), &caption);
    phase_when(form, phase, when);
    for (label, _, cells) in rows_with_notes(region, table) {
        // The head of the labels is in the row above.
        assert_eq!(cells.len(), table.heads.len());
        let cells: Vec<(&str, &str)> =
            table.heads.iter().map(String::as_str).zip(cells.iter().map(String::as_str)).collect();
        form.row(&format!("row/{phase}/{label}"), &cells);
    }
}

/// Each row as its label, what is below that, and its cells.
fn rows_with_notes<'t>(region: &Node, table: &'t Table) -> Vec<(String, String, &'t [String])> {
    let rows = region.first("tbody").unwrap().all("tr");
    let split = |(row, cells): (&Node, &'t Vec<String>)| {
        let head = row.first("th").unwrap();
        let note = head.first("small").map(Node::text).unwrap_or_default();
        (head.text().strip_suffix(&note).unwrap().to_owned(), note, &cells[1..])
    };
    rows.into_iter().zip(&table.rows).map(split).collect()
}

fn request_phases(form: &mut Form, table: &Table) {
    for row in &table.rows {
        // A run of one phase does not name it.
        let (label, phase) = row[0].rsplit_once(" in ").unwrap_or((&row[0], "run"));
        let heads = table.heads.iter().map(String::as_str);
        let cells: Vec<(&str, &str)> = heads.zip(row.iter().map(String::as_str)).skip(1).collect();
        form.row(&format!("row/{phase}/{label}"), &cells);
    }
}

fn scenarios(form: &mut Form, table: &Table) {
    let names = [
        "due",
        "started",
        "dropped: VU limit",
        "dropped: generator late",
        "iterations done",
        "iterations cancelled",
    ];
    let heads =
        ["due", "started", "dropped: VU limit", "dropped: generator late", "iterations done", "cancelled"];
    assert_eq!(table.heads[1..7], heads);
    assert_eq!(table.heads[7..], ["virtual users", "requests ended", "failed"]);
    for row in &table.rows {
        let what = format!("scenario/{}", row[0]);
        names.iter().zip(&row[1..]).for_each(|(name, text)| form.show(format!("{what}/{name}"), text));
        if row[7] != "–" {
            virtual_users(form, &row[0], &row[7]);
        }
        form.show(format!("{what}/ended"), &row[8]);
        match captured("{} ({})", &row[9]) {
            Some(found) => {
                form.show(format!("{what}/failed"), found[0]);
                form.show(format!("{what}/failed share"), found[1]);
            }
            None => form.show(format!("{what}/failed"), &row[9]),
        }
    }
}

fn failures(form: &mut Form, region: &Node, table: &Table) {
    expect_heads(table, &["endpoint", "outcome", "requests", "share of ended", "example"]);
    for (label, phase, cells) in rows_with_notes(region, table) {
        let what = format!("row/{phase}/{label}/kind {}", cells[0]);
        form.show(what.clone(), &cells[1]);
        form.show(format!("{what} share"), &cells[2]);
    }
}

fn statuses(form: &mut Form, table: &Table) {
    expect_heads(table, &["status", "outcome", "requests", "share"]);
    for row in &table.rows {
        let status = Some(row[0].as_str()).filter(|text| !["other", "no response"].contains(text));
        form.show(format!("all/kind {}", kind(&row[1], status)), &row[2]);
    }
}

fn checks(form: &mut Form, table: &Table) {
    expect_heads(table, &["endpoint", "check", "passed", "failed", "passed, share"]);
    for row in &table.rows {
        for (name, text) in ["passed", "failed", "share"].iter().zip(&row[2..]) {
            form.show(format!("check/{}/{}/{name}", row[0], row[1]), text);
        }
    }
}

fn cpu(form: &mut Form, table: &Table) {
    expect_heads(table, &["CPU of", "CPU-seconds", "cores, mean", "per 1,000 requests", "of", "note"]);
    let names = ["CPU-seconds", "mean cores", "per 1,000 requests", "of", "note"];
    for row in &table.rows {
        names
            .iter()
            .zip(&row[1..])
            .for_each(|(name, text)| form.show(format!("cpu/{}/{name}", row[0]), text));
    }
}

fn series(form: &mut Form, table: &Table) {
    expect_heads(table, &["target", "series", "mean", "lowest", "highest", "last", "samples"]);
    for row in &table.rows {
        let what = format!("series/{}/{}", row[0], row[1]);
        for (name, text) in ["mean", "min", "max", "last", "samples"].iter().zip(&row[2..]) {
            form.show(format!("{what}/{name}"), text);
        }
        for (head, text) in table.heads.iter().zip(row).skip(7) {
            let phase = head.strip_prefix("in ").unwrap();
            let found = captured("{} (max {})", text).unwrap_or_else(|| vec![text, text]);
            form.show(format!("{what}/mean in {phase}"), found[0]);
            form.show(format!("{what}/max in {phase}"), found[1]);
        }
    }
}
