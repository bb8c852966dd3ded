//! Files and texts from users: plans, templates, objectives, data files, service descriptions.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plans::adhoc::{AdhocHttp, AdhocRequests, Pace, RequestList, Sources, http};
use plans::{Overrides, load};
use workload::Connecting;
use workload::Files;
use workload::data::Table;
use workload::message::Schemas;
use workload::template::Template;

use crate::Target;

/// Every file has this content.
struct SameContent<'a>(&'a [u8]);

impl Files for SameContent<'_> {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }
}

pub(crate) const PLAN: Target = Target {
    name: "plan",
    seeds: &[
        include_bytes!("../../examples/demo.toml"),
        b"version = 1\n[targets.a]\nurl = \"http://127.0.0.1:1/x\"\n[[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\n\
          vus = 2\nduration = \"3s\"\n[[scenarios.steps]]\nname = \"t\"\nget = \"${a.url}/?q=${random(1, 9)}\"\n\
          expect = { status = 200, json = { \"$.a[0]\" = 1 } }\nextract = { x = \"$.b\" }\n\
          [objectives]\nfast = \"p95(t) < 5ms\"\n",
    ],
    words: &[
        b"[[scenarios]]\n",
        b"[[scenarios.steps]]\n",
        b"[objectives]\n",
        b"duration = \"1s\"\n",
        b"\"99999999999999999999h\"",
        b"-1",
        b"1e308",
        b"${",
        b"constant-arrival-rate",
        b"stages = [{ to = \"3/s\", over = \"1s\" }]\n",
        b"weight = 0\n",
    ],
    run: |input| {
        let path = Path::new("plan.toml");
        let files = SameContent(input);
        match load(path, &files, &|_| Some("value".to_owned()), &Overrides::default()) {
            Ok(plan) => {
                let stored = serde_json::to_value(&plan.workload).expect("a workload can be stored");
                let read: workload::Workload = serde_json::from_value(stored).expect("a stored workload can be read");
                assert!(read == plan.workload, "stored and read again, a workload differs");
                true
            }
            Err(errors) => {
                assert!(!errors.to_string().is_empty(), "an error has a message");
                false
            }
        }
    },
    ..Target::BASE
};

pub(crate) const TEMPLATE: Target = Target {
    name: "template",
    seeds: &[
        b"/a/${users.id}/${random(1, 10)}?x=${counter(n, 5)}",
        b"$${literal} ${env.HOME} ${uuid()} ${now()}",
    ],
    words: &[b"${", b"}", b"$$", b"random(", b"counter(", b"-9223372036854775808", b"choice("],
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        match Template::parse(text) {
            Ok(template) => assert_eq!(template.source(), text),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return false;
            }
        }
        true
    },
    ..Target::BASE
};

pub(crate) const OBJECTIVE: Target = Target {
    name: "objective",
    seeds: &[
        b"p95(list, phase = gameplay) < 50ms",
        b"goodput(phase = gameplay, within = 50ms) >= 299/s",
        b"mean(cpu, target = challenge) < 0.85",
        b"error_rate(all) < 0.1%",
        b"p99.9(\"a name\") <= 1.5s",
    ],
    words: &[b"p99.99999", b"phase = ", b"within = ", b"<=", b"1e999", b"\"", b"all", b"max(", b"MB"],
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        let Err(error) = workload::objective::parse("name", text) else { return true };
        assert!(error.at <= text.len() && !error.to_string().is_empty());
        false
    },
    ..Target::BASE
};

pub(crate) const CSV: Target = Target {
    name: "csv",
    seeds: &[b"id,name\n1,Ada\n2,\"Grace, \"\"H\"\"\"\n", b"id\r\n1\r\n\r\n"],
    words: &[b"\"", b",", b"\r\n", b"\xef\xbb\xbf"],
    run: |input| rows(plans::rows::csv(input, "x.csv").ok().as_ref()),
    ..Target::BASE
};

pub(crate) const JSON_ROWS: Target = Target {
    name: "json-rows",
    seeds: &[b"[{\"id\": 1, \"name\": \"Ada\"}, {\"id\": 2, \"name\": null}]", b"[]"],
    words: &[b"[[[[[[[[", b"{\"id\": ", b"1e400", b"\\ud800", b"null", b"-0.0"],
    run: |input| rows(plans::rows::json(input, "x.json").ok().as_ref()),
    ..Target::BASE
};

pub(crate) const PATTERN: Target = Target {
    name: "pattern",
    seeds: &[b"user-{1..10000}", b"{001..999}@example.org"],
    words: &[b"{", b"..", b"}", b"18446744073709551615", b"0000000000000"],
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        rows(Table::generate(text).ok().as_ref())
    },
    ..Target::BASE
};

/// Check that the first and the last row of a table can be read.
fn rows(table: Option<&Table>) -> bool {
    let Some(table) = table else { return false };
    for column in 0..table.columns().len() {
        for row in [0, table.rows().saturating_sub(1)].into_iter().filter(|row| *row < table.rows()) {
            let mut out = Vec::new();
            table.write(row, column, &mut out);
            assert_eq!(out, table.value(row, column).into_bytes());
        }
    }
    true
}

pub(crate) const PROTO: Target = Target {
    name: "proto",
    seeds: &[
        b"syntax = \"proto3\";\npackage a;\nmessage M { string t = 1; repeated M m = 2; map<string, int32> n = 3; }\n\
          service S { rpc Go (M) returns (M); rpc Flow (stream M) returns (stream M); }\n",
    ],
    words: &[b"message ", b"import \"x.proto\";\n", b"oneof o { ", b"}", b"= 536870912;", b"stream "],
    run: |input| {
        let mut schemas = Schemas::default();
        if plans::descriptions::load(&mut schemas, "t", &[PathBuf::from("x.proto")], &[], &SameContent(input)).is_err() {
            return false;
        }
        let Ok(method) = schemas.method("t", "a.S/Go") else { return false };
        // The same bytes as a message of the method: either an error with a text, or a message that can be shown.
        let shown = method.decode_to_json(input);
        assert!(shown.is_ok() || shown.is_err_and(|error| !error.to_string().is_empty()));
        true
    },
    ..Target::BASE
};

pub(crate) const LIST: Target = Target {
    name: "list",
    seeds: &[
        b"GET http://127.0.0.1:1/a?b=c\nx-id: 7\n\nPOST https://h/\n@body\n# why\n\nGET http://h\n",
        b"{\"method\": \"PUT\", \"url\": \"http://h/\", \"body\": \"aGk=\", \"header\": {\"a\": [\"b\"]}}\n",
    ],
    words: &[
        b"GET ",
        b"http://",
        b"@body\n",
        b"host: x\n",
        b"\n\n",
        b"#",
        b"${",
        b"[::1]:",
        b"CONNECT ",
        b"\"body\": \"\",",
        b"\"header\": {\"\": []}",
    ],
    run: |input| {
        let second = Duration::from_secs(1);
        let requests = RequestList { name: "list".to_owned(), content: input.to_vec() };
        let adhoc = AdhocHttp {
            requests: AdhocRequests::Listed(requests),
            basic_auth: None,
            headers: Vec::new(),
            body: None,
            redirects: 0,
            connecting: Connecting::default(),
            timeout: second,
            seed: 1,
            pace: Pace::default(),
        };
        let sources = Sources { files: &SameContent(b"hello"), env: &|_| None };
        match http(&adhoc, sources) {
            Ok(plan) => {
                let rows = plan.tables["list"].rows();
                assert!(rows > 0 && rows == plan.workload.data["list"].rows, "a list has its rows");
                true
            }
            Err(error) => {
                assert!(!error.to_string().is_empty(), "an error has a message");
                false
            }
        }
    },
    ..Target::BASE
};
