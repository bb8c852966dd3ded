//! Descriptions of APIs.

use serde_json::{Value, json};

use super::{header, plan, sent, steps};
use crate::{Draft, DraftError, OpenApiOptions, Selection, SourceKind, of_openapi, recognise};

const SHOP: &str = include_str!("openapi/shop.yaml");

fn value(text: &str) -> Value {
    match recognise("shop.yaml", text).unwrap() {
        SourceKind::OpenApi(description) => description.value,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn draft(selection: Selection) -> Draft {
    of_openapi("shop.yaml", &value(SHOP).into(), &OpenApiOptions { server: None, selection }).unwrap()
}

#[test]
fn operations_that_only_read_are_steps_and_others_are_comments() {
    let draft = draft(Selection::Safe);
    let steps = steps(&draft);
    let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["listItems", "getItem", "GET /search"]);
    assert_eq!((draft.steps, draft.commented), (3, 5));
    insta::assert_snapshot!(draft.text);
}

#[test]
fn values_are_examples_defaults_and_what_schemas_allow() {
    let steps = steps(&draft(Selection::All));
    let of = |name: &str| steps.iter().find(|step| step.name == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(sent(of("listItems")).1, "/v1/items?limit=20&tag=a%26b&tag=c");
    assert_eq!(sent(of("getItem")).1, "/v1/items/tea-7");
    assert_eq!(of("getItem").expect.status, [200]);
    assert_eq!(sent(of("GET /search")).1, "/v1/search?q=text&after=2026-01-31");
    assert_eq!(sent(of("getOrder")).1, "/v1/orders/${uuid()}");
    assert_eq!(header(of("getOrder"), "x-tenant").as_deref(), Some("blue"));
    let (_, _, body) = sent(of("addItem"));
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        body,
        json!({"name": "textx", "price": 1, "parts": [{"name": "wheel"}], "kind": "new", "id": "${uuid() | json}"})
    );
    assert_eq!(header(of("addItem"), "authorization").as_deref(), Some("Bearer ${env.TOKEN}"));
    assert_eq!(header(of("listItems"), "authorization"), None);
    assert_eq!(header(of("getItem"), "x-api-key").as_deref(), Some("${env.X_API_KEY}"));
    assert_eq!(sent(of("login")).2, "password=text&user=me%40example.com");
}

#[test]
fn a_server_without_a_host_needs_one() {
    let mut description = value(SHOP);
    description["servers"] = json!([{"url": "/v1"}]);
    let with = |server: Option<&str>| {
        let options = OpenApiOptions { server: server.map(str::to_owned), selection: Selection::Safe };
        of_openapi("shop.yaml", &description.clone().into(), &options)
    };
    let error = with(None).unwrap_err();
    assert_eq!(error.place, "shop.yaml#/servers/0/url");
    assert!(error.problem.contains("--server"), "{error}");
    let base = |server| {
        let workload = plan(&with(Some(server)).unwrap()).workload;
        workload.targets["api"].http.clone().unwrap().base_path
    };
    assert_eq!(base("http://127.0.0.1:8000"), "/v1");
    assert_eq!(base("http://127.0.0.1:8000/other/"), "/other");
}

#[test]
fn an_api_that_only_writes_needs_a_choice() {
    let description = json!({"openapi": "3.0.0", "servers": [{"url": "http://h/"}],
        "paths": {"/x": {"post": {"responses": {}}}}});
    let with = |selection: Selection| {
        of_openapi("a.json", &description.clone().into(), &OpenApiOptions { server: None, selection })
    };
    assert!(with(Selection::Safe).unwrap_err().problem.contains("--all"));
    assert_eq!(with(Selection::All).unwrap().steps, 1);
}

#[test]
fn an_id_without_an_example_is_made_up_only_where_nothing_else_is_left() {
    let description = json!({"openapi": "3.1.0", "servers": [{"url": "http://h/"}], "paths": {"/x/{id}": {"get": {
        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 5}}]}}}});
    let draft = of_openapi("a.json", &description.clone().into(), &OpenApiOptions::default()).unwrap();
    assert_eq!(sent(&steps(&draft)[0]).1, "/x/5");
    assert!(draft.notes[0].contains("real values"), "{:?}", draft.notes);
}

#[test]
fn what_is_wrong_with_a_description_is_named_with_its_place() {
    let problem = |change: &dyn Fn(&mut Value)| -> DraftError {
        let mut description = value(SHOP);
        change(&mut description);
        of_openapi("a.json", &description.clone().into(), &OpenApiOptions::default()).unwrap_err()
    };
    for (error, place) in [
        (problem(&|d| d["openapi"] = "2.0".into()), "a.json#/openapi"),
        (problem(&|d| d["paths"] = Value::Null), "a.json#/paths"),
        (problem(&|d| d["paths"] = json!({})), "a.json#/paths"),
        (problem(&|d| d["servers"][0]["url"] = "ftp://h".into()), "a.json#/servers/0/url"),
        (
            problem(&|d| d["paths"]["/items"]["get"]["parameters"][0] = json!({"$ref": "#/nope"})),
            "a.json#/paths/~1items/get/parameters/0",
        ),
        (
            problem(&|d| d["paths"]["/items"]["get"]["parameters"][0] = json!({"$ref": "b.yaml#/x"})),
            "a.json#/paths/~1items/get/parameters/0",
        ),
        (
            problem(&|d| d["components"]["securitySchemes"] = json!({})),
            "a.json#/components/securitySchemes/token",
        ),
    ] {
        assert_eq!(error.place, place, "{error}");
    }
}

#[test]
fn what_is_no_description_is_named() {
    let problem = |text: &str| recognise("x", text).unwrap_err().to_string();
    assert!(problem("{\"a\": 1").contains("x:1:"), "{}", problem("{\"a\": 1"));
    assert!(problem("a: [").contains("not YAML"));
    assert!(problem("swagger: '2.0'").contains("OpenAPI 3"));
    assert!(problem("{\"info\": {}, \"item\": []}").contains("Postman"));
    assert!(problem("hello").contains("not an OpenAPI description"));
}
