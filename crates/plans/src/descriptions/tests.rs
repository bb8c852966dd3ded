use std::collections::BTreeMap;
use std::path::PathBuf;

use insta::assert_snapshot;
use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::{Value as Json, json};

use super::*;
use workload::FilesInMemory;
use workload::{Method, Template};

const PROTO: &str = r#"
syntax = "proto3";
package t;
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "other/color.proto";
service S { rpc Do(All) returns (All); }
message Inner { string name = 1; repeated Inner children = 2; int32 number_of = 3; }
message All {
  double f_double = 1; float f_float = 2; int32 f_int32 = 3; int64 f_int64 = 4; uint32 f_uint32 = 5;
  uint64 f_uint64 = 6; sint32 f_sint32 = 7; sint64 f_sint64 = 8; fixed32 f_fixed32 = 9;
  fixed64 f_fixed64 = 10; sfixed32 f_sfixed32 = 11; sfixed64 f_sfixed64 = 12; bool f_bool = 13;
  string f_string = 14; bytes f_bytes = 15; other.Color f_color = 16; Inner inner = 17;
  repeated int32 numbers = 18; repeated string texts = 19; repeated Inner inners = 20;
  map<string, int32> counts = 21; map<int64, Inner> by_id = 22;
  oneof choice { string one = 23; int32 other = 24; }
  google.protobuf.Struct data = 25; google.protobuf.Timestamp at = 26;
  google.protobuf.StringValue wrapped = 27; google.protobuf.Value any = 28; optional int32 maybe = 29;
}
"#;
const COLOR: &str = "syntax = \"proto3\"; package other; enum Color { NONE = 0; RED = 1; BLUE = -2; }";

fn method() -> Method {
    static METHOD: std::sync::OnceLock<Method> = std::sync::OnceLock::new();
    METHOD.get_or_init(load_method).clone()
}

fn load_method() -> Method {
    let files = FilesInMemory::from_iter([("a/t/all.proto", PROTO), ("a/other/color.proto", COLOR)]);
    let mut schemas = Schemas::default();
    // The first imports the second under a shorter name: it is the same file.
    let protos = ["b/../a/t/all.proto", "a/other/color.proto"].map(PathBuf::from);
    load(&mut schemas, "x", &protos, &[], &files).unwrap_or_else(|error| panic!("{error}"));
    schemas.method("x", "/t.S/Do").unwrap_or_else(|error| panic!("{error}"))
}

fn input() -> MessageDescriptor {
    method().input()
}

/// Compile `message` and encode it with `values`, which are the texts of gaps by their sources.
fn encode(message: &Json, values: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let compiled = method().compile(message).map_err(|error| error.to_string())?;
    let values: BTreeMap<_, _> = values.iter().copied().collect();
    let compiled = compiled.map(|template: Template| values.get(template.source()).copied().unwrap_or("?"));
    let mut out = b"before".to_vec();
    let sent = compiled.encode(&mut |text, out| out.extend_from_slice(text.as_bytes()), &mut out);
    assert!(out.starts_with(b"before") && (sent.is_ok() || out.len() == 6));
    sent.map_err(|error| error.to_string())?;
    Ok(out.split_off(6))
}

fn check_same(message: &Json, values: &[(&str, &str)], expected: Json) {
    let bytes = encode(message, values).unwrap_or_else(|error| panic!("{message}: {error}"));
    assert_eq!(decoded(&bytes), canonical(expected), "{message}");
}

fn decoded(bytes: &[u8]) -> DynamicMessage {
    DynamicMessage::decode(input(), bytes).expect("it is a message")
}

/// `json` encoded and decoded by prost-reflect.
fn canonical(json: Json) -> DynamicMessage {
    decoded(&DynamicMessage::deserialize(input(), json).expect("it is a message").encode_to_vec())
}

#[test]
fn every_kind_of_field_takes_a_value() {
    let check = |field: &str, text: &str, expected: Json| {
        check_same(&json!({ field: "${vu}" }), &[("${vu}", text)], json!({ field: expected }));
    };
    check("fDouble", "-2.5e3", json!(-2500.0));
    check("f_float", "0.5", json!(0.5));
    check("f_int32", "-7", json!(-7));
    check("f_int32", "1e3", json!(1000));
    check("f_int64", "-9223372036854775808", json!(i64::MIN));
    check("f_uint32", "4294967295", json!(u32::MAX));
    check("f_uint64", "18446744073709551615", json!(u64::MAX));
    check("f_sint32", "-2147483648", json!(i32::MIN));
    check("f_sint64", "-3", json!(-3));
    check("f_fixed32", "3", json!(3));
    check("f_fixed64", "3", json!(3));
    check("f_sfixed32", "-3", json!(-3));
    check("f_sfixed64", "-3", json!(-3));
    check("f_bool", "true", json!(true));
    check("f_string", "é\u{0}\"", json!("é\u{0}\""));
    check("f_string", &"x".repeat(300), json!("x".repeat(300)));
    check("f_bytes", "AAH/", json!("AAH/"));
    check("f_color", "BLUE", json!("BLUE"));
    check("f_color", "1", json!("RED"));
    check("at", "2026-01-02T03:04:05.006Z", json!("2026-01-02T03:04:05.006Z"));
    check("wrapped", "w", json!("w"));
    check("any", "text", json!("text"));
    check("other", "5", json!(5));
    check("maybe", "0", json!(0));
}

#[test]
fn values_are_filled_in_at_every_depth() {
    let message = json!({
        "inner": { "name": "a $${", "children": [{ "name": "${vu}" }, { "numberOf": 3 }, {}] },
        "numbers": [1, "${iteration}", 3],
        "texts": ["x", "${vu}-${iteration}"],
        "counts": { "${vu}": 1, "b": "${iteration}" },
        "by_id": { "${iteration}": { "name": "n" }, "8": { "name": "${vu}" } },
        "data": { "k": { "deep": ["${vu}", 1, null, { "${vu}": true }] } },
        "any": ["${vu}", 2],
        "one": "${vu}",
    });
    let values = [("${vu}", "V"), ("${iteration}", "42"), ("${vu}-${iteration}", "V-42")];
    let expected = json!({
        "inner": { "name": "a ${", "children": [{ "name": "V" }, { "numberOf": 3 }, {}] },
        "numbers": [1, 42, 3],
        "texts": ["x", "V-42"],
        "counts": { "V": 1, "b": 42 },
        "byId": { "42": { "name": "n" }, "8": { "name": "V" } },
        "data": { "k": { "deep": ["V", 1, null, { "V": true }] } },
        "any": ["V", 2],
        "one": "V",
    });
    check_same(&message, &values, expected);
}

#[test]
fn errors_name_the_field_that_a_value_does_not_fit() {
    let wrong =
        |message: Json, text: &str| encode(&message, &[("${vu}", text)]).expect_err("it does not fit");
    let all = [
        wrong(json!({ "f_int32": "${vu}" }), "many"),
        wrong(json!({ "inner": { "children": [{ "number_of": "${vu}" }] } }), "2147483648"),
        wrong(json!({ "f_bytes": "${vu}" }), "%"),
        wrong(json!({ "f_color": "${vu}" }), "GREEN"),
        wrong(json!({ "f_bool": "${vu}" }), "1"),
        wrong(json!({ "at": "${vu}" }), "noon"),
        wrong(json!({ "f_int32x": 1 }), ""),
        wrong(json!({ "inner": { "nme": "${vu}" } }), ""),
        wrong(json!({ "f_int32": "x", "f_string": "${vu}" }), ""),
        wrong(json!({ "inner": { "children": "${vu}" } }), ""),
        wrong(json!({ "inner": 3 }), ""),
        wrong(json!({ "one": "${vu}", "other": 1 }), ""),
        wrong(json!({ "f_string": { "a": "${vu}" } }), ""),
        wrong(json!({ "f_string": "${nope(" }), ""),
    ];
    assert_snapshot!(all.join("\n"), @r#"
    `many` does not fit the field t.All.f_int32, which takes a whole number from -2147483648 to 2147483647
    `2147483648` does not fit the field t.Inner.number_of, which takes a whole number from -2147483648 to 2147483647
    `%` does not fit the field t.All.f_bytes, which takes base64
    `GREEN` does not fit the field t.All.f_color, which takes one of its names or a number
    `1` does not fit the field t.All.f_bool, which takes `true` or `false`
    `noon` does not fit the field t.All.at, which takes a text in the form that protobuf's JSON mapping gives it
    t.All has no field `f_int32x`; did you mean `fInt32`?
    t.Inner has no field `nme`; did you mean `name`?
    field `f_int32` cannot be "x": not a t.All: invalid digit found in string
    field `children` cannot be "${vu}": `t.Inner.children` takes an array
    t.Inner takes a table of fields, not 3
    `one` and `other` exclude each other: both are `t.All.choice`
    field `f_string` cannot be {"a":"${vu}"}: `t.All.f_string` takes one value, not {"a":"${vu}"}
    field `f_string` cannot be "${nope(": `${` without `}`; write `$${` for a literal `${`
    "#);
}

#[test]
fn responses_are_decoded_to_json_with_defaults() {
    let method = method();
    assert_eq!(method.path(), "/t.S/Do");
    let bytes = encode(&json!({ "f_int64": 5, "inner": { "name": "n" } }), &[]).expect("it fits");
    let json = method.decode_to_json(&bytes).expect("it is a message");
    assert_eq!(
        (&json["fInt64"], &json["inner"]["name"], &json["fBool"]),
        (&json!("5"), &json!("n"), &json!(false))
    );
    assert_snapshot!(method.decode_to_json(&[0x0a]).expect_err("it is cut off"), @"not a t.All: failed to decode Protobuf message: invalid wire type: LengthDelimited (expected SixtyFourBit)");
}

fn inner() -> impl Strategy<Value = Json> {
    let leaf = ("[a-z$\\{}]{0,5}", any::<i32>())
        .prop_map(|(name, n)| json!({ "name": Template::literal(&name).source(), "numberOf": n }));
    leaf.prop_recursive(3, 12, 3, |inner| {
        proptest::collection::vec(inner, 0..3)
            .prop_map(|children| json!({ "name": "n", "children": children }))
    })
}

proptest! {
    #[test]
    fn a_message_without_values_is_encoded_as_prost_reflect_does(
        numbers in (any::<i32>(), any::<u64>(), any::<i32>()),
        texts in ("[a-z]{0,5}", any::<bool>()),
        lists in (proptest::collection::vec(any::<i32>(), 0..4), proptest::collection::vec(inner(), 0..3)),
        counts in proptest::collection::btree_map("[a-z]{0,3}", any::<i32>(), 0..4),
    ) {
        let message = json!({
            "f_sint32": numbers.0, "f_uint64": numbers.1, "f_double": f64::from(numbers.2) / 4.0, "f_string": texts.0,
            "f_bool": texts.1, "numbers": lists.0, "inners": lists.1, "counts": counts,
        });
        let bytes = encode(&message, &[]).expect("it fits");
        let unescaped: Json = serde_json::from_str(&message.to_string().replace("$${", "${")).expect("it is JSON");
        let (sent, expected) = (decoded(&bytes), canonical(unescaped));
        prop_assert!(sent == expected, "{} {}", sent, expected);
    }

    #[test]
    fn a_filled_gap_is_encoded_like_its_literal(number in any::<i64>(), text in "\\PC{0,200}", list in inner()) {
        let shape = |number: &str, text: &str| json!({ "f_sint64": number, "f_string": text, "inner": list, "texts": ["a", text] });
        let number = number.to_string();
        let bytes = encode(&shape("${vu}", "${iteration}"), &[("${vu}", &number), ("${iteration}", &text)]);
        let plain = encode(&shape(&number, Template::literal(&text).source()), &[]);
        let read = |bytes: Result<Vec<u8>, String>| decoded(&bytes.expect("it fits"));
        let (sent, expected) = (read(bytes), read(plain));
        prop_assert!(sent == expected, "{} {}", sent, expected);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = method().decode_to_json(&bytes);
    }
}

#[test]
fn files_of_the_same_name_in_different_folders_are_distinct() {
    let proto = |package: &str| format!("syntax = \"proto3\"; package {package}; message M {{}}");
    let paths = ["/plans/../proto/t.proto", "../proto/t.proto", "../../proto/t.proto", "../proto/t.proto"];
    let files = FilesInMemory::from_iter([
        ("/proto/t.proto", proto("a")),
        ("../proto/t.proto", proto("b")),
        ("../../proto/t.proto", proto("c")),
    ]);
    assert_eq!(load(&mut Schemas::default(), "target", &paths.map(Into::into), &[], &files), Ok(()));
}

#[test]
fn responses_have_every_field_as_scripts_see_them() {
    let method = method();
    let json = |request: Json| -> Json {
        let bytes = method.encode_json(&request.to_string()).expect("it fits");
        serde_json::from_str(&method.response_json(&bytes).expect("it is a message")).expect("it is JSON")
    };
    let empty = json(json!({}));
    assert_snapshot!(empty, @r#"{"any":null,"at":null,"byId":{},"counts":{},"data":null,"fBool":false,"fBytes":"","fColor":"NONE","fDouble":0.0,"fFixed32":0,"fFixed64":"0","fFloat":0.0,"fInt32":0,"fInt64":"0","fSfixed32":0,"fSfixed64":"0","fSint32":0,"fSint64":"0","fString":"","fUint32":0,"fUint64":"0","inner":null,"inners":[],"numbers":[],"texts":[],"wrapped":null}"#);
    let sent = json!({
        "f_float": 0.1, "f_double": "NaN", "f_uint64": "18446744073709551615", "f_bytes": "AAH_", "f_string": "${vu}",
        "f_color": 5, "inner": { "children": [{ "number_of": 7 }] }, "by_id": { "7": {} }, "one": "", "maybe": 0,
        "at": "2026-01-02T03:04:05.006Z", "data": { "a": [1, null] }, "any": 5,
    });
    let expected = json!({
        "fFloat": 0.1, "fDouble": "NaN", "fUint64": "18446744073709551615", "fBytes": "AAH/", "fString": "${vu}",
        "fColor": 5, "one": "", "maybe": 0, "at": "2026-01-02T03:04:05.006Z", "data": { "a": [1.0, null] }, "any": 5.0,
        "inner": { "name": "", "numberOf": 0, "children": [{ "name": "", "numberOf": 7, "children": [] }] },
        "byId": { "7": { "name": "", "numberOf": 0, "children": [] } },
    });
    let mut all = empty;
    for (name, value) in expected.as_object().expect("it is one") {
        all[name] = value.clone();
    }
    assert_eq!(json(sent), all);
    let error = |text: &str| method.encode_json(text).expect_err("it does not fit").to_string();
    assert_snapshot!(error("{\"nme\":1}"), @"t.All has no field `nme`; did you mean `numbers`?");
    assert_snapshot!(error("{\"f_bool\":\"true\"}"), @r#"not a t.All: invalid type: string "true", expected a boolean at line 1 column 16"#);
    assert_snapshot!(error("{} x"), @"not a t.All: trailing characters at line 1 column 4");
}

#[test]
fn a_status_is_shown_with_messages_about_it() {
    let details =
        |name: &str, value: &[u8]| prost_types::Any { type_url: format!("x/{name}"), value: value.to_vec() };
    let json = |details: &[prost_types::Any]| {
        let mut encoded = b"\x08\x03\x12\x02no".to_vec();
        details.iter().for_each(|one| prost::encoding::message::encode(3, one, &mut encoded));
        method().status_json(&encoded).map_err(|error| error.to_string())
    };
    assert_snapshot!(json(&[]).unwrap_or_default(), @r#"{"code":3,"message":"no","details":[]}"#);
    let described = [details("t.Inner", b"\x0a\x01n"), details("google.protobuf.Duration", b"\x08\x03")];
    assert_snapshot!(json(&described).unwrap_or_default(), @r#"{"code":3,"message":"no","details":[{"@type":"x/t.Inner","name":"n","children":[],"numberOf":0},{"@type":"x/google.protobuf.Duration","value":"3s"}]}"#);
    let error = json(&[details("no.Such", b"")]).expect_err("its type is not known");
    assert_snapshot!(error, @"not a google.rpc.Status: `no.Such` is not described");
    let error = json(&[details("t.Inner", &b"\x12\0".repeat(8 << 20))]).expect_err("it is too large");
    assert_snapshot!(error, @"not a google.rpc.Status: it takes more than 256 MiB decoded");
}

#[test]
fn descriptor_sets_that_cannot_be_linked_are_refused() {
    let refusal = |set: &[u8]| add_set(&mut Schemas::default(), "x", set).unwrap_err().to_string();
    assert!(refusal(b"\x0a\x02hi").contains("not a descriptor set"));
    assert!(refusal(b"").contains("not a descriptor set"));
    let edition = prost_types::FileDescriptorProto {
        name: Some("base.proto".to_owned()),
        syntax: Some("editions".to_owned()),
        ..prost_types::FileDescriptorProto::default()
    };
    let set = prost_types::FileDescriptorSet { file: vec![edition] }.encode_to_vec();
    let error = refusal(&set);
    assert!(error.contains("`base.proto` is written in the syntax `editions`"), "{error}");
}
