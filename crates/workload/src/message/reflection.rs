//! Asking a server what it serves (`grpc.reflection.v1.ServerReflection`), without sending anything: whoever
//! holds the connection carries the questions there and the answers back.
//!
//! Some servers answer with a file and all that it imports, others with the one file; so what is missing is
//! asked for until nothing is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prost::Message as _;
use prost_types::FileDescriptorProto;

use super::schemas::SchemaError;
use crate::nearest::nearest;

/// The paths of the service, newest first: a server that does not know one may know the next.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The most files a server may describe itself with.
const MAX_FILES: usize = 1_000;
/// The most that these may hold together, in bytes.
const MAX_BYTES: usize = 32 << 20;

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 7")]
    question: Option<Question>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Question {
    #[prost(string, tag = "3")]
    File(String),
    #[prost(string, tag = "4")]
    Symbol(String),
    #[prost(string, tag = "7")]
    Services(String),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    answer: Option<Answer>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Answer {
    #[prost(message, tag = "4")]
    Files(FilesAnswer),
    #[prost(message, tag = "6")]
    Services(ServicesAnswer),
    #[prost(message, tag = "7")]
    Refused(Refusal),
}

#[derive(Clone, PartialEq, prost::Message)]
struct FilesAnswer {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServicesAnswer {
    #[prost(message, repeated, tag = "1")]
    services: Vec<ServiceAnswer>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceAnswer {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Refusal {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// A conversation with one server about some of its services.
#[derive(Debug, Default)]
pub struct Inquiry {
    /// What has not been asked yet.
    questions: Vec<Question>,
    /// What was asked and is not answered yet, in order.
    unanswered: VecDeque<Question>,
    asked_for: BTreeSet<String>,
    /// Encoded files, by name.
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    /// What the server says it serves.
    services: Vec<String>,
    /// The symbols it does not know, and what it says of them.
    unknown: Vec<(String, String)>,
}

impl Inquiry {
    /// About these services, by their full names.
    pub fn new(services: impl IntoIterator<Item = String>) -> Inquiry {
        let symbols = services.into_iter().map(Question::Symbol);
        let questions = std::iter::once(Question::Services(String::new())).chain(symbols).collect();
        Inquiry { questions, ..Inquiry::default() }
    }

    /// Messages to be sent to the server, which it answers in this order; none when all is known.
    pub fn questions(&mut self) -> Vec<Vec<u8>> {
        self.unanswered.extend(self.questions.drain(..));
        let encode = |question: &Question| {
            Request { host: String::new(), question: Some(question.clone()) }.encode_to_vec()
        };
        self.unanswered.iter().map(encode).collect()
    }

    /// The server has ended the call for this reason: some do when they do not know the answer to a question.
    /// What it has not answered after that can be asked again.
    pub fn broke_off(&mut self, why: &str) {
        match self.unanswered.pop_front() {
            Some(Question::Symbol(symbol)) => self.unknown.push((symbol, why.to_owned())),
            // Whether a list can be had does not matter; an import that is missing shows later.
            Some(Question::File(_) | Question::Services(_)) | None => {}
        }
    }

    /// How many questions are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// Take in one message from the server.
    ///
    /// # Errors
    /// [`SchemaError`] when it is no answer, or describes more than anybody calls.
    pub fn answer(&mut self, message: &[u8]) -> Result<(), SchemaError> {
        let wrong =
            |error: prost::DecodeError| SchemaError(format!("its reflection is not readable: {error}"));
        let response = Response::decode(message).map_err(wrong)?;
        let asked = self.unanswered.pop_front();
        match response.answer {
            Some(Answer::Files(answer)) => answer.files.into_iter().try_for_each(|file| self.take(file))?,
            Some(Answer::Services(answer)) => {
                self.services = answer.services.into_iter().map(|service| service.name).collect();
            }
            Some(Answer::Refused(refusal)) => {
                if let Some(Question::Symbol(symbol)) = asked {
                    self.unknown.push((symbol, refusal.message));
                }
            }
            None => return Err(SchemaError("its reflection answers without an answer".to_owned())),
        }
        Ok(())
    }

    fn take(&mut self, encoded: Vec<u8>) -> Result<(), SchemaError> {
        let file = FileDescriptorProto::decode(&encoded[..]).map_err(|error| {
            SchemaError(format!("its reflection sends a file that is not readable: {error}"))
        })?;
        for import in &file.dependency {
            let is_new = !self.files.contains_key(import) && self.asked_for.insert(import.clone());
            // Google's own files are built in, and servers often cannot show them.
            if is_new && !import.starts_with("google/protobuf/") {
                self.questions.push(Question::File(import.clone()));
            }
        }
        self.bytes += encoded.len();
        let name = file.name().to_owned();
        self.asked_for.insert(name.clone());
        self.questions.retain(|question| *question != Question::File(name.clone()));
        self.files.insert(name, encoded);
        if self.asked_for.len() > MAX_FILES || self.bytes > MAX_BYTES {
            return Err(SchemaError(format!(
                "its reflection shows more than {MAX_FILES} files or {MAX_BYTES} bytes"
            )));
        }
        Ok(())
    }

    /// What was learnt, as an encoded `google.protobuf.FileDescriptorSet`.
    ///
    /// # Errors
    /// [`SchemaError`] when the server does not know a service that was asked about, naming the nearest.
    pub fn finish(self) -> Result<Vec<u8>, SchemaError> {
        if let Some((symbol, why)) = self.unknown.first() {
            let known = || self.services.iter().map(String::as_str);
            let hint = match nearest(symbol, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.services.is_empty() => format!("it says: {why}"),
                None => format!("it has `{}`", known().collect::<Vec<_>>().join("`, `")),
            };
            return Err(SchemaError(format!("its reflection does not know `{symbol}`; {hint}")));
        }
        let mut set = Vec::with_capacity(self.bytes);
        for file in self.files.values() {
            prost::encoding::bytes::encode(1, file, &mut set);
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests;
