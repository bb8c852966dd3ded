//! Decodes compressed bodies and messages for checks.

use std::borrow::Cow;

use wire::coding::{CodingError, decode};
use wire::grpc::Framed;

use crate::exchange::{CHECKED_BODY_BYTES, Response};
use crate::program::{StepContent, StepProgram};

/// The response with its body decoded; none where the step does not read the body, or the body is not coded.
pub(super) fn decoded(step: &StepProgram, response: &Response) -> Option<Result<Response, CodingError>> {
    let is_read = step.keep_body_bytes == CHECKED_BODY_BYTES && matches!(step.content, StepContent::Http(_));
    if !is_read || response.body.is_empty() || !response.is_whole() {
        return None;
    }
    let codings = response.header(b"content-encoding")?;
    Some(decode(codings, &response.body, CHECKED_BODY_BYTES).map(|body| Response {
        status: response.status,
        headers: response.headers.clone(),
        left_out_headers: response.left_out_headers,
        body_bytes: body.len() as u64,
        body: body.into(),
        ..Response::default()
    }))
}

/// A gRPC message without its prefix, decoded according to `grpc-encoding`.
pub(super) fn message<'a>(framed: Framed<'a>, response: &Response) -> Result<Cow<'a, [u8]>, String> {
    if let Ok(message) = framed.message() {
        return Ok(Cow::Borrowed(message));
    }
    let coding = response.header(b"grpc-encoding").unwrap_or(b"no `grpc-encoding`");
    let decoded = decode(coding, framed.payload(), CHECKED_BODY_BYTES);
    decoded.map(Cow::Owned).map_err(|error| format!("the message cannot be read: {error}"))
}
