//! The API's document compared with the routes, the messages of the interface, and real responses.

use std::collections::BTreeSet;

use listings::http::{BASE, ROUTES};
use listings::methods::{self, Access};
use listings::proto::DESCRIPTORS;
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Value, json};

use testkit::http::{connect_and_send, request};
use testkit::openapi::Document;
use testkit::until;

use crate::tokens::AuthenticatedServer;

/// Statuses that tests elsewhere cause: a body that arrives slowly, and a time limit.
const ELSEWHERE: [(&str, &str); 2] = [("", "408"), ("", "504")];

const BIKE: &str = r#"{"user_id":7,"storefront_id":3,"title":"Red bike","price":5,"category_id":20,"quantity":10,
    "sku":"B-1","description":"New","tags":["retro"],"translations":{"sr":{"title":"Bicikl","description":""}}}"#;
const MOVEMENT: &str = r#"{"storefront_id":3,"product_id":1,"movement_type":"out","quantity":1,"user_id":7}"#;
const TOO_MUCH: &str =
    r#"{"storefront_id":3,"product_id":1,"movement_type":"out","quantity":99,"user_id":7}"#;
const ITEMS: &str = r#"{"items":[{"product_id":1,"quantity":1},{"product_id":9,"quantity":1}]}"#;

fn document() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).unwrap()
}

#[test]
fn the_document_has_every_route_with_its_access_and_no_other() {
    let document = document();
    let mut documented = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let is_public = operation.get("security") == Some(&json!([{}, { "bearer": [] }]));
            assert!(is_public || operation.get("security").is_none(), "{verb} {path}");
            documented.insert((path.clone(), verb.to_uppercase(), is_public));
        }
    }
    let routed = ROUTES.iter().map(|route| {
        let access = methods::find(route.rpc).unwrap().access;
        (format!("{BASE}{}", route.path), route.verb.to_string(), access == Access::Public)
    });
    assert_eq!(documented, routed.collect());
}

fn scalar(kind: &Kind) -> Value {
    match kind {
        Kind::Int64 => json!({ "type": "integer", "format": "int64" }),
        Kind::Int32 => json!({ "type": "integer", "format": "int32" }),
        Kind::Double => json!({ "type": "number", "format": "double" }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::String => json!({ "type": "string" }),
        Kind::Message(message) if message.full_name() == "google.protobuf.Timestamp" => {
            json!({ "type": "string", "format": "date-time" })
        }
        Kind::Message(message) => json!({ "$ref": format!("#/components/schemas/{}", message.name()) }),
        other => panic!("{other:?}"),
    }
}

fn schema_of(field: &FieldDescriptor) -> Value {
    match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            json!({ "type": "object", "additionalProperties": scalar(&entry.map_entry_value_field().kind()) })
        }
        kind if field.is_list() => json!({ "type": "array", "items": scalar(&kind) }),
        kind => scalar(&kind),
    }
}

fn without_description(schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema.as_object_mut().unwrap().remove("description");
    schema
}

fn is_struct(field: &FieldDescriptor) -> bool {
    matches!(field.kind(), Kind::Message(message) if message.full_name() == "google.protobuf.Struct")
}

/// Of responses, members that are always there are required.
#[test]
fn every_schema_is_its_message_field_by_field() {
    let (document, pool) = (document(), DescriptorPool::decode(DESCRIPTORS).unwrap());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    assert!(schemas.len() > 35);
    for (name, schema) in schemas.iter().filter(|(name, _)| *name != "Failure") {
        let message: MessageDescriptor =
            pool.get_message_by_name(&format!("listingssvc.v1.{name}")).expect(name);
        let fields: Vec<FieldDescriptor> = message.fields().filter(|field| !is_struct(field)).collect();
        let properties = schema["properties"].as_object().unwrap();
        let names: BTreeSet<&str> = fields.iter().map(FieldDescriptor::name).collect();
        assert_eq!(names, properties.keys().map(String::as_str).collect(), "{name}");
        for field in &fields {
            let property = without_description(&properties[field.name()]);
            assert_eq!(property, schema_of(field), "{name}.{}", field.name());
        }
        if let Some(required) = schema.get("required") {
            let is_optional = |field: &&FieldDescriptor| field.field_descriptor_proto().proto3_optional();
            let always: BTreeSet<&str> =
                fields.iter().filter(|field| !is_optional(field)).map(FieldDescriptor::name).collect();
            let required: Vec<&str> =
                required.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
            assert_eq!(always, required.into_iter().collect(), "{name}");
            assert_eq!(schema["additionalProperties"], json!(false), "{name}");
        }
    }
}

/// The query of a route has the fields of its message that its path has not.
#[test]
fn every_parameter_is_a_field_of_the_message() {
    let (document, pool) = (document(), DescriptorPool::decode(DESCRIPTORS).unwrap());
    let service = pool.get_service_by_name("listingssvc.v1.ListingsService").unwrap();
    for route in ROUTES {
        let operation =
            &document["paths"][format!("{BASE}{}", route.path)][route.verb.as_str().to_lowercase()];
        let input = service.methods().find(|method| method.name() == route.rpc).unwrap().input();
        let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
        let in_query = |parameter: &&Value| parameter["in"] == "query";
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let query: BTreeSet<&str> =
            parameters.iter().filter(in_query).map(|one| one["name"].as_str().unwrap()).collect();
        for parameter in parameters.iter().filter(in_query) {
            let field = input.get_field_by_name(parameter["name"].as_str().unwrap()).unwrap();
            assert_eq!(parameter["schema"], schema_of(&field), "{}", field.full_name());
        }
        let in_path = route.path.matches('{').count();
        if body.is_null() {
            assert_eq!(query.len() + in_path, input.fields().count(), "{} {}", route.verb, route.path);
        } else {
            assert_eq!(body, &json!(format!("#/components/schemas/{}", input.name())));
            assert!(query.is_empty());
        }
    }
}

/// A request to a route; `ids` replace those of its path.
#[derive(Clone, Copy)]
struct RouteRequest<'a> {
    route: &'a str,
    ids: [&'a str; 2],
    body: &'a str,
}

const fn to<'a>(route: &'a str, ids: [&'a str; 2], body: &'a str) -> RouteRequest<'a> {
    RouteRequest { route, ids, body }
}

/// Sends a request and compares the response with the document.
async fn check(
    document: &mut Document,
    server: &AuthenticatedServer,
    subject: &str,
    route_request: RouteRequest<'_>,
) {
    let RouteRequest { route, ids, body } = route_request;
    let (verb, path) = route.split_once(' ').unwrap();
    let (template, query) = path.split_once('?').unwrap_or((path, ""));
    let real = template.replace("{id}", ids[0]).replace("{user_id}", ids[1]);
    let real = format!("{BASE}{real}{}{query}", if query.is_empty() { "" } else { "?" });
    let token = (!subject.is_empty()).then(|| server.bearer(subject));
    let headers = token.as_deref().map(|token| ("authorization", token));
    let response = server.server.http().exchange(request(verb, &real, headers.as_slice(), body)).await;
    document.check(&verb.parse().unwrap(), &format!("{BASE}{template}"), &response);
}

/// Every success, of a service or of user 7.
const SUCCESSES: [RouteRequest<'_>; 29] = [
    to("POST ", ["", ""], BIKE),
    to("GET ?user_id=7", ["", ""], ""),
    to("GET /search?query=bike", ["", ""], ""),
    to("GET /{id}", ["1", ""], ""),
    to("PATCH /{id}", ["1", ""], r#"{"user_id":7,"price":6}"#),
    to("POST ", ["", ""], BIKE),
    to("GET /{id}/similar", ["1", ""], ""),
    to("PUT /{id}/favorites/{user_id}", ["1", "7"], ""),
    to("GET /{id}/favorites", ["1", ""], ""),
    to("GET /{id}/favorites/{user_id}", ["1", "7"], ""),
    to("GET /favorites?user_id=7", ["", ""], ""),
    to("DELETE /{id}/favorites/{user_id}", ["1", "7"], ""),
    to("GET /categories", ["", ""], ""),
    to("GET /categories/roots", ["", ""], ""),
    to("GET /categories/popular", ["", ""], ""),
    to("GET /categories/{id}", ["20", ""], ""),
    to("GET /categories/{id}/tree", ["1", ""], ""),
    to("GET /products?storefront_id=3", ["", ""], ""),
    to("POST /products/by-ids", ["", ""], r#"{"product_ids":[1]}"#),
    to("POST /products/by-skus", ["", ""], r#"{"skus":["B-1"]}"#),
    to("GET /products/{id}", ["1", ""], ""),
    to("POST /products/{id}/views", ["1", ""], ""),
    to("GET /storefronts/{id}/stats", ["3", ""], ""),
    to("POST /stock/decrement", ["", ""], ITEMS),
    to("POST /stock/rollback", ["", ""], ITEMS),
    to("POST /stock/check", ["", ""], ITEMS),
    to("POST /stock/movements", ["", ""], MOVEMENT),
    to(
        "POST /stock/batch",
        ["", ""],
        r#"{"storefront_id":3,"user_id":7,"items":[{"product_id":1,"quantity":2}]}"#,
    ),
    to("DELETE /{id}?user_id=7", ["2", ""], ""),
];

/// What user 8 may not do with what belongs to user 7.
const FORBIDDEN: [RouteRequest<'_>; 13] = [
    to("POST ", ["", ""], BIKE),
    to("PATCH /{id}", ["1", ""], r#"{"user_id":7,"price":6}"#),
    to("DELETE /{id}?user_id=7", ["1", ""], ""),
    to("GET /{id}/favorites", ["1", ""], ""),
    to("GET /{id}/favorites/{user_id}", ["1", "7"], ""),
    to("PUT /{id}/favorites/{user_id}", ["1", "7"], ""),
    to("DELETE /{id}/favorites/{user_id}", ["1", "7"], ""),
    to("GET /favorites?user_id=7", ["", ""], ""),
    to("GET /storefronts/{id}/stats", ["3", ""], ""),
    to("POST /stock/decrement", ["", ""], ITEMS),
    to("POST /stock/rollback", ["", ""], ITEMS),
    to("POST /stock/movements", ["", ""], MOVEMENT),
    to(
        "POST /stock/batch",
        ["", ""],
        r#"{"storefront_id":3,"user_id":7,"items":[{"product_id":1,"quantity":2}]}"#,
    ),
];

/// What does not exist, for a service.
const MISSING: [(&str, &str); 11] = [
    ("POST ", r#"{"user_id":7,"title":"Red bike","price":5,"category_id":999}"#),
    ("GET /{id}", ""),
    ("PATCH /{id}", r#"{"user_id":7}"#),
    ("DELETE /{id}?user_id=7", ""),
    ("GET /{id}/favorites", ""),
    ("PUT /{id}/favorites/{user_id}", ""),
    ("GET /categories/{id}", ""),
    ("GET /categories/{id}/tree", ""),
    ("GET /products/{id}", ""),
    ("POST /products/{id}/views", ""),
    (
        "POST /stock/movements",
        r#"{"storefront_id":3,"product_id":99,"movement_type":"in","quantity":1,"user_id":7}"#,
    ),
];

fn all_routes() -> impl Iterator<Item = String> {
    ROUTES.iter().map(|route| format!("{} {}", route.verb, route.path))
}

#[tokio::test]
async fn every_documented_response_occurs_and_every_response_is_documented() {
    let server = AuthenticatedServer::start().await;
    let response =
        server.server.http().exchange(request("GET", &format!("{BASE}/openapi.json"), &[], "")).await;
    assert_eq!(response.headers["content-type"], "application/json");
    let mut checked = Document::new(response.json());
    for request in SUCCESSES {
        check(&mut checked, &server, "orders", request).await;
    }
    for request in FORBIDDEN {
        check(&mut checked, &server, "8", request).await;
    }
    for (route, body) in MISSING {
        check(&mut checked, &server, "orders", to(route, ["99", "8"], body)).await;
    }
    check(&mut checked, &server, "orders", to("POST /stock/movements", ["", ""], TOO_MUCH)).await;
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(300_000));
    for route in all_routes() {
        // Not a number, nothing at all, and no token that is valid.
        check(
            &mut checked,
            &server,
            "orders",
            to(&route, ["x", "x"], r#"{"user_id":"x","product_ids":1,"skus":1,"items":1}"#),
        )
        .await;
        check(&mut checked, &server, "unknown", to(&route, ["1", "7"], "")).await;
        check(&mut checked, &server, "orders", to(&route, ["1", "7"], &large)).await;
    }
    for route in [
        "GET ?limit=-1",
        "GET /search?limit=-1",
        "GET /favorites?limit=-1",
        "GET /categories/popular?limit=-1",
        "GET /products?page=-1",
    ] {
        check(&mut checked, &server, "orders", to(route, ["", ""], "")).await;
    }
    refused(&mut checked).await;
    assert_eq!(
        checked.missing(&ELSEWHERE),
        [("createListing".to_owned(), "409".to_owned())],
        "tests of categories cause it"
    );
}

/// While a body that does not end holds the only slot, every request is refused; and so is each past its rate limit.
async fn refused(checked: &mut Document) {
    let full = AuthenticatedServer::start_with(&[("MAX_IN_FLIGHT", "1")]).await;
    let token = full.bearer("7");
    let head =
        format!("POST {BASE} HTTP/1.1\r\nhost: t\r\nauthorization: {token}\r\ncontent-length: 9\r\n\r\n{{");
    let _holder = connect_and_send(full.server.http().address, &head).await;
    let path = format!("{BASE}/categories");
    until("the slot is held", async || full.server.call("GET", &path, "").await.0 == 503).await;
    for route in all_routes() {
        check(checked, &full, "orders", to(&route, ["1", "7"], "{}")).await;
    }
    let rows: Vec<String> =
        methods::METHODS.iter().map(|method| format!("{} = {{ per_minute = 1 }}\n", method.name)).collect();
    let table = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(table.path(), rows.concat()).unwrap();
    let table = table.path().display().to_string();
    let limited =
        AuthenticatedServer::start_with(&[("RATE_LIMIT_ENABLED", "true"), ("RATE_LIMIT_TABLE", &table)])
            .await;
    for route in all_routes() {
        for _ in 0..2 {
            check(checked, &limited, "orders", to(&route, ["x", "x"], "[]")).await;
        }
    }
}
