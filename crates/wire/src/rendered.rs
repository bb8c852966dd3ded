//! A request that many users send unchanged: it is checked and rendered once.

/// Longer requests are rendered each time: what is kept would be a further copy of a long body.
const MAX_BYTES: usize = 16 << 10;

/// A request of which every one is the same, as bytes; empty until the first was started.
#[derive(Debug, Clone, Default)]
pub struct RenderedRequest(Vec<u8>);

impl RenderedRequest {
    /// Its bytes; none before the first.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        (!self.0.is_empty()).then_some(&self.0)
    }

    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        if bytes.len() <= MAX_BYTES {
            self.0 = bytes.to_vec();
        }
    }
}
