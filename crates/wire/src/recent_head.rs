//! The last response head to requests of one kind. Most servers answer with the same bytes again, but for a date that
//! changes once a second; a head that was seen twice in a row is not parsed a third time.

use crate::deviation::Deviations;
use crate::headers::Headers;

/// Longer heads are not remembered.
const MAX_BYTES: usize = 1024;

/// What the framing of a response depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// A `HEAD` request: its response has no body, whatever its headers say.
    Head,
    /// One that asks to switch to another protocol.
    Upgrade,
    /// Any other.
    Other,
}

/// How the end of the body is found. No body is a length of 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// Whether the peer keeps the connection open after this response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    KeepAlive,
    Close,
}

/// What a head means in answer to its request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeadMeaning {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    pub(crate) persistence: Persistence,
    pub(crate) deviations: Deviations,
}

/// The last head of a final response; empty at first.
#[derive(Debug, Default)]
pub struct RecentHead {
    bytes: Vec<u8>,
    /// What it means in answer to a request of this kind, once it has come twice.
    meaning: Option<(RequestKind, HeadMeaning)>,
    pub(crate) headers: Headers,
}

impl RecentHead {
    /// What the head at the start of `input` means, and its length, if it is this one again.
    pub(crate) fn at_start_of(&self, input: &[u8], kind: RequestKind) -> Option<(HeadMeaning, usize)> {
        let (of_kind, meaning) = self.meaning?;
        (of_kind == kind && input.starts_with(&self.bytes)).then_some((meaning, self.bytes.len()))
    }

    /// Remembers a head with these bytes and fields, which was answered to a request of this kind.
    pub(crate) fn remember<'a>(
        &mut self,
        bytes: &[u8],
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        of: (RequestKind, HeadMeaning),
    ) {
        self.meaning = None;
        if bytes.len() > MAX_BYTES {
            return self.bytes.clear();
        }
        if self.bytes == bytes {
            self.headers.clear();
            fields.for_each(|(name, value)| self.headers.push(name, value));
            self.meaning = Some(of);
        } else {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
        }
    }
}
