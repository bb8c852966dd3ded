use prost::Message as _;

use super::*;
use crate::message::Schemas;

const BASE: &str = "syntax = \"proto3\"; package base; message Text { string text = 1; }";
const BED: &str = "syntax = \"proto3\"; package bed; import \"base.proto\";
    import \"google/protobuf/timestamp.proto\";
    message Stamped { google.protobuf.Timestamp at = 1; }
    service Bed { rpc Good(base.Text) returns (Stamped); }";

fn file(name: &str, source: &str) -> Vec<u8> {
    protox::file::File::from_source(name, source).unwrap().file_descriptor_proto().encode_to_vec()
}

/// A server that shows one file at a time, and none of Google's.
fn served(question: &Question) -> Answer {
    let files = |name, source| Answer::Files(FilesAnswer { files: vec![file(name, source)] });
    match question {
        Question::Symbol(name) if name == "bed.Bed" => {
            // As a server has it: types resolved.
            let mut bed = FileDescriptorProto::decode(&file("bed.proto", BED)[..]).unwrap();
            let method = &mut bed.service[0].method[0];
            (method.input_type, method.output_type) =
                (Some(".base.Text".into()), Some(".bed.Stamped".into()));
            let field = &mut bed.message_type[0].field[0];
            field.type_name = Some(".google.protobuf.Timestamp".into());
            field.r#type = Some(prost_types::field_descriptor_proto::Type::Message.into());
            Answer::Files(FilesAnswer { files: vec![bed.encode_to_vec()] })
        }
        Question::File(name) if name == "base.proto" => files("base.proto", BASE),
        Question::Services(_) => {
            Answer::Services(ServicesAnswer { services: vec![ServiceAnswer { name: "bed.Bed".into() }] })
        }
        _ => Answer::Refused(Refusal { code: 5, message: "no such thing".into() }),
    }
}

fn ask(service: &str) -> Result<Vec<u8>, SchemaError> {
    let mut inquiry = Inquiry::new([service.to_owned()]);
    for round in 0.. {
        let questions = inquiry.questions();
        if questions.is_empty() {
            break;
        }
        assert!(round < 5, "it goes on asking");
        for question in questions {
            let asked = Request::decode(&question[..]).unwrap();
            let answer = asked.question.as_ref().map(served);
            inquiry.answer(&Response { answer }.encode_to_vec())?;
        }
    }
    inquiry.finish()
}

#[test]
fn what_is_missing_is_asked_for_until_the_description_is_whole() {
    let mut schemas = Schemas::default();
    schemas.add_set("x", &ask("bed.Bed").unwrap()).unwrap();
    assert!(schemas.describes("x"));
    let method = schemas.method("x", "bed.Bed/Good").unwrap();
    assert_eq!(method.request_to_json(b"\x0a\x02hi").unwrap(), serde_json::json!({ "text": "hi" }));
}

#[test]
fn an_unknown_service_is_named_with_the_nearest() {
    assert_eq!(
        ask("bed.Bad").unwrap_err().to_string(),
        "its reflection does not know `bed.Bad`; did you mean `bed.Bed`?"
    );
}

#[test]
fn a_server_that_ends_the_call_over_a_question_is_asked_the_rest_again() {
    let mut inquiry = Inquiry::new(["bed.Bad".to_owned(), "bed.Bed".to_owned()]);
    assert_eq!(inquiry.questions().len(), 3);
    inquiry
        .answer(&Response { answer: Some(served(&Question::Services(String::new()))) }.encode_to_vec())
        .unwrap();
    inquiry.broke_off("NOT_FOUND");
    assert_eq!((inquiry.unanswered(), inquiry.questions().len()), (1, 1));
    assert!(inquiry.finish().unwrap_err().to_string().contains("did you mean `bed.Bed`?"));
}

#[test]
fn answers_that_are_none_are_refused() {
    let mut inquiry = Inquiry::new(["bed.Bed".to_owned()]);
    assert!(inquiry.answer(b"\xff\xff").is_err());
    assert!(inquiry.answer(b"").is_err());
    let garbage = Response { answer: Some(Answer::Files(FilesAnswer { files: vec![b"\x0a\xff".to_vec()] })) };
    assert!(inquiry.answer(&garbage.encode_to_vec()).is_err());
    assert!(Schemas::default().add_set("x", b"\x0a\x02hi").is_err());
    assert!(Schemas::default().add_set("x", b"").is_err());
    let mut edition = FileDescriptorProto::decode(&file("base.proto", BASE)[..]).unwrap();
    edition.syntax = Some("editions".to_owned());
    let set = prost_types::FileDescriptorSet { file: vec![edition] }.encode_to_vec();
    let error = Schemas::default().add_set("x", &set).unwrap_err().to_string();
    assert!(error.contains("`base.proto` is written in the syntax `editions`"), "{error}");
}

#[test]
fn a_server_that_names_ever_more_files_is_not_believed() {
    let imports: Vec<_> = (0..=MAX_FILES).map(|n| format!("{n}.proto")).collect();
    let greedy = FileDescriptorProto { dependency: imports, ..FileDescriptorProto::default() };
    let files = Answer::Files(FilesAnswer { files: vec![greedy.encode_to_vec()] });
    let mut inquiry = Inquiry::new(["bed.Bed".to_owned()]);
    let error = inquiry.answer(&Response { answer: Some(files) }.encode_to_vec()).unwrap_err();
    assert!(error.to_string().contains("more than"), "{error}");
}
