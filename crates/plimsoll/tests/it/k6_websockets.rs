//! Sessions of WebSocket of scripts, where there is more to say than what k6 does: `k6_conformance.rs` compares that.

use std::collections::BTreeMap;

use peers::websocket::WebSocketServer;
use serde_json::{Value, json};

use crate::command::{CommandOutput, TestFolder};

/// Run a script, as `ws.js` of the folder, against a server; `variables` are those of its `__ENV` beside `WS`.
fn run(folder: &TestFolder, server: &WebSocketServer, script: &str, flags: &[&str]) -> CommandOutput {
    folder.write("ws.js", script);
    let base = format!("WS=ws://{}", server.plain());
    let fixed = ["run", "ws.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll", "--json", "run.json"];
    folder.plimsoll(&[&fixed[..], flags].concat())
}

#[test]
fn a_session_is_a_row_that_is_counted_by_its_handshake() {
    let (folder, server) = (TestFolder::new(""), WebSocketServer::start().unwrap());
    let script = "
        import ws from 'k6/ws';
        import { WebSocket } from 'k6/websockets';
        export const options = { iterations: 3 };
        export default function () {
            ws.connect(`${__ENV.WS}/echo`, (socket) => socket.setTimeout(() => socket.close(), 300));
            ws.connect(`${__ENV.WS}/refused`, () => {});
            const named = new WebSocket(`${__ENV.WS}/echo`, null, { tags: { name: 'named' } });
            named.onopen = () => named.close();
        }";
    run(&folder, &server, script, &["-o", "json=values.json"]).exits_with(0);
    let report = folder.json("run.json");
    let rows: BTreeMap<String, Value> = report["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["endpoint"] != "")
        .map(|row| (row["endpoint"].as_str().unwrap().to_owned(), row.clone()))
        .collect();
    let url = |path: &str| format!("ws://{}{path}", server.plain());
    let outcome = |name: &str, outcome: &str| rows[name]["by_outcome"][outcome].clone();
    assert_eq!(rows.len(), 3);
    assert_eq!((outcome(&url("/echo"), "ok"), outcome("named", "ok")), (json!(3), json!(3)));
    assert_eq!(outcome(&url("/refused"), "http_4xx"), json!(3));
    // The session took longer than its handshake.
    let slowest = rows[&url("/echo")]["response_time"]["max_ms"].as_f64();
    assert!(slowest.is_some_and(|ms| ms < 300.0), "{}", rows[&url("/echo")]);
    let values = folder.read("values.json");
    let of = |metric: &str| {
        let lines = values.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let points = lines.filter(|line| line["type"] == "Point" && line["metric"] == metric);
        points.map(|point| point["data"]["tags"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("ws_sessions").len(), 9);
    let tags = of("ws_session_duration").into_iter().find(|tags| tags["status"] == "403").unwrap();
    assert_eq!((&tags["url"], &tags["name"]), (&json!(url("/refused")), &Value::Null));
    let tags = of("ws_connecting").into_iter().find(|tags| tags["name"] == "named").unwrap();
    assert_eq!((&tags["url"], &tags["status"]), (&json!("named"), &json!("101")));
}

#[test]
fn a_blob_is_sent_as_bytes_and_has_no_stream() {
    let (folder, server) = (TestFolder::new(""), WebSocketServer::start().unwrap());
    let script = "
        import { WebSocket, Blob } from 'k6/websockets';
        export default function () {
            const socket = new WebSocket(`${__ENV.WS}/echo`);
            const blob = new Blob(['ab', new Blob(['c'])]);
            socket.onopen = () => socket.send(blob);
            socket.onmessage = async (event) => {
                console.log('echoed', await event.data.text());
                try { event.data.stream(); } catch (e) { console.log(e.message); }
                socket.close();
            };
        }";
    let ran = run(&folder, &server, script, &[]);
    ran.exits_with(0).stderr_contains(&["INFO echoed abc", "INFO Blob.stream() is not supported"]);
}

#[test]
fn sessions_are_not_opened_while_a_script_is_evaluated() {
    let (folder, server) = (TestFolder::new(""), WebSocketServer::start().unwrap());
    for (import, call) in [
        ("import ws from 'k6/ws'", "ws.connect('ws://127.0.0.1:1/', () => {})"),
        ("import { WebSocket } from 'k6/websockets'", "new WebSocket('ws://127.0.0.1:1/')"),
    ] {
        let script = format!("{import};\n{call};\nexport default function () {{}}");
        let ran = run(&folder, &server, &script, &[]);
        ran.exits_with(107)
            .stderr_contains(&["using websockets in the init context is not supported", "ws.js:2:"]);
    }
}

#[test]
fn what_an_iteration_leaves_open_is_closed_when_it_throws() {
    let (folder, server) = (TestFolder::new(""), WebSocketServer::start().unwrap());
    let script = "
        import { WebSocket } from 'k6/websockets';
        import http from 'k6/http';
        export const options = { iterations: 1 };
        export default function () {
            const socket = new WebSocket(`${__ENV.WS}/watched?name=left`);
            socket.onopen = () => { setTimeout(() => { throw new Error('a timer'); }, 1); };
        }
        export function teardown() {
            console.log(http.get(`${__ENV.WS.replace('ws', 'http')}/end?name=left`).body);
        }";
    let ran = run(&folder, &server, script, &["--k6-exit-codes"]);
    ran.stderr_contains(&["Error: a timer", "INFO websocket: close 1001 (going away)"]);
}
