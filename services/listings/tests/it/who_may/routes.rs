//! Every route of the HTTP API, with requests that its callers may or may not make.

use serde_json::Value;
use testkit::http::{Client, request};

use super::Subjects;

/// A route, with which request. In `ids`, `query` and `body`, `{p}` is the product, `{d}` the draft, `{h}` the private
/// one, `{l}` the unlisted one, `{u}` the user that the caller acts for when it acts for itself.
pub(super) struct HttpRow {
    pub(super) verb: &'static str,
    pub(super) path: &'static str,
    with: &'static str,
    ids: [&'static str; 2],
    query: &'static str,
    body: &'static str,
}

const NO_IDS: [&str; 2] = ["", ""];

macro_rules! rows {
    ($($verb:ident $path:literal, $with:literal, $ids:expr, $query:literal, $body:expr;)*) => {
        &[$(HttpRow { verb: stringify!($verb), path: $path, with: $with, ids: $ids, query: $query, body: $body },)*]
    };
}

const OFFER: &str = r#"{"user_id":{u},"title":"Red bike","price":5,"category_id":20}"#;
const OWNERS_OFFER: &str = r#"{"user_id":7,"title":"Red bike","price":5,"category_id":20}"#;
const IN_STOREFRONT: &str =
    r#"{"user_id":{u},"storefront_id":3,"title":"Red bike","price":5,"category_id":20}"#;
const ORDER: &str = r#"{"items":[{"product_id":{p},"quantity":1}]}"#;
const DRAFT_ORDER: &str = r#"{"items":[{"product_id":{d},"quantity":1}]}"#;
const MOVEMENT: &str =
    r#"{"storefront_id":3,"product_id":{p},"movement_type":"in","quantity":1,"user_id":{u}}"#;
const DRAFT_MOVEMENT: &str =
    r#"{"storefront_id":3,"product_id":{d},"movement_type":"in","quantity":1,"user_id":{u}}"#;
const OWNERS_MOVEMENT: &str =
    r#"{"storefront_id":3,"product_id":{p},"movement_type":"in","quantity":1,"user_id":7}"#;
const BATCH: &str = r#"{"storefront_id":3,"user_id":{u},"items":[{"product_id":{p},"quantity":1}]}"#;
const OWNERS_BATCH: &str = r#"{"storefront_id":3,"user_id":7,"items":[{"product_id":{p},"quantity":1}]}"#;

pub(super) const HTTP_ROWS: &[HttpRow] = rows! {
    GET "", "of the owner", NO_IDS, "user_id=7", "";
    GET "", "the owner's drafts", NO_IDS, "user_id=7&status=draft", "";
    POST "", "as oneself", NO_IDS, "", OFFER;
    POST "", "as the owner", NO_IDS, "", OWNERS_OFFER;
    POST "", "as oneself, in the owner's storefront", NO_IDS, "", IN_STOREFRONT;
    GET "/search", "by word", NO_IDS, "query=bike", "";
    GET "/{id}", "of the owner", ["{p}", ""], "", "";
    GET "/{id}", "a draft", ["{d}", ""], "", "";
    GET "/{id}", "a private one", ["{h}", ""], "", "";
    GET "/{id}", "an unlisted one", ["{l}", ""], "", "";
    PATCH "/{id}", "as oneself", ["{p}", ""], "", r#"{"user_id":{u},"price":6}"#;
    PATCH "/{id}", "as the owner", ["{p}", ""], "", r#"{"user_id":7,"price":6}"#;
    PATCH "/{id}", "as oneself, a draft", ["{d}", ""], "", r#"{"user_id":{u},"price":6}"#;
    DELETE "/{id}", "as oneself", ["{p}", ""], "user_id={u}", "";
    DELETE "/{id}", "as the owner", ["{p}", ""], "user_id=7", "";
    DELETE "/{id}", "as oneself, a private one", ["{h}", ""], "user_id={u}", "";
    DELETE "/{id}", "with `is_admin`", ["{p}", ""], "is_admin=true", "";
    GET "/{id}/similar", "to the owner's", ["{p}", ""], "", "";
    GET "/{id}/similar", "to a draft", ["{d}", ""], "", "";
    GET "/{id}/favorites", "of the owner's listing", ["{p}", ""], "", "";
    GET "/{id}/favorites/{user_id}", "of the owner", ["{p}", "7"], "", "";
    PUT "/{id}/favorites/{user_id}", "as oneself", ["{p}", "{u}"], "", "";
    PUT "/{id}/favorites/{user_id}", "as oneself, a private one", ["{h}", "{u}"], "", "";
    PUT "/{id}/favorites/{user_id}", "as the owner", ["{p}", "7"], "", "";
    DELETE "/{id}/favorites/{user_id}", "as the owner", ["{p}", "7"], "", "";
    GET "/favorites", "of the owner", NO_IDS, "user_id=7", "";
    GET "/categories", "", NO_IDS, "", "";
    GET "/categories/roots", "", NO_IDS, "", "";
    GET "/categories/popular", "", NO_IDS, "", "";
    GET "/categories/{id}", "", ["20", ""], "", "";
    GET "/categories/{id}/tree", "", ["20", ""], "", "";
    GET "/products", "of the owner's storefront", NO_IDS, "storefront_id=3", "";
    POST "/products/by-ids", "a draft", NO_IDS, "", r#"{"product_ids":[{d}]}"#;
    POST "/products/by-skus", "an unlisted one", NO_IDS, "", r#"{"skus":["UNLISTED-1"]}"#;
    GET "/products/{id}", "of the owner", ["{p}", ""], "", "";
    GET "/products/{id}", "a draft", ["{d}", ""], "", "";
    POST "/products/{id}/views", "of the owner's product", ["{p}", ""], "", "";
    POST "/products/{id}/views", "of a draft", ["{d}", ""], "", "";
    GET "/storefronts/{id}/stats", "of the owner's storefront", ["3", ""], "", "";
    GET "/storefronts/{id}/stats", "of a storefront without products", ["99", ""], "", "";
    POST "/stock/decrement", "", NO_IDS, "", ORDER;
    POST "/stock/rollback", "", NO_IDS, "", ORDER;
    POST "/stock/check", "of the owner's product", NO_IDS, "", ORDER;
    POST "/stock/check", "of a draft", NO_IDS, "", DRAFT_ORDER;
    POST "/stock/movements", "as oneself", NO_IDS, "", MOVEMENT;
    POST "/stock/movements", "as the owner", NO_IDS, "", OWNERS_MOVEMENT;
    POST "/stock/movements", "as oneself, of a draft", NO_IDS, "", DRAFT_MOVEMENT;
    POST "/stock/batch", "as oneself", NO_IDS, "", BATCH;
    POST "/stock/batch", "as the owner", NO_IDS, "", OWNERS_BATCH;
};

fn filled(template: &str, of: Subjects) -> String {
    let values =
        [("{p}", of.product), ("{d}", of.draft), ("{h}", of.private), ("{l}", of.unlisted), ("{u}", of.user)];
    values.iter().fold(template.to_owned(), |text, (name, id)| text.replace(name, &id.to_string()))
}

/// Whether an answer has what was asked for.
fn is_shown(answer: &Value) -> bool {
    let count = |name: &str| answer.get(name).and_then(Value::as_i64);
    let flag = |name: &str| answer.get(name).and_then(Value::as_bool);
    count("total")
        .or(count("total_count"))
        .is_none_or(|total| total > 0 || answer.get("listing_ids").is_some())
        && flag("success").or(flag("all_available")).unwrap_or(true)
        && count("failed_count").is_none_or(|failed| failed == 0)
}

impl HttpRow {
    pub(super) fn name(&self) -> String {
        let path = if self.path.is_empty() { "/" } else { self.path };
        let with = if self.with.is_empty() { String::new() } else { format!(", {}", self.with) };
        format!("{} {path}{with}", self.verb)
    }

    pub(super) async fn cell(&self, client: Client, token: Option<&str>, of: Subjects) -> &'static str {
        let [id, user_id] = self.ids.map(|id| filled(id, of));
        let path = self.path.replace("{id}", &id).replace("{user_id}", &user_id);
        let query =
            if self.query.is_empty() { String::new() } else { format!("?{}", filled(self.query, of)) };
        let path = format!("{}{path}{query}", listings::http::BASE);
        let body = filled(self.body, of);
        let headers = token.map(|token| ("authorization", token));
        let request = request(self.verb, &path, headers.as_slice(), &body);
        let (status, answer) = client.exchange(request).await.status_and_json();
        match status.as_u16() {
            200 | 201 | 204 if is_shown(&answer) => "yes",
            200 => "not shown",
            401 => "who?",
            403 => "no",
            404 => "not found",
            status => panic!("{} {path} {body}: {status} {answer}", self.verb),
        }
    }
}
