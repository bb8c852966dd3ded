//! gRPC calls of k6 scripts. What scripts see was recorded from k6 1.8.1 with servers that behave alike.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use testbed::{Authority, Front, GrpcBehaviour, Site, StreamEnd, Target, Validity};

use crate::command::{CommandOutput, TestFolder, refusal};
use crate::tonic_peer::{self, Reflects};

const PROTO: &str = r#"syntax = "proto3"; package t; import "types/color.proto";
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
message Inner { string name = 1; int64 big_number = 2; repeated Inner children = 3; }
message All { int32 f_int32 = 1; int64 f_int64 = 2; uint64 f_uint64 = 4; double f_double = 5; float f_float = 6;
  bool f_bool = 7; string f_string = 8; bytes f_bytes = 9; Color f_color = 10; Inner inner = 11;
  repeated int32 numbers = 13; map<int32, Inner> by_id = 15; oneof choice { string one = 16; int32 other = 17; }
  optional int32 maybe = 18; google.protobuf.Timestamp at = 19; google.protobuf.StringValue wrapped = 21;
  google.protobuf.Struct data = 22; google.protobuf.Any any = 24; }
service Echo { rpc Do(All) returns (All); rpc Fail(Inner) returns (Inner); rpc Slow(Inner) returns (Inner);
  rpc Many(Inner) returns (stream Inner); rpc Http(Inner) returns (Inner); rpc Missing(Inner) returns (Inner); }"#;
const COLOR: &str =
    r#"syntax = "proto3"; package t; enum Color { COLOR_UNSPECIFIED = 0; RED = 1; BLUE = 2; }"#;

/// What every script begins with: a client, and a function that logs what an expression gives or throws.
const HEAD: &str = "
    import grpc from 'k6/net/grpc';
    const client = new grpc.Client();
    const loaded = client.load(['protos'], 'echo.proto');
    function shown(value) {
        return JSON.stringify(value, (key, given) => given && typeof given === 'object' && !Array.isArray(given)
            ? Object.fromEntries(Object.entries(given).sort()) : given);
    }
    function note(name, make) {
        try { console.log(`${name}: ${shown(make())}`); } catch (error) { console.log(`${name} threw ${error.message}`); }
    }
    ";

fn folder(script: &str) -> TestFolder {
    let folder = TestFolder::new("");
    std::fs::create_dir_all(folder.path("protos/types")).unwrap();
    folder.write("protos/echo.proto", PROTO);
    folder.write("protos/types/color.proto", COLOR);
    folder.write("script.js", format!("{HEAD}{script}"));
    folder
}

fn run(folder: &TestFolder, address: SocketAddr) -> CommandOutput {
    run_with(folder, address, &[])
}

fn run_with(folder: &TestFolder, address: SocketAddr, more: &[&str]) -> CommandOutput {
    let address = format!("ADDRESS={address}");
    let fixed = ["run", "script.js", "--evidence", "run.plimsoll", "--summary-export", "summary.json"];
    folder.plimsoll(&[&fixed[..], &["-e", &address], more].concat())
}

/// The JSON that a script has noted under a name.
fn noted(ran: &CommandOutput, name: &str) -> Value {
    let line = ran.stderr.lines().find_map(|line| line.strip_prefix(&format!("INFO {name}: ")));
    let line = line.unwrap_or_else(|| panic!("`{name}` was not noted:\n{}", ran.stderr));
    serde_json::from_str(line.trim_end_matches("  source=console")).unwrap()
}

fn echo() -> Target {
    testbed::grpc(GrpcBehaviour::Echo).unwrap()
}

#[test]
fn messages_are_protobufs_json_in_both_directions() {
    // What is sent, and the fields of the response that differ from those of an empty message.
    let all = [
        (json!({}), json!({})),
        (
            json!({ "f_int32": "7", "fInt64": "9007199254740993" }),
            json!({ "fInt32": 7, "fInt64": "9007199254740993" }),
        ),
        (json!({ "f_uint64": "18446744073709551615" }), json!({ "fUint64": "18446744073709551615" })),
        (
            json!({ "f_double": "NaN", "f_float": "-Infinity" }),
            json!({ "fDouble": "NaN", "fFloat": "-Infinity" }),
        ),
        (json!({ "f_double": 1.5, "f_float": 0.1 }), json!({ "fDouble": 1.5, "fFloat": 0.1 })),
        (
            json!({ "f_bytes": "AAH_", "f_string": "é\u{0}\"<" }),
            json!({ "fBytes": "AAH/", "fString": "é\u{0}\"<" }),
        ),
        (json!({ "f_color": "RED" }), json!({ "fColor": "RED" })),
        (json!({ "f_color": 2 }), json!({ "fColor": "BLUE" })),
        (json!({ "f_color": 9 }), json!({ "fColor": 9 })),
        (
            json!({ "inner": { "name": "n", "children": [{}] } }),
            json!({ "inner": { "name": "n", "bigNumber": "0", "children": [{ "name": "", "bigNumber": "0", "children": [] }] } }),
        ),
        (json!({ "numbers": [1, "2"] }), json!({ "numbers": [1, 2] })),
        (
            json!({ "by_id": { "7": { "name": "q" } } }),
            json!({ "byId": { "7": { "name": "q", "bigNumber": "0", "children": [] } } }),
        ),
        (json!({ "one": "" }), json!({ "one": "" })),
        (json!({ "other": 0, "maybe": 0 }), json!({ "other": 0, "maybe": 0 })),
        (json!({ "maybe": null, "inner": null }), json!({})),
        (
            json!({ "at": "1970-01-01T00:00:00.000Z", "wrapped": "w" }),
            json!({ "at": "1970-01-01T00:00:00Z", "wrapped": "w" }),
        ),
        (json!({ "data": { "a": [1, null] } }), json!({ "data": { "a": [1, null] } })),
        (
            json!({ "any": { "@type": "type.googleapis.com/t.Inner", "name": "z" } }),
            json!({ "any": { "@type": "type.googleapis.com/t.Inner", "name": "z", "bigNumber": "0", "children": [] } }),
        ),
    ];
    let empty = json!({
        "fInt32": 0, "fInt64": "0", "fUint64": "0", "fDouble": 0, "fFloat": 0, "fBool": false, "fString": "", "fBytes": "",
        "fColor": "COLOR_UNSPECIFIED", "inner": null, "numbers": [], "byId": {}, "at": null, "wrapped": null, "data": null,
        "any": null,
    });
    let sent: Vec<&Value> = all.iter().map(|(sent, _)| sent).collect();
    let folder = folder(&format!(
        "export default function () {{
            client.connect(__ENV.ADDRESS, {{ plaintext: true }});
            {}.forEach((sent, at) => note(at, () => client.invoke('t.Echo/Do', sent).message));
        }}",
        json!(sent)
    ));
    let target = echo();
    let ran = run(&folder, target.addr());
    ran.exits_with(0);
    for (at, (sent, differs)) in all.iter().enumerate() {
        let mut expected = empty.clone();
        for (name, value) in differs.as_object().unwrap() {
            expected[name] = value.clone();
        }
        assert_eq!(noted(&ran, &at.to_string()), expected, "{sent}");
    }
}

/// Expressions of the init context, and what they throw.
const WRONG_AT_FIRST: [(&str, &str); 6] = [
    ("client.connect('x:1')", "connecting to a gRPC server in the init context is not supported"),
    ("client.invoke('t.Echo/Do', {})", "invoking RPC methods in the init context is not supported"),
    ("client.load([], 'missing.proto')", "missing.proto"),
    ("client.loadProtoset('missing.protoset')", "couldn't open protoset: "),
    ("client.loadProtoset('protos/echo.proto')", "couldn't unmarshal protoset file "),
    ("new grpc.Stream(client, 't.Echo/Many')", "grpc.Stream is not supported"),
];
/// Those of an iteration that is not connected.
const NOT_CONNECTED: [(&str, &str); 9] = [
    ("client.invoke('t.Echo/Do', {})", "no gRPC connection, you must call connect first"),
    ("client.load([], 'x.proto')", "load must be called in the init context"),
    (
        "client.connect()",
        "connection error: desc = \"transport: error while dialing: missing port in address\"",
    ),
    ("client.connect('a')", "\"transport: error while dialing: address a: missing port in address\""),
    ("client.connect(__ENV.REFUSED, { plaintext: true })", "connect: connection refused\""),
    (
        "client.connect('a:1', { foo: 1 })",
        "invalid grpc.connect() parameters: unknown connect param: \"foo\"",
    ),
    (
        "client.connect('a:1', { plaintext: 'yes' })",
        "invalid plaintext value: '\"yes\"', it needs to be boolean",
    ),
    ("client.connect('a:1', { timeout: 'abc' })", "invalid timeout value: time: invalid duration \"abc\""),
    (
        "client.connect('a:1', { maxReceiveSize: -1 })",
        "invalid maxReceiveSize value: '-1, it needs to be a positive integer",
    ),
];
/// Those of one that is.
const CONNECTED: [(&str, &str); 9] = [
    ("client.invoke('t.Echo/Nope', {})", "method \"/t.Echo/Nope\" not found in file descriptors"),
    ("client.invoke('', {})", "method to invoke cannot be empty"),
    ("client.invoke('t.Echo/Do')", "request cannot be nil"),
    ("client.invoke('t.Echo/Do', null)", "Cannot convert undefined or null to object"),
    ("client.invoke('t.Echo/Do', { nope: 1 })", "unable to serialise request object to protocol buffer: "),
    ("client.invoke('t.Echo/Do', {}, { foo: 1 })", "client.invoke() parameters: unknown param: \"foo\""),
    (
        "client.invoke('t.Echo/Do', {}, { metadata: 5 })",
        "invalid metadata param: must be an object with key-value pairs",
    ),
    (
        "client.invoke('t.Echo/Do', {}, { metadata: { 'a-bin': 'x' } })",
        "invalid metadata param: \"a-bin\" value must be binary",
    ),
    (
        "client.invoke('t.Echo/Do', {}, { tags: { a: {} } })",
        "metric tags: invalid value for metric tag 'a': only String, Boolean and Number types are accepted",
    ),
];

#[test]
fn what_cannot_be_called_throws_with_the_text_of_k6() {
    let refused = refusal();
    let notes = |expressions: &[(&str, &str)]| -> String {
        expressions
            .iter()
            .map(|(expression, _)| format!("note({expression:?}, () => {expression});\n"))
            .collect()
    };
    let (first, second, third) = (notes(&WRONG_AT_FIRST), notes(&NOT_CONNECTED), notes(&CONNECTED));
    let folder = folder(&format!(
        "if (__VU === 0) {{ {first} }}
        export default function () {{ {second} client.connect(__ENV.ADDRESS, {{ plaintext: true }}); {third} }}"
    ));
    let target = echo();
    let refused = format!("REFUSED={}", refused.addr());
    let ran = run_with(&folder, target.addr(), &["-e", &refused]);
    ran.exits_with(0).stdout_contains(&["refused 1"]);
    for (expression, text) in WRONG_AT_FIRST.iter().chain(&NOT_CONNECTED).chain(&CONNECTED) {
        let is_thrown =
            |line: &str| line.starts_with(&format!("INFO {expression} threw ")) && line.contains(text);
        assert!(ran.stderr.lines().any(is_thrown), "{expression}: {text}\n{}", ran.stderr);
    }
    assert_eq!((target.requests(), target.connections()), (0, 1));
}

#[test]
fn calls_that_fail_have_their_status_and_are_evidence_of_it() {
    let site = Site::new()
        .at("/t.Echo/Fail", GrpcBehaviour::Status { code: 5, message: "no%20such".to_owned() })
        .at("/t.Echo/Slow", GrpcBehaviour::Never)
        .at("/t.Echo/Many", GrpcBehaviour::Stream { count: 2, gap: Duration::ZERO, end: StreamEnd::Code(0) })
        .at("/t.Echo/Http", GrpcBehaviour::Http(503))
        .at("/t.Echo/Do", GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let folder = folder(
        "export const options = { thresholds: {
            'grpc_req_duration{method:Do}': ['max<60000'], 'grpc_req_duration{status:5}': ['max<60000'],
            'grpc_req_duration{service:t.Echo,name:named}': ['max<60000'],
        } };
        export default async function () {
            client.connect(__ENV.ADDRESS, { plaintext: true, maxReceiveSize: 50 });
            const call = (method, request = {}, params = {}) =>
                note(method, () => client.invoke(`t.Echo/${method}`, request, params));
            call('Fail'); call('Slow', {}, { timeout: 100 }); call('Many'); call('Http'); call('Missing');
            call('Do', { f_string: 'x'.repeat(60) });
            note('discarded', () => client.invoke('/t.Echo/Do', {}, { discardResponseMessage: true, tags: { name: 'named' },
                metadata: { 'X-A': 'b', 'x-bin': new Uint8Array([1, 255]) } }));
            const later = await client.asyncInvoke('t.Echo/Fail', {});
            note('later', () => [later.status === grpc.StatusNotFound, later.error.message]);
            try { await client.asyncInvoke('t.Echo/Nope', {}); } catch (error) { note('rejected', () => error.message); }
        }",
    );
    let ran = run(&folder, target.addr());
    ran.exits_with(0);
    let default = json!({ "name": "", "bigNumber": "0", "children": [] });
    let error = |code: u32, message: &str| json!({ "code": code, "message": message, "details": [] });
    let headers = json!({ "content-type": ["application/grpc"] });
    for (name, status, message, heads) in [
        ("Fail", 5, "no such", [headers.clone(), json!({})]),
        ("Slow", 4, "context deadline exceeded", [json!({}), json!({})]),
        ("Missing", 12, "no such method", [json!({}), headers.clone()]),
    ] {
        let [headers, trailers] = heads;
        let expected = json!({
            "message": default, "error": error(status, message), "headers": headers, "trailers": trailers, "status": status,
        });
        assert_eq!(noted(&ran, name), expected, "{name}");
    }
    let surplus =
        "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message";
    assert_eq!(noted(&ran, "Many")["error"], error(13, surplus));
    assert_eq!(noted(&ran, "Http")["status"], 14);
    assert_eq!(noted(&ran, "Do")["error"], error(8, "grpc: received message larger than max (62 vs. 50)"));
    let discarded =
        json!({ "message": null, "error": null, "headers": headers, "trailers": {}, "status": 0 });
    assert_eq!(noted(&ran, "discarded"), discarded);
    assert_eq!(noted(&ran, "later"), json!([true, "no such"]));
    assert_eq!(noted(&ran, "rejected"), "method \"/t.Echo/Nope\" not found in file descriptors");
    let received = target.log();
    let tagged = received.iter().find(|served| served.header("x-a").is_some()).unwrap();
    assert_eq!((tagged.header("x-a"), tagged.header("x-bin")), (Some("b"), Some("Af8")));
    assert!(tagged.header("user-agent").unwrap().starts_with("plimsoll/"));
    let metric = |name: &str| folder.json("summary.json")["metrics"][name].clone();
    // That of the call that timed out is not one of them.
    assert!(metric("grpc_req_duration")["max"].as_f64().unwrap() > 0.0);
    assert_eq!(metric("grpc_req_duration{method:Do}")["thresholds"]["max<60000"], false);
    ran.stdout_contains(&[
        "✓ 'max<60000'",
        "{ status:5 }",
        "t.Echo/Fail",
        "named",
        "6 failed",
        "grpc:NOT_FOUND 2",
        "grpc:RESOURCE_EXHAUSTED 1",
        "grpc:UNIMPLEMENTED 1",
        "timeout 1",
    ]);
}

#[test]
fn paths_are_those_of_the_main_module_and_files_are_confined() {
    let files = "
        export default function () {}
        import './lib/inner.js';
        note('folders', () => new grpc.Client().load(['lib', 'protos'], 'echo.proto').length);
        note('outside', () => new grpc.Client().load([], '/nowhere/x.proto'));
        note('elsewhere', () => new grpc.Client().load(['lib'], 'protos/echo.proto'));";
    let inner = "
        note('from main', () => new grpc.Client().load([], './protos/echo.proto').length);
        note('from here', () => new grpc.Client().load([], '../protos/echo.proto'));";
    let folder = folder(files);
    std::fs::create_dir_all(folder.path("lib")).unwrap();
    folder.write("lib/inner.js", HEAD.to_owned() + inner);
    let ran = run(&folder, refusal().addr());
    assert_eq!((noted(&ran, "folders"), noted(&ran, "from main")), (json!(6), json!(6)));
    ran.exits_with(0).stderr_contains(&["elsewhere threw ", "lib/protos/echo.proto", "from here threw "]);
    let confined = run_with(&folder, refusal().addr(), &["--files-under", ".", "--force"]);
    let outside = "outside threw /nowhere/x.proto cannot be read: \"/nowhere/x.proto\" is not below ";
    confined.exits_with(0).stderr_contains(&[outside]);
    assert_eq!(noted(&confined, "folders"), 6);
}

#[test]
fn a_client_keeps_its_connection_until_it_is_closed() {
    let each =
        "client.connect(__ENV.ADDRESS, { plaintext: true }); client.invoke('t.Echo/Do', {}); client.close();";
    let once = "if (__ITER === 0) client.connect(__ENV.ADDRESS, { plaintext: true }); client.invoke('t.Echo/Do', {});";
    for (body, connections) in [(each, 6), (once, 2)] {
        let target = echo();
        let folder = folder(&format!(
            "export const options = {{ scenarios: {{ s: {{ executor: 'per-vu-iterations', vus: 2, iterations: 3 }} }} }};
            export default function () {{ {body} }}"
        ));
        run(&folder, target.addr()).exits_with(0);
        assert_eq!((target.connections(), target.requests()), (connections, 6), "{body}");
    }
}

#[test]
fn a_server_describes_itself_where_it_is_asked_to() {
    let script = "
        const reflected = new grpc.Client();
        export default function () {
            note('connected', () => reflected.connect(__ENV.ADDRESS, { plaintext: true, reflect: true, reflectMetadata: { a: 'b' } }));
            note('checked', () => reflected.invoke('grpc.health.v1.Health/Check', {}).message);
            note('health', () => reflected.healthCheck());
            note('unknown', () => reflected.healthCheck('nope'));
            note('missing', () => reflected.invoke('grpc.health.v1.Health/Nope', {}));
        }";
    for reflects in [Reflects::V1, Reflects::V1Alpha] {
        let peer = tonic_peer::start(reflects);
        let folder = folder(script);
        let ran = run(&folder, peer.address);
        ran.exits_with(0).stderr_contains(&[
            "unknown threw rpc error: code = NotFound desc = ",
            "missing threw method \"/grpc.health.v1.Health/Nope\" not found in file descriptors",
        ]);
        assert_eq!(noted(&ran, "connected"), true);
        assert_eq!(noted(&ran, "checked"), json!({ "status": "SERVING" }));
        assert_eq!(noted(&ran, "health"), json!({ "status": 1 }));
    }
    let peer = tonic_peer::start(Reflects::Nothing);
    let ran = run(&folder(script), peer.address);
    ran.exits_with(0)
        .stderr_contains(&["connected threw can't list services: rpc error: code = Unimplemented"]);
}

#[test]
fn a_server_is_called_under_tls_with_authorities_and_a_certificate_of_the_script() {
    let target = echo();
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    let client = authority.vouch_for(&["a client"], Validity::Now);
    let front = Front::new(identity).asks_clients(&authority).protocol("h2", target.addr()).start().unwrap();
    let folder = folder(
        "const [cacerts, cert, key] = ['ca', 'cert', 'key'].map((name) => open(`${name}.pem`));
        export default function () {
            const connect = (name, tls, more) => note(name, () => client.connect(__ENV.ADDRESS, { tls, ...more }));
            connect('unknown authority', undefined);
            connect('no certificate', { cacerts });
            note('refused', () => client.invoke('t.Echo/Do', {}).error);
            connect('text', { cacerts, cert, key });
            note('called', () => client.invoke('t.Echo/Do', { f_int32: 3 }).message.fInt32);
            connect('list', { cacerts: [cacerts], cert, key });
            note('called again', () => client.invoke('t.Echo/Do', { f_int32: 4 }).message.fInt32);
            connect('no PEM', { cacerts: 'x' });
            connect('password', { cert, key, password: 'x' });
            connect('number', 5);
        }",
    );
    let (cert, key) = client.pem();
    for (name, pem) in [("ca.pem", authority.pem().as_str()), ("cert.pem", cert), ("key.pem", key)] {
        folder.write(name, pem);
    }
    let ran = run(&folder, front.addr());
    ran.exits_with(0).stderr_contains(&[
        "unknown authority threw connection error: desc = \"transport: authentication handshake failed: tls: ",
        "INFO text: true",
        "INFO list: true",
        "no PEM threw ca contains no certificate",
        "password threw invalid grpc.connect() parameters: tls.password is not supported",
        "number threw invalid grpc.connect() parameters: invalid tls value: '5', expected (optional) keys: cert, key, password, and cacerts",
    ]);
    assert_eq!((noted(&ran, "called"), noted(&ran, "called again")), (json!(3), json!(4)));
    assert_eq!(target.requests(), 2, "those without a certificate are refused");
}
