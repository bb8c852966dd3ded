//! Mistakes at the command line: each is answered with what is wrong and the next step, before anything is sent.

use std::fs;

use crate::command::TestFolder;

const URL: &str = "http://127.0.0.1:1/";

/// A plan that gives a phase a rate.
const PLAN: &str = r#"
version = 1
[targets.shop]
url = "http://127.0.0.1:1"
[[phases]]
name = "steady"
duration = "1s"
rate = "3/s"
[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
rate = "3/s"
phases = ["steady"]
[[scenarios.steps]]
name = "list"
get = "${shop.url}/"
"#;

const LINES: &[&[&str]] = &[
    &["http", URL, "--objective", "http_req_duration p(95)<50"],
    &["http", URL, "--objective", "http_req_failed rate<0.01"],
    &["http", URL, "-H", "Authorization Bearer"],
    &["http", URL, "-H", "s3cret"],
    &["http", URL, "-d", "{a:1}"],
    &["http", URL, "-d", "a:1", "b:x"],
    &["grpc", "127.0.0.1:1", "shop.Shop/Say", "-d", "{name:x}"],
    &["http", URL, "--timeout=0"],
    &["http", URL, "-t", "0"],
    &["http", URL, "--unix-socket", "nosuch"],
    &["http", URL, "--unix-socket", "notes.yml"],
    &["http", URL, "-o", "missing/run.plimsoll"],
    &["run", "https://example.com/x.js"],
    &["run", "plan.toml"],
    &["plan.tml"],
    &["plan.ts"],
    &["shop.example.com"],
    &["new", "openapi.yml"],
    &["report", "run.plimsoll", "--chart"],
    &["report", "run.plimsoll", "--csv", "data"],
    &["ab", URL, URL, "-r", "100"],
    &["ab", URL, URL, "--gate", "p95 < 5%"],
    &["capacity", URL, "--rate", "100"],
    &["worker", "--port", "7400"],
    &["leaks", ":9", "--duration", "3s"],
    &["profile", "-http=:8080", "cpu.pb.gz"],
    &["http", URL, "-d", "3"],
    &["run", "plan.toml", "-o", "run.json"],
    &["http", URL, "-o", "report.html"],
    &["run", "plan.toml", "--foo"],
    &["selftest", "engine", "--foo"],
    &["inspect", "k6.js"],
    &["report", "old.json"],
    &["compare", "old.html", "old.json"],
    &["run", "plan.toml", "--target", "shop"],
    &["check", "version.toml"],
    &["check", "target.toml"],
    &["check", "keys.toml"],
];

/// A plan with this in place of its beginning.
fn with(beginning: &str) -> String {
    let rest = PLAN.replace("rate = \"3/s\"\n[[scenarios]]", "[[scenarios]]");
    rest.replace("version = 1\n[targets.shop]\nurl = \"http://127.0.0.1:1\"\n", beginning)
}

#[test]
fn each_mistake_is_answered_with_the_next_step() {
    let folder = TestFolder::new(PLAN);
    fs::write(folder.path("notes.yml"), "x: 1\n").unwrap();
    folder.write(
        "k6.js",
        "import http from 'k6/http';\nexport default function () { http.get('http://127.0.0.1:1/'); }\n",
    );
    folder.write("old.json", "{\n  \"schema\": \"plimsoll.report/2\",\n");
    folder.write("old.html", "<!doctype html>\n<head>\n<meta name=\"generator\" content=\"Plimsoll\">\n");
    folder.write("version.toml", with("version = \"1\"\ntargets.shop.url = \"http://127.0.0.1:1\"\n"));
    folder.write("target.toml", with("version = 1\ntargets.shop = \"http://127.0.0.1:1\"\n"));
    let keys =
        "version = 1\ntargets.shop.ulr = \"http://127.0.0.1:1\"\n[treshold]\n[data.users]\nfil = \"x.csv\"\n";
    folder.write("keys.toml", with(keys));
    let mut said = String::new();
    for line in LINES {
        let ran = folder.plimsoll(line);
        assert_eq!(ran.stdout, "", "{line:?}");
        said += &format!("{}\n{}\n", line.join(" "), ran.stderr);
    }
    assert!(!said.contains("s3cret: "), "{said}");
    insta::assert_snapshot!(said);
}

/// A server of gRPC sends frames of HTTP/2, whatever it is asked.
#[test]
fn a_port_of_grpc_is_named_where_http_was_expected() {
    let target = testbed::grpc(testbed::GrpcBehaviour::Echo).unwrap();
    let folder = TestFolder::new("");
    let ran = folder.plimsoll(&["http", &format!("http://{}/", target.addr())]);
    ran.exits_with(2).stderr_contains(&[
        "the server speaks HTTP/2 on this port",
        &format!("`plimsoll grpc {}`", target.addr()),
    ]);
}

#[test]
fn a_missing_file_of_data_or_script_names_the_one_that_was_probably_meant() {
    let data =
        with("version = 1\ntargets.shop.url = \"http://127.0.0.1:1\"\n[data.users]\nfile = \"user.csv\"\n");
    let folder = TestFolder::new(&data);
    folder.write("users.csv", "id\n1\n");
    folder.write("shop.js", "open('./user.csv'); export default function () {}\n");
    let meant = "there is no such file; did you mean `users.csv`?";
    folder.plimsoll(&["check", "plan.toml"]).exits_with(2).stderr_contains(&[meant]);
    folder.plimsoll(&["run", "shop.js"]).exits_with(107).stderr_contains(&[meant]);
    folder.plimsoll(&["run", "shpo.js"]).stderr_contains(&["did you mean `shop.js`?"]);
}

#[test]
fn values_of_other_tools_are_sent_as_they_are_and_said_before() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let plan = with(&format!("version = 1\ntargets.shop.url = \"http://{}\"\n", target.addr()))
        + "headers = { authorization = \"Bearer {{token}}\" }\n";
    let folder = TestFolder::new(&plan.replace("${shop.url}/", "${shop.url}/$id"));
    let said =
        ["the header `authorization` of `list` has `{{token}}`", "the url of `list` has `$id`", "`${id}`"];
    let in_path =
        with("version = 1\ntargets.shop.url = \"http://127.0.0.1:1\"\n").replace("url}/", "url}/{item}");
    folder.write("path.toml", in_path);
    folder.plimsoll(&["check", "path.toml"]).exits_with(0).stdout_contains(&["has `{item}`", "`${item}`"]);
    folder.plimsoll(&["check", "plan.toml"]).exits_with(0).stdout_contains(&said);
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0).stderr_contains(&said);
    assert!(target.log().iter().all(|served| served.path == "/$id"), "sent as it is");
    let braces = with("version = 1\ntargets.shop.url = \"http://127.0.0.1:1\"\n")
        + "headers = { a = \"${TOKEN_X}\" }\n";
    folder.write("braces.toml", braces);
    folder.plimsoll(&["check", "braces.toml"]).exits_with(2).stderr_contains(&["`${env.TOKEN_X}`"]);
}

#[test]
fn a_run_that_could_not_be_made_is_an_error_in_the_reports_of_a_ci_job() {
    let folder = TestFolder::new(PLAN);
    folder.write("junit.xml", "<testsuites name=\"plimsoll\">of an earlier run</testsuites>");
    let run = ["run", "plan.toml", "--junit", "junit.xml", "--md", "run.md"];
    folder.plimsoll(&run).exits_with(2).stderr_contains(&["plan.toml:8:1: a phase has no key `rate`"]);
    let (junit, markdown) = (folder.read("junit.xml"), folder.read("run.md"));
    assert!(junit.contains("tests=\"1\"") && junit.contains("errors=\"1\""), "{junit}");
    assert!(junit.contains("<error message=\"plan.toml:8:1: a phase has no key `rate`"), "{junit}");
    assert!(markdown.contains("NOT RUN") && markdown.contains("plan.toml:8:1"), "{markdown}");
    folder.write("plan.toml", "version = 1\n");
    let url = ["http", URL, "-n", "1", "--junit", "url.xml"];
    folder.plimsoll(&url).exits_with(2);
    assert!(folder.read("url.xml").contains("nothing answers at 127.0.0.1:1"), "{}", folder.read("url.xml"));
    folder.plimsoll(&["ab", "nosuch.toml", "--junit", "ab.xml", "--md", "ab.md"]).exits_with(2);
    assert!(folder.read("ab.xml").contains("errors=\"1\""), "{}", folder.read("ab.xml"));
    assert!(folder.read("ab.md").contains("NOT RUN: nosuch"), "{}", folder.read("ab.md"));
    folder
        .plimsoll(&["127.0.0.1", "8791"])
        .exits_with(2)
        .stderr_contains(&["`plimsoll http://127.0.0.1:8791/`"]);
}
