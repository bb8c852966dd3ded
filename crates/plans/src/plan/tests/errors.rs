//! Errors are reported together, each with its place.

use super::*;

#[test]
fn unknown_keys_are_reported_with_line_and_suggestion() {
    let plan = r#"version = 1
sede = 3
[targets.shop]
url = "http://127.0.0.1:8000"
proces = { port = 1 }
[[scenarios]]
name = "browse"
executor = "constant-vus"
vus = 1
duration = "1s"
maxvus = 3
[[scenarios.steps]]
name = "list"
get = "${shop.url}/"
expects = { status = 200 }
expect = { stat = 200 }
zzz = 1
"#;
    assert_snapshot!(errors(plan, &[]), @r"
    plan.toml:2:1: the plan has no key `sede`; did you mean `seed`?
    plan.toml:5:1: target `shop` has no key `proces`; did you mean `process`?
    plan.toml:11:1: a scenario has no key `maxvus`; did you mean `max_vus`?
    plan.toml:15:1: a step has no key `expects`; did you mean `expect`?
    plan.toml:16:12: `expect` has no key `stat`; did you mean `status`?
    plan.toml:17:1: a step has no key `zzz`; known are `name`, `weight`, `get`, `post`, `put`, `patch`, `delete`, `head`, `url`, `grpc`, `method`, `headers`, `json`, `body`, `message`, `messages`, `repeat`, `every`, `cancel_after`, `deadline`, `auth`, `redirects`, `compress`, `expect`, `extract`, `timeout`, `think`
    ");
}

#[test]
fn keys_of_steps_and_scenarios_are_sent_to_their_places() {
    let plan = r#"version = 1
[targets.shop]
url = "http://127.0.0.1:8000"
[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
duration = "1s"
think = "1s"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/"
rate = "3/s"
[[phases]]
name = "steady"
duration = "1s"
rate = "3/s"
"#;
    assert_snapshot!(errors(plan, &[]), @r#"
    plan.toml:4:1: a scenario needs `rate`: `rate = "300/s"`
    plan.toml:8:1: a scenario has no key `think`; it belongs to a step: `[[scenarios.steps]]`
    plan.toml:12:1: a step has no key `rate`; it belongs to the scenario: write it before its steps
    plan.toml:16:1: a phase has no key `rate`; it belongs to a scenario: the load of `[[scenarios]]` is offered in its `phases`
    "#);
}

#[test]
fn what_is_written_for_other_tools_has_its_word_here() {
    for (line, said) in [
        ("method = \"POST\"", "`method` goes with `url`; write `post = \"…\"` for `get`, without it"),
        ("method = \"GET\"", "`method` goes with `url`; leave it out here"),
        ("body = { a = 1 }", "`body` is a text in quotes; a table is sent as JSON: write `json` for `body`"),
        (
            "headers = [\"a: b\"]",
            "`headers` takes a table such as `headers = { name = \"value\" }`, not array",
        ),
        ("capture = { a = \"$.a\" }", "a step has no key `capture`; write `extract`"),
        ("check = { status = 200 }", "a step has no key `check`; write `expect`"),
        ("sleep = \"1s\"", "a step has no key `sleep`; write `think`"),
        ("[thresholds]\na = \"b\"", "the plan has no key `thresholds`; write `[objectives]`"),
        ("[gate]\na = \"b\"", "the plan has no key `gate`; write `[objectives]`"),
        (
            "[[steps]]\nname = \"b\"",
            "the plan has no key `steps`; steps belong to a scenario: `[[scenarios.steps]]`",
        ),
    ] {
        let found = errors(&valid_with(&format!("{line}\n")), &[]);
        assert!(found.contains(said), "{line}: {found}");
    }
    for text in ["version: 1\nscenarios:\n  - name: a\n", "---\n- a\n"] {
        assert!(errors(text, &[]).contains("plan.toml: it is YAML, and plans are TOML"), "{text}");
    }
}

#[test]
fn all_errors_are_reported_together() {
    let plan = r#"version = 2
[targets.shop]
url = "ftp://shop.test"
[data.users]
file = "users.csv"
pick = "uniq"
[[phases]]
name = "up"
duration = "10"
[[scenarios]]
name = "browse"
executor = "constant-rate"
phases = ["upp"]
rate = "0/s"
[[scenarios.steps]]
name = "list"
get = "${shopp.url}/items"
weight = 0
headers = { "bad name" = "${player}" }
expect = { status = 99, grpc_status = "OK", json = { "$.[" = 1 } }
extract = { a = { regex = "(" }, b = { header = "x", json = "$" } }
timeout = "soon"
[objectives]
fast = "p95(lisst, phase = upp) < 50"
"#;
    assert_snapshot!(errors(plan, &[("users.csv", "id,name\n1,a\n2\n")]), @r#"
    plan.toml:1:11: only `version = 1` is known; this file needs another version of the command
    plan.toml:3:7: `ftp://shop.test` is not a URL; write `http://host:port/path`
    plan.toml:5:8: users.csv:3: this row has 1 field, the header line has 2; give every row a value for each column
    plan.toml:6:8: `pick` is sequential, random or unique; did you mean `unique`?
    plan.toml:9:12: `10` is not a duration without a unit; write `10s` or `10ms`
    plan.toml:12:12: there is no executor `constant-rate`; did you mean `constant-arrival-rate`?
    plan.toml:13:11: there is no phase `upp`; did you mean `up`?
    plan.toml:14:8: a rate is above 0
    plan.toml:17:7: there is no target `shopp`; did you mean `shop`?
    plan.toml:18:10: `weight` takes a whole number from 1 to 1000000, not 0
    plan.toml:19:13: `bad name` is not a header name
    plan.toml:19:26: no step before this one extracts `player`; extract it in an earlier step: `extract = { player = "$.path" }`
    plan.toml:20:21: `status` takes a whole number from 100 to 599, not 99
    plan.toml:20:25: this step answers with `status`, not with `grpc_status`
    plan.toml:20:54: `$.[` is not a JSON path: at position 2, in dot member name, must start with lowercase alpha or '_'; write one like `$.items[0].id`
    plan.toml:21:27: `(` is not a regular expression: error: unclosed group
    plan.toml:21:38: a value comes from one of `json`, `header` and `regex`, from `header` with `regex`, or is a JSON path: `"$.token"`
    plan.toml:22:11: `soon` is not a duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`
    plan.toml:24:13: there is no endpoint `lisst`; did you mean `list`?
    plan.toml:24:28: there is no phase `upp`; did you mean `up`?
    plan.toml:24:35: `50` is not a duration without a unit; write `50s` or `50ms`
        p95(lisst, phase = upp) < 50
                                  ^
    "#);
}

#[test]
fn the_first_error_of_toml_is_reported_with_its_line() {
    assert_snapshot!(errors("version = 1\nname = \"x\n[targets\n", &[]), @r#"plan.toml:2:10: not TOML: invalid basic string, expected `"`"#);
    assert_snapshot!(errors("version = 1\nname = \n", &[]), @"plan.toml:2:8: not TOML: string values must be quoted, expected literal string; the value after `=` is missing");
    let readme: FilesInMemory = [("README.md", "# Shop\n\nIt sells.\n")].into_iter().collect();
    let markdown = load(Path::new("README.md"), &readme, &env, &Overrides::default());
    let markdown = markdown.expect_err("it is Markdown").to_string();
    assert!(
        markdown.ends_with("a plan is a TOML file: `plimsoll new URL` writes one to begin with"),
        "{markdown}"
    );
    assert_snapshot!(errors("", &[]), @r"
    plan.toml:1:1: a plan needs one scenario or more: `[[scenarios]]`
    plan.toml:1:1: the plan needs `version`: `version = 1`
    ");
    let missing = load(Path::new("no.toml"), &with("", &[]), &env, &Overrides::default());
    assert_snapshot!(missing.expect_err("it is missing"), @"no.toml: cannot be read: entity not found; check the path");
}

#[test]
fn values_without_a_source_are_errors() {
    let more = r#"headers = { a = "${token}", b = "${users.name}", c = "${env.TOKEN}", d = "${env.NONE}" }
body = "${shop.url} ${user.id} ${random(3, 1)}"
extract = { tokn = "$.token" }
[[scenarios.steps]]
name = "buy"
post = "${shop.url}/buy/${token}"
json = { a = ["${users.id}", "${tokn}"] }
[data.users]
generate = "user-{1..10}"
"#;
    assert_snapshot!(errors(&valid_with(more), &[]), @r#"
    plan.toml:12:17: no step before this one extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    plan.toml:12:33: data `users` has no column `name`; it has `id`
    plan.toml:12:74: the environment variable `NONE` is not set: `export NONE=…`
    plan.toml:13:8: `random(3, 1)`: the first must not be above the second
    plan.toml:17:8: no step before this one extracts `token`; did you mean `tokn`?
    "#);
}

#[test]
fn steps_of_a_mix_cannot_use_each_others_values() {
    let more = r#"weight = 1
extract = { token = "$.token" }
[[scenarios.steps]]
name = "buy"
weight = 1
get = "${shop.url}/${token}"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/"
"#;
    assert_snapshot!(errors(&valid_with(more), &[]), @r#"
    plan.toml:17:7: no step before this one extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    plan.toml:18:1: there are two steps `list` here; rename one
    plan.toml:18:1: this step has no `weight`, others of the scenario have; give all steps one (a mix) or none (a sequence)
    "#);
    let set_up =
        "[[scenarios.setup]]\nname = \"login\"\nget = \"${shop.url}/\"\nextract = { token = \"$.t\" }\n";
    let valid = more.replacen("extract = { token = \"$.token\" }\n", "", 1);
    let valid = valid.split("[[scenarios.steps]]\nname = \"list\"").next().expect("there is a first part");
    assert_eq!(good(&valid_with(&format!("{valid}{set_up}"))).scenarios[0].setup.len(), 1);
}

#[test]
fn what_other_formats_write_is_answered_with_the_toml_of_it() {
    let base = |step: &str| {
        format!(
            "version = 1\n[targets.api]\nurl = \"http://127.0.0.1:1\"\n[[scenarios]]\nname = \"a\"\nexecutor = \"constant-vus\"\n\
             vus = 1\nduration = \"1s\"\n[[scenarios.steps]]\nname = \"x\"\npost = \"${{api.url}}/\"\n{step}\n"
        )
    };
    for (step, said) in [
        ("headers = { authorization: \"x\" }", "TOML writes `=` for `:`"),
        ("timeout: \"1s\"", "TOML writes `=` for `:`"),
        ("body = “x”", "curly quotes are not quotes in TOML: write `\"`"),
        ("body = \"{\"id\": 7}\"", "has single ones around it: `'{\"id\": 7}'`"),
        ("json = \"{id: 7}\"", "write `json = { id = 7 }`"),
        ("body = \"${ENV.TOK}\"", "a variable of the environment is `${env.TOK}`"),
        ("[objectives]\nbusy = \"cpu < 80%\"", "write it like `mean(cpu, target = NAME) < 0.8`"),
    ] {
        let printed = errors(&base(step), &[]);
        assert!(printed.contains(said), "{step}: no {said:?} in {printed}");
    }
    let one = base("").replace("[[scenarios.steps]]", "[scenarios.steps]");
    assert!(
        errors(&one, &[]).contains("`steps` is a list: write `[[…steps]]` with two brackets"),
        "{}",
        errors(&one, &[])
    );
}
