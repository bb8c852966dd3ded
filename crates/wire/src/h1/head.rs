//! Response heads: parsing, and what they say about the body and the connection (RFC 9112, sections 6
//! and 9).

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};

use crate::decimal;
use crate::error::WireError;
use crate::recent_head::{Framing, Persistence, RequestKind};

/// The most header fields taken in one head.
const MAX_FIELDS: usize = 128;

/// Space for the parsed fields, on the stack and not cleared.
pub(super) struct Fields<'a>([MaybeUninit<Header<'a>>; MAX_FIELDS]);

impl Fields<'_> {
    pub(super) fn new() -> Self {
        Fields([const { MaybeUninit::uninit() }; MAX_FIELDS])
    }
}

pub(super) struct Head<'a> {
    pub(super) status: u16,
    minor_version: u8,
    pub(super) headers: &'a [Header<'a>],
    /// Length of the whole head.
    pub(super) bytes: usize,
}

/// Parse a head at the start of `input`; `None` when it is not complete yet.
pub(super) fn parse<'a>(input: &'a [u8], fields: &'a mut Fields<'a>) -> Result<Option<Head<'a>>, WireError> {
    let mut response = Response::new(&mut []);
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut response, input, &mut fields.0);
    let bytes = match parsed {
        Ok(Status::Complete(bytes)) => bytes,
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(explain(error)),
    };
    let (Some(status), Some(minor_version)) = (response.code, response.version) else {
        return Err(WireError::Malformed("a response without a status"));
    };
    if status < 100 {
        return Err(WireError::Malformed("a status below 100"));
    }
    Ok(Some(Head { status, minor_version, headers: response.headers, bytes }))
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
    /// How the body ends and whether the connection lives on.
    pub(super) fn framing(&self, kind: RequestKind) -> Result<(Framing, Persistence), WireError> {
        let mut said = Said { length: None, chunked: false, close: false, keep_alive: false };
        for field in self.headers {
            said.hear(field.name.as_bytes(), field.value)?;
        }
        let framing = if kind == RequestKind::Head || matches!(self.status, 204 | 304) {
            Framing::Length(0)
        } else {
            self.body_framing(&said)?
        };
        let lives = match self.minor_version {
            0 => said.keep_alive && !said.close,
            _ => !said.close,
        };
        let keeps = lives && framing != Framing::UntilClose;
        Ok((framing, if keeps { Persistence::KeepAlive } else { Persistence::Close }))
    }

    fn body_framing(&self, said: &Said) -> Result<Framing, WireError> {
        match (said.chunked, said.length) {
            (true, Some(_)) => Err(WireError::Malformed("both content-length and transfer-encoding")),
            (true, None) if self.minor_version == 0 => {
                Err(WireError::Malformed("transfer-encoding in HTTP/1.0"))
            }
            (true, None) => Ok(Framing::Chunked),
            (false, Some(length)) => Ok(Framing::Length(length)),
            (false, None) => Ok(Framing::UntilClose),
        }
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
