use proptest::prelude::*;

use super::*;

fn listed(text: &str) -> Vec<ListedRequest> {
    parse(text.as_bytes(), "list").unwrap()
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = parse(text.as_bytes(), "list").unwrap_err().to_string();
    assert!(error.contains(expected), "no {expected:?} in {error:?}");
}

#[test]
fn requests_are_separated_by_blank_lines_or_by_their_first_lines() {
    let list = listed(
        "# a comment\nGET http://h/a\nPOST http://h/b\nX-Id: 7\n# the rest\nAccept: */*\n@body.json\n\n\n\
         \tDELETE   http://h/c?d=e \r\n",
    );
    let seen: Vec<_> = list.iter().map(|l| (l.line, l.method.as_str(), l.url.as_str())).collect();
    assert_eq!(seen, [(2, "GET", "http://h/a"), (3, "POST", "http://h/b"), (10, "DELETE", "http://h/c?d=e")]);
    let headers = [("X-Id", "7"), ("Accept", "*/*")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    assert_eq!(list[1].headers, headers);
    assert_eq!(list[1].body, Some(ListedBody::File("body.json".to_owned())));
    assert_eq!((list[0].headers.len(), &list[2].body), (0, &None));
}

#[test]
fn json_lines_are_parsed_with_headers_and_bodies() {
    let list = listed(
        "{\"method\": \"POST\", \"url\": \"http://h/\", \"body\": \"aGk=\", \"header\": {\"A\": [\"1\", \"2\"]}}\n\n\
         {\"method\": \"GET\", \"url\": \"http://h/x\"}\n",
    );
    assert_eq!(list[0].body, Some(ListedBody::Text("hi".to_owned())));
    assert_eq!(list[0].headers.len(), 2);
    assert_eq!((list[1].line, &list[1].body), (3, &None));
}

#[test]
fn errors_are_reported_with_their_line() {
    refused("", "list:1: no request");
    refused("GET http://h/\n\nhttp://h/\n", "list:3: `http://h/` is not a method and URL");
    refused("GET http://h/\nnothing\n", "list:2: `nothing` is not a header");
    refused("GET http://h/\nname:\n", "list:2:");
    refused("POST http://h/\n@a\nx: y\n", "list:3: a body is the last line");
    refused("{\"method\": \"GET\", \"url\": \"u\"}\n{\"url\": \"u\"}\n", "list:2: no request as JSON");
    refused("{\"method\": \"GET\", \"url\": \"u\", \"body\": \"!\"}", "not base64");
    refused("{\"method\": \"GET\", \"url\": \"u\", \"bodie\": \"\"}", "bodie");
    refused(&format!("GET http://h/{}\n", "x".repeat(70_000)), "list:1: a line longer");
    let error = parse(b"GET http://h/\n\xff\n", "list").unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (2, "not UTF-8"));
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse(&bytes, "list");
    }

    #[test]
    fn no_text_like_a_list_makes_the_parser_panic(
        text in "((GET|POST|get) ?(http://h/[a-z]{0,3})?|[a-zA-Z]{0,3}:? ?[a-z]{0,3}|@[a-z]?|#|\\{\"url\":\"\"\\}|)(\r?\n(GET http://h/|x: y|@b|)){0,6}",
    ) {
        for listed in parse(text.as_bytes(), "list").unwrap_or_default() {
            prop_assert!(listed.line >= 1 && !listed.method.is_empty());
        }
    }
}
