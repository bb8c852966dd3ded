use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::{Value as Json, json};

use super::*;
use crate::plan::Files;
use crate::template::Template;

struct InMemory(BTreeMap<PathBuf, String>);

impl Files for InMemory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

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
    let files = [("a/t/all.proto", PROTO), ("a/other/color.proto", COLOR)];
    let files = InMemory(files.map(|(path, text)| (path.into(), text.to_owned())).into());
    let mut schemas = Schemas::default();
    // The second is imported by the first under a shorter name: it is one file all the same.
    let protos = ["b/../a/t/all.proto", "a/other/color.proto"].map(PathBuf::from);
    schemas.load("x", &protos, &files).unwrap_or_else(|error| panic!("{error}"));
    schemas.method("x", "/t.S/Do").unwrap_or_else(|error| panic!("{error}"))
}

fn input() -> MessageDescriptor {
    method().input()
}

/// Compile `message` and send it with `values` for its gaps, by their sources.
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

/// What prost-reflect makes of `json`, once sent.
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
fn values_go_into_every_depth() {
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
fn what_does_not_fit_names_its_field() {
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
    `one` and `other` exclude each other (one of MessageDescriptor { name: "All", full_name: "t.All", is_map_entry: false, fields: [FieldDescriptor { name: "f_double", full_name: "t.All.f_double", json_name: "fDouble", number: 1, kind: double, cardinality: Optional, containing_oneof: None, default_value: F64(0.0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_float", full_name: "t.All.f_float", json_name: "fFloat", number: 2, kind: float, cardinality: Optional, containing_oneof: None, default_value: F32(0.0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_int32", full_name: "t.All.f_int32", json_name: "fInt32", number: 3, kind: int32, cardinality: Optional, containing_oneof: None, default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_int64", full_name: "t.All.f_int64", json_name: "fInt64", number: 4, kind: int64, cardinality: Optional, containing_oneof: None, default_value: I64(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_uint32", full_name: "t.All.f_uint32", json_name: "fUint32", number: 5, kind: uint32, cardinality: Optional, containing_oneof: None, default_value: U32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_uint64", full_name: "t.All.f_uint64", json_name: "fUint64", number: 6, kind: uint64, cardinality: Optional, containing_oneof: None, default_value: U64(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_sint32", full_name: "t.All.f_sint32", json_name: "fSint32", number: 7, kind: sint32, cardinality: Optional, containing_oneof: None, default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_sint64", full_name: "t.All.f_sint64", json_name: "fSint64", number: 8, kind: sint64, cardinality: Optional, containing_oneof: None, default_value: I64(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_fixed32", full_name: "t.All.f_fixed32", json_name: "fFixed32", number: 9, kind: fixed32, cardinality: Optional, containing_oneof: None, default_value: U32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_fixed64", full_name: "t.All.f_fixed64", json_name: "fFixed64", number: 10, kind: fixed64, cardinality: Optional, containing_oneof: None, default_value: U64(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_sfixed32", full_name: "t.All.f_sfixed32", json_name: "fSfixed32", number: 11, kind: sfixed32, cardinality: Optional, containing_oneof: None, default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_sfixed64", full_name: "t.All.f_sfixed64", json_name: "fSfixed64", number: 12, kind: sfixed64, cardinality: Optional, containing_oneof: None, default_value: I64(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_bool", full_name: "t.All.f_bool", json_name: "fBool", number: 13, kind: bool, cardinality: Optional, containing_oneof: None, default_value: Bool(false), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_string", full_name: "t.All.f_string", json_name: "fString", number: 14, kind: string, cardinality: Optional, containing_oneof: None, default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_bytes", full_name: "t.All.f_bytes", json_name: "fBytes", number: 15, kind: bytes, cardinality: Optional, containing_oneof: None, default_value: Bytes(b""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "f_color", full_name: "t.All.f_color", json_name: "fColor", number: 16, kind: other.Color, cardinality: Optional, containing_oneof: None, default_value: EnumNumber(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "inner", full_name: "t.All.inner", json_name: "inner", number: 17, kind: t.Inner, cardinality: Optional, containing_oneof: None, default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "Inner", full_name: "t.Inner", is_map_entry: false, fields: [FieldDescriptor { name: "name", full_name: "t.Inner.name", json_name: "name", number: 1, kind: string, cardinality: Optional, containing_oneof: None, default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "children", full_name: "t.Inner.children", json_name: "children", number: 2, kind: t.Inner, cardinality: Repeated, containing_oneof: None, default_value: List([]), is_group: false, is_list: true, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "number_of", full_name: "t.Inner.number_of", json_name: "numberOf", number: 3, kind: int32, cardinality: Optional, containing_oneof: None, default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "numbers", full_name: "t.All.numbers", json_name: "numbers", number: 18, kind: int32, cardinality: Repeated, containing_oneof: None, default_value: List([]), is_group: false, is_list: true, is_map: false, is_packed: true, supports_presence: false }, FieldDescriptor { name: "texts", full_name: "t.All.texts", json_name: "texts", number: 19, kind: string, cardinality: Repeated, containing_oneof: None, default_value: List([]), is_group: false, is_list: true, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "inners", full_name: "t.All.inners", json_name: "inners", number: 20, kind: t.Inner, cardinality: Repeated, containing_oneof: None, default_value: List([]), is_group: false, is_list: true, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "counts", full_name: "t.All.counts", json_name: "counts", number: 21, kind: t.All.CountsEntry, cardinality: Repeated, containing_oneof: None, default_value: Map({}), is_group: false, is_list: false, is_map: true, is_packed: false, supports_presence: false }, FieldDescriptor { name: "by_id", full_name: "t.All.by_id", json_name: "byId", number: 22, kind: t.All.ByIdEntry, cardinality: Repeated, containing_oneof: None, default_value: Map({}), is_group: false, is_list: false, is_map: true, is_packed: false, supports_presence: false }, FieldDescriptor { name: "one", full_name: "t.All.one", json_name: "one", number: 23, kind: string, cardinality: Optional, containing_oneof: Some("choice"), default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "other", full_name: "t.All.other", json_name: "other", number: 24, kind: int32, cardinality: Optional, containing_oneof: Some("choice"), default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "data", full_name: "t.All.data", json_name: "data", number: 25, kind: google.protobuf.Struct, cardinality: Optional, containing_oneof: None, default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "Struct", full_name: "google.protobuf.Struct", is_map_entry: false, fields: [FieldDescriptor { name: "fields", full_name: "google.protobuf.Struct.fields", json_name: "fields", number: 1, kind: google.protobuf.Struct.FieldsEntry, cardinality: Repeated, containing_oneof: None, default_value: Map({}), is_group: false, is_list: false, is_map: true, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "at", full_name: "t.All.at", json_name: "at", number: 26, kind: google.protobuf.Timestamp, cardinality: Optional, containing_oneof: None, default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "Timestamp", full_name: "google.protobuf.Timestamp", is_map_entry: false, fields: [FieldDescriptor { name: "seconds", full_name: "google.protobuf.Timestamp.seconds", json_name: "seconds", number: 1, kind: int64, cardinality: Optional, containing_oneof: None, default_value: I64(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }, FieldDescriptor { name: "nanos", full_name: "google.protobuf.Timestamp.nanos", json_name: "nanos", number: 2, kind: int32, cardinality: Optional, containing_oneof: None, default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "wrapped", full_name: "t.All.wrapped", json_name: "wrapped", number: 27, kind: google.protobuf.StringValue, cardinality: Optional, containing_oneof: None, default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "StringValue", full_name: "google.protobuf.StringValue", is_map_entry: false, fields: [FieldDescriptor { name: "value", full_name: "google.protobuf.StringValue.value", json_name: "value", number: 1, kind: string, cardinality: Optional, containing_oneof: None, default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "any", full_name: "t.All.any", json_name: "any", number: 28, kind: google.protobuf.Value, cardinality: Optional, containing_oneof: None, default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "Value", full_name: "google.protobuf.Value", is_map_entry: false, fields: [FieldDescriptor { name: "null_value", full_name: "google.protobuf.Value.null_value", json_name: "nullValue", number: 1, kind: google.protobuf.NullValue, cardinality: Optional, containing_oneof: Some("kind"), default_value: EnumNumber(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "number_value", full_name: "google.protobuf.Value.number_value", json_name: "numberValue", number: 2, kind: double, cardinality: Optional, containing_oneof: Some("kind"), default_value: F64(0.0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "string_value", full_name: "google.protobuf.Value.string_value", json_name: "stringValue", number: 3, kind: string, cardinality: Optional, containing_oneof: Some("kind"), default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "bool_value", full_name: "google.protobuf.Value.bool_value", json_name: "boolValue", number: 4, kind: bool, cardinality: Optional, containing_oneof: Some("kind"), default_value: Bool(false), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "struct_value", full_name: "google.protobuf.Value.struct_value", json_name: "structValue", number: 5, kind: google.protobuf.Struct, cardinality: Optional, containing_oneof: Some("kind"), default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "Struct", full_name: "google.protobuf.Struct", is_map_entry: false, fields: [FieldDescriptor { name: "fields", full_name: "google.protobuf.Struct.fields", json_name: "fields", number: 1, kind: google.protobuf.Struct.FieldsEntry, cardinality: Repeated, containing_oneof: None, default_value: Map({}), is_group: false, is_list: false, is_map: true, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "list_value", full_name: "google.protobuf.Value.list_value", json_name: "listValue", number: 6, kind: google.protobuf.ListValue, cardinality: Optional, containing_oneof: Some("kind"), default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "ListValue", full_name: "google.protobuf.ListValue", is_map_entry: false, fields: [FieldDescriptor { name: "values", full_name: "google.protobuf.ListValue.values", json_name: "values", number: 1, kind: google.protobuf.Value, cardinality: Repeated, containing_oneof: None, default_value: List([]), is_group: false, is_list: true, is_map: false, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }], oneofs: [OneofDescriptor { name: "kind", full_name: "google.protobuf.Value.kind", fields: [FieldDescriptor { name: "null_value", full_name: "google.protobuf.Value.null_value", json_name: "nullValue", number: 1, kind: google.protobuf.NullValue, cardinality: Optional, containing_oneof: Some("kind"), default_value: EnumNumber(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "number_value", full_name: "google.protobuf.Value.number_value", json_name: "numberValue", number: 2, kind: double, cardinality: Optional, containing_oneof: Some("kind"), default_value: F64(0.0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "string_value", full_name: "google.protobuf.Value.string_value", json_name: "stringValue", number: 3, kind: string, cardinality: Optional, containing_oneof: Some("kind"), default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "bool_value", full_name: "google.protobuf.Value.bool_value", json_name: "boolValue", number: 4, kind: bool, cardinality: Optional, containing_oneof: Some("kind"), default_value: Bool(false), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "struct_value", full_name: "google.protobuf.Value.struct_value", json_name: "structValue", number: 5, kind: google.protobuf.Struct, cardinality: Optional, containing_oneof: Some("kind"), default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "Struct", full_name: "google.protobuf.Struct", is_map_entry: false, fields: [FieldDescriptor { name: "fields", full_name: "google.protobuf.Struct.fields", json_name: "fields", number: 1, kind: google.protobuf.Struct.FieldsEntry, cardinality: Repeated, containing_oneof: None, default_value: Map({}), is_group: false, is_list: false, is_map: true, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "list_value", full_name: "google.protobuf.Value.list_value", json_name: "listValue", number: 6, kind: google.protobuf.ListValue, cardinality: Optional, containing_oneof: Some("kind"), default_value: Message(DynamicMessage { desc: MessageDescriptor { name: "ListValue", full_name: "google.protobuf.ListValue", is_map_entry: false, fields: [FieldDescriptor { name: "values", full_name: "google.protobuf.ListValue.values", json_name: "values", number: 1, kind: google.protobuf.Value, cardinality: Repeated, containing_oneof: None, default_value: List([]), is_group: false, is_list: true, is_map: false, is_packed: false, supports_presence: false }], oneofs: [] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }] }] }, fields: DynamicMessageFieldSet { fields: {} } }), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "maybe", full_name: "t.All.maybe", json_name: "maybe", number: 29, kind: int32, cardinality: Optional, containing_oneof: Some("_maybe"), default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }], oneofs: [OneofDescriptor { name: "choice", full_name: "t.All.choice", fields: [FieldDescriptor { name: "one", full_name: "t.All.one", json_name: "one", number: 23, kind: string, cardinality: Optional, containing_oneof: Some("choice"), default_value: String(""), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }, FieldDescriptor { name: "other", full_name: "t.All.other", json_name: "other", number: 24, kind: int32, cardinality: Optional, containing_oneof: Some("choice"), default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }] }, OneofDescriptor { name: "_maybe", full_name: "t.All._maybe", fields: [FieldDescriptor { name: "maybe", full_name: "t.All.maybe", json_name: "maybe", number: 29, kind: int32, cardinality: Optional, containing_oneof: Some("_maybe"), default_value: I32(0), is_group: false, is_list: false, is_map: false, is_packed: false, supports_presence: true }] }] })
    field `f_string` cannot be {"a":"${vu}"}: `t.All.f_string` takes one value, not {"a":"${vu}"}
    field `f_string` cannot be "${nope(": `${` without `}`; write `$${` for a literal `${`
    "#);
}

#[test]
fn responses_become_json_with_their_defaults() {
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
        // Compared as texts: a failure that prints descriptors is read by nobody.
        prop_assert_eq!(decoded(&bytes).to_string(), canonical(unescaped).to_string());
    }

    #[test]
    fn a_value_changes_nothing_but_itself(number in any::<i64>(), text in "\\PC{0,200}", list in inner()) {
        let shape = |number: &str, text: &str| json!({ "f_sint64": number, "f_string": text, "inner": list, "texts": ["a", text] });
        let number = number.to_string();
        let bytes = encode(&shape("${vu}", "${iteration}"), &[("${vu}", &number), ("${iteration}", &text)]);
        let plain = encode(&shape(&number, Template::literal(&text).source()), &[]);
        let read = |bytes: Result<Vec<u8>, String>| decoded(&bytes.expect("it fits")).to_string();
        prop_assert_eq!(read(bytes), read(plain));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = method().decode_to_json(&bytes);
    }
}
