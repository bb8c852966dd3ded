//! The terminal's form: sections divided by empty lines, tables of right-aligned columns.

use super::{
    Form, SEVERITIES, Table, beside_table, captured, claim, finding, parts, phase_requests, phase_when,
    reason, virtual_users,
};

const VERDICTS: [&str; 5] = ["PASS", "FAIL", "INCONCLUSIVE", "INVALID", "MEASURED"];
/// The column where the text of the last lines begins.
const FOOT: usize = 11;

/// What the terminal shows, in a width in which nothing is wrapped; `scenarios` are the names of the run's scenarios.
pub(crate) fn form(text: &str, scenarios: &[&str]) -> Form {
    let mut form = Form::default();
    let mut sections = text.trim_end().split("\n\n");
    let word = head(&mut form, sections.next().unwrap());
    let mut foot_lines = Vec::new();
    for section in sections {
        let lines: Vec<&str> = section.lines().collect();
        let (heading, body) = lines.split_first().unwrap();
        if let Some((verdict, because)) = heading.split_once("  ").filter(|(word, _)| VERDICTS.contains(word))
        {
            assert_eq!(verdict, word);
            form.sentences.push(because.to_owned());
        } else if heading.starts_with("Failures  ") {
            failures(&mut form, heading, body);
        } else if *heading == "Objectives" {
            claims(&mut form, body);
        } else if *heading == "Findings" {
            findings(&mut form, body);
        } else if heading.starts_with("Imported from ") {
            source(&mut form, body);
        } else if heading.starts_with("Phase ") {
            phase(&mut form, heading, body);
        } else if heading.starts_with("Parts of a request  ") {
            request_phases(&mut form, body);
        } else if *heading == "Workers" {
            each_worker(&mut form, body);
        } else {
            foot_lines.extend(lines.iter().copied());
        }
    }
    foot(&mut form, &foot_lines, scenarios);
    form
}

/// The verdict's word.
fn head<'a>(form: &mut Form, section: &'a str) -> &'a str {
    let lines: Vec<&str> = section.lines().collect();
    let (word, about) = lines[0].split_once("  ").unwrap();
    let about: Vec<&str> = about.split(" · ").collect();
    assert!(about.len() == 3 || about.len() == 4 && about[3] == "completed", "{about:?}");
    form.show("run/started", about[1]);
    form.show("run/elapsed", about[2]);
    for line in &lines[1..] {
        let [end] = parts("The run was {}. This report covers the time until then.", line);
        super::end(form, end);
    }
    word
}

fn failures(form: &mut Form, heading: &str, body: &[&str]) {
    let [share, ended] = parts("Failures  {} of {} requests", heading);
    form.show("all/failed share", share);
    form.show("all/ended", ended);
    let mut kind = "";
    for line in body {
        match captured("{}  {}", line.trim_start()) {
            Some(found) if !found[0].contains('×') => {
                kind = found[1].split("  ").next().unwrap();
                form.show(format!("all/kind {kind}"), found[0]);
            }
            _ if line.trim_start().starts_with("by endpoint: ") => {
                let [endpoints] = parts("by endpoint: {}", line.trim_start());
                for part in endpoints.split(" · ") {
                    let (label, count) = part.rsplit_once(' ').unwrap();
                    form.show(format!("all/kind {kind}/of {label}"), count);
                }
            }
            _ => {
                let [count, reason] = parts("{} × {}", line.trim_start());
                form.show(format!("all/kind {kind}/reason {reason}"), count);
            }
        }
    }
}

fn claims(form: &mut Form, body: &[&str]) {
    let mut lines = body.iter().peekable();
    while let Some(line) = lines.next() {
        let parts_of: Vec<&str> = line.splitn(3, "  ").collect();
        let [verdict, name, text] = parts_of[..] else { panic!("no claim: {line}") };
        assert!(VERDICTS.contains(&verdict), "{line}");
        form.sentences.push(text.to_owned());
        let figures: Vec<&str> = lines.next().unwrap().trim().split(" · ").collect();
        let find = |start: &str| figures.iter().find_map(|figure| figure.strip_prefix(start));
        let interval = find("95 % interval ");
        let samples = find("n = ").unwrap();
        match find("limit ") {
            Some(limit) => {
                assert_eq!(figures.len(), 3 + usize::from(interval.is_some()), "{figures:?}");
                claim(form, name, [figures[0], limit, interval.unwrap_or("–"), samples]);
            }
            // Its share is said below.
            None => {
                let [observed, limit, _answer] = parts("{}, limit {}: {}", figures[0]);
                let observed = observed.split_once(" (").map_or(observed, |(value, _why)| value);
                form.show(format!("claim/{name}/n"), samples);
                form.show(format!("claim/{name}/observed"), observed);
                form.show(format!("claim/{name}/limit"), limit.trim_start_matches(['<', '>', '≤', '≥', ' ']));
            }
        }
        while let Some(text) = lines.next_if(|line| line.starts_with("      ")) {
            reason(form, text.trim());
        }
    }
}

fn findings(form: &mut Form, body: &[&str]) {
    let mut about = String::new();
    for line in body {
        if let Some(text) = line.strip_prefix("  –   ") {
            match text.split_once(": ") {
                Some((place, what)) => finding(form, &about, [place, what]),
                None => form.findings.push(format!("{about}: {text}")),
            }
        } else if let Some(why) = line.strip_prefix("why   ").or(line.strip_prefix("next  ")) {
            form.sentences.push(why.to_owned());
        } else {
            assert!(SEVERITIES.contains(&line.split(' ').next().unwrap()), "not of a finding: {line}");
            about = line.replacen("  ", " ", 1);
        }
    }
}

fn source(form: &mut Form, body: &[&str]) {
    for line in body {
        let (label, text) = line.split_once("  ").unwrap();
        form.source.push((label.to_owned(), text.trim_start().to_owned()));
    }
}

/// The table that begins with the first line and ends before the legend.
fn table(body: &[&str]) -> Table {
    let (head, rows) = body.split_first().unwrap();
    let chars: Vec<char> = head.chars().collect();
    let mut ends: Vec<usize> = Vec::new();
    for at in 0..=chars.len() {
        let is_gap = |at: usize| chars.get(at).is_none_or(|c| *c == ' ');
        if at > 0 && !is_gap(at - 1) && is_gap(at) && is_gap(at + 1) {
            ends.push(at);
        }
    }
    let rows: Vec<&str> = rows
        .iter()
        .copied()
        .take_while(|row| !row.starts_with("Response times of ") && !is_identity(row))
        .collect();
    // The column of labels is aligned to the left: it ends where all lines have the space between two columns.
    let is_space = |line: &str, at: usize| line.chars().skip(at).take(2).all(|c| c == ' ');
    let is_gap = |at: &usize| is_space(head, *at) && rows.iter().all(|row| is_space(row, *at));
    ends[0] = (0..chars.len()).find(is_gap).unwrap();
    let cells = |line: &str| -> Vec<String> {
        let chars: Vec<char> = line.chars().collect();
        let part = |from: usize, to: usize| {
            chars[from.min(chars.len())..to.min(chars.len())].iter().collect::<String>()
        };
        let parts = [0].iter().chain(&ends).zip(&ends);
        parts.map(|(from, to)| part(*from, *to).trim().to_owned()).collect()
    };
    Table { heads: cells(head), rows: rows.iter().map(|row| cells(row)).collect() }
}

fn is_identity(line: &str) -> bool {
    line.contains(" requests begun = ") || line.contains(" in the table = ")
}

fn phase(form: &mut Form, heading: &str, body: &[&str]) {
    let (name, when) = heading.strip_prefix("Phase ").unwrap().split_once("  ").unwrap();
    phase_when(form, name, when);
    for line in body.iter().filter(|line| is_identity(line)) {
        match line.contains(" in the table = ") {
            true => beside_table(form, name, line),
            false => phase_requests(form, name, line),
        }
    }
    let table = table(body);
    for row in &table.rows {
        let heads = table.heads.iter().map(String::as_str);
        let cells: Vec<(&str, &str)> = heads.zip(row.iter().map(String::as_str)).skip(1).collect();
        form.row(&format!("row/{name}/{}", row[0]), &cells);
    }
}

fn request_phases(form: &mut Form, body: &[&str]) {
    let table = table(body);
    for row in &table.rows {
        // A run of one phase does not name it.
        let (label, phase) = row[0].rsplit_once(" in ").unwrap_or((&row[0], "run"));
        let heads = table.heads.iter().map(String::as_str);
        let cells: Vec<(&str, &str)> = heads.zip(row.iter().map(String::as_str)).skip(1).collect();
        form.row(&format!("row/{phase}/{label}"), &cells);
    }
}

fn foot(form: &mut Form, lines: &[&str], scenarios: &[&str]) {
    let legend = |line: &&&str| !line.starts_with("Response times of ");
    for line in lines.iter().filter(legend) {
        let label: String = line.chars().take(FOOT).collect();
        let text: String = line.chars().skip(FOOT).collect();
        match label.trim() {
            "arrivals" => arrivals(form, "all", &text),
            "users" => match scenarios.iter().find(|name| text.starts_with(&format!("{name} "))) {
                Some(name) => virtual_users(form, name, &text[name.len() + 1..]),
                None => virtual_users(form, scenarios[0], &text),
            },
            "requests" => requests(form, &text),
            "statuses" => statuses(form, &text),
            "CPU" => text.split("; ").for_each(|text| cpu(form, text)),
            "start lag" => {
                let [p50, p99, max] = parts("p50 {}, p99 {}, max {}", &text);
                for (name, time) in [("p50", p50), ("p99", p99), ("max", max)] {
                    form.show(format!("generator/start lag {name}"), time);
                }
            }
            "stalls" => {
                let several = text
                    .replace("request was in", "requests was in")
                    .replace("requests was in", "requests were in");
                let [perturbed, ended] =
                    parts("{} of {} requests were in flight during a stall of the generator", &several);
                form.show("generator/requests during stalls", perturbed);
                form.show("all/ended", ended);
            }
            "exchanges" => {
                let [failed, slowest] = parts("{} failed, {} slowest (full text in the HTML report)", &text);
                form.show("exemplars/failed", failed);
                form.show("exemplars/slowest", slowest);
            }
            "workers" => workers(form, &text),
            "digest" => form.show("run/evidence SHA-256", &text),
            "evidence" | "HTML" | "Markdown" | "JSON" | "JUnit" => {}
            name if label.starts_with("  ") && scenarios.contains(&name) => {
                arrivals(form, &format!("scenario/{name}"), &text);
            }
            _ => panic!("a line that is not known to this test: {line}"),
        }
    }
}

/// What the least and the most busy of the workers began and dropped.
fn workers(form: &mut Form, text: &str) {
    let [count, began, _, dropped]: [&str; 4] =
        parts("{} workers with 1 loop each; each began {}, start lag {}, dropped late {}", text);
    form.show("workers/number", count);
    for (name, range) in [("began", began), ("dropped late", dropped)] {
        let ends = captured("{} to {}", range).unwrap_or_else(|| vec![range, range]);
        form.show(format!("workers/{name} least"), ends[0]);
        form.show(format!("workers/{name} most"), ends[1]);
    }
}

/// The same, from the table that has each of them.
fn each_worker(form: &mut Form, body: &[&str]) {
    let table = table(body);
    let column = table.heads.iter().position(|head| head == "dropped late").unwrap();
    let number = |row: &&Vec<String>| row[column].replace(',', "").parse::<u64>().unwrap();
    let least = table.rows.iter().min_by_key(number).unwrap();
    let most = table.rows.iter().max_by_key(number).unwrap();
    form.show("workers/number", &table.rows.len().to_string());
    form.show("workers/dropped late least", &least[column]);
    form.show("workers/dropped late most", &most[column]);
}

fn arrivals(form: &mut Form, of: &str, text: &str) {
    let shown: [&str; 5] = parts("{} due, {} started, {} dropped: VU limit {}, generator late {}", text);
    let names = ["due", "started", "dropped", "dropped: VU limit", "dropped: generator late"];
    for (name, shown) in names.iter().zip(shown) {
        form.show(format!("{of}/{name}"), shown);
    }
}

fn requests(form: &mut Form, text: &str) {
    if text == "none counted" {
        return form.show("all/ended", "–");
    }
    let mut parts_of = text.split(" · ");
    let first = parts_of.next().unwrap();
    if let Some(found) = captured("{} ended, {} failed", first) {
        form.show("all/ended", found[0]);
        form.show("all/failed", found[1]);
    } else {
        let [ended] = parts("{} ended, failures not known", first);
        form.show("all/ended", ended);
        form.show("all/failed", "not known");
    }
    for outcome in parts_of {
        let (outcome, n) = outcome.rsplit_once(' ').unwrap();
        form.show(format!("all/outcome {outcome}"), n);
    }
}

pub(super) fn statuses(form: &mut Form, text: &str) {
    for part in text.split(" · ") {
        let [status, n] = parts("{} × {}", part);
        form.show(format!("all/status {status}"), n);
    }
}

fn cpu(form: &mut Form, text: &str) {
    let (target, text) = text.split_once(' ').unwrap();
    if text == "not measured" {
        form.show(format!("cpu/{target}/CPU-seconds"), "–");
        return form.show(format!("cpu/{target}/note"), text);
    }
    let with_note = captured("{} ({} per 1,000 requests, {}), {}", text);
    if let Some(found) = with_note.or_else(|| captured("{} ({} per 1,000 requests, {})", text)) {
        form.show(format!("cpu/{target}/CPU-seconds"), found[0]);
        form.show(format!("cpu/{target}/per 1,000 requests"), found[1]);
        form.show(format!("cpu/{target}/of"), found[2]);
        return form.show(format!("cpu/{target}/note"), found.get(3).unwrap_or(&""));
    }
    let (seconds, note) = text.split_once(", ").unwrap_or((text, ""));
    form.show(format!("cpu/{target}/CPU-seconds"), seconds);
    form.show(format!("cpu/{target}/per 1,000 requests"), "–");
    form.show(format!("cpu/{target}/note"), note);
}
