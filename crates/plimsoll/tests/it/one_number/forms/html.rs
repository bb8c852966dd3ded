//! HTML's form. What is recognised is taken out of the document; a digit in the rest is a number that is not known here.

mod exchanges;
mod tables;

use super::super::markup::Node;
use super::{Form, captured, claim, finding, must_be_known, parts, reason};

/// Texts with numbers that are the same in every report.
const KNOWN: [&str; 2] = ["p50", "p95"];

pub(in super::super) fn form(text: &str) -> Form {
    let mut form = Form::default();
    let mut document = Node::parse(text);
    for drawing in ["style", "script", "svg", "pre", "title", "h1", "nav"] {
        document.take(drawing);
    }
    facts(&mut form, &document.take("dl.facts"));
    for because in document.take("p.because") {
        form.sentences.push(because.text());
    }
    for notice in document.take("p.notice") {
        let notice = notice.text();
        let [end] = parts("The run was {}. This report covers the time until then.", &notice);
        super::end(&mut form, end);
    }
    document
        .take("ul.tiles")
        .iter()
        .flat_map(|tiles| tiles.all("li"))
        .for_each(|tile| self::tile(&mut form, tile));
    for of in document.take("p.of") {
        let of = of.text();
        let [phase] = parts("Phase {}; response times of successes", &of);
        form.show("headline/phase", phase);
    }
    claims(&mut form, &document.take("section#objectives"));
    document.take("article").iter().for_each(|card| self::card(&mut form, card));
    for source in document.take("section#source") {
        let of = |tag: &str| source.all(tag).into_iter().map(Node::text);
        form.source.extend(of("dt").zip(of("dd")));
    }
    document.take("figure").iter().for_each(|figure| self::figure(&mut form, figure));
    tables::all(&mut form, &mut document);
    generator(&mut form, &document.take("dl.health"));
    exchanges::all(&mut form, &mut document);
    environment(&mut form, &document.take("section#environment"));
    for text in document.texts().iter().filter(|text| !is_known(text)) {
        must_be_known(text, &KNOWN);
    }
    form
}

fn is_known(text: &str) -> bool {
    // How many series the table has, whose rows are compared.
    if let Some(found) = captured("Observed series ({})", text) {
        return found[0].parse::<u32>().is_ok();
    }
    let rough = " ~ marks a quantile with fewer than 20 samples above it.";
    text == "p99"
        || text.starts_with("Response times of ") && text.ends_with(rough)
        || text.ends_with(" endpoints with fewer requests are only in the tables.")
        || captured("{} more are in the run file.", text).is_some()
}

/// (Name, value) of each fact of lists.
fn pairs<'a>(lists: impl IntoIterator<Item = &'a Node>) -> Vec<(String, String)> {
    let lists: Vec<&Node> = lists.into_iter().collect();
    let of = |tag: &str| lists.iter().flat_map(|list| list.all(tag)).map(Node::text).collect::<Vec<_>>();
    of("dt").into_iter().zip(of("dd")).collect()
}

fn facts(form: &mut Form, lists: &[Node]) {
    for (name, value) in pairs(lists) {
        match name.as_str() {
            "started" | "elapsed" | "rules" => form.show(format!("run/{name}"), &value),
            "ended" => super::end(form, &value),
            "evidence" | "HTML" | "Markdown" | "JSON" | "JUnit" => {}
            _ => panic!("the fact `{name}` is not known to this test: {value}"),
        }
    }
}

fn tile(form: &mut Form, tile: &Node) {
    let of = |class: &str| tile.first(class).map(Node::text).unwrap_or_default();
    let (name, value, note) = (of(".name"), of(".value"), of(".note"));
    match name.as_str() {
        "Throughput" => form.show("headline/throughput", &value),
        "p50" | "p95" | "p99" => form.show(format!("headline/{name}"), &value),
        "Failed" => {
            form.show("headline/failed share", &value);
            let failed = captured("{} requests", &note).map_or("0", |found| found[0]);
            if value.contains(|c: char| c.is_ascii_digit()) {
                form.show("headline/failed", failed);
            }
        }
        "Never started" => {
            form.show("all/dropped", &value);
            let [due] = parts("of {} arrivals due, whole run", &note);
            form.show("all/due", due);
        }
        _ => panic!("the tile `{name}` is not known to this test: {value}"),
    }
}

fn claims(form: &mut Form, sections: &[Node]) {
    for row in sections.iter().flat_map(|section| section.all("tbody")).flat_map(|body| body.all("tr")) {
        let head = row.first("th").unwrap();
        let text = head.first("code").unwrap().text();
        let reasons: Vec<String> = head.all("span.reason").into_iter().map(Node::text).collect();
        let all = head.text();
        let name = all.strip_suffix(&format!("{text}{}", reasons.concat())).unwrap().to_owned();
        form.sentences.push(text);
        reasons.iter().for_each(|text| reason(form, text));
        let figures: Vec<String> = row.all("td.n").into_iter().map(Node::text).collect();
        let [observed, limit, interval, samples] = &figures[..] else { panic!("{figures:?}") };
        claim(form, &name, [observed, limit, interval, samples]);
    }
}

fn card(form: &mut Form, card: &Node) {
    let heading = card.first("h3").unwrap().text().split_whitespace().collect::<Vec<_>>().join(" ");
    for row in card.all("tr") {
        let place = row.first("th").unwrap().text();
        let what = row.first("span.what").unwrap().text();
        finding(form, &heading, [&place, &what]);
        for (name, value) in pairs(row.all("dl.figures")) {
            form.show(format!("finding/{what}/{name}"), &value);
        }
    }
    for text in card.all("p").into_iter().map(Node::text) {
        let text = text.trim_start_matches("Why it matters. ").trim_start_matches("What to do next. ");
        form.sentences.push(text.to_owned());
    }
}

/// A plot of response times has a note on how its requests ended, one of distributions a legend with failures.
fn figure(form: &mut Form, figure: &Node) {
    let caption = figure.first("figcaption").unwrap();
    let title = caption.first("b").unwrap().text();
    if let Some(note) = caption.first("span.note").map(Node::text) {
        let what = format!("curve/{title}");
        // Behind it are bounds that the plot has no place for.
        let note = note.split("; ").next().unwrap();
        match captured("{} ok, {} failed ({})", note) {
            Some(found) => {
                let names = ["ok", "failed", "failed share"];
                names.iter().zip(found).for_each(|(name, text)| form.show(format!("{what}/{name}"), text));
            }
            None => {
                let [ended] = parts("{} ended, failures not known", note);
                form.show(format!("{what}/ended"), ended);
            }
        }
    }
    for line in figure.all("li").into_iter().map(Node::text) {
        if let Some(found) = captured("{} ({} failed)", &line) {
            let phase = title.strip_prefix("Phase ").unwrap();
            form.show(format!("infinite/{phase}/{}", found[0]), found[1]);
        }
    }
}

fn generator(form: &mut Form, lists: &[Node]) {
    for (name, value) in pairs(lists) {
        match name.as_str() {
            "arrivals due" => form.show("all/due", &value),
            "requests ended" => form.show("all/ended", &value),
            "cancelled by the generator" => form.show("all/cancelled", &value),
            "in flight at the end" => form.show("all/in flight", &value),
            "watching" => watching(form, &value),
            _ => form.show(format!("generator/{name}"), &value),
        }
    }
}

/// The costs of observers: their sum, and those of the most expensive ones.
fn watching(form: &mut Form, text: &str) {
    let (sum, named) = text.split_once(": ").unwrap();
    form.show("generator/watching", sum);
    for observer in named.split(", ") {
        let [cost] = parts("{} cores", observer);
        let (name, cores) = cost.rsplit_once(' ').unwrap();
        form.show(format!("series/generator/observer_cpu ({name})/mean"), cores);
    }
}

fn environment(form: &mut Form, sections: &[Node]) {
    for group in
        sections.iter().flat_map(|section| section.all("div.groups")).flat_map(|groups| groups.all("div"))
    {
        let name = group.first("h3").unwrap().text();
        for (fact, value) in pairs([group]) {
            match (name.as_str(), fact.as_str()) {
                ("Identity", "evidence") => {
                    let [seconds, planned] = parts("{} of {} s", &value);
                    form.show("run/seconds", seconds);
                    form.show("run/planned seconds", planned);
                }
                ("Identity", _) => form.show(format!("run/{fact}"), &value),
                _ => form.show(format!("environment/{name}/{fact}"), &value),
            }
        }
    }
}
