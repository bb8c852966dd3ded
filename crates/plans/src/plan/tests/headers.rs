//! Headers that targets and scenarios set for their steps, and logins that scenarios share.

use super::*;
use workload::model::Step;

/// Two targets with headers, a scenario with headers, and steps with their own.
const PLAN: &str = r#"version = 1
[targets.shop]
url = "http://127.0.0.1:8000"
auth = "basic:load:secret-of-load"
headers = { X-Tenant = "t1", Accept = "text/html" }
[targets.orders]
grpc = "127.0.0.1:50051"
headers = { x-tenant = "t2" }
[[login.customer]]
name = "log in"
post = "${shop.url}/login"
json = { user = "u" }
extract = { token = "$.access_token" }
[[scenarios]]
name = "browse"
executor = "constant-vus"
vus = 1
duration = "1s"
login = "customer"
headers = { Authorization = "Bearer ${token}", x-user = "${vu}" }
[[scenarios.setup]]
name = "greet"
get = "${shop.url}/hello?with=${token}"
[[scenarios.steps]]
name = "list"
get = "${shop.url}/items"
headers = { ACCEPT = "application/json" }
[[scenarios.steps]]
name = "own"
get = "${shop.url}/items"
auth = "basic:bob:secret-of-bob"
[[scenarios.steps]]
name = "place"
grpc = "orders/shop.v1.Orders/Place"
[[scenarios]]
name = "buy"
executor = "constant-vus"
vus = 1
duration = "1s"
login = "customer"
[[scenarios.steps]]
name = "pay"
post = "${shop.url}/pay"
headers = { authorization = "Bearer ${token}" }
"#;

/// The headers of a step with its credentials, one a line.
fn sent(step: &Step) -> String {
    let (headers, auth) = match &step.request {
        Request::Http { headers, options, .. } => (headers, options.basic_auth.as_ref()),
        Request::Grpc { metadata, .. } => (metadata, None),
    };
    let headers = headers.iter().map(|(name, value)| format!("{name}: {}", value.source()));
    let auth = auth.map(|auth| format!("basic {}", auth.source()));
    headers.chain(auth).collect::<Vec<_>>().join(" | ")
}

#[test]
fn headers_of_a_scenario_and_of_a_target_are_those_of_steps_that_have_no_own() {
    let workload = good(PLAN);
    let steps =
        workload.scenarios.iter().flat_map(|scenario| scenario.setup.iter().chain(scenario.flow.steps()));
    let all: Vec<String> = steps.map(|step| format!("{}: {}", step.name, sent(step))).collect();
    assert_snapshot!(all.join("\n"), @r#"
    log in: x-tenant: t1 | accept: text/html | content-type: application/json | basic load:secret-of-load
    greet: x-tenant: t1 | accept: text/html | basic load:secret-of-load
    list: accept: application/json | authorization: Bearer ${token} | x-user: ${vu} | x-tenant: t1
    own: x-user: ${vu} | x-tenant: t1 | accept: text/html | basic bob:secret-of-bob
    place: authorization: Bearer ${token} | x-user: ${vu} | x-tenant: t2
    log in: x-tenant: t1 | accept: text/html | content-type: application/json | basic load:secret-of-load
    pay: authorization: Bearer ${token} | x-tenant: t1 | accept: text/html
    "#);
}

#[test]
fn a_login_comes_before_the_setup_of_each_scenario_that_names_it() {
    let workload = good(PLAN);
    let setups = workload.scenarios.iter().map(|scenario| {
        let names = scenario.setup.iter().map(|step| step.name.as_str()).collect::<Vec<_>>();
        (scenario.name.as_str(), names)
    });
    assert_eq!(setups.collect::<Vec<_>>(), [("browse", vec!["log in", "greet"]), ("buy", vec!["log in"])]);
}

#[test]
fn secrets_in_default_headers_are_not_stored() {
    let plan = PLAN.replacen("X-Tenant = \"t1\"", "X-Api-Key = \"plain-key-1\", x-env = \"${env.TOKEN}\"", 1);
    let plan = plan.replacen("x-user = \"${vu}\"", "cookie = \"sid=plain-cookie-2\"", 1);
    let loaded = load_with(&plan, &[], &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    let redactor = workload::redact::Redactor::new(&loaded.workload, &loaded.env);
    let stored = serde_json::to_string(&redactor.stored(&loaded.workload)).expect("a workload is JSON");
    for secret in ["plain-key-1", "plain-cookie-2", "s3cret-token", "secret-of-load"] {
        assert!(!stored.contains(secret), "{secret} in {stored}");
    }
    assert!(stored.contains("x-api-key") && stored.contains("${env.TOKEN}"), "{stored}");
}

#[test]
fn errors_in_headers_and_logins_are_reported_at_their_place() {
    let plan = PLAN
        .replacen(
            "X-Tenant = \"t1\"",
            "authorization = \"a\", Authorization = \"${tokn}\", \"bad name\" = \"x\"",
            1,
        )
        .replacen("x-user = \"${vu}\"", "x-user = \"${users.id}\", x = 1", 1)
        .replacen("login = \"customer\"\nheaders", "login = \"custmer\"\nheaders", 1)
        .replacen("[[login.customer]]", "[login.other]\n[[login.customer]]\nweight = 1", 1);
    assert_snapshot!(errors(&plan, &[]), @r#"
    plan.toml:4:1: the header `authorization` is in `headers` too; leave one out
    plan.toml:5:34: the header `authorization` is there twice; its case does not matter
    plan.toml:5:61: `bad name` is not a header name
    plan.toml:9:8: a login is one step or more: `[[login.other]]`
    plan.toml:10:1: a step of a set-up has no weight; all are made, in order
    plan.toml:21:9: there is no login `custmer`; did you mean `customer`?
    plan.toml:22:57: there is no data `users`; add `[data.users]`
    plan.toml:22:76: `x` takes a text in quotes, not integer
    "#);
    let without = PLAN.replacen("login = \"customer\"\nheaders", "headers", 1);
    assert_snapshot!(errors(&without, &[]), @r#"
    plan.toml:19:29: no step before `list`, which sends this header, extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    plan.toml:19:29: no step before `place`, which sends this header, extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    plan.toml:22:7: no step before this one extracts `token`; extract it in an earlier step: `extract = { token = "$.path" }`
    "#);
}

#[test]
fn the_examples_of_the_manual_are_one_valid_plan() {
    let manual = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan.md"))
        .expect("the manual is there");
    let example = |heading: &str| {
        let (_, section) = manual.split_once(heading).expect("the section");
        let (_, block) = section.split_once("```toml\n").expect("an example");
        block.split("```").next().expect("its end").to_owned()
    };
    let login = example("\n### Logins that scenarios share\n");
    let plan = format!(
        "version = 1\n[data.users]\nfile = \"users.csv\"\n{}{login}",
        example("\n### Headers of many steps\n")
    );
    let files = [("users.csv", "id,password\nu1,p1\n")];
    let loaded = load_with(&plan, &files, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    let browse = &loaded.workload.scenarios[0];
    let sent: Vec<String> = browse.flow.steps().map(sent).collect();
    let common = "authorization: Bearer ${token} | x-tenant: load-test";
    assert_eq!(sent[0], format!("{common} | accept: application/json"));
    assert_eq!(sent[1], "accept: image/png | ".to_owned() + common);
    assert_eq!(browse.setup.len(), 1);
}
