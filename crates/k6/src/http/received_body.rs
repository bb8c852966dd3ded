//! The body of a response, as a script gets it.

use engine::HeldBytes;
use engine::exchange::Response;
use wire::Headers;
use wire::coding::CodingError;

use super::Failure;
use crate::response_memory::{ResponseMemory, fields_bytes};

/// The longest body that a script gets, as it is received and as it is decoded.
pub(super) const MOST_BODY_BYTES: usize = 256 << 20;

/// Take what these headers need.
pub(super) fn hold_headers(
    memory: ResponseMemory<'_>,
    held: &mut HeldBytes,
    headers: &Headers,
) -> Result<(), Failure> {
    memory.grow(held, fields_bytes(headers)).map_err(|error| too_long(error.to_string()))
}

/// All of a body without the codings that its header names; one whose coding is not known stays as it is.
///
/// # Errors
/// That it was not kept to its end, that it comes to more than `most` bytes or than there is memory for, or that it is not
/// in its coding.
pub(super) fn body(
    memory: ResponseMemory<'_>,
    held: &mut HeldBytes,
    response: &Response,
    most: usize,
) -> Result<Vec<u8>, Failure> {
    if let Some(why) = response.cut_reason() {
        return Err(too_long(why));
    }
    let before = held.bytes();
    let codings = response.header(b"content-encoding").unwrap_or_default();
    let mut refusal = None;
    let mut may_grow = |by: usize| {
        refusal = memory.grow(held, by).err();
        refusal.is_none()
    };
    let decoded = match wire::coding::decode_within(codings, &response.body, most, &mut may_grow) {
        Err(CodingError::Unknown(_)) => wire::coding::decode_within(b"", &response.body, most, &mut may_grow),
        decoded => decoded,
    };
    let mut body = decoded.map_err(|error| match (error, refusal) {
        (CodingError::NoMemory, Some(why)) => too_long(why.to_string()),
        (error @ CodingError::TooLong(_), _) => too_long(error.to_string()),
        (error, _) => Failure::of_body(1701, format!("error decompressing response body ({error})")),
    })?;
    body.shrink_to_fit();
    held.shrink_to(before + body.capacity());
    Ok(body)
}

fn too_long(why: String) -> Failure {
    Failure::of_body(1000, format!("the response body is too long: {why}"))
}

#[cfg(test)]
mod tests {
    use engine::BodyBudget;
    use wire::coding::gzip;

    use super::*;

    fn of(body: &[u8], coding: &[u8]) -> Response {
        let mut response = Response::default();
        (response.body, response.body_bytes) = (body.to_vec().into(), body.len() as u64);
        response.headers.push(b"content-encoding", coding);
        response
    }

    fn decoded(response: &Response, most: usize) -> Result<Vec<u8>, Failure> {
        within(1 << 20, response, most).map(|(body, _)| body)
    }

    fn within(total: usize, response: &Response, most: usize) -> Result<(Vec<u8>, HeldBytes), Failure> {
        let budget = BodyBudget::new(total);
        let mut held = HeldBytes::new(&budget);
        let memory = ResponseMemory { budget: &budget, collect: &|| {} };
        body(memory, &mut held, response, most).map(|body| (body, held))
    }

    #[test]
    fn a_body_takes_as_much_of_the_budget_as_it_is_long_when_it_is_decoded() {
        let mut zeros = Vec::new();
        gzip(&[0; 100_000], &mut zeros);
        for coded in [of(&zeros, b"gzip"), of(&[0; 100_000], b"own"), of(&[0; 100_000], b"")] {
            let (body, held) = within(1 << 20, &coded, 1 << 20).unwrap();
            assert_eq!((body.len(), held.bytes()), (100_000, 100_000));
            let failure = within(99_999, &coded, 1 << 20).unwrap_err();
            assert_eq!(failure.code, 1000);
            assert!(failure.text.contains("plimsoll keeps at once"), "{}", failure.text);
        }
    }

    fn code(result: Result<Vec<u8>, Failure>) -> (u16, String) {
        let failure = result.unwrap_err();
        (failure.code, failure.text)
    }

    #[test]
    fn a_body_is_whole_or_an_error() {
        let mut zeros = Vec::new();
        gzip(&[0; 1_000], &mut zeros);
        assert_eq!(decoded(&of(&zeros, b"gzip"), 1_000), Ok(vec![0; 1_000]));
        assert_eq!(
            code(decoded(&of(&zeros, b"gzip"), 999)),
            (
                1000,
                "the response body is too long: it is longer than 999 bytes when it is decoded".to_owned()
            )
        );
        assert_eq!(code(decoded(&of(b"no gzip", b"gzip"), 999)).0, 1701);
        assert_eq!(decoded(&of(b"as it is", b"own"), 1), Ok(b"as it is".to_vec()));
        let mut cut = of(b"cut", b"own");
        cut.body_bytes += 1;
        let (code, text) = code(decoded(&cut, 3));
        assert_eq!(code, 1000);
        assert!(text.starts_with("the response body is too long: it is longer than the 3 bytes"), "{text}");
    }
}
