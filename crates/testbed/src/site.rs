//! Which path behaves how.

use std::time::Duration;

use crate::freeze::Freeze;

/// A table from path to behaviour, so that one target can mix them.
///
/// A path is matched exactly, without its query. What matches nothing gets the fallback: for HTTP 404, for
/// gRPC `UNIMPLEMENTED`, unless [`Site::otherwise`] names another.
#[derive(Debug, Clone)]
pub struct Site<B> {
    pub(crate) routes: Vec<(String, B)>,
    pub(crate) fallback: Option<B>,
    pub(crate) freeze: Option<Freeze>,
}

impl<B> Site<B> {
    /// A site without paths.
    pub fn new() -> Self {
        Site { routes: Vec::new(), fallback: None, freeze: None }
    }

    /// Lets `path` behave so. The first entry of a path counts.
    pub fn at(mut self, path: &str, behaviour: B) -> Self {
        self.routes.push((path.to_owned(), behaviour));
        self
    }

    /// How every other path behaves.
    pub fn otherwise(self, behaviour: B) -> Self {
        Site { fallback: Some(behaviour), ..self }
    }

    /// Freezes the whole target for `length` at the end of every `period`; see [`Freeze`].
    pub fn freeze(self, period: Duration, length: Duration) -> Self {
        Site { freeze: Some(Freeze { period, length }), ..self }
    }
}

impl<B> Default for Site<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B> From<B> for Site<B> {
    fn from(behaviour: B) -> Self {
        Site::new().otherwise(behaviour)
    }
}
