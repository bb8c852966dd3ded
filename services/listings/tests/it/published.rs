//! The published interface of listings services of this kind, compared with ours field by field, and a client that was
//! built from it. What is left out on purpose, and what is ours alone, is listed here and in the service's README.

use std::collections::BTreeSet;
use std::path::Path;

use listings::http::{BASE, ROUTES};
use listings::proto::{DESCRIPTORS, SERVICE_NAMES};
use prost_reflect::prost::Message as _;
use prost_reflect::{Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Value, json};
use testkit::documents::assert_says;
use testkit::grpc;

use crate::support::Server;

/// What the published interface has and ours has not, in the words of the README.
const LEFT_OUT: [&str; 5] = [
    "no rpc adds images",
    "no rpcs of products alone (creating, changing, deleting, in bulk)",
    "Products have no variants",
    "Attributes and locations are empty",
    "no services for attributes, the administration of storefronts and categories, orders and carts, analytics, chat",
];

/// Fields that ours has alone, all of them optional for a caller.
const OURS: [&str; 6] = [
    "CreateListingRequest: optional string visibility 100",
    "CreateListingRequest: repeated string tags 101",
    "ListListingsRequest: optional int64 before_id 100",
    "SearchListingsRequest: optional int64 before_id 100",
    "UpdateListingRequest: optional string visibility 100",
    "UpdateListingRequest: optional Tags tags 101",
];

/// Messages whose published fields are not known here, or that ours has alone.
const NOT_COMPARED: [&str; 10] = [
    "ListingImage",
    "ListingAttribute",
    "ListingLocation",
    "ListingVariant",
    "ProductVariant",
    "ProductImage",
    "CategoryTreeNode",
    "BatchUpdateStockResponse",
    "StockUpdateResult",
    "Tags",
];

fn published() -> DescriptorPool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let set = protox::compile(["published.proto"], [folder]).unwrap();
    DescriptorPool::from_file_descriptor_set(set).unwrap()
}

fn ours() -> DescriptorPool {
    DescriptorPool::decode(DESCRIPTORS).unwrap()
}

fn described(field: &FieldDescriptor) -> String {
    let kind = match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            let of = |field: FieldDescriptor| match field.kind() {
                Kind::Message(message) => message.name().to_owned(),
                scalar => format!("{scalar:?}").to_lowercase(),
            };
            format!("map<{},{}>", of(entry.map_entry_key_field()), of(entry.map_entry_value_field()))
        }
        Kind::Message(message) => message.name().to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    };
    let is_optional = field.field_descriptor_proto().proto3_optional();
    let cardinality = match field.cardinality() {
        Cardinality::Repeated if !field.is_map() => "repeated ",
        _ if is_optional => "optional ",
        _ => "",
    };
    format!("{}: {cardinality}{kind} {} {}", field.parent_message().name(), field.name(), field.number())
}

/// Every field of the messages of a package, and every rpc.
fn surface(pool: &DescriptorPool, package: &str) -> BTreeSet<String> {
    let is_compared = |message: &MessageDescriptor| {
        message.package_name() == package
            && !message.is_map_entry()
            && !NOT_COMPARED.contains(&message.name())
    };
    let messages = pool.all_messages().filter(is_compared);
    let fields = messages.flat_map(|message| {
        let fields = message.fields().map(|field| described(&field)).collect::<Vec<_>>();
        fields.into_iter().chain([message.name().to_owned()])
    });
    let services = pool.services().filter(|service| service.package_name() == package);
    let rpcs = services.flat_map(|service| {
        let of = |method: prost_reflect::MethodDescriptor| {
            assert!(!method.is_client_streaming() && !method.is_server_streaming(), "{method:?}");
            format!("rpc {}({}) {}", method.name(), method.input().name(), method.output().name())
        };
        service.methods().map(of).collect::<Vec<_>>()
    });
    fields.chain(rpcs).collect()
}

#[test]
fn every_published_field_has_its_name_number_and_type_under_both_names_of_the_service() {
    let published = surface(&published(), "listingssvc.v1");
    assert!(published.len() > 250, "{}", published.len());
    for name in SERVICE_NAMES {
        let ours = surface(&ours(), name.trim_end_matches(".ListingsService"));
        assert_eq!(published.difference(&ours).collect::<Vec<_>>(), [""; 0], "missing in ours");
        let alone: Vec<&str> = ours.difference(&published).map(String::as_str).collect();
        let mut expect = OURS.to_vec();
        expect.sort_unstable();
        assert_eq!(alone, expect, "only in ours");
    }
}

#[test]
fn every_published_route_exists() {
    for (method, path) in [("GET", ""), ("GET", "/{id}"), ("POST", "")] {
        assert!(
            ROUTES.iter().any(|route| route.verb == method && route.path == path),
            "{method} {BASE}{path}"
        );
    }
}

#[test]
fn what_is_left_out_or_ours_alone_is_documented() {
    let ours = OURS.map(|field| {
        let mut words = field.rsplit(' ');
        let (number, name) = (words.next().unwrap(), words.next().unwrap());
        format!("`{name}` ({number})")
    });
    assert_says(include_str!("../../README.md"), LEFT_OUT.into_iter().chain(ours.iter().map(String::as_str)));
}

/// A client made from the published interface, under one name of the service.
struct OldClient<'a> {
    server: &'a Server,
    pool: &'a DescriptorPool,
    name: &'a str,
}

impl OldClient<'_> {
    async fn call(&self, rpc: &str, message: Value) -> Value {
        let service = self.pool.get_service_by_name(SERVICE_NAMES[0]).unwrap();
        let method = service.methods().find(|method| method.name() == rpc).unwrap();
        let message = DynamicMessage::deserialize(method.input(), message).unwrap();
        let path = format!("/{}/{rpc}", self.name);
        let body = grpc::framed(&message.encode_to_vec());
        let answer = grpc::call(self.server.running.addresses.grpc, &path, &[], body).await;
        assert_eq!(answer.status, "0", "{answer:?}");
        serde_json::to_value(DynamicMessage::decode(method.output(), &answer.message[..]).unwrap()).unwrap()
    }

    async fn ids(&self, rpc: &str, message: Value) -> (Vec<i64>, Value) {
        let answer = self.call(rpc, message).await;
        let listed = answer.get("products").or(answer.get("listings"));
        let ids = listed.and_then(Value::as_array).into_iter().flatten();
        let id = |one: &Value| one["id"].as_str().unwrap().parse().unwrap();
        (ids.map(id).collect(), answer.get("totalCount").or(answer.get("total")).cloned().unwrap_or(json!(0)))
    }
}

#[tokio::test]
async fn a_client_of_the_published_interface_reads_and_writes_the_right_data() {
    let (server, pool) = (Server::start().await, published());
    for (name, storefront) in SERVICE_NAMES.into_iter().zip([3, 4]) {
        let client = OldClient { server: &server, pool: &pool, name };
        let mut ids = Vec::new();
        for title in ["First bike", "Second bike", "Third bike"] {
            let made = json!({ "userId": 7, "storefrontId": storefront, "title": title, "price": 19.99, "categoryId": 20,
                "quantity": 5, "sku": format!("S-{storefront}"),
                "translations": { "sr": { "title": "Bicikl", "description": "Opis" } } });
            let made = client.call("CreateListing", made).await;
            ids.push(made["listing"]["id"].as_str().unwrap().parse::<i64>().unwrap());
        }
        let [first, second, third] = ids[..] else { panic!("{ids:?}") };
        client.call("UpdateListing", json!({ "id": second, "userId": 7, "status": "sold" })).await;

        let page = |page: i32| json!({ "storefrontId": storefront, "page": page, "pageSize": 2 });
        assert_eq!(client.ids("ListProducts", page(1)).await, (vec![third, second], json!(3)));
        assert_eq!(client.ids("ListProducts", page(2)).await, (vec![first], json!(3)));
        let active = json!({ "storefrontId": storefront, "isActiveOnly": true });
        assert_eq!(client.ids("ListProducts", active).await, (vec![third, first], json!(2)));
        for (rpc, message) in [
            ("GetProductsByIDs", json!({ "productIds": [first], "lang": "sr" })),
            ("GetProductsBySKUs", json!({ "skus": [format!("S-{storefront}")], "lang": "sr" })),
        ] {
            let found = client.call(rpc, message).await;
            let product = &found["products"][0];
            assert_eq!(
                (&product["name"], &product["description"]),
                (&json!("Bicikl"), &json!("Opis")),
                "{rpc}"
            );
        }

        let unknown = client.call("GetSimilarListings", json!({ "listingId": 99_999 })).await;
        assert_eq!(unknown, json!({}));
        let similar = client.ids("GetSimilarListings", json!({ "listingId": third, "limit": 1 })).await;
        assert_eq!(similar.0.len(), 1);

        let none = client.call("DecrementStock", json!({})).await;
        assert!(none.get("success").is_none() && none["error"].is_string() && none.get("results").is_none());
        let items = json!({ "items": [{ "productId": first, "quantity": 2 }, { "productId": third, "quantity": 6 }] });
        let short = client.call("DecrementStock", items.clone()).await;
        assert!(short.get("success").is_none() && short["error"].is_string(), "{short}");
        let expect = json!([
            { "productId": first.to_string(), "stockBefore": 5, "stockAfter": 5, "success": true },
            { "productId": third.to_string(), "stockBefore": 5, "stockAfter": 5,
              "error": "6 requested, 5 in stock" },
        ]);
        assert_eq!(short["results"], expect);
        assert_eq!(client.call("RollbackStock", items).await["success"], json!(true));
        let stock = client.call("GetProduct", json!({ "productId": third })).await;
        assert_eq!(stock["product"]["stockQuantity"], json!(11));
    }
}
