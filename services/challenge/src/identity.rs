//! Authentication of callers, the same for every transport. It must not depend on one.

use http::{HeaderMap, header};
use kit::auth::{Denied, Role, Roles, Verifier, authenticate, single_header};

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
    test_header: TestHeader,
    tokens: Option<Verifier>,
    roles: Roles,
}

impl Identity {
    /// Authentication by bearer tokens if there is a verifier, and by the test header if that is on.
    #[must_use]
    pub fn new(test_header: TestHeader, tokens: Option<Verifier>, roles: Roles) -> Self {
        Self { test_header, tokens, roles }
    }

    /// Returns once callers can be authenticated.
    pub async fn ready(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.ready().await;
        }
    }

    /// Whether callers can be authenticated now.
    ///
    /// # Errors
    /// The reason why they cannot.
    pub fn probe(&self) -> Result<(), String> {
        self.tokens.as_ref().map_or(Ok(()), Verifier::probe)
    }

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
        let Some(tokens) = &self.tokens else { return user_of_test_header(named) };
        match single_header(headers, header::AUTHORIZATION.as_str())? {
            Some(authorization) => {
                let claims = authenticate(tokens, authorization).await?;
                let invalid = Denied::Unauthenticated("the token's subject cannot be a user");
                consistent(UserId::new(&claims.subject).ok_or(invalid)?, named)
            }
            None if self.test_header == TestHeader::On => user_of_test_header(named),
            None => Err(Denied::Unauthenticated("a bearer token must name the user")),
        }
    }
}

impl Identity {
    /// Whether a call's metadata (as headers) are those of a publisher: a service of this namespace. Without a verifier
    /// every caller is one; with the test header on, also a caller without a token.
    ///
    /// # Errors
    /// When the caller has no valid token, or not that of a service.
    pub async fn check_publisher(&self, headers: &HeaderMap) -> Result<(), Denied> {
        let Some(tokens) = &self.tokens else { return Ok(()) };
        match single_header(headers, header::AUTHORIZATION.as_str())? {
            Some(authorization) => {
                let claims = authenticate(tokens, authorization).await?;
                match self.roles.of(&claims.subject) {
                    Role::User => Err(Denied::Forbidden("only services may publish events")),
                    Role::Service | Role::Admin => Ok(()),
                }
            }
            None if self.test_header == TestHeader::On => Ok(()),
            None => Err(Denied::Unauthenticated("the bearer token of a service is required")),
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
    use super::*;

    async fn check(test_header: TestHeader, headers: &[(&'static str, &str)], expect: Result<&str, &str>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let named = Identity::new(test_header, None, Roles::default()).of_headers(&headers).await;
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
