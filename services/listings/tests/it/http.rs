//! The HTTP API: the operations of the rpcs, with their results and limits.

use listings::proto::{CategoryIdRequest, GetListingRequest};
use serde_json::{Value, json};
use testkit::http::{connect_and_send, request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Server, a_product};
use crate::tokens::AuthenticatedServer;

pub(crate) const BASE: &str = "/api/v1/listings";

pub(crate) const BIKE: &str = r#"{"user_id":7,"storefront_id":3,"title":"Red bike","description":"Nearly new","price":19.99,
    "category_id":20,"quantity":10,"sku":"B-1","tags":["retro"],"original_language":"en",
    "translations":{"sr":{"title":"Crveni bicikl"}},"images":["ignored"]}"#;

fn ids(found: &Value) -> Vec<i64> {
    let all = found.get("listings").or(found.get("products")).unwrap().as_array().unwrap();
    all.iter().map(|one| one["id"].as_i64().unwrap()).collect()
}

impl Server {
    async fn read(&self, path: &str) -> Value {
        let (status, answer) = self.call("GET", &format!("{BASE}{path}"), "").await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }
}

#[tokio::test]
async fn a_listing_is_created_read_changed_and_deleted_as_over_grpc() {
    let server = Server::start().await;
    let (status, made) = server.call("POST", BASE, BIKE).await;
    assert_eq!(
        (status, &made["id"], &made["price"], &made["status"]),
        (201, &json!(1), &json!(19.99), &json!("active"))
    );
    assert_eq!(server.read("/1").await, made);
    assert_eq!(
        (&made["tags"], &made["is_deleted"], made.get("deleted_at")),
        (&json!(["retro"]), &json!(false), None)
    );
    let mut client = server.client().await;
    let rpc = client.rpc.get_listing(GetListingRequest { id: 1, lang: None }).await.unwrap().into_inner();
    assert_eq!(serde_json::to_value(rpc.listing.unwrap()).unwrap(), made);
    assert_eq!(server.read("/1?lang=sr").await["title"], json!("Crveni bicikl"));

    let path = format!("{BASE}/1");
    let edit = r#"{"id":99,"user_id":7,"price":5,"visibility":"unlisted","tags":{"tags":["new"]}}"#;
    let (status, edited) = server.call("PATCH", &path, edit).await;
    assert_eq!((status, &edited["id"], &edited["price"]), (200, &json!(1), &json!(5.0)));
    assert_eq!((&edited["visibility"], &edited["tags"]), (&json!("unlisted"), &json!(["new"])));
    assert_eq!(server.read("/1").await, edited);

    let (status, refused) = server.call("DELETE", &format!("{path}?user_id=8"), "").await;
    assert_eq!((status, refused), (403, json!({ "error": "the listing belongs to another user" })));
    let (status, deleted) = server.call("DELETE", &format!("{path}?user_id=7"), "").await;
    assert_eq!((status, deleted), (200, json!({ "success": true })));
    let (status, gone) = server.call("GET", &path, "").await;
    assert_eq!((status, gone), (404, json!({ "error": "no listing has the id 1" })));
}

#[tokio::test]
async fn listings_are_found_by_filters_and_in_pages() {
    let server = Server::start().await;
    for price in 1..=25 {
        let listing = format!(
            r#"{{"user_id":7,"title":"Bike {price}","price":{price},"category_id":20,"quantity":1}}"#
        );
        assert_eq!(server.call("POST", BASE, &listing).await.0, 201);
    }
    let all = server.read("").await;
    assert_eq!(
        (ids(&all), &all["total"]),
        ((6..=25).rev().collect(), &json!(25)),
        "20 unless the request says otherwise"
    );
    assert_eq!(ids(&server.read("?limit=1000").await).len(), 25);
    assert_eq!(ids(&server.read("?limit=2&offset=20").await), [5, 4]);
    let priced = server.read("?min_price=3&max_price=4.5&category_id=20").await;
    assert_eq!((ids(&priced), &priced["total"]), (vec![4, 3], &json!(2)));
    assert_eq!(ids(&server.read("?user_id=8").await), [0; 0]);
    let found = server.read("/search?query=bike%2012").await;
    assert_eq!((ids(&found), &found["total"]), (vec![12], &json!(1)));
    assert_eq!(ids(&server.read("/12/similar?limit=2").await), [13, 11]);
    assert_eq!(server.read("/999/similar").await, json!({ "listings": [], "total": 0 }));
}

#[tokio::test]
async fn favourites_categories_products_and_stock_are_those_of_the_rpcs() {
    let server = Server::start().await;
    let mut client = server.client().await;
    assert_eq!(server.call("POST", BASE, BIKE).await.0, 201);
    let call = async |method: &str, path: &str, body: &str| {
        server.call(method, &format!("{BASE}{path}"), body).await
    };

    assert_eq!(call("PUT", "/1/favorites/5", "").await, (204, Value::Null));
    assert_eq!(server.read("/1/favorites/5").await, json!({ "is_favorite": true }));
    assert_eq!(server.read("/1/favorites").await, json!({ "user_ids": [5] }));
    assert_eq!(server.read("/favorites?user_id=5").await, json!({ "listing_ids": [1], "total": 1 }));
    assert_eq!(call("DELETE", "/1/favorites/5", "").await, (204, Value::Null));
    assert_eq!(server.read("/1/favorites/5").await, json!({ "is_favorite": false }));

    let all = client.rpc.get_all_categories(()).await.unwrap().into_inner();
    assert_eq!(server.read("/categories").await, serde_json::to_value(&all).unwrap());
    assert_eq!(server.read("/categories/roots").await["categories"].as_array().unwrap().len(), 6);
    assert_eq!(server.read("/categories/popular?limit=1").await["categories"][0]["id"], json!(20));
    assert_eq!(server.read("/categories/20").await["listing_count"], json!(1));
    let tree = client.rpc.get_category_tree(CategoryIdRequest { category_id: 5 }).await.unwrap().into_inner();
    assert_eq!(server.read("/categories/5/tree").await, serde_json::to_value(tree.tree.unwrap()).unwrap());

    let product = server.read("/products/1?storefront_id=3").await;
    assert_eq!((&product["name"], &product["stock_quantity"]), (&json!("Red bike"), &json!(10)));
    assert_eq!(product["created_at"], server.read("/1").await["created_at"]);
    let page = server.read("/products?storefront_id=3&page=1&page_size=5&is_active_only=true").await;
    assert_eq!((ids(&page), &page["total_count"]), (vec![1], &json!(1)));
    let (_, found) = call("POST", "/products/by-skus", r#"{"skus":["B-1"],"lang":"sr"}"#).await;
    assert_eq!((ids(&found), &found["products"][0]["name"]), (vec![1], &json!("Crveni bicikl")));
    let (_, found) = call("POST", "/products/by-ids", r#"{"product_ids":[9,1]}"#).await;
    assert_eq!(ids(&found), [1]);
    assert_eq!(call("POST", "/products/1/views", "").await, (204, Value::Null));

    let order = r#"{"order_id":"o-1","items":[{"product_id":1,"quantity":4}]}"#;
    let (_, taken) = call("POST", "/stock/decrement", order).await;
    assert_eq!((&taken["success"], &taken["results"][0]["stock_after"]), (&json!(true), &json!(6)));
    let (status, short) =
        call("POST", "/stock/decrement", r#"{"items":[{"product_id":1,"quantity":7}]}"#).await;
    assert_eq!(
        (status, &short["success"], &short["results"][0]["error"]),
        (200, &json!(false), &json!("7 requested, 6 in stock"))
    );
    let (_, back) = call("POST", "/stock/rollback", order).await;
    assert_eq!((&back["success"], &back["results"][0]["stock_after"]), (&json!(true), &json!(10)));
    let (_, available) = call("POST", "/stock/check", r#"{"items":[{"product_id":1,"quantity":11}]}"#).await;
    assert_eq!(
        (&available["all_available"], &available["items"][0]["available_quantity"]),
        (&json!(false), &json!(10))
    );
    let movement = r#"{"storefront_id":3,"product_id":1,"movement_type":"out","quantity":6,"user_id":7}"#;
    let (_, moved) = call("POST", "/stock/movements", movement).await;
    assert_eq!(moved, json!({ "success": true, "stock_before": 10, "stock_after": 4 }));
    let batch = r#"{"storefront_id":3,"user_id":7,"items":[{"product_id":1,"quantity":2},{"product_id":9,"quantity":1}]}"#;
    let (_, set) = call("POST", "/stock/batch", batch).await;
    assert_eq!((&set["successful_count"], &set["failed_count"]), (&json!(1), &json!(1)));
    let stats = serde_json::to_value(client.stats(3).await).unwrap();
    assert_eq!(server.read("/storefronts/3/stats").await, stats);
    assert_eq!(stats["total_value"], json!(39.98));
}

#[tokio::test]
async fn what_cannot_be_answered_has_the_reason_as_json() {
    let server = Server::start().await;
    server.client().await.create(a_product()).await;
    let large = format!(r#"{{"title":"{}"}}"#, "x".repeat(300_000));
    let movement = r#"{"storefront_id":3,"product_id":1,"movement_type":"out","quantity":11,"user_id":7}"#;
    let paths = |path: &str| format!("{BASE}{path}");
    for (method, path, body, status, error) in [
        ("GET", paths("/x"), "", 400, "id: must be a whole number above 0"),
        ("GET", paths("/1.5"), "", 400, "id: must be a whole number above 0"),
        ("GET", paths("/0"), "", 400, "id: must be above 0"),
        ("GET", paths("/-1"), "", 400, "id: must be above 0"),
        ("GET", paths("/99999999999999999999"), "", 400, "id: must be a whole number above 0"),
        ("GET", paths("/%ff"), "", 400, "the path is not UTF-8"),
        ("GET", paths("/2"), "", 404, "no listing has the id 2"),
        ("GET", paths("?limit=x"), "", 400, "limit"),
        ("GET", paths("?limit=-1"), "", 400, "limit: must not be negative"),
        ("GET", paths("?status=gone"), "", 400, "status: must be draft"),
        ("GET", paths("/products/1x"), "", 400, "id: must be a whole number above 0"),
        ("GET", paths("/categories/999"), "", 404, "no category has the id 999"),
        ("POST", paths(""), "", 400, "user_id: must be above 0"),
        ("POST", paths(""), "[1]", 400, "the body cannot be used: it must be an object"),
        ("POST", paths(""), "{", 400, "the body cannot be used: "),
        ("POST", paths(""), r#"{"user_id":7,"title":"ab"}"#, 400, "title: must have 3 to 255 characters"),
        ("POST", paths(""), large.as_str(), 413, "the body must arrive and have at most 262144 bytes"),
        ("POST", paths("/stock/movements"), movement, 409, "11 requested, 10 in stock"),
        ("PUT", paths("/1"), "{}", 405, "the path takes another method"),
        ("GET", "/api/v1/storefronts".to_owned(), "", 404, "no such path"),
        ("GET", "/".to_owned(), "", 404, "no such path"),
    ] {
        let (found, answer) = server.call(method, &path, body).await;
        assert_eq!(found, status, "{method} {path}: {answer}");
        let text = answer["error"].as_str().unwrap();
        assert!(text.contains(error) && answer.as_object().unwrap().len() == 1, "{method} {path}: {answer}");
    }
    assert_eq!(server.count("SELECT count(*) FROM listings"), 1);
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 0);
}

#[tokio::test]
async fn callers_have_the_rights_that_they_have_over_grpc() {
    let server = AuthenticatedServer::start().await;
    let client = server.server.http();
    let send = async |method: &str, path: &str, subject: Option<&str>, body: &str| {
        let token = subject.map(|subject| server.bearer(subject));
        let headers = token.as_deref().map(|token| ("authorization", token));
        let answer = client.exchange(request(method, path, headers.as_slice(), body)).await;
        (answer.status.as_u16(), answer.json())
    };
    let (status, refused) = send("POST", BASE, None, BIKE).await;
    assert_eq!((status, refused), (401, json!({ "error": "a bearer token is required" })));
    assert_eq!(send("POST", BASE, Some("8"), BIKE).await.0, 403);
    assert_eq!(send("POST", BASE, Some("7"), BIKE).await.0, 201);
    assert_eq!(send("GET", &format!("{BASE}/1"), None, "").await.0, 200);
    assert_eq!(send("DELETE", &format!("{BASE}/1?is_admin=true"), Some("7"), "").await.0, 403);
    for token in ["Bearer x", "Basic abc", ""] {
        let refused = client.exchange(request("GET", BASE, &[("authorization", token)], "")).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.headers["www-authenticate"]),
            (401, &"Bearer".parse().unwrap())
        );
        assert!(refused.json()["error"].is_string(), "{refused:?}");
    }
    assert_eq!(send("DELETE", &format!("{BASE}/1?is_admin=true"), Some("support"), "").await.0, 200);
}

/// A call over HTTP counts as one over gRPC.
#[tokio::test]
async fn both_transports_share_the_rate_limits_and_the_limit_of_calls_in_progress() {
    let table = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(table.path(), "GetListing = { per_minute = 3 }").unwrap();
    let table = table.path().display().to_string();
    let settings =
        [("RATE_LIMIT_ENABLED", "true"), ("RATE_LIMIT_TABLE", table.as_str()), ("MAX_IN_FLIGHT", "1")];
    let server = Server::start_with(&settings).await;
    let mut client = server.client().await;
    client.create(a_product()).await;
    let get = || GetListingRequest { id: 1, lang: None };
    client.rpc.get_listing(get()).await.unwrap();
    for _ in 0..2 {
        server.read("/1").await;
    }
    let refused = server.http().exchange(request("GET", &format!("{BASE}/1"), &[], "")).await;
    assert_eq!(
        (refused.status.as_u16(), refused.text().as_str()),
        (429, r#"{"error":"rate limit exceeded; retry later"}"#)
    );
    let seconds: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=65).contains(&seconds), "{seconds}");
    assert_eq!(client.rpc.get_listing(get()).await.unwrap_err().code(), tonic::Code::ResourceExhausted);

    // While a body that does not end holds the only slot, other calls are refused; health is answered.
    let head = format!("POST {BASE} HTTP/1.1\r\nhost: t\r\ncontent-length: 9\r\n\r\n{{");
    let mut holder = connect_and_send(server.http().address, &head).await;
    let path = format!("{BASE}/categories");
    testkit::until("the slot is held", async || server.call("GET", &path, "").await.0 == 503).await;
    let (_, refused) = server.call("GET", &path, "").await;
    assert_eq!(refused, json!({ "error": "too many requests at once; try again" }));
    assert_eq!(client.rpc.get_all_categories(()).await.unwrap_err().code(), tonic::Code::ResourceExhausted);
    assert!(server.admin().get("/health/ready").await.0.is_success());
    holder.write_all(b"1234567}").await.unwrap();
    let mut answer = [0; 12];
    holder.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
    let metrics = server.admin().text("/metrics").await;
    assert!(
        metrics.contains(r#"listings_requests_total{endpoint="GetListing",outcome="429"} 1"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn health_and_metrics_have_a_port_of_their_own() {
    let server = Server::start().await;
    for (path, on_http, on_admin) in [
        (format!("{BASE}/categories").as_str(), 200, 404),
        ("/health", 404, 200),
        ("/ready", 404, 200),
        ("/metrics", 404, 200),
    ] {
        assert_eq!(server.http().get(path).await.0.as_u16(), on_http, "{path}");
        assert_eq!(server.admin().get(path).await.0.as_u16(), on_admin, "{path}");
    }
}
