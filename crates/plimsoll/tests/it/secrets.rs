//! Nothing secret is in the run file, in a report, or in what is said.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use testbed::{Behaviour, CannedResponse, Site, Target};

use crate::command::{TestFolder, checked};

/// What must never be seen. The first is the environment variable `TOKEN` of every command of these tests.
const SECRETS: [&str; 8] = [
    "env-5ecret-value",
    "login-token-7f3a",
    "login-cookie-91bd",
    "card-4929-0001",
    "literal-key-c0de",
    "literal-cookie-aa17",
    "literal-password-55",
    "query-token-3e8c",
];

/// Logs in with everything secret, and then gets an echo of its requests that it did not expect.
fn plan(target: &Target) -> String {
    format!(
        r#"version = 1
precheck = false
secrets = ["card", "x-session"]
[targets.api]
url = "http://{}"
[data.cards]
file = "cards.csv"
[[setup]]
name = "begin"
post = "${{api.url}}/begin?token=query-token-3e8c"
headers = {{ x-api-key = "literal-key-c0de" }}
[[scenarios]]
name = "shop"
executor = "constant-vus"
vus = 2
duration = "1s"
[[scenarios.setup]]
name = "login"
post = "${{api.url}}/login"
headers = {{ authorization = "Bearer ${{env.TOKEN}}" }}
json = {{ user = "anna", password = "literal-password-55" }}
extract = {{ token = "$.token", sid = {{ header = "set-cookie" }} }}
[[scenarios.steps]]
name = "pay"
post = "${{api.url}}/pay?hint=${{env.TOKEN}}"
headers = {{ authorization = "Bearer ${{token}}", cookie = "sid=${{sid}}; theme=literal-cookie-aa17", x-session = "${{token}}" }}
json = {{ card = "${{cards.number}}", same = "${{cards.number}}", again = "${{token}}" }}
think = "20ms"
expect = {{ status = 201, headers = {{ x-session = "${{token}}" }}, json = {{ "$.body" = "other" }} }}
[objectives]
few_errors = "error_rate(all) < 1%"
"#,
        target.addr()
    )
}

fn shop() -> Target {
    let login = CannedResponse::new(200)
        .json(&serde_json::json!({ "token": "login-token-7f3a", "greeting": "login-token-7f3a is yours" }))
        .header("set-cookie", "login-cookie-91bd");
    let site =
        Site::new().at("/begin", Behaviour::ok()).at("/login", login.into()).otherwise(Behaviour::Echo);
    testbed::http(site).unwrap()
}

fn folder(target: &Target) -> TestFolder {
    let folder = TestFolder::new(&plan(target));
    folder.write("cards.csv", "number\ncard-4929-0001\n");
    folder
}

#[track_caller]
fn assert_clean(what: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is in {what}: {text}");
    }
}

/// Every value of every table: the file's bytes alone may hold one in pieces.
pub(crate) fn every_value(path: &Path) -> String {
    let file = Connection::open(path).unwrap();
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let tables: Vec<String> =
        file.prepare(names).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut all = String::new();
    for table in tables {
        let mut select = file.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = select.column_count();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap() {
                    all += &String::from_utf8_lossy(bytes);
                    all.push('\n');
                }
            }
        }
    }
    all
}

#[test]
fn no_secret_is_stored_or_printed() {
    let target = shop();
    let folder = folder(&target);
    let run = ["run", "plan.toml", "-o", "run.plimsoll"];
    let outputs = ["--html", "r.html", "--md", "r.md", "--json", "r.json", "--junit", "r.xml"];
    let ran = folder.plimsoll(&[&run[..], &outputs].concat());
    ran.exits_with(3);
    for secret in SECRETS {
        let received = target.log().iter().any(|served| {
            let headers = served.headers.iter().any(|(_, value)| value.contains(secret));
            headers || served.query.contains(secret) || String::from_utf8_lossy(&served.body).contains(secret)
        });
        assert!(received, "{secret} was never sent: the test would prove nothing");
    }
    assert_clean("standard output", &ran.stdout);
    assert_clean("standard error", &ran.stderr);
    for file in ["run.plimsoll", "r.html", "r.md", "r.json", "r.xml"] {
        assert_clean(file, &String::from_utf8_lossy(&fs::read(folder.path(file)).unwrap()));
    }
    let values = every_value(&folder.path("run.plimsoll"));
    assert_clean("a table", &values);
    assert!(
        values.contains("[redacted]") && values.contains("\"user\"") && values.contains("/pay"),
        "{values}"
    );
}

#[test]
fn once_shows_no_secret() {
    let target = shop();
    let ran = folder(&target).plimsoll(&["run", "plan.toml", "--once"]);
    ran.exits_with(3).stdout_contains(&[
        "authorization: [redacted]",
        "cookie: [redacted]",
        "set-cookie: [redacted]",
        "anna",
    ]);
    assert_clean("standard output", &ran.stdout);
    assert_clean("standard error", &ran.stderr);
}

#[test]
fn a_step_that_fails_before_the_load_shows_no_secret() {
    let login = CannedResponse::new(403)
        .json(&serde_json::json!({ "token": "login-token-7f3a", "why": "no login-token-7f3a" }));
    let site = Site::new().at("/begin", Behaviour::ok()).otherwise(login.into());
    let target = testbed::http(site).unwrap();
    let folder = folder(&target);
    folder.write("plan.toml", checked(&plan(&target)));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    ran.exits_with(2).stderr_contains(&["step `login` failed before the load", "authorization: [redacted]"]);
    assert_clean("standard error", &ran.stderr);
}
