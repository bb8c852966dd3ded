//! The body of a response, as a script gets it.

use engine::exchange::Response;
use wire::coding::CodingError;

use super::Failure;

/// What the bodies of all responses that a run of a script receives may take at once, of which each takes up to twice its length.
pub const BODY_BUDGET_BYTES: usize = 1 << 30;

/// The longest body that a script gets, as it is received and as it is decoded.
pub(super) const MOST_BODY_BYTES: usize = 256 << 20;

/// All of a body without the codings that its header names; one whose coding is not known stays as it is.
///
/// # Errors
/// That it was not kept to its end, that it comes to more than `most` bytes, or that it is not in its coding.
pub(super) fn decoded(response: &Response, most: usize) -> Result<Vec<u8>, Failure> {
    let too_long = |why: String| Failure::of_body(1000, format!("the response body is too long: {why}"));
    if let Some(why) = response.cut_reason() {
        return Err(too_long(why));
    }
    let Some(codings) = response.header(b"content-encoding").filter(|_| !response.body.is_empty()) else {
        return Ok(response.body.to_vec());
    };
    match wire::coding::decode(codings, &response.body, most) {
        Ok(decoded) => Ok(decoded),
        Err(CodingError::Unknown(_)) => Ok(response.body.to_vec()),
        Err(error @ CodingError::TooLong(_)) => Err(too_long(error.to_string())),
        Err(error) => Err(Failure::of_body(1701, format!("error decompressing response body ({error})"))),
    }
}

#[cfg(test)]
mod tests {
    use wire::coding::gzip;

    use super::*;

    fn of(body: &[u8], coding: &[u8]) -> Response {
        let mut response = Response::default();
        (response.body, response.body_bytes) = (body.to_vec().into(), body.len() as u64);
        response.headers.push(b"content-encoding", coding);
        response
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
