use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

fn parts(source: &str) -> Vec<Part> {
    Template::parse(source).unwrap_or_else(|error| panic!("{source}: {error}")).parts
}

#[test]
fn every_kind_of_value_is_parsed() {
    let check = |source: &str, value: Value| assert_eq!(parts(source), [Part::Value(value)], "{source}");
    let text = str::to_owned;
    check("${users.first name}", Value::Data { set: text("users"), column: text("first name") });
    check("${token}", Value::Variable(text("token")));
    check("${ env.TOKEN }", Value::Env(text("TOKEN")));
    check("${random(-5, 10)}", Value::Random { low: -5, high: 10 });
    check("${choice(\"a, }b\", c)}", Value::Choice(vec![text("a, }b"), text("c")]));
    check("${choice(\"say \\\"x\\\"\")}", Value::Choice(vec![text("say \"x\"")]));
    check("${counter(order, 7)}", Value::Counter { name: text("order"), start: 7 });
    check("${counter(order)}", Value::Counter { name: text("order"), start: 0 });
    check("${iteration}", Value::Iteration);
    check("${vu}", Value::VirtualUser);
    check("${uuid()}", Value::Uuid);
    check("${now()}", Value::Now);
}

#[test]
fn literals_and_escapes_are_parsed() {
    let literal = |text: &str| Part::Literal(text.to_owned());
    assert_eq!(parts(""), []);
    assert_eq!(parts("a $ {b} $"), [literal("a $ {b} $")]);
    assert_eq!(parts("$${x}"), [literal("${x}")]);
    assert_eq!(parts("$$${x}"), [literal("$${x}")]);
    assert_eq!(parts("a${vu}b"), [literal("a"), Part::Value(Value::VirtualUser), literal("b")]);
}

#[test]
fn errors_are_reported_with_their_place() {
    let wrong = |source: &str| {
        let error = Template::parse(source).expect_err(source);
        format!("{}: {}", error.at, error.message)
    };
    let all = [
        "a ${x",
        "${}",
        "${rndom(1, 2)}",
        "${random(1)}",
        "${random(2, 1)}",
        "${random(1, x)}",
        "${uuid}",
        "${choice(\"a)}",
        "${choice(\"a\" b)}",
        "${counter(a b)}",
        "${a b}",
        "${uuid(1)}",
        "${random(1,)}",
        "${f(}",
    ];
    assert_snapshot!(all.map(wrong).join("\n"), @r"
    2: `${` without `}`; write `$${` for a literal `${`
    0: `${}` is not a value; names are letters, digits, `_` and `-`
    0: there is no function `rndom`; did you mean `random`?
    0: `random` takes two whole numbers: `random(1, 1000)`
    0: `random(2, 1)`: the first must not be above the second
    0: `x` is not a whole number in range
    0: `${uuid}` is a function: write `${uuid()}`
    0: `${` without `}`; write `$${` for a literal `${`
    0: `,` or `)` expected before `b`
    0: `counter` takes a name and, if not 0, a start: `counter(order, 1)`
    0: `${a b}` is not a value; names are letters, digits, `_` and `-`
    0: `uuid` takes no argument: `uuid()`
    0: an argument is missing after the last `,`
    0: `${f(}`: a `(` without `)` at the end
    ");
}

#[test]
fn a_value_can_be_percent_encoded() {
    let template = Template::parse("q=${token | url}&x=${env.A | url}").expect("it is a template");
    assert_eq!(template.parts()[1], Part::UrlValue(Value::Variable("token".to_owned())));
    assert_eq!(template.parts()[3].source(), "${env.A | url}");
    let mut out = Vec::new();
    push_url_encoded("a+b/c= ä~_-.".as_bytes(), &mut out);
    assert_eq!(String::from_utf8(out).expect("it is ASCII"), "a%2Bb%2Fc%3D%20%C3%A4~_-.");
}

#[test]
fn values_in_json_are_escaped() {
    let json =
        serde_json::json!({ "a\"b": ["${choice(\"x\", \"y\")} \"q\" $${", 1, null, true], "${vu}": 2.5 });
    let template = json_template(&json).expect("it is a template");
    assert_snapshot!(template.source(), @r#"{"${vu | json}":2.5,"a\"b":["${choice("x", "y") | json} \"q\" $${",1,null,true]}"#);
    assert!(template.parts().iter().any(|part| matches!(part, Part::JsonValue(Value::Choice(_)))));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "[$\\{}()a-z.\",\\\\| é]{0,40}") {
        let _ = Template::parse(&text);
    }

    #[test]
    fn a_literal_has_its_text(text in "[$\\{}a\"é]{0,20}") {
        let literal = Template::literal(&text);
        prop_assert_eq!(literal.as_literal(), Some(text.as_str()));
        prop_assert_eq!(Template::parse(literal.source()), Ok(literal));
    }

    #[test]
    fn escaped_text_is_the_json_of_serde(text in "\\PC{0,20}[\u{0}-\u{1f}\"\\\\]{0,5}") {
        let mut escaped = vec![b'"'];
        push_json_escaped(text.as_bytes(), &mut escaped);
        escaped.push(b'"');
        prop_assert_eq!(serde_json::from_slice::<String>(&escaped).expect("it is JSON"), text);
    }

    #[test]
    fn a_value_is_parsed_from_its_displayed_form(low in any::<i64>(), text in "[a-z\"\\\\ },]{0,9}", start in any::<u64>()) {
        let values = [
            Value::Random { low, high: i64::MAX },
            Value::Choice(vec![text.clone(), text]),
            Value::Counter { name: "c".to_owned(), start },
        ];
        for value in values {
            prop_assert_eq!(parts(&format!("${{{value}}}")), [Part::Value(value)]);
        }
    }
}
