//! The tables of the page, each by its label.

use super::super::super::markup::Node;
use super::super::super::report::kind;
use super::super::{Form, Table, captured, parts, virtual_users};

pub(super) fn all(form: &mut Form, document: &mut Node) {
    for region in document.take("div.scroll") {
        let table = table(&region);
        let label = region.attribute("aria-label");
        if let Some(phase) = label.strip_prefix("Endpoints in phase ") {
            endpoints(form, &region, phase, &table);
            continue;
        }
        match label {
            "Claims" => {}
            "Phases of requests" => request_phases(form, &table),
            "Scenarios" => scenarios(form, &table),
            "Failures" => failures(form, &table),
            "Requests by status" => statuses(form, &table),
            "Checks" => checks(form, &table),
            "CPU" => cpu(form, &table),
            "Observed series" => series(form, &table),
            _ => panic!("the table `{label}` is not known to this test"),
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
    let [when] = parts(&format!("{phase} {{}}"), &caption);
    form.show(format!("phase/{phase}/when"), when);
    let heads = [
        "due",
        "dropped",
        "started",
        "throughput",
        "failed",
        "share",
        "avg",
        "p50",
        "p90",
        "p95",
        "p99",
        "max",
        "p50",
        "p95",
    ];
    assert_eq!(table.heads, heads, "heads that are not known to this test");
    let names = [
        "due",
        "dropped",
        "requests",
        "throughput",
        "failed",
        "failed share",
        "avg",
        "p50",
        "p90",
        "p95",
        "p99",
        "max",
        "svc p50",
        "svc p95",
    ];
    let rows = region.first("tbody").unwrap().all("tr");
    for (row, cells) in rows.into_iter().zip(&table.rows) {
        let head = row.first("th").unwrap();
        let scenario = head.first("small").unwrap().text();
        let label = head.text().strip_suffix(&scenario).unwrap().to_owned();
        let cells: Vec<(&str, &str)> = names.into_iter().zip(cells[1..].iter().map(String::as_str)).collect();
        assert_eq!(cells.len(), names.len());
        form.row(&format!("row/{phase}/{label}"), &cells);
    }
}

fn request_phases(form: &mut Form, table: &Table) {
    for row in &table.rows {
        let (label, phase) = row[0].rsplit_once(" in ").unwrap();
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
        ["Due", "Started", "Dropped: VU limit", "Dropped: generator late", "Iterations done", "Cancelled"];
    assert_eq!(table.heads[1..7], heads);
    assert_eq!(table.heads[7..], ["Virtual users", "Requests ended", "Failed"]);
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

fn failures(form: &mut Form, table: &Table) {
    expect_heads(table, &["Phase", "Endpoint", "Outcome", "Requests", "Share of ended", "Example"]);
    for row in &table.rows {
        let what = format!("row/{}/{}/kind {}", row[0], row[1], row[2]);
        form.show(what.clone(), &row[3]);
        form.show(format!("{what} share"), &row[4]);
    }
}

fn statuses(form: &mut Form, table: &Table) {
    expect_heads(table, &["Status", "Outcome", "Requests", "Share"]);
    for row in &table.rows {
        let status = Some(row[0].as_str()).filter(|text| !["other", "no response"].contains(text));
        form.show(format!("all/kind {}", kind(&row[1], status)), &row[2]);
    }
}

fn checks(form: &mut Form, table: &Table) {
    expect_heads(table, &["Endpoint", "Check", "Passed", "Failed", "Passed, share"]);
    for row in &table.rows {
        for (name, text) in ["passed", "failed", "share"].iter().zip(&row[2..]) {
            form.show(format!("check/{}/{}/{name}", row[0], row[1]), text);
        }
    }
}

fn cpu(form: &mut Form, table: &Table) {
    expect_heads(table, &["CPU of", "CPU-seconds", "Cores, mean", "Per 1,000 requests", "Of", "Note"]);
    let names = ["CPU-seconds", "mean cores", "per 1,000 requests", "of", "note"];
    for row in &table.rows {
        names
            .iter()
            .zip(&row[1..])
            .for_each(|(name, text)| form.show(format!("cpu/{}/{name}", row[0]), text));
    }
}

fn series(form: &mut Form, table: &Table) {
    expect_heads(table, &["Target", "Series", "Mean", "Lowest", "Highest", "Last", "Samples"]);
    for row in &table.rows {
        let what = format!("series/{}/{}", row[0], row[1]);
        for (name, text) in ["mean", "min", "max", "last", "samples"].iter().zip(&row[2..]) {
            form.show(format!("{what}/{name}"), text);
        }
        for (head, text) in table.heads.iter().zip(row).skip(7) {
            let phase = head.strip_prefix("In ").unwrap();
            let found = captured("{} (max {})", text).unwrap_or_else(|| vec![text, text]);
            form.show(format!("{what}/mean in {phase}"), found[0]);
            form.show(format!("{what}/max in {phase}"), found[1]);
        }
    }
}
