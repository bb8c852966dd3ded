//! URLs that a loop has met, so that each is read once and its origin and endpoint are looked up once.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use engine::{EndpointIndex, OriginIndex};

use super::url::{Url, UrlError};

/// How many URLs are remembered. Scripts that write a number into each URL soon have more: all are forgotten then.
const REMEMBERED: usize = 1_024;
/// A longer one is not remembered: servers may give it, and another one each time.
const LONGEST_REMEMBERED: usize = 4 << 10;

/// A URL with what it is in a run, for the virtual users of one scenario on one loop.
#[derive(Debug)]
pub(crate) struct KnownUrl {
    url: Url,
    origin: Cell<Option<OriginIndex>>,
    endpoint: Cell<Option<EndpointIndex>>,
}

impl From<Url> for KnownUrl {
    fn from(url: Url) -> KnownUrl {
        KnownUrl { url, origin: Cell::default(), endpoint: Cell::default() }
    }
}

impl Deref for KnownUrl {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.url
    }
}

impl KnownUrl {
    /// Its origin, which `find` finds if it was not asked for before.
    pub(crate) fn origin_by<E>(
        &self,
        find: impl FnOnce(&str) -> Result<OriginIndex, E>,
    ) -> Result<OriginIndex, E> {
        if let Some(known) = self.origin.get() {
            return Ok(known);
        }
        let origin = find(&self.url.origin)?;
        self.origin.set(Some(origin));
        Ok(origin)
    }

    /// The endpoint that is named after it, which `find` finds if it was not asked for before.
    pub(crate) fn endpoint_by(&self, find: impl FnOnce(&str) -> EndpointIndex) -> EndpointIndex {
        let endpoint = self.endpoint.get().unwrap_or_else(|| find(self.url.as_str()));
        self.endpoint.set(Some(endpoint));
        endpoint
    }
}

/// URLs by how scripts write them.
#[derive(Debug, Default)]
pub(crate) struct KnownUrls(HashMap<String, Rc<KnownUrl>>);

impl KnownUrls {
    /// The URL that `text` is.
    ///
    /// # Errors
    /// [`UrlError`] when it is none.
    pub(crate) fn url(&mut self, text: &str) -> Result<Rc<KnownUrl>, UrlError> {
        if let Some(known) = self.0.get(text) {
            return Ok(known.clone());
        }
        let url = Rc::new(KnownUrl::from(Url::parse(text)?));
        if text.len() > LONGEST_REMEMBERED {
            return Ok(url);
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(text.to_owned(), url.clone());
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_urls_are_not_remembered() {
        let mut known = KnownUrls::default();
        for (length, is_remembered) in
            [(100, true), (LONGEST_REMEMBERED, true), (LONGEST_REMEMBERED + 1, false)]
        {
            let url = format!("http://h/{}", "x".repeat(length - "http://h/".len()));
            let first = known.url(&url).unwrap();
            assert_eq!(Rc::ptr_eq(&first, &known.url(&url).unwrap()), is_remembered, "{length}");
        }
    }
}
