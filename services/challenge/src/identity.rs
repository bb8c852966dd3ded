//! Who asks: the one decision that every transport takes over to its own words. It must know no transport.

use crate::user::UserId;
use http::HeaderMap;

/// The test identity header, and gRPC metadata key. It counts only where the settings switch it on.
pub const TEST_HEADER: &str = "x-mock-user-id";

/// Whether [`TEST_HEADER`] names users. There is no default user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestHeader {
    /// It is ignored.
    Off,
    /// Whoever sends it is taken to be that user; for tests only.
    On,
}

/// Why nobody is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Nobody is named, or what names somebody cannot be believed: HTTP 401, gRPC 16.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// It is known who asks, and that they may not: HTTP 403, gRPC 7.
    #[error("{0}")]
    Forbidden(&'static str),
    /// What is needed to know is not there now; trying again may help: HTTP 503, gRPC 14.
    #[error("{0}")]
    Unavailable(&'static str),
}

/// Knows who asks.
#[derive(Debug)]
pub struct Identity {
    test_header: TestHeader,
}

impl Identity {
    /// An identity as the settings say.
    #[must_use]
    pub fn new(test_header: TestHeader) -> Self {
        Self { test_header }
    }

    /// The user that a request's headers, or a call's metadata (as headers), name.
    ///
    /// # Errors
    /// When nobody is named, or not so that it can be believed.
    pub async fn of_headers(&self, headers: &HeaderMap) -> Result<UserId, Denied> {
        self.of(single(headers, TEST_HEADER)?).await
    }

    async fn of(&self, test_header: Option<&str>) -> Result<UserId, Denied> {
        match (self.test_header, test_header) {
            (TestHeader::On, named) => named.and_then(UserId::new).ok_or(Denied::Unauthenticated(
                "x-mock-user-id must name a user: 1 to 100 characters without control characters",
            )),
            (TestHeader::Off, _) => Err(Denied::Unauthenticated("nobody is named")),
        }
    }
}

/// The text of a header that may be there once: two of them could be read differently by two readers.
fn single<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Denied> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().unwrap_or_default());
    match values.next() {
        None => Ok(first),
        Some(_) => Err(Denied::Unauthenticated("what names the user is there twice")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(test_header: TestHeader, headers: &[(&'static str, &str)], expect: Result<&str, &str>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let named = Identity::new(test_header).of_headers(&headers).await;
        let named = named.map(|user| user.to_string()).map_err(|denied| denied.to_string());
        match expect {
            Ok(user) => assert_eq!(named.as_deref(), Ok(user), "{headers:?}"),
            Err(reason) => assert!(named.unwrap_err().contains(reason), "{headers:?}"),
        }
    }

    #[tokio::test]
    async fn the_test_header_counts_only_when_switched_on() {
        check(TestHeader::On, &[(TEST_HEADER, "ann")], Ok("ann")).await;
        check(TestHeader::Off, &[(TEST_HEADER, "ann")], Err("nobody")).await;
    }

    #[tokio::test]
    async fn there_is_no_default_user_and_no_choice_between_two() {
        check(TestHeader::On, &[], Err("must name a user")).await;
        check(TestHeader::On, &[(TEST_HEADER, "")], Err("must name a user")).await;
        check(TestHeader::On, &[(TEST_HEADER, "é")], Err("must name a user")).await;
        check(TestHeader::On, &[(TEST_HEADER, "ann"), (TEST_HEADER, "bob")], Err("twice")).await;
    }
}
