//! Server reflection (`grpc.reflection.v1.ServerReflection`) as a state machine: the caller owns the connection, sends
//! the requests and passes the responses back.
//!
//! Some servers answer with a file and all of its imports, others with one file; missing imports are requested until
//! the description is complete.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use prost::Message as _;

use super::description_size::DescriptionBudget;
use super::error::SchemaError;
use super::size::count_fields;
use crate::nearest::nearest;

/// The paths of the service, newest version first: a server may support only one.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The most files of a server's description.
const MAX_FILES: usize = 1_000;
/// The largest total size of these files, in bytes.
const MAX_BYTES: usize = 32 << 20;
/// The most files, or services, of one response.
const MAX_ITEMS: usize = 10_000;
/// How many of the services are named in an error, and how much of the server's own error is shown.
const SHOWN_SERVICES: usize = 20;
const SHOWN_BYTES: usize = 500;

/// The fields of a response that list files and services.
const FILES: u32 = 4;
const SERVICES: u32 = 6;

#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "ReflectionQuery", tags = "3, 4, 7")]
    query: Option<ReflectionQuery>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum ReflectionQuery {
    #[prost(string, tag = "3")]
    File(String),
    #[prost(string, tag = "4")]
    Symbol(String),
    #[prost(string, tag = "7")]
    Services(String),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Response {
    #[prost(oneof = "ReflectionResult", tags = "4, 6, 7")]
    result: Option<ReflectionResult>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum ReflectionResult {
    #[prost(message, tag = "4")]
    Files(FileList),
    #[prost(message, tag = "6")]
    Services(ServiceList),
    #[prost(message, tag = "7")]
    Error(ErrorResponse),
}

#[derive(Clone, PartialEq, prost::Message)]
struct FileList {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceList {
    #[prost(message, repeated, tag = "1")]
    services: Vec<ServiceName>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ServiceName {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// The requests to one server for the descriptions of some of its services, and its responses.
#[derive(Debug, Default)]
pub struct ReflectionSession {
    /// Queries that are not sent yet.
    unsent: Vec<ReflectionQuery>,
    /// Queries that are sent and not answered yet, in order.
    unanswered: VecDeque<ReflectionQuery>,
    /// Names of files that were requested or received.
    requested_files: BTreeSet<String>,
    /// Encoded files, by name.
    files: BTreeMap<String, Vec<u8>>,
    /// Their total size.
    bytes: usize,
    budget: DescriptionBudget,
    /// The services that the server lists.
    services: Vec<String>,
    /// Symbols that the server does not know, and its error messages.
    unknown: Vec<(String, String)>,
    wanted: Wanted,
}

/// Which services a session describes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Those that it was made with; each must be known.
    #[default]
    Named,
    /// All that the server lists, as far as it describes them.
    Listed,
}

impl ReflectionSession {
    /// A session for these services, by their full names.
    pub fn new(services: impl IntoIterator<Item = String>) -> ReflectionSession {
        let symbols = services.into_iter().map(ReflectionQuery::Symbol);
        let unsent = std::iter::once(ReflectionQuery::Services(String::new())).chain(symbols).collect();
        ReflectionSession { unsent, ..ReflectionSession::default() }
    }

    /// A session for all services that the server lists.
    pub fn of_all() -> ReflectionSession {
        ReflectionSession { wanted: Wanted::Listed, ..ReflectionSession::new([]) }
    }

    /// Request messages for the server, which it answers in this order; empty when the description is complete.
    pub fn requests(&mut self) -> Vec<Vec<u8>> {
        self.unanswered.extend(self.unsent.drain(..));
        let encode = |query: &ReflectionQuery| {
            Request { host: String::new(), query: Some(query.clone()) }.encode_to_vec()
        };
        self.unanswered.iter().map(encode).collect()
    }

    /// The server has ended the call with this status, as some do for a symbol that they do not know. The requests
    /// after that one can be sent again.
    pub fn call_ended(&mut self, status: &str) {
        match self.unanswered.pop_front() {
            Some(ReflectionQuery::Symbol(symbol)) => self.unknown.push((symbol, status.to_owned())),
            // The list of services is optional; a missing import is reported when the files are linked.
            Some(ReflectionQuery::File(_) | ReflectionQuery::Services(_)) | None => {}
        }
    }

    /// How many requests are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// Process one response message.
    ///
    /// # Errors
    /// [`SchemaError`] if the message is not a response, or the description is too large.
    pub fn receive(&mut self, message: &[u8]) -> Result<(), SchemaError> {
        let wrong =
            |error: prost::DecodeError| SchemaError(format!("its reflection is not readable: {error}"));
        if [FILES, SERVICES].iter().any(|tag| count_fields(message, *tag) > MAX_ITEMS) {
            return Err(SchemaError(format!(
                "its reflection sends more than {MAX_ITEMS} files or services at once"
            )));
        }
        let response = Response::decode(message).map_err(wrong)?;
        let query = self.unanswered.pop_front();
        match response.result {
            Some(ReflectionResult::Files(list)) => {
                list.files.into_iter().try_for_each(|file| self.add_file(file))?;
            }
            Some(ReflectionResult::Services(list)) => {
                self.services = list.services.into_iter().map(|service| service.name).collect();
                if self.wanted == Wanted::Listed {
                    self.unsent.extend(self.services.iter().cloned().map(ReflectionQuery::Symbol));
                }
            }
            Some(ReflectionResult::Error(error)) => {
                if let Some(ReflectionQuery::Symbol(symbol)) = query {
                    self.unknown.push((symbol, error.message));
                }
            }
            None => return Err(SchemaError("its reflection answers without an answer".to_owned())),
        }
        Ok(())
    }

    fn add_file(&mut self, encoded: Vec<u8>) -> Result<(), SchemaError> {
        let file = self.budget.decode(&encoded)?;
        for import in file.dependency.iter().take(MAX_FILES + 1) {
            let is_new = !self.files.contains_key(import) && self.requested_files.insert(import.clone());
            // Google's own files are built in, and many servers do not have them.
            if is_new && !import.starts_with("google/protobuf/") {
                self.unsent.push(ReflectionQuery::File(import.clone()));
            }
        }
        self.bytes += encoded.len();
        let name = file.name().to_owned();
        self.requested_files.insert(name.clone());
        self.unsent.retain(|query| *query != ReflectionQuery::File(name.clone()));
        self.files.insert(name, encoded);
        if self.requested_files.len() > MAX_FILES || self.bytes > MAX_BYTES {
            return Err(SchemaError(format!(
                "its reflection sends more than {MAX_FILES} files or {MAX_BYTES} bytes"
            )));
        }
        Ok(())
    }

    /// What the files so far take decoded, as estimated from their fields.
    pub fn decoded_bytes(&self) -> usize {
        self.budget.taken_bytes()
    }

    /// The description: an encoded `google.protobuf.FileDescriptorSet`.
    ///
    /// # Errors
    /// [`SchemaError`] if the server does not know one of the services; suggests the most similar one.
    pub fn finish(self) -> Result<Vec<u8>, SchemaError> {
        let missing = self.unknown.first().filter(|_| self.wanted == Wanted::Named);
        if let Some((symbol, why)) = missing {
            let known = || self.services.iter().map(String::as_str);
            let hint = match nearest(symbol, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.services.is_empty() => {
                    format!("its error is: {}", &why[..why.floor_char_boundary(SHOWN_BYTES)])
                }
                None => format!("it has `{}`", known().take(SHOWN_SERVICES).collect::<Vec<_>>().join("`, `")),
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
