//! The last response head to requests of one kind. Most servers answer with the same bytes again, but for a date that
//! changes once a second; a head that was seen twice in a row is not parsed a third time.

use super::RequestKind;
use super::head::{Framing, Head, Persistence};
use crate::headers::Headers;

/// Longer heads are not remembered.
const MAX_BYTES: usize = 1024;

/// What a head means in answer to its request.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadMeaning {
    pub(super) status: u16,
    pub(super) framing: Framing,
    pub(super) persistence: Persistence,
}

/// The last head of a final response; empty at first.
#[derive(Debug, Default)]
pub struct RecentHead {
    bytes: Vec<u8>,
    /// What it means in answer to a request of this kind, once it has come twice.
    meaning: Option<(RequestKind, HeadMeaning)>,
    pub(super) headers: Headers,
}

impl RecentHead {
    /// What the head at the start of `input` means, and its length, if it is this one again.
    pub(super) fn at_start_of(&self, input: &[u8], kind: RequestKind) -> Option<(HeadMeaning, usize)> {
        let (of_kind, meaning) = self.meaning?;
        (of_kind == kind && input.starts_with(&self.bytes)).then_some((meaning, self.bytes.len()))
    }

    /// Remember the head at the start of `input`, which was answered to a request of this kind.
    pub(super) fn remember(&mut self, input: &[u8], head: &Head<'_>, of: (RequestKind, HeadMeaning)) {
        self.meaning = None;
        if head.bytes > MAX_BYTES {
            return self.bytes.clear();
        }
        let bytes = &input[..head.bytes];
        if self.bytes == bytes {
            self.headers.clear();
            head.headers.iter().for_each(|field| self.headers.push(field.name.as_bytes(), field.value));
            self.meaning = Some(of);
        } else {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
        }
    }
}
