//! Sources that others wrote to do harm: an error, or a plan that can be read.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FilesInMemory, plan};
use crate::{OpenApiOptions, Selection, of_curl, of_har, of_openapi, recognise};

/// Text that could end a string, a line or a template, or begin a table.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"".to_owned()),
        Just("'".to_owned()),
        Just("'''".to_owned()),
        Just("\\".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n[targets.x]\n".to_owned()),
        Just("${env.HOME}".to_owned()),
        Just("$${".to_owned()),
        Just("{".to_owned()),
        Just("\u{1b}[2J\u{202e}".to_owned()),
        Just("#".to_owned()),
        "[a-z =%&?/]{0,6}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_of_a_recording_breaks_out_of_the_plan(a in nasty(), b in nasty(), c in nasty(), d in nasty()) {
        let value = json!({"log": {"entries": [{
            "startedDateTime": "2026-01-31T12:00:00Z", "time": 1.0,
            "request": {"method": "POST", "url": format!("http://h/{a}?{b}"),
                "headers": [{"name": "x-a", "value": c}, {"name": format!("x{d}"), "value": b}],
                "postData": {"mimeType": d, "text": c}},
            "response": {"status": 200}
        }]}});
        if let Ok(draft) = of_har("a.har", &value, Selection::All) {
            let workload = plan(&draft).workload;
            prop_assert_eq!(workload.targets.len(), 1);
            prop_assert_eq!(workload.steps().count(), 1);
        }
    }

    #[test]
    fn no_text_of_a_description_breaks_out_of_the_plan(a in nasty(), b in nasty(), c in nasty()) {
        let value = json!({"openapi": "3.1.0", "info": {"title": a}, "servers": [{"url": "http://h/"}],
            "paths": {format!("/{b}"): {"post": {
                "operationId": c, "summary": a, "description": b,
                "parameters": [{"name": a, "in": "query", "example": b}, {"name": "x-b", "in": "header", "example": "c"}],
                "requestBody": {"content": {"application/json": {"example": {a.clone(): [b.clone(), {"x": c}], "long": "x".repeat(120)}}}}
            }}}});
        let options = OpenApiOptions { server: None, selection: Selection::All };
        if let Ok(draft) = of_openapi("a.json", &value.into(), &options) {
            let workload = plan(&draft).workload;
            prop_assert_eq!(workload.targets.len(), 1);
            prop_assert_eq!(workload.steps().count(), 1);
        }
    }

    #[test]
    fn no_text_of_a_command_breaks_out_of_the_plan(a in nasty(), b in nasty()) {
        let shell = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        let text = format!("curl {} -d {} -H {}", shell(&format!("http://h/{a}")), shell(&b), shell(&format!("x-a: {a}")));
        if let Ok(draft) = of_curl("a", &text, &FilesInMemory::default()) {
            prop_assert_eq!(plan(&draft).workload.steps().count(), 1);
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,200}") {
        let _ = recognise("x", &text);
        let _ = of_curl("x", &format!("curl {text}"), &FilesInMemory::default());
    }
}

/// Each field would be two of the next level: 2^40 values.
#[test]
fn schemas_that_contain_themselves_stay_small() {
    let value: Value = json!({"openapi": "3.1.0", "servers": [{"url": "http://h/"}],
        "paths": {"/": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}}}}},
        "components": {"schemas": {"A": {"type": "object", "properties": {
            "a": {"$ref": "#/components/schemas/A"}, "b": {"$ref": "#/components/schemas/A"},
            "l": {"type": "array", "minItems": 4000000000_u64, "items": {"$ref": "#/components/schemas/A"}}}}}}});
    let options = OpenApiOptions { server: None, selection: Selection::All };
    let draft = of_openapi("a.json", &value.into(), &options).unwrap();
    assert!(draft.text.len() < 100_000, "{}", draft.text.len());
    plan(&draft);
}

#[test]
fn references_in_a_circle_are_an_error() {
    let value = json!({"openapi": "3.1.0", "servers": [{"url": "http://h/"}],
        "paths": {"/": {"get": {"parameters": [{"$ref": "#/components/parameters/A"}]}}},
        "components": {"parameters": {"A": {"$ref": "#/components/parameters/A"}}}});
    let error = of_openapi("a.json", &value.into(), &OpenApiOptions::default()).unwrap_err();
    assert!(error.problem.contains("refers to itself"), "{error}");
}

/// 900 URLs of one command, each with 100 headers: 15 KB that would become a plan of megabytes.
#[test]
fn a_command_that_repeats_much_is_an_error() {
    let command = |urls: usize, rest: &str| {
        let text = format!("curl {rest}{}", " http://h/".repeat(urls));
        of_curl("x", &text, &FilesInMemory::default()).map(|draft| draft.text.len())
    };
    let headers: String = (0..100).map(|n| format!("-H a{n}:1 ")).collect();
    assert!(command(900, "-H a:1").is_ok() && command(10, &headers).is_ok());
    for rest in [headers, format!("-d {}", "x".repeat(3_000))] {
        let error = command(900, &rest).unwrap_err();
        assert!(error.problem.contains("repeats more than 1 MiB"), "{error}");
    }
}
