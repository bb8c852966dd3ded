//! How responses depart from the standards where clients understand them all the same.

/// A departure that does not make the response incomprehensible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deviation {
    /// A head of HTTP/1.1 with both `content-length` and `transfer-encoding` (RFC 9112, 6.3).
    LengthAndChunked,
    /// A `transfer-encoding` in HTTP/1.0 (RFC 9112, 6.1).
    ChunkedInHttp10,
    /// Blanks between the name of a field and its colon (RFC 9112, 5.1).
    BlankBeforeColon,
    /// A blank inside the name of a field, which is left out (RFC 9110, 5.1).
    BlankInName,
    /// A field that continues on the next line (RFC 9112, 5.2).
    FoldedField,
    /// Status 101, though the request asked for no other protocol (RFC 9110, 15.2.2).
    SwitchUnasked,
    /// HTTP/2: blanks around the value of a field (RFC 9113, 8.2.1).
    BlankAroundValue,
}

impl Deviation {
    /// All of them.
    pub const ALL: [Deviation; 7] = [
        Deviation::LengthAndChunked,
        Deviation::ChunkedInHttp10,
        Deviation::BlankBeforeColon,
        Deviation::BlankInName,
        Deviation::FoldedField,
        Deviation::SwitchUnasked,
        Deviation::BlankAroundValue,
    ];

    /// Its name in archives.
    pub fn name(self) -> &'static str {
        match self {
            Deviation::LengthAndChunked => "length-and-chunked",
            Deviation::ChunkedInHttp10 => "chunked-in-http-1.0",
            Deviation::BlankBeforeColon => "blank-before-colon",
            Deviation::BlankInName => "blank-in-name",
            Deviation::FoldedField => "folded-field",
            Deviation::SwitchUnasked => "switch-unasked",
            Deviation::BlankAroundValue => "blank-around-value",
        }
    }
}

/// The deviations of one response; of most there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deviations(u8);

impl Deviations {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of them once.
    pub fn iter(self) -> impl Iterator<Item = Deviation> {
        Deviation::ALL.into_iter().filter(move |one| self.0 & (1 << *one as u8) != 0)
    }

    pub(crate) fn add(&mut self, one: Deviation) {
        self.0 |= 1 << one as u8;
    }
}
