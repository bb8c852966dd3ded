//! Descriptions whose parameters, bodies, servers and responses are of the less common kinds.

use serde_json::{Value, json};

use super::{header, plan, sent, steps};
use crate::{Draft, OpenApiOptions, Selection, SourceKind, of_openapi, recognise};

#[track_caller]
pub(super) fn draft_of(text: &str) -> Draft {
    let SourceKind::OpenApi(description) = recognise("a.yaml", text).unwrap() else { panic!("it is one") };
    let options = OpenApiOptions { server: None, selection: Selection::All };
    of_openapi("a.yaml", &description, &options).unwrap()
}

/// A draft of one operation `GET /x` with these parameters.
#[track_caller]
fn with_parameters(parameters: &str) -> Draft {
    draft_of(&format!(
        "openapi: 3.0.4\nservers: [{{url: 'http://h/'}}]\npaths:\n  /x/{{p}}:\n    parameters:\n    - {{name: p, in: \
         path, required: true, example: 1}}\n    get:\n      parameters: [{parameters}]\n      responses: {{200: \
         {{description: ok}}}}\n"
    ))
}

#[test]
fn parameters_have_the_style_that_is_described() {
    for (parameter, expected) in [
        (
            "{name: ids, in: query, explode: false, schema: {type: array}, example: [1, 2, 3]}",
            "/x/1?ids=1,2,3",
        ),
        ("{name: ids, in: query, schema: {type: array}, example: [1, 2]}", "/x/1?ids=1&ids=2"),
        (
            "{name: filter, in: query, style: deepObject, example: {a: 1, b: x}}",
            "/x/1?filter%5Ba%5D=1&filter%5Bb%5D=x",
        ),
        (
            "{name: at, in: query, required: true, content: {application/json: {schema: {type: object}, example: {lat: 1, lon: 2}}}}",
            "/x/1?at=%7B%22lat%22%3A1%2C%22lon%22%3A2%7D",
        ),
        ("{name: next, in: query, allowReserved: true, example: 'a/b?c#d'}", "/x/1?next=a/b?c%23d"),
        ("{name: p, in: path, style: matrix, required: true, example: [x, y]}", "/x/;p=x,y"),
        ("{name: p, in: path, style: label, explode: true, required: true, example: {a: 1}}", "/x/.a=1"),
        ("{name: p, in: path, required: true, example: 'q/r?s'}", "/x/q%2Fr%3Fs"),
        ("{name: p, in: path, required: true, schema: {type: string}, example: 007}", "/x/007"),
        ("{name: n, in: query, required: true, schema: {type: string, default: 1.50}}", "/x/1?n=1.50"),
        (
            "{name: n, in: query, required: true, schema: {type: [string, 'null'], enum: [0x1F, 2]}}",
            "/x/1?n=0x1F",
        ),
        ("{name: n, in: query, required: true, schema: {type: integer}, example: 007}", "/x/1?n=7"),
        ("{name: none, in: query, required: true, example: []}", "/x/1"),
    ] {
        assert_eq!(sent(&steps(&with_parameters(parameter))[0]).1, expected, "{parameter}");
    }
    for (parameter, name, expected) in [
        ("{name: X-Ids, in: header, required: true, example: [3, 'a,b']}", "x-ids", "3,a,b"),
        ("{name: X-Id, in: header, required: true, schema: {type: string}, example: 007}", "x-id", "007"),
        ("{name: X-O, in: header, explode: true, required: true, example: {a: 1, b: 2}}", "x-o", "a=1,b=2"),
        ("{name: sid, in: cookie, required: true, example: 'a;b'}", "cookie", "sid=a%3Bb"),
        (
            "{name: X-J, in: header, required: true, content: {application/json: {example: {a: 1}}}}",
            "x-j",
            "{\"a\":1}",
        ),
    ] {
        assert_eq!(
            header(&steps(&with_parameters(parameter))[0], name).as_deref(),
            Some(expected),
            "{parameter}"
        );
    }
}

/// A description with one operation that can be sent and one that cannot.
#[test]
fn what_the_specification_does_not_define_is_not_sent_and_named_with_its_place() {
    for (parameter, part) in [
        ("{name: f, in: query, style: deepObject, example: [1]}", "is not an object"),
        ("{name: f, in: query, style: deepObject, example: {a: {b: 1}}}", "within an object"),
        ("{name: f, in: query, style: pipeDelimited, explode: true, example: [1, 2]}", "exploded"),
        ("{name: f, in: query, example: [[1]]}", "within a list"),
        ("{name: f, in: query, style: matrix, example: 1}", "`matrix`"),
        ("{name: f, in: query, content: {application/xml: {example: {a: 1}}}}", "application/xml"),
    ] {
        let text = format!(
            "openapi: 3.1.0\nservers: [{{url: 'http://h/'}}]\npaths:\n  /a: {{get: {{}}}}\n  /b: {{get: {{parameters: \
             [{parameter}]}}}}\n"
        );
        let draft = draft_of(&text);
        assert_eq!((draft.steps, draft.commented), (1, 1), "{parameter}");
        let note = draft.notes.join("\n");
        assert!(
            note.contains(part) && note.contains("a.yaml#/paths/~1b/get/parameters/0"),
            "{parameter}: {note}"
        );
    }
}

#[test]
fn schemas_are_composed() {
    let body = |schema: Value| {
        let description = json!({"openapi": "3.1.0", "servers": [{"url": "http://h/"}],
            "paths": {"/b": {"post": {"requestBody": {"content": {"application/json": {"schema": schema}}}}}},
            "components": {"schemas": {
                "Pet": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
                "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"},
                    {"type": "object", "required": ["lives"], "properties": {"lives": {"const": 9}, "tail": {}}}]},
                "Node": {"type": "object", "required": ["id", "next"], "properties": {
                    "id": {"type": "integer", "format": "int64", "minimum": 9007199254740993_u64},
                    "next": {"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]}}}}}});
        let options = OpenApiOptions { server: None, selection: Selection::All };
        let draft = of_openapi("a.json", &description.into(), &options).unwrap();
        serde_json::from_str::<Value>(&sent(&steps(&draft)[0]).2).unwrap()
    };
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    assert_eq!(body(reference("Cat")), json!({"kind": "text", "lives": 9}));
    assert_eq!(body(reference("Node")), json!({"id": 9_007_199_254_740_993_u64, "next": "2026-01-31"}));
    let chosen = json!({"oneOf": [reference("Cat"), reference("Node")],
        "discriminator": {"propertyName": "kind", "mapping": {"tame-cat": "#/components/schemas/Cat"}}});
    assert_eq!(body(chosen), json!({"kind": "tame-cat", "lives": 9}));
    let required_of_other_part =
        json!({"allOf": [{"properties": {"a": {"example": 1}, "b": {"example": 2}}}, {"required": ["b"]}]});
    assert_eq!(body(required_of_other_part), json!({"b": 2}));
    let example_of_part = json!({"allOf": [{"example": {"a": 5}, "properties": {"a": {"type": "integer"}}},
        {"properties": {"c": {"type": "boolean"}}}]});
    assert_eq!(body(example_of_part), json!({"a": 5, "c": true}));
    let nullable = json!({"type": "string", "nullable": true, "example": null});
    assert_eq!(body(nullable), Value::Null);
}

#[test]
fn classes_of_statuses_and_default_responses_are_expected() {
    for (responses, first, last, count) in [
        ("{2XX: {description: ok}, 4XX: {description: no}}", Some(200), Some(299), 100),
        (
            "{'200': {description: ok}, '304': {description: same}, default: {description: no}}",
            Some(200),
            Some(304),
            2,
        ),
        ("{default: {description: ok}}", None, None, 0),
        ("{'404': {description: no}}", None, None, 0),
    ] {
        let text = format!(
            "openapi: 3.1.0\nservers: [{{url: 'http://h/'}}]\npaths: {{/a: {{get: {{responses: {responses}}}}}}}\n"
        );
        let expected = steps(&draft_of(&text))[0].expect.status.clone();
        assert_eq!(
            (expected.first().copied(), expected.last().copied(), expected.len()),
            (first, last, count),
            "{responses}"
        );
    }
}

#[test]
fn servers_of_paths_and_operations_are_targets_of_their_own() {
    let text = "openapi: 3.1.0\nservers: [{url: '{scheme}://{host}:{port}/v1', variables: {scheme: {default: http}, host: \
                {default: a.test}, port: {default: '8000', enum: ['8000']}}}]\npaths:\n  /a: {get: {}}\n  /b:\n    \
                servers: [{url: 'http://b.test/'}]\n    get: {}\n    head: {servers: [{url: 'http://c.test/v2'}]}\n";
    let draft = draft_of(text);
    let workload = plan(&draft).workload;
    let sent: Vec<(String, String, String)> = workload
        .steps()
        .map(|step| {
            let origin = workload.targets[step.request.target()].http.clone().unwrap();
            (origin.host, origin.port.to_string(), super::sent(step).1)
        })
        .collect();
    let expected = [("a.test", "8000", "/v1/a"), ("b.test", "80", "/b"), ("c.test", "80", "/v2/b")];
    assert_eq!(sent, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    let SourceKind::OpenApi(description) = recognise("a.yaml", text).unwrap() else { panic!("it is one") };
    let given = OpenApiOptions { server: Some("http://127.0.0.1:9".to_owned()), selection: Selection::All };
    let workload = plan(&of_openapi("a.yaml", &description, &given).unwrap()).workload;
    let paths: Vec<String> = workload.steps().map(|step| super::sent(step).1).collect();
    assert_eq!(paths, ["/v1/a", "/b", "/v2/b"]);
    assert!(workload.targets.values().all(|target| target.http.as_ref().unwrap().port == 9));
}

#[test]
fn a_server_variable_without_a_default_is_named() {
    let description =
        json!({"openapi": "3.1.0", "servers": [{"url": "http://{host}/"}], "paths": {"/a": {"get": {}}}});
    let error = of_openapi("a.json", &description.into(), &OpenApiOptions::default()).unwrap_err();
    assert_eq!(error.place, "a.json#/servers/0/url");
    assert!(error.problem.contains("`host`"), "{error}");
}

#[test]
fn anchors_are_copied() {
    let text = "openapi: 3.1.0\nservers: [{url: 'http://h/'}]\npaths:\n  /a: &a\n    get: &get {operationId: one, \
                responses: {200: {description: ok}}}\n  /b: *a\n  /c: {get: {<<: *get, operationId: two}}\n";
    let names: Vec<String> = steps(&draft_of(text)).into_iter().map(|step| step.name).collect();
    assert_eq!(names, ["one", "one 2", "two"]);
    let error = recognise("a.yaml", "openapi: 3.1.0\npaths: &paths\n  /a: *paths\n").unwrap_err();
    assert_eq!(error.place, "a.yaml:3:7");
    assert!(error.problem.contains("`*paths`"), "{error}");
}

/// The proofs of the second security reading: text of a description where templates are read.
#[test]
fn no_name_or_media_type_of_a_description_is_a_template() {
    let description = json!({"openapi": "3.0.0", "info": {"title": "shop"},
        "servers": [{"url": "http://127.0.0.2:9/"}],
        "paths": {"/items": {"get": {"operationId": "list",
            "parameters": [{"name": "b=${env.HOME}; c", "in": "cookie", "required": true, "schema": {"type": "string"}}],
            "requestBody": {"content": {"application/x+json; x=${env.PATH}":
                {"schema": {"type": "object", "properties": {"q": {"type": "string"}}}}}}}}}});
    let draft = of_openapi("evil.json", &description.clone().into(), &OpenApiOptions::default()).unwrap();
    let step = &steps(&draft)[0];
    assert_eq!(draft.variables, []);
    assert!(
        step.request.templates().iter().all(|template| template.as_literal().is_some()),
        "{}",
        draft.text
    );
    assert_eq!(header(step, "cookie").as_deref(), Some("b%3D%24%7Benv.HOME%7D%3B%20c=text"));
    assert_eq!(header(step, "content-type").as_deref(), Some("application/x+json; x=$${env.PATH}"));
    for (place, problem) in [("cookie", "cookie name"), ("header", "header name")] {
        let mut description = description.clone();
        description["security"] = json!([{"k": []}]);
        description["components"] = json!({"securitySchemes": {"k":
            {"type": "apiKey", "in": place, "name": "a=${env.AWS_SECRET_ACCESS_KEY}; sid"}}});
        let error = of_openapi("evil.json", &description.into(), &OpenApiOptions::default()).unwrap_err();
        assert_eq!(error.place, "evil.json#/components/securitySchemes/k");
        assert!(error.problem.contains(problem), "{error}");
    }
}

#[test]
fn an_operation_that_gives_what_a_security_scheme_needs_is_the_setup_of_virtual_users() {
    let description = |required: Value| {
        json!({"openapi": "3.1.0", "servers": [{"url": "http://h/"}], "security": [{"oauth": []}],
            "components": {"securitySchemes": {"oauth": {"type": "oauth2"}, "key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
            "paths": {
                "/items": {"get": {"security": required}},
                "/sessions": {"post": {"operationId": "logIn", "security": [],
                    "requestBody": {"content": {"application/json": {"schema": {"properties": {
                        "email": {"type": "string"}, "password": {"type": "string", "example": "geheim"}}}}}},
                    "responses": {"201": {"content": {"application/json": {"schema": {"properties": {
                        "data": {"properties": {"access-token": {"type": "string"}}}}}}}}}}}}})
    };
    let draft_of = |required: Value| {
        of_openapi("a.json", &description(required).into(), &OpenApiOptions::default()).unwrap()
    };
    let draft = draft_of(json!([{"oauth": []}]));
    let workload = plan(&draft).workload;
    let scenario = &workload.scenarios[0];
    assert_eq!(scenario.setup.len(), 1);
    let login = sent(&scenario.setup[0]);
    assert_eq!(login.2, "{\"email\":\"${env.USER_NAME | json}\",\"password\":\"${env.PASSWORD | json}\"}");
    let from = workload::ExtractFrom::Json("$[\"data\"][\"access-token\"]".to_owned());
    assert_eq!(scenario.setup[0].extract[0].from, from);
    let step = scenario.flow.steps().next().unwrap();
    assert_eq!(header(step, "authorization").as_deref(), Some("Bearer ${login_token}"));
    let names: Vec<&str> = draft.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["USER_NAME", "PASSWORD"]);
    let other = draft_of(json!([{"key": []}]));
    assert!(plan(&other).workload.scenarios[0].setup.is_empty(), "it gives nothing that is needed");
    assert_eq!(header(&steps(&other)[0], "x-key").as_deref(), Some("${env.X_KEY}"));
}

#[test]
fn a_token_of_each_usual_name_is_extracted_for_each_kind_of_bearer_scheme() {
    let schemes = [
        json!({"type": "oauth2", "flows": {"password": {"tokenUrl": "/token", "scopes": {}}}}),
        json!({"type": "http", "scheme": "Bearer"}),
        json!({"type": "openIdConnect", "openIdConnectUrl": "https://h/.well-known"}),
    ];
    for scheme in schemes {
        for field in ["access_token", "token", "id_token"] {
            // The name of the object around it is foreign text, and no template.
            let token = json!({"properties": {"${env.HOME}": {"properties": {field: {"type": "string"}}}}});
            let login = json!({"security": [], "responses": {"200": {"content": {"application/json": {"schema": token}}}},
                "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": {"properties": {
                    "username": {"type": "string"}, "password": {"type": "string"}}}}}}});
            let description = json!({"openapi": "3.0.3", "servers": [{"url": "http://h/"}], "security": [{"s": []}],
                "components": {"securitySchemes": {"s": scheme}},
                "paths": {"/items": {"get": {}}, "/token": {"post": login}}});
            let draft = of_openapi("a.json", &description.into(), &OpenApiOptions::default()).unwrap();
            let workload = plan(&draft).workload;
            let [login] = &workload.scenarios[0].setup[..] else { panic!("{field}: {}", draft.text) };
            let path = format!("$[\"${{env.HOME}}\"][\"{field}\"]");
            assert_eq!(login.extract[0].from, workload::ExtractFrom::Json(path), "{}", draft.text);
            let step = workload.scenarios[0].flow.steps().next().unwrap();
            assert_eq!(header(step, "authorization").as_deref(), Some("Bearer ${login_token}"), "{field}");
            assert!(
                draft.variables.iter().all(|variable| variable.name != "TOKEN" && variable.name != "HOME")
            );
        }
    }
}
