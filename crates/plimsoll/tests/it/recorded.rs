//! A recorded session of a shop becomes a plan that runs with new virtual users, without an edit.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::command::TestFolder;
use crate::shop::{Message, PASSWORD, Shop};

/// A browser, as far as the shop needs one: it keeps cookies, and writes down what it did.
struct Browser<'a> {
    shop: &'a Shop,
    stream: BufReader<TcpStream>,
    cookies: Vec<(String, String)>,
    entries: Vec<Value>,
}

impl<'a> Browser<'a> {
    fn new(shop: &'a Shop) -> Browser<'a> {
        let stream = BufReader::new(TcpStream::connect(shop.address()).unwrap());
        Browser { shop, stream, cookies: Vec::new(), entries: Vec::new() }
    }

    #[track_caller]
    fn send(&mut self, status: &str, request: &str, headers: &[(&str, &str)], body: (&str, &str)) -> Message {
        let mut headers: Vec<(String, String)> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        if !self.cookies.is_empty() {
            let pairs: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            headers.push(("cookie".to_owned(), pairs.join("; ")));
        }
        if !body.0.is_empty() {
            headers.push(("content-type".to_owned(), body.0.to_owned()));
        }
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let text = format!(
            "{request} HTTP/1.1\r\nhost: shop\r\n{lines}content-length: {}\r\n\r\n{}",
            body.1.len(),
            body.1
        );
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
        let response = Message::read(&mut self.stream).unwrap();
        assert_eq!(response.line.1, status, "{request}");
        for (_, value) in response.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (cookie, value) = value.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.push((cookie.to_owned(), value.to_owned()));
        }
        self.record(request, &headers, body, &response);
        response
    }

    fn record(
        &mut self,
        request: &str,
        headers: &[(String, String)],
        body: (&str, &str),
        response: &Message,
    ) {
        let named = |headers: &[(String, String)]| -> Value {
            headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
        };
        let (method, path) = request.split_once(' ').unwrap();
        let status: u16 = response.line.1.parse().unwrap();
        let mut entry = json!({
            "startedDateTime": format!("2026-01-31T12:00:{:02}.000Z", self.entries.len()), "time": 999.0,
            "request": {"method": method, "url": format!("http://{}{path}", self.shop.address()), "headers": named(headers)},
            "response": {"status": status, "headers": named(&response.headers),
                "content": {"mimeType": response.header("content-type").unwrap_or_default(), "text": response.body}}
        });
        if !body.1.is_empty() {
            entry["request"]["postData"] = json!({"mimeType": body.0, "text": body.1});
        }
        self.entries.push(entry);
    }

    fn recording(self) -> String {
        json!({"log": {"version": "1.2", "entries": self.entries}}).to_string()
    }
}

/// What is between two texts.
fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    text.split_once(before).unwrap().1.split_once(after).unwrap().0
}

/// A visit from the login to an order.
fn visit(shop: &Shop) -> String {
    let mut browser = Browser::new(shop);
    let page = browser.send("200", "GET /login", &[], ("", ""));
    let csrf = between(&page.body, "name=\"csrf\" value=\"", "\"");
    let csrf = csrf.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let form = format!("csrf={csrf}&user=me%40shop.test&password={PASSWORD}");
    let logged_in = browser.send("302", "POST /login", &[], ("application/x-www-form-urlencoded", &form));
    let account =
        browser.send("200", &format!("GET {}", logged_in.header("location").unwrap()), &[], ("", ""));
    let api = format!("Bearer {}", between(&account.body, "\"apiToken\":\"", "\""));
    let token = between(&account.body, "content=\"", "\"").to_owned();
    let headers = [("authorization", api.as_str()), ("x-csrf-token", token.as_str())];
    let cart = browser.send("201", "POST /api/cart", &headers, ("application/json", "{}"));
    let cart: Value = serde_json::from_str(&cart.body).unwrap();
    let (id, key) = (&cart["cart"]["id"], cart["cart"]["key"].as_str().unwrap());
    let line = format!("{{\"cart_id\": {id}, \"key\": \"{key}\", \"item\": 7, \"count\": 2}}");
    browser.send("200", &format!("PUT /api/cart/{id}/lines"), &headers[..1], ("application/json", &line));
    let parts =
        format!("--XX\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n{token}\r\n--XX--\r\n");
    let checkout = format!("/cart/{id}/checkout");
    let ordered =
        browser.send("303", &format!("POST {checkout}"), &[], ("multipart/form-data; boundary=XX", &parts));
    browser.send("200", &format!("GET {}", ordered.header("location").unwrap()), &[], ("", ""));
    browser.recording()
}

fn password(value: &str) -> String {
    format!("export PASSWORD={value}")
}

#[test]
fn a_recorded_session_becomes_a_plan_that_runs_with_new_virtual_users() {
    let (shop, folder) = (Shop::open(), TestFolder::new(""));
    folder.write("shop.har", visit(&shop));
    let new = folder.plimsoll_after(&password(PASSWORD), &["new", "shop.har", "--verify", "-o", "made.toml"]);
    new.exits_with(0).stderr_contains(&["verified: each status is the expected one, at attempt 1"]);
    let plan = folder.read("made.toml");
    assert!(!plan.contains(PASSWORD), "{plan}");
    let again = folder.plimsoll(&["new", "shop.har", "-o", "again.toml"]);
    again.exits_with(0);
    assert_eq!(folder.read("again.toml"), plan, "a draft is a function of the recording");
    // Its think times of a millisecond keep a virtual user for some iterations.
    let run =
        ["run", "made.toml", "--quiet", "--time-scale", "0.1", "--inconclusive", "warn", "-o", "a.plimsoll"];
    folder.plimsoll_after(&password(PASSWORD), &run).exits_with(0);
    let (orders, refused) = shop.seen();
    assert_eq!(refused, Vec::<String>::new());
    assert!(orders > 20, "{orders} orders");
}

#[test]
fn a_step_that_is_answered_in_another_way_is_shown_and_the_plan_written() {
    let (shop, folder) = (Shop::open(), TestFolder::new(""));
    folder.write("shop.har", visit(&shop));
    let new =
        folder.plimsoll_after(&password("wrong-one"), &["new", "shop.har", "--verify", "-o", "made.toml"]);
    new.exits_with(3).stderr_contains(&["not verified"]).stdout_contains(&["POST /login", "403"]);
    assert!(folder.read("made.toml").contains("[[scenarios.steps]]"));
    assert_eq!(shop.seen().0, 1, "only the recorded visit has ordered");
}
