use prost::Message as _;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use super::*;
use crate::message::testing::from_set;

const BASE: &str = "syntax = \"proto3\"; package base; message Text { string text = 1; }";
const BED: &str = "syntax = \"proto3\"; package bed; import \"base.proto\";
    import \"google/protobuf/timestamp.proto\";
    message Stamped { google.protobuf.Timestamp at = 1; }
    service Bed { rpc Good(base.Text) returns (Stamped); }";

fn file(name: &str, source: &str) -> Vec<u8> {
    protox::file::File::from_source(name, source).unwrap().file_descriptor_proto().encode_to_vec()
}

/// The responses of a server that sends one file at a time, and none of Google's.
fn served(query: &ReflectionQuery) -> ReflectionResult {
    let files = |name, source| ReflectionResult::Files(FileList { files: vec![file(name, source)] });
    match query {
        ReflectionQuery::Symbol(name) if name == "bed.Bed" => {
            // Like a server's: with resolved types.
            let mut bed = FileDescriptorProto::decode(&file("bed.proto", BED)[..]).unwrap();
            let method = &mut bed.service[0].method[0];
            (method.input_type, method.output_type) =
                (Some(".base.Text".into()), Some(".bed.Stamped".into()));
            let field = &mut bed.message_type[0].field[0];
            field.type_name = Some(".google.protobuf.Timestamp".into());
            field.r#type = Some(prost_types::field_descriptor_proto::Type::Message.into());
            ReflectionResult::Files(FileList { files: vec![bed.encode_to_vec()] })
        }
        ReflectionQuery::File(name) if name == "base.proto" => files("base.proto", BASE),
        ReflectionQuery::Services(_) => {
            ReflectionResult::Services(ServiceList { services: vec![ServiceName { name: "bed.Bed".into() }] })
        }
        _ => ReflectionResult::Error(ErrorResponse { code: 5, message: "no such thing".into() }),
    }
}

fn describe(service: &str) -> Result<Vec<u8>, SchemaError> {
    let mut session = ReflectionSession::new([service.to_owned()]);
    for round in 0.. {
        let requests = session.requests();
        if requests.is_empty() {
            break;
        }
        assert!(round < 5, "it does not stop sending requests");
        for request in requests {
            let request = Request::decode(&request[..]).unwrap();
            let result = request.query.as_ref().map(served);
            session.receive(&Response { result }.encode_to_vec())?;
        }
    }
    session.finish()
}

#[test]
fn missing_imports_are_requested_until_the_description_is_complete() {
    let schemas = from_set(&describe("bed.Bed").unwrap());
    assert!(schemas.describes("x"));
    let method = schemas.method("x", "bed.Bed/Good").unwrap();
    assert_eq!(method.request_to_json(b"\x0a\x02hi").unwrap(), serde_json::json!({ "text": "hi" }));
}

#[test]
fn an_unknown_service_is_reported_with_the_most_similar_one() {
    assert_eq!(
        describe("bed.Bad").unwrap_err().to_string(),
        "its reflection does not know `bed.Bad`; did you mean `bed.Bed`?"
    );
}

#[test]
fn requests_after_one_that_ended_the_call_are_sent_again() {
    let mut session = ReflectionSession::new(["bed.Bad".to_owned(), "bed.Bed".to_owned()]);
    assert_eq!(session.requests().len(), 3);
    session
        .receive(
            &Response { result: Some(served(&ReflectionQuery::Services(String::new()))) }.encode_to_vec(),
        )
        .unwrap();
    session.call_ended("NOT_FOUND");
    assert_eq!((session.unanswered(), session.requests().len()), (1, 1));
    assert!(session.finish().unwrap_err().to_string().contains("did you mean `bed.Bed`?"));
}

#[test]
fn malformed_responses_are_refused() {
    let mut session = ReflectionSession::new(["bed.Bed".to_owned()]);
    assert!(session.receive(b"\xff\xff").is_err());
    assert!(session.receive(b"").is_err());
    let garbage =
        Response { result: Some(ReflectionResult::Files(FileList { files: vec![b"\x0a\xff".to_vec()] })) };
    assert!(session.receive(&garbage.encode_to_vec()).is_err());
}

#[test]
fn a_description_with_too_many_files_is_refused() {
    let imports: Vec<_> = (0..=MAX_FILES).map(|n| format!("{n}.proto")).collect();
    let importing = FileDescriptorProto { dependency: imports, ..FileDescriptorProto::default() };
    let files = ReflectionResult::Files(FileList { files: vec![importing.encode_to_vec()] });
    let mut session = ReflectionSession::new(["bed.Bed".to_owned()]);
    let error = session.receive(&Response { result: Some(files) }.encode_to_vec()).unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
}

/// Why a session refuses a response with this file.
fn refusal(encoded: Vec<u8>) -> String {
    let mut session = ReflectionSession::new(["a.S".to_owned()]);
    let result = Some(ReflectionResult::Files(FileList { files: vec![encoded] }));
    session.requests();
    session.receive(&Response { result }.encode_to_vec()).unwrap_err().to_string()
}

#[test]
fn a_description_that_takes_much_more_than_its_bytes_is_refused() {
    let empty_messages = b"\x22\0".repeat(1 << 20);
    assert!(refusal(empty_messages).contains("more than 256 MiB"));
    let named = |name: &str| DescriptorProto { name: Some(name.to_owned()), ..DescriptorProto::default() };
    let of = |message| FileDescriptorProto { message_type: vec![message], ..FileDescriptorProto::default() };
    assert!(refusal(of(named(&"N".repeat(600))).encode_to_vec()).contains("a name has more than 512 bytes"));
    let field = FieldDescriptorProto { json_name: Some("j".repeat(600)), ..FieldDescriptorProto::default() };
    let with_field = DescriptorProto { field: vec![field], ..named("M") };
    assert!(refusal(of(with_field).encode_to_vec()).contains("a name has more than 512 bytes"));
    // Each name repeats those of the messages around it.
    let mut nested = named("A");
    nested.nested_type = (0..5_000).map(|number| named(&format!("B{number}"))).collect();
    for _ in 0..20 {
        nested = DescriptorProto { nested_type: vec![nested], ..named(&"N".repeat(500)) };
    }
    assert!(refusal(of(nested).encode_to_vec()).contains("full names take more than"));
    let too_many = FileList { files: vec![Vec::new(); MAX_ITEMS + 1] };
    let result = Some(ReflectionResult::Files(too_many));
    let error = ReflectionSession::new([]).receive(&Response { result }.encode_to_vec()).unwrap_err();
    assert!(error.to_string().contains("files or services at once"), "{error}");
}

#[test]
fn a_session_of_all_describes_what_the_server_lists() {
    let mut session = ReflectionSession::of_all();
    loop {
        let requests = session.requests();
        if requests.is_empty() {
            break;
        }
        for request in requests {
            let result = Request::decode(&request[..]).unwrap().query.as_ref().map(served);
            session.receive(&Response { result }.encode_to_vec()).unwrap();
        }
    }
    let schemas = from_set(&session.finish().unwrap());
    let paths: Vec<String> = schemas.methods("x").iter().map(crate::Method::path).collect();
    assert_eq!(paths, ["/bed.Bed/Good"]);
}
