use proptest::prelude::*;

use super::*;

fn redactor(secrets: &[&str], env: &[(&str, &str)]) -> Redactor {
    let workload = Workload {
        name: String::new(),
        seed: 0,
        targets: BTreeMap::new(),
        data: BTreeMap::new(),
        phases: Vec::new(),
        scenarios: Vec::new(),
        setup: Vec::new(),
        objectives: Vec::new(),
        precheck: false,
        traceparent: false,
        secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
    };
    Redactor::new(&workload, &env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
}

#[test]
fn headers_are_hidden_by_name_whatever_their_case() {
    let redactor = redactor(&["X-Player-Key"], &[]);
    for name in ["Authorization", "COOKIE", "set-cookie", "proxy-authorization", "X-Api-Key", "x-player-key"]
    {
        assert_eq!(redactor.header(name, "abc"), REDACTED, "{name}");
    }
    assert_eq!(redactor.header("accept", "text/html"), "text/html");
}

#[test]
fn secret_fields_of_json_forms_and_queries_are_hidden() {
    let redactor = redactor(&["pin"], &[]);
    let check = |text: &str, shown: &str| assert_eq!(redactor.text(text), shown, "{text}");
    check(r#"{"user":"u","Password" : "a\"b","n":1}"#, r#"{"user":"u","Password" : "[redacted]","n":1}"#);
    check(r#"{"pin":1234,"x":[1]}"#, r#"{"pin":"[redacted]","x":[1]}"#);
    check(r#"{"access_token":"cut off he"#, r#"{"access_token":"[redacted]""#);
    check("user=u&password=p&x=1", "user=u&password=[redacted]&x=1");
    check("/login?token=abc HTTP/1.1", "/login?token=[redacted] HTTP/1.1");
    check("pinned=1 and opinion=2", "pinned=1 and opinion=2");
}

#[test]
fn values_of_the_environment_are_hidden_everywhere() {
    let redactor =
        redactor(&[], &[("A", "s3cret"), ("B", "s3cret-longer"), ("C", "x"), ("D", "with\"quote")]);
    assert_eq!(redactor.text("a s3cret-longer b s3cret x"), "a [redacted] b [redacted] x");
    assert_eq!(redactor.text(r#"{"k":"with\"quote"}"#), r#"{"k":"[redacted]"}"#);
    assert_eq!(redactor.header("x-any", "Bearer s3cret"), "Bearer [redacted]");
}

proptest! {
    #[test]
    fn a_secret_value_never_shows(before in "\\PC{0,20}", after in "\\PC{0,20}", secret in "[a-zA-Z0-9+/=\"{}&?]{4,20}") {
        let redactor = redactor(&[], &[("S", &secret)]);
        // A secret that is part of the mark itself cannot be told from it.
        prop_assume!(!REDACTED.contains(&secret));
        let text = [before.as_str(), &secret, &after].join(" ");
        let mark = [" ", &secret, " "].concat();
        prop_assert!(!redactor.text(&text).contains(&mark));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[\"a-z:{}&=?\\\\ ]{0,40}", secret in "\\PC{0,9}") {
        let _ = redactor(&[&secret], &[("S", &secret)]).text(&text);
    }
}
