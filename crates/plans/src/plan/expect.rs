//! Reads the checks of a response.

use evidence::GrpcCode;

use super::section::{Item, Section};
use super::step_reader::{StepProtocol, StepReader, check_json_path};
use workload::model::Expect;
use workload::nearest::nearest;
use workload::template::Template;

/// Read `expect` of a step.
pub(super) fn read(reader: &mut StepReader<'_, '_>, protocol: StepProtocol) -> Option<Expect> {
    let Some(item) = reader.section.get("expect") else { return Some(Expect::default()) };
    if !item.is_table() {
        item.wrong("`expect` takes a table, such as `expect = { status = 200 }`");
        return None;
    }
    let section = item.section("`expect`")?;
    let status = read_status(&section);
    let grpc_status = read_codes(&section);
    let (right, wrong) = match protocol {
        StepProtocol::Http => ("status", "grpc_status"),
        StepProtocol::Grpc => ("grpc_status", "status"),
    };
    if let Some(item) = section.get(wrong) {
        item.issues.add(&item.key_span, format!("this step answers with `{right}`, not with `{wrong}`"));
    }
    let messages = section.get("messages").and_then(|item| {
        if protocol == StepProtocol::Http {
            item.issues.add(&item.key_span, "`messages` are those of a gRPC stream; leave it out here");
        }
        item.whole(0..=u64::MAX)
    });
    let headers = section.entries("headers").iter().filter_map(|item| reader.header(item)).collect();
    let json = section.entries("json").iter().filter_map(read_json).collect();
    let body_contains = match section.get("body_contains") {
        Some(item) => item.one_or_many().iter().filter_map(|text| reader.template(text)).collect(),
        None => Vec::new(),
    };
    section.finish();
    Some(Expect { status, grpc_status, messages, headers, json, body_contains })
}

fn read_status(section: &Section<'_>) -> Vec<u16> {
    let Some(item) = section.get("status") else { return Vec::new() };
    item.one_or_many().iter().flat_map(statuses_of).collect()
}

/// A status, or all of a class such as `"2XX"`.
fn statuses_of(item: &Item<'_>) -> Vec<u16> {
    if !item.is_text() {
        return item.whole(100..=599).map(|status| status as u16).into_iter().collect();
    }
    let text = item.text().unwrap_or_default();
    let class = text.strip_suffix("XX").and_then(|class| class.parse::<u16>().ok());
    match class.filter(|class| (1..=5).contains(class)) {
        Some(class) => (class * 100..class * 100 + 100).collect(),
        None => {
            item.wrong(format!(
                "`{text}` is not a class of statuses: `\"2XX\"` is one, and a status is a number"
            ));
            Vec::new()
        }
    }
}

fn read_codes(section: &Section<'_>) -> Vec<String> {
    let Some(item) = section.get("grpc_status") else { return Vec::new() };
    item.one_or_many().iter().filter_map(read_code).collect()
}

fn read_code(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    if GrpcCode::from_name(text).is_some() {
        return Some(text.to_owned());
    }
    let known: Vec<String> =
        (0..GrpcCode::COUNT as u32).map(|n| GrpcCode::from_number(n).to_string()).collect();
    let near =
        nearest(text, known.iter().map(String::as_str)).map(|near| format!("; did you mean `{near}`?"));
    item.wrong(format!("`{text}` is not a gRPC status{}", near.unwrap_or_default()));
    None
}

/// `"$.path" = value`.
fn read_json(item: &Item<'_>) -> Option<(String, serde_json::Value)> {
    item.issues.check(&item.key_span, check_json_path(&item.key))?;
    for (text, span) in item.texts() {
        if Template::parse(text).is_ok_and(|template| template.as_literal().is_none()) {
            item.issues.add(
                &span,
                "expected values are literal; `${…}` is not filled in here, but in `body_contains`",
            );
        }
    }
    Some((item.key.clone(), item.json()))
}
