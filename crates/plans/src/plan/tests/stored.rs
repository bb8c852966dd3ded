//! What is stored of a plan.

use workload::Redactor;

use super::*;

#[test]
fn literal_secrets_of_a_plan_are_not_stored() {
    let plan = r#"
version = 1
secrets = ["card"]
[targets.shop]
url = "http://127.0.0.1:1"
wait_ready = { url = "${shop.url}/ready?token=plain-a" }
[[setup]]
name = "open"
post = "${shop.url}/open?card=plain-b&x=1"
json = { password = "plain-c", user = "${env.USER_NAME}" }
headers = { authorization = "Bearer plain-d", accept = "text/html" }
[[scenarios]]
name = "s"
executor = "constant-vus"
vus = 1
duration = "1s"
[[scenarios.steps]]
name = "a"
get = "${shop.url}/x"
headers = { authorization = "Bearer ${env.TOKEN}", cookie = "sid=plain-e; u=${env.USER_NAME}", card = "${vu}" }
expect = { json = { "$.card" = "plain-f", "$.size" = 3 }, headers = { x-api-key = "plain-g" } }
[[scenarios.steps]]
name = "b"
post = "${shop.url}/y"
body = 'card=${choice("a", "plain-h")}'
"#;
    let env = |name: &str| Some(format!("value-of-{name}"));
    let loaded = load("p.toml".as_ref(), &FilesInMemory::one("p.toml", plan), &env, &Overrides::default());
    let loaded = loaded.unwrap_or_else(|errors| panic!("{errors}"));
    let redactor = Redactor::new(&loaded.workload, &loaded.env);
    let stored = serde_json::to_value(redactor.stored(&loaded.workload)).unwrap();
    let text = stored.to_string();
    assert!(!text.contains("plain-") && !text.contains("value-of"), "{text}");
    for kept in ["Bearer ${env.TOKEN}", "text/html", "${vu}", "/ready?token=[redacted]", "&x=1", "$.size"] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    // The stored workload can be read again.
    let again: Workload = serde_json::from_value(stored).unwrap();
    assert_eq!(again, redactor.stored(&again));
}
