//! Bodies of operations: forms, forms with parts, octets, and what cannot be made up.

use super::described::draft_of;
use super::{header, sent, steps};
use crate::Draft;

#[test]
fn fields_of_forms_have_the_style_of_their_encoding() {
    let draft = draft_of(
        "openapi: 3.1.0\nservers: [{url: 'http://h/'}]\npaths:\n  /f:\n    post:\n      requestBody:\n        content:\n          \
         application/x-www-form-urlencoded:\n            example: {a: [1, 2], b: {c: 1}, d: [x, y], e: 'a b&'}\n            \
         encoding: {d: {style: spaceDelimited}}\n",
    );
    assert_eq!(sent(&steps(&draft)[0]).2, "a=1&a=2&b=%7B%22c%22%3A1%7D&d=x%20y&e=a%20b%26");
}

/// The parts of a form that a draft sends: the lines of the head, without the boundary, and the content.
fn parts_of(body: &str) -> Vec<(String, String)> {
    let body = body.strip_suffix("--------------------------plimsoll--\r\n").expect("it ends");
    let parts = body.split("--------------------------plimsoll\r\n").skip(1);
    let part = |part: &str| {
        let (head, content) = part.split_once("\r\n\r\n").expect("a part has a head");
        let head = head.strip_prefix("Content-Disposition: form-data; ").expect("it is of a form");
        (head.to_owned(), content.strip_suffix("\r\n").expect("a part ends").to_owned())
    };
    parts.map(part).collect()
}

/// A draft of `POST /f` with a form of these properties, and one of `GET /a`.
#[track_caller]
fn with_parts(version: &str, properties: &str, encoding: &str) -> Draft {
    draft_of(&format!(
        "openapi: {version}\nservers: [{{url: 'http://h/'}}]\npaths:\n  /a: {{get: {{}}}}\n  /f:\n    post:\n      requestBody:\n        \
         content:\n          multipart/form-data:\n            schema: {{type: object, properties: {{{properties}}}}}\n            \
         encoding: {{{encoding}}}\n"
    ))
}

/// Each row of the tables of default types in OpenAPI 3.0.4 and 3.1.1, then what `encoding` changes.
#[test]
fn parts_of_forms_have_the_type_of_their_property() {
    let octets = "name=\"p\"; filename=\"p\"\r\nContent-Type: application/octet-stream";
    let json = "name=\"p\"\r\nContent-Type: application/json";
    for (version, schema, encoding, head, content) in [
        ("3.0.4", "{type: string, format: binary}", "", octets, "text"),
        ("3.0.4", "{type: string, format: byte}", "", octets, "dGV4dA=="),
        ("3.0.4", "{type: string, format: date}", "", "name=\"p\"", "2026-01-31"),
        ("3.0.4", "{type: string, example: 007}", "", "name=\"p\"", "007"),
        ("3.0.4", "{type: integer, minimum: 5}", "", "name=\"p\"", "5"),
        ("3.0.4", "{type: boolean}", "", "name=\"p\"", "true"),
        ("3.0.4", "{type: object, properties: {a: {type: number}}}", "", json, "{\"a\":1}"),
        ("3.0.4", "{type: array, items: {type: string, format: binary}}", "", octets, "text"),
        ("3.0.4", "{type: array, items: {type: object, example: {a: 1}}}", "", json, "{\"a\":1}"),
        ("3.1.1", "{}", "", octets, "text"),
        ("3.1.1", "{contentMediaType: image/png}", "", octets, "text"),
        ("3.1.1", "{type: string, contentEncoding: base64}", "", octets, "dGV4dA=="),
        ("3.1.1", "{type: string}", "", "name=\"p\"", "text"),
        ("3.1.1", "{type: [string, 'null'], example: x}", "", "name=\"p\"", "x"),
        ("3.1.1", "{type: number}", "", "name=\"p\"", "1"),
        ("3.1.1", "{type: object, example: {a: [1]}}", "", json, "{\"a\":[1]}"),
        (
            "3.1.1",
            "{type: string, example: <a/>}",
            "contentType: 'image/*, application/xml'",
            "name=\"p\"; filename=\"p\"\r\nContent-Type: application/xml",
            "<a/>",
        ),
        ("3.1.1", "{type: string}", "contentType: application/json", json, "\"text\""),
        ("3.1.1", "{type: string}", "contentType: text/csv", "name=\"p\"\r\nContent-Type: text/csv", "text"),
        (
            "3.1.1",
            "{type: string}",
            "headers: {X-N: {required: true, schema: {type: integer}}, X-O: {schema: {type: string}}, Content-Type: {example: a/b}}",
            "name=\"p\"\r\nX-N: 1",
            "text",
        ),
    ] {
        let draft = with_parts(version, &format!("p: {schema}"), &format!("p: {{{encoding}}}"));
        let step = steps(&draft).into_iter().find(|step| step.name == "POST /f").expect("it is drafted");
        assert_eq!(
            header(&step, "content-type").as_deref(),
            Some("multipart/form-data; boundary=------------------------plimsoll")
        );
        let expected = [(head.to_owned(), content.to_owned())];
        assert_eq!(parts_of(&sent(&step).2), expected, "{version} {schema} {encoding}");
    }
    let lists = with_parts(
        "3.1.1",
        "n: {type: array, items: {type: integer}, example: [1, 2]}, o: {type: 'null'}",
        "",
    );
    let step = steps(&lists).into_iter().find(|step| step.name == "POST /f").expect("it is drafted");
    let part = |content: &str| ("name=\"n\"".to_owned(), content.to_owned());
    assert_eq!(parts_of(&sent(&step).2), [part("1"), part("2")], "an item is a part, and null is none");
}

#[test]
fn parts_of_forms_that_cannot_be_made_up_are_named() {
    for (properties, encoding, part) in [
        (
            "p: {type: string, format: binary}",
            "p: {contentType: image/png}",
            "has the type `image/png` and no example",
        ),
        ("p: {type: string}", "p: {contentType: 'image/*'}", "any type of `image/*`"),
        (
            "p: {type: object, example: {a: 1}}",
            "p: {contentType: application/xml}",
            "object that is written as `application/xml`",
        ),
        ("p: {type: array, example: [[1]]}", "", "a list within a list"),
        ("p: {type: string}", "p: {style: pipeDelimited}", "has `style`"),
        ("p: {type: string, example: ------------------------plimsoll}", "", "which separates the parts"),
        (
            "p: {type: string}",
            "p: {headers: {Content-Disposition: {example: x}}}",
            "the header `Content-Disposition`",
        ),
    ] {
        let draft = with_parts("3.1.1", properties, encoding);
        assert_eq!((draft.steps, draft.commented), (1, 1), "{properties}");
        let note = draft.notes.join("\n");
        let place = "a.yaml#/paths/~1f/post/requestBody/content/multipart~1form-data";
        assert!(note.contains(part) && note.contains(place), "{properties}: {note}");
    }
}

#[test]
fn bodies_of_octets_are_sent_and_those_of_other_types_only_with_an_example() {
    let draft = |content: &str| {
        draft_of(&format!(
            "openapi: 3.1.1\nservers: [{{url: 'http://h/'}}]\npaths:\n  /a: {{get: {{}}}}\n  /f: {{post: {{requestBody: {{content: \
             {{{content}}}}}}}}}\n"
        ))
    };
    for (content, media_type, body) in [
        ("application/octet-stream: {}", "application/octet-stream", "text"),
        (
            "application/octet-stream: {schema: {type: string, format: binary}}",
            "application/octet-stream",
            "text",
        ),
        ("application/octet-stream: {example: a$b}", "application/octet-stream", "a$b"),
        ("image/png: {}, application/octet-stream: {}", "application/octet-stream", "text"),
        ("application/xml: {schema: {type: string, example: <a/>}}", "application/xml", "<a/>"),
        ("text/plain: {schema: {type: integer, example: 7}}", "text/plain", "7"),
    ] {
        let draft = draft(content);
        let step = steps(&draft).into_iter().find(|step| step.name == "POST /f").expect("it is drafted");
        assert_eq!(header(&step, "content-type").as_deref(), Some(media_type), "{content}");
        assert_eq!(sent(&step).2, body, "{content}");
    }
    for content in
        ["image/png: {}", "image/png: {schema: {type: string, format: binary}}", "multipart/mixed: {}"]
    {
        let draft = draft(content);
        assert_eq!((draft.steps, draft.commented), (1, 1), "{content}");
        assert!(draft.notes.join("\n").contains("must be written by hand"), "{content}");
    }
}
