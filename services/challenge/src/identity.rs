//! Authentication of callers, the same for every transport. It must not depend on one.

use std::sync::Arc;

use http::HeaderMap;
use kit::auth::{self, Credential, Denied, Role, single_header};

use crate::user::UserId;

/// The test identity header, and gRPC metadata key. It has effect only where the settings switch it on.
pub const TEST_HEADER: &str = "x-mock-user-id";

/// Whether [`TEST_HEADER`] names users. There is no default user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestHeader {
    /// It is ignored.
    Off,
    /// Each caller is the user that it names; for tests only.
    On,
}

/// Authenticates callers.
#[derive(Debug)]
pub struct Identity {
    /// Whether a header names users, for tests.
    pub test_header: TestHeader,
    /// Verifies tokens.
    pub tokens: Arc<auth::Identity>,
}

impl Identity {
    /// The user named by a request's headers, or by a call's metadata (as headers).
    ///
    /// A bearer token takes precedence. A header that is not switched on is ignored.
    ///
    /// # Errors
    /// When no user is named, or the token is invalid.
    pub async fn of_headers(&self, headers: &HeaderMap) -> Result<UserId, Denied> {
        let named = match self.test_header {
            TestHeader::On => single_header(headers, TEST_HEADER)?,
            TestHeader::Off => None,
        };
        match self.tokens.credential(headers).await? {
            Credential::Token { claims, .. } => {
                let invalid = Denied::Unauthenticated("the token's subject cannot be a user");
                consistent(UserId::new(&claims.subject).ok_or(invalid)?, named)
            }
            Credential::Missing if self.test_header == TestHeader::Off => {
                Err(Denied::Unauthenticated("a bearer token must name the user"))
            }
            Credential::Missing | Credential::Unverified => user_of_test_header(named),
        }
    }

    /// Whether a call's metadata (as headers) are those of a publisher: a service of this namespace. Without a verifier
    /// every caller is one; with the test header on, also a caller without a token.
    ///
    /// # Errors
    /// When the caller has no valid token, or not that of a service.
    pub async fn check_publisher(&self, headers: &HeaderMap) -> Result<(), Denied> {
        match self.tokens.credential(headers).await? {
            Credential::Token { role: Role::User, .. } => {
                Err(Denied::Forbidden("only services may publish events"))
            }
            Credential::Missing if self.test_header == TestHeader::Off => {
                Err(Denied::Unauthenticated("the bearer token of a service is required"))
            }
            Credential::Token { .. } | Credential::Missing | Credential::Unverified => Ok(()),
        }
    }
}

fn user_of_test_header(named: Option<&str>) -> Result<UserId, Denied> {
    named.and_then(UserId::new).ok_or(Denied::Unauthenticated(
        "x-mock-user-id must name a user: 1 to 100 characters without control characters",
    ))
}

fn consistent(user: UserId, named: Option<&str>) -> Result<UserId, Denied> {
    match named {
        Some(other) if other != user.as_str() => {
            Err(Denied::Forbidden("x-mock-user-id names another user than the token"))
        }
        _ => Ok(user),
    }
}

#[cfg(test)]
mod tests {
    use kit::metrics::Metrics;

    use super::*;

    async fn check(test_header: TestHeader, headers: &[(&'static str, &str)], expect: Result<&str, &str>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let tokens = auth::Identity::start(None, auth::Roles::default(), &Metrics::new("test"));
        let named = Identity { test_header, tokens: Arc::new(tokens) }.of_headers(&headers).await;
        let named = named.map(|user| user.to_string()).map_err(|denied| denied.to_string());
        match expect {
            Ok(user) => assert_eq!(named.as_deref(), Ok(user), "{headers:?}"),
            Err(reason) => assert!(named.unwrap_err().contains(reason), "{headers:?}"),
        }
    }

    #[tokio::test]
    async fn the_test_header_has_effect_only_when_switched_on() {
        check(TestHeader::On, &[(TEST_HEADER, "ann")], Ok("ann")).await;
        check(TestHeader::Off, &[(TEST_HEADER, "ann")], Err("must name a user")).await;
    }

    #[tokio::test]
    async fn a_missing_invalid_or_repeated_test_header_is_refused() {
        check(TestHeader::On, &[], Err("must name a user")).await;
        check(TestHeader::On, &[(TEST_HEADER, "")], Err("must name a user")).await;
        check(TestHeader::On, &[(TEST_HEADER, "é")], Err("must name a user")).await;
        check(TestHeader::On, &[(TEST_HEADER, "ann"), (TEST_HEADER, "bob")], Err("twice")).await;
    }
}
