//! Recordings whose requests send what responses gave.

use serde_json::{Value, json};

use super::{header, plan, sent, steps};
use crate::{Avoided, Draft, Selection, of_har, of_har_without};

/// An exchange that began at this second: request line, headers, body; status, headers, type and body of the response.
struct Made<'a> {
    request: (&'a str, &'a str),
    headers: &'a [(&'a str, &'a str)],
    body: (&'a str, &'a str),
    status: u16,
    answered: &'a [(&'a str, &'a str)],
    response: (&'a str, &'a str),
}

const NOTHING: Made<'_> = Made {
    request: ("GET", "/"),
    headers: &[],
    body: ("", ""),
    status: 200,
    answered: &[],
    response: ("text/html", ""),
};

fn recording(made: &[Made<'_>]) -> Value {
    let named = |headers: &[(&str, &str)]| -> Value {
        headers.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    };
    let entry = |(second, made): (usize, &Made<'_>)| {
        let mut entry = json!({
            "startedDateTime": format!("2026-01-31T12:00:{second:02}.000Z"), "time": 20.0,
            "request": {"method": made.request.0, "url": format!("http://shop.test{}", made.request.1),
                "headers": named(made.headers)},
            "response": {"status": made.status, "headers": named(made.answered),
                "content": {"mimeType": made.response.0, "text": made.response.1}}
        });
        if !made.body.1.is_empty() {
            entry["request"]["postData"] = json!({"mimeType": made.body.0, "text": made.body.1});
        }
        entry
    };
    json!({"log": {"entries": made.iter().enumerate().map(entry).collect::<Vec<_>>()}})
}

/// A word in the address of what was created is another one next time, whatever it looks like.
#[test]
fn the_address_of_what_was_created_is_taken_from_location() {
    let made = |status| {
        recording(&[
            Made {
                request: ("POST", "/api/contents/"),
                body: ("application/json", "{\"type\":\"notebook\"}"),
                status,
                answered: &[("Location", "/api/contents/Untitled.ipynb")],
                response: ("application/json", "{\"name\":\"Untitled.ipynb\",\"path\":\"Untitled.ipynb\"}"),
                ..NOTHING
            },
            Made {
                request: ("PUT", "/api/contents/Untitled.ipynb"),
                body: ("application/json", "{}"),
                ..NOTHING
            },
            Made { request: ("GET", "/other/Untitled.ipynb"), ..NOTHING },
        ])
    };
    let paths = |status| {
        let draft = of_har("a.har", &made(status), Selection::Safe).unwrap();
        steps(&draft).iter().map(|step| sent(step).1).collect::<Vec<_>>()
    };
    assert_eq!(paths(201), ["/api/contents/", "/api/contents/${content_id}", "/other/Untitled.ipynb"]);
    assert_eq!(paths(200)[1], "/api/contents/Untitled.ipynb", "only 201 says that it was created");
}

const FORM: &str = "application/x-www-form-urlencoded";

/// A login with a token in a form, a redirect, a token for an API, and a cart with an identifier.
fn shop() -> Value {
    recording(&[
        Made {
            request: ("GET", "/login"),
            answered: &[("Set-Cookie", "visit=v1; Path=/")],
            response: (
                "text/html; charset=utf-8",
                "<form method=post><input type=\"hidden\" name=\"csrf\" value=\"Zq8+x/0T1==\"><input type=\"hidden\" \
                 name=\"step\" value=\"1\"><input name=user></form>",
            ),
            ..NOTHING
        },
        Made {
            request: ("POST", "/login"),
            headers: &[("cookie", "visit=v1")],
            body: (FORM, "csrf=Zq8%2Bx%2F0T1%3D%3D&step=1&user=me%40shop.test&password=geheim"),
            status: 302,
            answered: &[
                ("Location", "http://shop.test/account/4711?welcome=1"),
                ("Set-Cookie", "sid=s1; HttpOnly"),
            ],
            ..NOTHING
        },
        Made {
            request: ("GET", "/account/4711?welcome=1"),
            headers: &[("cookie", "visit=v1; sid=s1")],
            response: (
                "text/html",
                "<meta name=\"csrf-token\" content=\"mt77abc99x\"><script>window.apiToken = 'tok-123456-abc';</script>",
            ),
            ..NOTHING
        },
        Made {
            request: ("POST", "/api/cart"),
            headers: &[("Authorization", "Bearer tok-123456-abc"), ("X-CSRF-Token", "mt77abc99x")],
            body: ("application/json", "{\"item\":7,\"user\":\"me@shop.test\"}"),
            status: 201,
            response: (
                "application/json",
                "{\"cart\":{\"id\":31,\"user\":\"me@shop.test\",\"key\":\"a1-b2-c3-d4\"}}",
            ),
            ..NOTHING
        },
        Made {
            request: ("PUT", "/api/cart/31/lines"),
            headers: &[
                ("Authorization", "Bearer tok-123456-abc"),
                ("X-Request", "11d6c2a9-4f89-41d3-9a0c-0305e82c3301"),
            ],
            body: ("application/json", "{\"cart_id\":31,\"key\":\"a1-b2-c3-d4\",\"user\":\"me@shop.test\"}"),
            ..NOTHING
        },
    ])
}

#[track_caller]
fn drafted(recording: &Value) -> Draft {
    of_har("shop.har", recording, Selection::Safe).unwrap()
}

#[test]
fn values_of_responses_are_extracted_and_sent() {
    let draft = drafted(&shop());
    let steps = steps(&draft);
    assert_eq!(
        sent(&steps[1]).2,
        "csrf=${csrf | url}&step=${step | url}&user=me%40shop.test&password=${env.PASSWORD | url}"
    );
    assert_eq!(sent(&steps[2]).1, "/account/${account_id}?welcome=${welcome}");
    assert_eq!(header(&steps[3], "authorization").as_deref(), Some("Bearer ${authorization}"));
    assert_eq!(header(&steps[3], "x-csrf-token").as_deref(), Some("${csrf_token}"));
    assert_eq!(sent(&steps[4]).1, "/api/cart/${cart_id | url}/lines");
    assert_eq!(
        sent(&steps[4]).2,
        "{\"cart_id\":${cart_id},\"key\":\"${key | json}\",\"user\":\"me@shop.test\"}"
    );
    let names: Vec<&str> = draft.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["PASSWORD"], "the account's password, and nothing that a response gives");
    let notes = draft.notes.join("\n");
    assert!(notes.contains("`PUT /api/cart/31/lines` sends the header `x-request`"), "{notes}");
    assert!(plan(&draft).workload.targets.values().all(|target| target.fresh_cookies));
    insta::assert_snapshot!(draft.text);
}

#[test]
fn a_draft_is_the_same_each_time() {
    assert_eq!(drafted(&shop()), drafted(&shop()));
}

/// What a user typed may come back in a response; it is not a value of the response's.
#[test]
fn what_a_request_sent_first_is_not_extracted() {
    let echo = Made { response: ("application/json", "{\"q\":\"blue-shirt-42\"}"), ..NOTHING };
    let recording = recording(&[
        Made { request: ("GET", "/search?q=blue-shirt-42"), ..echo },
        Made { request: ("GET", "/search?q=blue-shirt-42&page=2"), ..echo },
    ]);
    let steps = steps(&drafted(&recording));
    assert_eq!(sent(&steps[1]).1, "/search?q=blue-shirt-42&page=2");
    assert!(steps.iter().all(|step| step.extract.is_empty()));
}

#[test]
fn small_numbers_that_are_equal_by_chance_are_not_extracted() {
    let recording = recording(&[
        Made { response: ("application/json", "{\"count\":3,\"id\":5,\"items\":[{\"id\":8}]}"), ..NOTHING },
        Made { request: ("GET", "/list?page=3&size=5"), ..NOTHING },
        Made { request: ("GET", "/items/8"), ..NOTHING },
    ]);
    let steps = steps(&drafted(&recording));
    assert_eq!(sent(&steps[1]).1, "/list?page=3&size=5");
    assert_eq!(sent(&steps[2]).1, "/items/${item_id | url}");
}

#[test]
fn a_place_that_was_wrong_is_avoided() {
    let token = "t0k3n-t0k3n-t0k3n";
    let (first, second) = (format!("{{\"a\":\"{token}\"}}"), format!("{{\"b\":\"{token}\"}}"));
    let recording = recording(&[
        Made { response: ("application/json", &first), ..NOTHING },
        Made { request: ("GET", "/second"), response: ("application/json", &second), ..NOTHING },
        Made { request: ("GET", "/third?token=t0k3n-t0k3n-t0k3n"), ..NOTHING },
    ]);
    let draft = drafted(&recording);
    let choice = &draft.choices[0];
    assert_eq!(
        (choice.step.as_str(), choice.from.as_str(), choice.has_alternatives),
        ("GET /third", "GET /", true)
    );
    let mut avoided = Avoided::default();
    avoided.add(&draft.choices[0]);
    let next = of_har_without("shop.har", &recording, Selection::Safe, &avoided).unwrap();
    assert_eq!((next.choices[0].from.as_str(), next.choices[0].has_alternatives), ("GET /second", false));
    avoided.add(&next.choices[0]);
    let last = of_har_without("shop.har", &recording, Selection::Safe, &avoided).unwrap();
    assert!(last.choices.is_empty());
    assert_eq!(last.variables.len(), 1, "a secret that no place gives is a variable of the environment");
}

#[test]
fn bodies_of_all_kinds_are_sent_as_they_were() {
    let entry = |post_data: Value| {
        let mut recording = recording(&[Made { request: ("POST", "/x"), ..NOTHING }]);
        recording["log"]["entries"][0]["request"]["postData"] = post_data;
        recording["log"]["entries"]
            .as_array_mut()
            .unwrap()
            .extend(recording_of_one().as_array().unwrap().clone());
        of_har("a.har", &recording, Selection::Safe)
    };
    fn recording_of_one() -> Value {
        recording(&[Made { request: ("GET", "/y"), ..NOTHING }])["log"]["entries"].clone()
    }
    let first = |post_data: Value| {
        let all = steps(&entry(post_data).unwrap());
        (sent(&all[0]).2, header(&all[0], "content-type").unwrap_or_default())
    };
    let params = json!([{"name": "a b", "value": "1&2"}, {"name": "c", "value": "${env.HOME}"}]);
    let form = first(json!({"mimeType": FORM, "params": params}));
    assert_eq!(form, ("a+b=1%262&c=%24%7Benv.HOME%7D".to_owned(), FORM.to_owned()));
    let encoded = first(json!({"mimeType": "text/xml", "encoding": "base64", "text": "PGE+w6Q8L2E+"}));
    assert_eq!(encoded, ("<a>ä</a>".to_owned(), "text/xml".to_owned()));
    let kind = "multipart/form-data; boundary=XX";
    let (body, content_type) = first(json!({"mimeType": kind, "params": [{"name": "a", "value": "1"},
        {"name": "f", "fileName": "b.txt", "contentType": "text/plain", "value": "text"}]}));
    let expected = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX\r\nContent-Disposition: form-data; \
                    name=\"f\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--XX--\r\n";
    assert_eq!((body.as_str(), content_type.as_str()), (expected, kind));
    for (post_data, part) in [
        (json!({"mimeType": "image/png", "encoding": "base64", "text": "/9j/4A=="}), "its body is not text"),
        (json!({"mimeType": kind, "params": [{"name": "f", "fileName": "b.txt"}]}), "without its files"),
        (json!({"mimeType": kind, "text": "--XX\r\n\u{fffd}PNG"}), "has lost"),
    ] {
        let draft = entry(post_data).unwrap();
        assert_eq!((draft.steps, draft.commented), (1, 1));
        let notes = draft.notes.join("\n");
        assert!(notes.contains(part) && notes.contains("a.har: log.entries[0].request.postData"), "{notes}");
    }
    let wrong = entry(json!({"mimeType": "a/b", "encoding": "base64", "text": "*"})).unwrap_err();
    assert_eq!(wrong.place, "a.har: log.entries[0].request.postData.text");
}

#[test]
fn repeated_headers_are_one_and_cached_entries_none() {
    let mut recording = recording(&[
        Made {
            headers: &[(":authority", "shop.test"), ("X-A", "1"), ("x-a", "2"), ("X-A", "1, 2")],
            status: 404,
            ..NOTHING
        },
        Made { request: ("GET", "/cached"), ..NOTHING },
        Made { request: ("GET", "/failed"), status: 0, ..NOTHING },
    ]);
    recording["log"]["entries"][1]["_fromCache"] = "disk".into();
    let draft = drafted(&recording);
    let steps = steps(&draft);
    assert_eq!(steps.len(), 1);
    assert_eq!(header(&steps[0], "x-a").as_deref(), Some("1, 2"));
    assert_eq!(steps[0].expect.status, [404], "a refusal that was recorded is expected");
    let notes = draft.notes.join("\n");
    assert!(notes.contains("1 requests were answered by the browser's cache"), "{notes}");
    assert!(notes.contains("1 entries are not requests"), "{notes}");
}
