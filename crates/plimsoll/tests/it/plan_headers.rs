//! Headers of many steps and logins of many scenarios, as a target receives them.

use std::time::Duration;

use testbed::{Behaviour, CannedResponse, Site};

use crate::command::TestFolder;

/// Two scenarios with one login: each virtual user sends it once, with the target's header and not with its scenario's.
#[test]
fn headers_of_a_target_and_a_scenario_and_a_shared_login_are_what_the_target_receives() {
    let token = CannedResponse::new(200).body(r#"{"access_token": "tok-s3cret-1"}"#);
    let site = Site::new().at("/login", token.into()).otherwise(Behaviour::after(Duration::from_millis(5)));
    let target = testbed::http(site).unwrap();
    let scenario = |name: &str, vus: u64, headers: &str, step: &str| {
        format!(
            "[[scenarios]]\nname = \"{name}\"\nexecutor = \"per-vu-iterations\"\nvus = {vus}\niterations = 5\n\
             login = \"customer\"\n{headers}\n[[scenarios.steps]]\nname = \"{name}\"\nget = \"${{api.url}}/{name}\"\n{step}\n"
        )
    };
    let bearer = "headers = { Authorization = \"Bearer ${token}\" }";
    let plan = format!(
        "version = 1\nprecheck = false\n[targets.api]\nurl = \"http://{}\"\nheaders = {{ X-Tenant = \"t1\" }}\n\
         [[login.customer]]\nname = \"log in\"\npost = \"${{api.url}}/login\"\nextract = {{ token = \"$.access_token\" }}\n{}{}",
        target.addr(),
        scenario("list", 2, bearer, ""),
        scenario("order", 1, "", "headers = { x-tenant = \"own\" }"),
    );
    let folder = TestFolder::new(&plan);
    let check = folder.plimsoll(&["check", "plan.toml"]);
    check.exits_with(0).stdout_contains(&[
        "`list`: every request has the headers `authorization`, `x-tenant`",
        "`order`: every request has the header `x-tenant`",
    ]);
    let outputs = ["--html", "run.html", "--json", "run.json"];
    folder
        .plimsoll(&[&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"], &outputs[..]].concat())
        .exits_with(0);
    let log = target.log();
    let of = |path: &str| log.iter().filter(|request| request.path == path).collect::<Vec<_>>();
    assert_eq!((of("/login").len(), of("/list").len(), of("/order").len()), (3, 10, 5));
    let sent = |path: &str, name: &str| {
        let mut values: Vec<_> =
            of(path).iter().map(|request| request.header(name).map(str::to_owned)).collect();
        values.dedup();
        values
    };
    let some = |text: &str| vec![Some(text.to_owned())];
    assert_eq!((sent("/login", "authorization"), sent("/login", "x-tenant")), (vec![None], some("t1")));
    assert_eq!(
        (sent("/list", "authorization"), sent("/list", "x-tenant")),
        (some("Bearer tok-s3cret-1"), some("t1"))
    );
    assert_eq!((sent("/order", "authorization"), sent("/order", "x-tenant")), (vec![None], some("own")));
    for file in ["run.plimsoll", "run.html", "run.json"] {
        let bytes = std::fs::read(folder.path(file)).unwrap();
        assert!(!bytes.windows(12).any(|part| part == b"tok-s3cret-1"), "{file} has the token");
    }
}
