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
];

#[test]
fn each_mistake_is_answered_with_the_next_step() {
    let folder = TestFolder::new(PLAN);
    fs::write(folder.path("notes.yml"), "x: 1\n").unwrap();
    let mut said = String::new();
    for line in LINES {
        let ran = folder.plimsoll(line);
        assert_eq!(ran.stdout, "", "{line:?}");
        said += &format!("{}\n{}\n", line.join(" "), ran.stderr);
    }
    assert!(!said.contains("s3cret: "), "{said}");
    insta::assert_snapshot!(said, @r#"
    http http://127.0.0.1:1/ --objective http_req_duration p(95)<50
    plimsoll: --objective:1:1: a threshold of k6 is an objective here: write `p95 < 50ms`
        http_req_duration p(95)<50
        ^

    http http://127.0.0.1:1/ --objective http_req_failed rate<0.01
    plimsoll: --objective:1:1: a threshold of k6 is an objective here: write `error_rate < 0.01`
        http_req_failed rate<0.01
        ^

    http http://127.0.0.1:1/ -H Authorization Bearer
    error: invalid value '[redacted]' for '--header <HEADER>': the header `Authorization` has no colon: write it as 'Authorization: value'

    http http://127.0.0.1:1/ -H s3cret
    error: invalid value '[redacted]' for '--header <HEADER>': it has no colon: write it as 'name: value'

    http http://127.0.0.1:1/ -d {a:1}
    plimsoll: the shell removed the quotes of the body and left `{a:1}`: write `-d '{"a":1}'`; to send it as it is: `--body '{a:1}'`

    http http://127.0.0.1:1/ -d a:1 b:x
    plimsoll: the shell removed the quotes of the body and left `a:1 b:x`: write `-d '{"a":1,"b":"x"}'`; to send it as it is: `--body 'a:1 b:x'`

    grpc 127.0.0.1:1 shop.Shop/Say -d {name:x}
    plimsoll: the shell removed the quotes of the body and left `{name:x}`: write `-d '{"name":"x"}'`; to send it as it is: `--data '{name:x}'`

    http http://127.0.0.1:1/ --timeout=0
    error: invalid value '0' for '--timeout <DURATION>': a time limit is longer than 0; without this option it is 30s

    http http://127.0.0.1:1/ -t 0
    error: invalid value '0' for '--timeout <DURATION>': a time limit is longer than 0; without this option it is 30s

    http http://127.0.0.1:1/ --unix-socket nosuch
    plimsoll: target `target`: there is no socket nosuch: start the target, or check the path (No such file or directory)

    http http://127.0.0.1:1/ --unix-socket notes.yml
    plimsoll: target `target`: notes.yml is not a socket: check the path

    http http://127.0.0.1:1/ -o missing/run.plimsoll
    plimsoll: cannot write missing/run.plimsoll: there is no folder missing (`mkdir -p missing` makes it); nothing was sent: No such file or directory (os error 2)

    run https://example.com/x.js
    plimsoll: plans and scripts are local files: `curl -O https://example.com/x.js`, then `plimsoll run x.js`

    run plan.toml
    plimsoll: plan.toml:8:1: a phase has no key `rate`; it belongs to a scenario: the load of `[[scenarios]]` is offered in its `phases`

    plan.tml
    plimsoll: there is no verb and no file `plan.tml`; did you mean `plimsoll run plan.toml`? A host is loaded by its URL: `plimsoll http://plan.tml/`.

    plan.ts
    plimsoll: there is no verb and no file `plan.ts`; did you mean `plimsoll run plan.toml`?

    shop.example.com
    plimsoll: to load a host write its URL: `plimsoll http://shop.example.com/`

    new openapi.yml
    plimsoll: there is no source of a plan openapi.yml; a source is a URL, an OpenAPI description, a HAR file or curl commands

    report run.plimsoll --chart
    plimsoll: `report` has no option `--chart`: charts are exported: `plimsoll export RUN --chart NAME FILE.svg`, or FILE.png; `plimsoll export RUN --chart` lists the names

    report run.plimsoll --csv data
    plimsoll: `report` has no option `--csv`: data is exported: `plimsoll export RUN`, with this option

    ab http://127.0.0.1:1/ http://127.0.0.1:1/ -r 100
    plimsoll: `ab` has no option `-r`: `--rate RATE` is the load of two URLs; a plan sets its own

    ab http://127.0.0.1:1/ http://127.0.0.1:1/ --gate p95 < 5%
    plimsoll: --gate: `p95 < 5%`: a `(` is missing; write it like `p95(list, phase = gameplay)`

    capacity http://127.0.0.1:1/ --rate 100
    plimsoll: `capacity` has no option `--rate`: it searches among loads: `--from 100 --to 1000`; a load that must hold is `--at-least LEVEL`

    worker --port 7400
    plimsoll: `worker` has no option `--port`: the address is `--listen 127.0.0.1:7400`; one that other machines reach needs `--keys FILE`

    leaks :9 --duration 3s
    plimsoll: `leaks` has no option `--duration`: `--for 30m` watches the targets so long

    profile -http=:8080 cpu.pb.gz
    plimsoll: `profile` has no option `-http`: `--flame FILE.html` draws it, and a browser opens that

    http http://127.0.0.1:1/ -d 3
    plimsoll: `-d` is the body of the request; a duration is `-z 3s`. If it is the body: `--body 3`, or `--data 3` of a gRPC call
    "#);
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
