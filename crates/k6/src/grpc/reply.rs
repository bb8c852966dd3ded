//! What came of a call or of connecting, in the words of k6 where scripts see them.

use std::collections::BTreeMap;
use std::ops::Range;

use base64::Engine as _;
use engine::HeldBytes;
use engine::exchange::Response;
use evidence::{GrpcCode, Outcome};
use wire::grpc::{Framed, MessageError, Status};
use wire::headers::Headers;

use super::{GrpcCall, GrpcConnection, Reading};
use crate::response_memory::{ResponseMemory, fields_bytes};

/// Codes that a client gives itself.
const DEADLINE_EXCEEDED: u32 = 4;
const RESOURCE_EXHAUSTED: u32 = 8;
const INTERNAL: u32 = 13;
const UNAVAILABLE: u32 = 14;

/// A message where there is none.
const NO_MESSAGE: &str = "null";
/// Why a call with several messages failed.
const SURPLUS: &str =
    "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message";

/// What came of a call or of connecting.
#[derive(Debug)]
pub(crate) struct GrpcReply {
    pub(crate) code: GrpcCode,
    /// Why it failed.
    pub(crate) text: String,
    /// The same in the form that scripts get, as JSON, where the server says more of it.
    details: Option<String>,
    /// The message as JSON.
    pub(crate) message: String,
    /// The messages where they are not decoded.
    pub(crate) raw: Vec<Vec<u8>>,
    /// Headers, then trailers.
    fields: Headers,
    /// Which of the fields are headers.
    headers: Range<usize>,
    /// Which of the fields are trailers.
    trailers: Range<usize>,
    /// What it takes of the run's budget, as long as the script holds it.
    held: Option<HeldBytes>,
}

impl GrpcReply {
    /// Of what ended without a complete response.
    pub(crate) fn of_transport(connection: &GrpcConnection, outcome: Outcome, reason: &str) -> GrpcReply {
        let address = &connection.address;
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
        let dialing =
            |why: String| format!("connection error: desc = \"transport: error while dialing: {why}\"");
        let text = match outcome {
            Outcome::Timeout => {
                return GrpcReply::failed(DEADLINE_EXCEEDED, "context deadline exceeded".to_owned());
            }
            Outcome::Refused => dialing(format!("dial tcp {address}: connect: connection refused")),
            Outcome::Dns => dialing(format!("lookup {host}: no such host")),
            Outcome::Tls => {
                format!(
                    "connection error: desc = \"transport: authentication handshake failed: tls: {reason}\""
                )
            }
            Outcome::Reset if reason.is_empty() => {
                "error reading from server: connection reset by peer".to_owned()
            }
            _ if reason.is_empty() => format!("the call was not completed: {outcome}"),
            _ => format!("error reading from server: {reason}"),
        };
        GrpcReply::failed(UNAVAILABLE, text)
    }

    /// Of what was not sent.
    pub(crate) fn unsent(text: String) -> GrpcReply {
        GrpcReply::failed(UNAVAILABLE, text)
    }

    /// Of a message that is longer than the script allows.
    pub(crate) fn too_long_to_send(call: &GrpcCall, bytes: usize, most: usize) -> GrpcReply {
        let text = format!("trying to send message larger than max ({bytes} vs. {most})");
        GrpcReply::failed(RESOURCE_EXHAUSTED, text).with_default_message(call)
    }

    /// Of a connection that is open.
    pub(crate) fn connected() -> GrpcReply {
        GrpcReply::failed(0, String::new())
    }

    fn failed(code: u32, text: String) -> GrpcReply {
        GrpcReply {
            code: GrpcCode::from_number(code),
            text,
            details: None,
            message: NO_MESSAGE.to_owned(),
            raw: Vec::new(),
            fields: Headers::new(),
            headers: 0..0,
            trailers: 0..0,
            held: None,
        }
    }

    /// The same with the message that has no fields, as k6 has it where none was received.
    pub(crate) fn with_default_message(mut self, call: &GrpcCall) -> GrpcReply {
        if let Reading::Message(method) = &call.reading {
            self.message = method.response_json(&[]).unwrap_or(self.message);
        }
        self
    }

    /// Of a complete response.
    pub(crate) fn of_response(call: &GrpcCall, response: &Response, most_bytes: usize) -> GrpcReply {
        let headers = response.headers.view();
        let mut reply = match Status::from_trailers(&headers) {
            Some(status) => {
                let mut text = String::new();
                status.text_into(&mut text);
                GrpcReply::failed(u32::from(status.code.number()), text)
            }
            None => {
                let code = wire::grpc::code_of_http(response.status);
                let text = format!("unexpected HTTP status code received from server: {}", response.status);
                GrpcReply::failed(u32::from(code.number()), text)
            }
        };
        reply.fields.clone_from(&response.headers);
        let mut head = response.headers.iter().take(response.head_fields);
        if head.any(|(name, _)| name.eq_ignore_ascii_case(b"grpc-status")) {
            // Its one block of headers is its trailers.
            reply.trailers = 0..response.head_fields;
        } else {
            reply.headers = 0..response.head_fields;
            reply.trailers = response.head_fields..usize::MAX;
        }
        reply.details = details(call, response);
        if reply.code == GrpcCode::OK || call.reading == Reading::Raw {
            reply.read(call, response, most_bytes).unwrap_or_else(|(code, text)| {
                (reply.code, reply.text) = (GrpcCode::from_number(code), text);
                reply.trailers = 0..0;
            });
        }
        if reply.message == NO_MESSAGE { reply.with_default_message(call) } else { reply }
    }

    /// The same with its part of the run's budget; where the budget has no part left, the call has failed.
    pub(crate) fn held_by(mut self, memory: ResponseMemory<'_>) -> GrpcReply {
        let details = self.details.as_ref().map_or(0, String::len);
        let raw: usize = self.raw.iter().map(Vec::len).sum();
        let mut held = HeldBytes::new(memory.budget);
        let bytes = self.message.len() + self.text.len() + details + raw;
        let grown =
            memory.grow(&mut held, bytes).and_then(|()| memory.grow(&mut held, fields_bytes(&self.fields)));
        match grown {
            Ok(()) => {
                self.held = Some(held);
                self
            }
            Err(error) => GrpcReply::failed(RESOURCE_EXHAUSTED, error.to_string()),
        }
    }

    /// Read what the body holds.
    fn read(&mut self, call: &GrpcCall, response: &Response, most_bytes: usize) -> Result<(), (u32, String)> {
        let internal = |text: String| (INTERNAL, text);
        if call.reading == Reading::Raw {
            return self.read_all(response);
        }
        let claimed =
            response.body.first_chunk::<5>().map(|&[_, a, b, c, d]| u32::from_be_bytes([a, b, c, d]));
        if let Some(claimed) = claimed.filter(|claimed| *claimed as usize > most_bytes) {
            let text = format!("grpc: received message larger than max ({claimed} vs. {most_bytes})");
            return Err((RESOURCE_EXHAUSTED, text));
        }
        if response.body_bytes == 0 {
            let text = "cardinality violation: received no response message from non-server-streaming RPC";
            return Err(internal(text.to_owned()));
        }
        let framed = Framed::first(&response.body).map_err(|error| internal(error.to_string()))?;
        if let Reading::Message(method) = &call.reading {
            let message = plain(framed, response).map_err(internal)?;
            let json = method.response_json(&message);
            let unreadable =
                |error| internal(format!("grpc: failed to unmarshal the received message: {error}"));
            self.message = json.map_err(unreadable)?;
        }
        if response.body_bytes > framed.length() as u64 {
            return Err(internal(SURPLUS.to_owned()));
        }
        Ok(())
    }

    /// Keep all messages as they are.
    fn read_all(&mut self, response: &Response) -> Result<(), (u32, String)> {
        let internal = |error: MessageError| (INTERNAL, error.to_string());
        if !response.is_whole() {
            return Err((RESOURCE_EXHAUSTED, "the response is too long to be kept".to_owned()));
        }
        let mut rest = &response.body[..];
        while !rest.is_empty() {
            let framed = Framed::first(rest).map_err(internal)?;
            self.raw.push(plain(framed, response).map_err(|text| (INTERNAL, text))?);
            rest = &rest[framed.length()..];
        }
        Ok(())
    }

    /// Why it failed, as JSON; `null` where it did not.
    pub(crate) fn error_json(&self) -> String {
        match (self.code, &self.details) {
            (GrpcCode::OK, _) => NO_MESSAGE.to_owned(),
            (_, Some(details)) => details.clone(),
            (code, None) => {
                serde_json::json!({ "code": code.number(), "message": self.text, "details": [] }).to_string()
            }
        }
    }

    /// The headers as JSON: arrays of values by name.
    pub(crate) fn headers_json(&self) -> String {
        self.metadata_json(&self.headers)
    }

    /// The same of the trailers.
    pub(crate) fn trailers_json(&self) -> String {
        self.metadata_json(&self.trailers)
    }

    /// Some of the fields, without those that belong to the protocol.
    fn metadata_json(&self, part: &Range<usize>) -> String {
        let mut metadata: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in self.fields.iter().skip(part.start).take(part.len()) {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            if matches!(&*name, "grpc-status" | "grpc-message" | "grpc-encoding") {
                continue;
            }
            let value = if name.ends_with("-bin") { binary(value) } else { value.to_vec() };
            metadata.entry(name).or_default().push(String::from_utf8_lossy(&value).into_owned());
        }
        serde_json::json!(metadata).to_string()
    }
}

/// A message without its prefix, decoded according to `grpc-encoding`.
fn plain(framed: Framed<'_>, response: &Response) -> Result<Vec<u8>, String> {
    if let Ok(message) = framed.message() {
        return Ok(message.to_vec());
    }
    let coding = response.header(b"grpc-encoding").unwrap_or(b"no `grpc-encoding`");
    let decoded = wire::coding::decode(coding, framed.payload(), engine::exchange::CHECKED_BODY_BYTES);
    decoded.map_err(|error| format!("grpc: failed to decompress the received message: {error}"))
}

/// What the server says of the status beside code and text. As in k6, the object is empty where its types are not described.
fn details(call: &GrpcCall, response: &Response) -> Option<String> {
    let encoded = response.header(b"grpc-status-details-bin")?;
    let json = call.reading.method()?.status_json(&binary(encoded));
    Some(json.unwrap_or_else(|_| "{}".to_owned()))
}

fn binary(value: &[u8]) -> Vec<u8> {
    let unpadded = value.trim_ascii_end();
    let end = unpadded.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    base64::engine::general_purpose::STANDARD_NO_PAD
        .decode(&unpadded[..end])
        .unwrap_or_else(|_| value.to_vec())
}
