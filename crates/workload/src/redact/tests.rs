use proptest::prelude::*;

use super::*;

fn redactor(secrets: &[&str], env: &[(&str, &str)]) -> Redactor {
    let workload = Workload {
        profiles: Vec::new(),
        name: String::new(),
        seed: 0,
        targets: BTreeMap::new(),
        data: BTreeMap::new(),
        phases: Vec::new(),
        scenarios: Vec::new(),
        interleaved: None,
        setup: Vec::new(),
        objectives: Vec::new(),
        precheck: false,
        traceparent: false,
        family: None,
        until_decided: None,
        leak_margin: None,
        secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
    };
    Redactor::new(&workload, &env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
}

#[test]
fn secret_headers_are_hidden_in_any_case() {
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
    check("pinned=1 and spin=2", "pinned=1 and spin=2");
}

#[test]
fn values_of_environment_variables_are_hidden_everywhere() {
    let redactor =
        redactor(&[], &[("A", "s3cret"), ("B", "s3cret-longer"), ("C", "x"), ("D", "with\"quote")]);
    assert_eq!(redactor.text("a s3cret-longer b s3cret x"), "a [redacted] b [redacted] x");
    assert_eq!(redactor.text(r#"{"k":"with\"quote"}"#), r#"{"k":"[redacted]"}"#);
    assert_eq!(redactor.header("x-any", "Bearer s3cret"), "Bearer [redacted]");
}

#[test]
fn values_are_hidden_in_every_spelling_of_their_percent_encoding() {
    let redactor = redactor(&[], &[("A", "aB/cD 123~*")]);
    for echo in ["aB%2FcD%20123~%2A", "aB%2fcD%20123~%2a", "aB%2FcD+123%7E*", "aB%2fcD+123%7e*"] {
        assert_eq!(redactor.text(&format!("/x?q={echo}&y=1")), "/x?q=[redacted]&y=1", "{echo}");
    }
}

proptest! {
    #[test]
    fn a_secret_value_never_shows(before in "\\PC{0,20}", after in "\\PC{0,20}", secret in "[a-zA-Z0-9+/=\"{}&?]{4,20}") {
        let redactor = redactor(&[], &[("S", &secret)]);
        // A secret that is part of the replacement cannot be distinguished from it.
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

#[test]
fn a_token_in_a_url_is_hidden_as_it_is_sent() {
    let secrets = secrets_of_user("t0k%2Fen");
    // base64 of `t0k/en:`: a user without a password (RFC 7617).
    assert!(secrets.contains(&"dDBrL2VuOg==".to_owned()), "{secrets:?}");
    assert!(secrets.contains(&"t0k/en".to_owned()), "{secrets:?}");
    assert_eq!(secrets_of_user(""), Vec::<String>::new(), "`:` alone is not a secret");
}

#[test]
fn values_of_secret_headers_and_fields_are_hidden_in_the_whole_exchange() {
    let headers = [("Authorization", "Bearer abc-123-def"), ("set-cookie", "sid=c00kie-9; Path=/somewhere")];
    let texts = [r#"{"token":"t0ken-5","same":"t0ken-5"}"#, "pin=493021&x=1", "password=short"];
    let redactor = redactor(&["pin"], &[])
        .of_exchange(headers.map(|(name, value)| (name.into(), value.into())), &texts.map(Cow::from));
    let check = |text: &str, shown: &str| assert_eq!(redactor.text(text), shown, "{text}");
    check(r#"{"echo":"Bearer abc-123-def"}"#, r#"{"echo":"[redacted]"}"#);
    check("you sent abc-123-def and c00kie-9", "you sent [redacted] and [redacted]");
    check(r#"{"token":"t0ken-5","same":"t0ken-5"}"#, r#"{"token":"[redacted]","same":"[redacted]"}"#);
    check("the pin was 493021, in short: /somewhere", "the pin was [redacted], in short: /somewhere");
}
