//! Response heads: parsing, and what they say about the body and the connection (RFC 9112, sections 6
//! and 9).

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use super::irregular::RegularHead;
use crate::decimal;
use crate::deviation::{Deviation, Deviations};
use crate::error::WireError;
use crate::recent_head::{Framing, HeadMeaning, Persistence, RequestKind};

/// Heads with more header fields are parsed apart.
const USUAL_FIELDS: usize = 128;
/// The most header fields taken in one head.
pub(super) const MAX_FIELDS: usize = 1024;

/// Space for the parsed fields, on the stack and not cleared.
pub(super) struct Fields<'a>([MaybeUninit<Header<'a>>; USUAL_FIELDS]);

impl Fields<'_> {
    pub(super) fn new() -> Self {
        Fields([const { MaybeUninit::uninit() }; USUAL_FIELDS])
    }
}

pub(super) struct Head<'a> {
    pub(super) status: u16,
    minor_version: u8,
    pub(super) headers: &'a [Header<'a>],
    /// Length of the whole head.
    pub(super) bytes: usize,
    pub(super) deviations: Deviations,
    is_ambiguous: bool,
}

/// What is at the start of the input.
pub(super) enum Parsed<'a> {
    /// A head in the form of the standard.
    Head(Head<'a>),
    /// The beginning of one.
    Incomplete,
    /// What a strict parser refuses for this reason; it may be a head that clients understand.
    Irregular(WireError),
}

/// Parse a head at the start of `input`.
pub(super) fn parse<'a>(input: &'a [u8], fields: &'a mut Fields<'a>) -> Result<Parsed<'a>, WireError> {
    use httparse::Error;
    let mut response = Response::new(&mut []);
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut response, input, &mut fields.0);
    match parsed {
        Ok(Status::Complete(bytes)) => head_of(response, bytes).map(Parsed::Head),
        Ok(Status::Partial) => Ok(Parsed::Incomplete),
        Err(error @ (Error::HeaderName | Error::HeaderValue | Error::NewLine | Error::TooManyHeaders)) => {
            Ok(Parsed::Irregular(explain(error)))
        }
        Err(Error::Version) if begins_settings(input) => match input.len() < SETTINGS_HEAD.len() {
            true => Ok(Parsed::Incomplete),
            false => Err(WireError::NotHttp1),
        },
        Err(error) => Err(explain(error)),
    }
}

/// What a server of HTTP/2 sends first, the head of a SETTINGS frame of any length below 64 KiB: its length, type, flags and stream
/// (RFC 9113, sections 3.4 and 4.1).
const SETTINGS_HEAD: [Option<u8>; 9] =
    [Some(0), None, None, Some(4), Some(0), Some(0), Some(0), Some(0), Some(0)];

/// Whether it begins so, as far as it goes.
fn begins_settings(input: &[u8]) -> bool {
    input.iter().zip(SETTINGS_HEAD).all(|(byte, expected)| expected.is_none_or(|expected| expected == *byte))
}

/// Parse a whole head that is irregular no more, and represents one of so many bytes.
pub(super) fn parse_regular<'a>(
    regular: &'a RegularHead,
    bytes: usize,
    fields: &'a mut [Header<'a>],
) -> Result<Head<'a>, WireError> {
    let mut response = Response::new(fields);
    match response.parse(&regular.bytes) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) => return Err(WireError::Malformed("an invalid line end in the response head")),
        Err(error) => return Err(explain(error)),
    }
    let head = head_of(response, bytes)?;
    Ok(Head { deviations: regular.deviations, is_ambiguous: regular.is_ambiguous, ..head })
}

fn head_of<'a>(response: Response<'a, 'a>, bytes: usize) -> Result<Head<'a>, WireError> {
    let (Some(status), Some(minor_version)) = (response.code, response.version) else {
        return Err(WireError::Malformed("a response without a status"));
    };
    if status < 100 {
        return Err(WireError::Malformed("a status below 100"));
    }
    let (deviations, is_ambiguous) = (Deviations::default(), false);
    Ok(Head { status, minor_version, headers: response.headers, bytes, deviations, is_ambiguous })
}

fn explain(error: httparse::Error) -> WireError {
    use httparse::Error;
    WireError::Malformed(match error {
        Error::TooManyHeaders => return WireError::HeadTooLarge,
        Error::HeaderName => "an invalid header name",
        Error::HeaderValue => "an invalid header value",
        Error::NewLine => "an invalid line end in the response head",
        Error::Status => "an invalid status",
        Error::Version => "no HTTP/1.x response",
        Error::Token => "an invalid character in the response head",
    })
}

/// Whether a head may have been ended by the bytes from `fresh` on: an empty line ends there.
pub(super) fn may_end(gathered: &[u8], fresh: usize) -> bool {
    let from = fresh.saturating_sub(3);
    let recent = &gathered[from..];
    recent.iter().enumerate().any(|(at, &byte)| {
        byte == b'\n' && (recent[..at].ends_with(b"\n") || recent[..at].ends_with(b"\n\r"))
    })
}

impl Head<'_> {
    /// What the head of a final response means: how the body ends, and whether the connection lives on.
    pub(super) fn meaning(&self, kind: RequestKind) -> Result<HeadMeaning, WireError> {
        let (status, mut deviations) = (self.status, self.deviations);
        if status == 101 && kind == RequestKind::Upgrade {
            let (framing, persistence) = (Framing::UntilClose, Persistence::Close);
            return Ok(HeadMeaning { status, framing, persistence, deviations });
        }
        if status == 101 {
            // What follows is not HTTP.
            deviations.add(Deviation::SwitchUnasked);
            let (framing, persistence) = (Framing::Length(0), Persistence::Close);
            return Ok(HeadMeaning { status, framing, persistence, deviations });
        }
        let mut said = Said { length: None, chunked: false, close: false, keep_alive: false };
        for field in self.headers {
            said.hear(field.name.as_bytes(), field.value)?;
        }
        if said.chunked && said.length.is_some() {
            deviations.add(Deviation::LengthAndChunked);
        }
        if said.chunked && self.minor_version == 0 {
            deviations.add(Deviation::ChunkedInHttp10);
        }
        let is_ambiguous =
            self.is_ambiguous || said.chunked && (said.length.is_some() || self.minor_version == 0);
        let framing = match said {
            _ if kind == RequestKind::Head || matches!(status, 204 | 304) => Framing::Length(0),
            Said { chunked: true, .. } => Framing::Chunked,
            Said { length: Some(length), .. } => Framing::Length(length),
            _ => Framing::UntilClose,
        };
        let lives = match self.minor_version {
            0 => said.keep_alive && !said.close,
            _ => !said.close,
        };
        // A peer that does not switch may have taken the request for one that does.
        let may_live = kind != RequestKind::Upgrade && framing != Framing::UntilClose && !is_ambiguous;
        let keeps = lives && may_live;
        let persistence = if keeps { Persistence::KeepAlive } else { Persistence::Close };
        Ok(HeadMeaning { status, framing, persistence, deviations })
    }
}

/// What the headers that matter here say, put together.
struct Said {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl Said {
    fn hear(&mut self, name: &[u8], value: &[u8]) -> Result<(), WireError> {
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => self.hear_length(value),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.hear_coding(value),
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Repeated lengths are taken when they agree, as RFC 9112, section 6.3 allows.
    fn hear_length(&mut self, value: &[u8]) -> Result<(), WireError> {
        for part in value.split(|&b| b == b',') {
            let length =
                decimal::parse(part.trim_ascii()).ok_or(WireError::Malformed("an invalid content-length"))?;
            if self.length.is_some_and(|known| known != length) {
                return Err(WireError::Malformed("conflicting content-lengths"));
            }
            self.length = Some(length);
        }
        Ok(())
    }

    fn hear_coding(&mut self, value: &[u8]) -> Result<(), WireError> {
        if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            return Err(WireError::Malformed("a transfer-encoding other than chunked"));
        }
        self.chunked = true;
        Ok(())
    }
}
