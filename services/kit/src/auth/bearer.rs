//! From a request's headers to the claims of its bearer token, or to a refusal.

use std::sync::Arc;

use axum::http::HeaderMap;

use super::{Claims, TokenError, Verifier};

/// Why a request is refused before its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The request names no user, or its token is not accepted: HTTP 401, gRPC 16.
    #[error("{0}")]
    Unauthenticated(&'static str),
    /// The caller is known and has no access: HTTP 403, gRPC 7.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The token cannot be verified now; trying again may help: HTTP 503, gRPC 14.
    #[error("{0}")]
    Unavailable(&'static str),
}

/// The claims of the bearer token in an `authorization` header.
///
/// # Errors
/// When it is not a bearer token, or one that is refused.
pub async fn authenticate(tokens: &Verifier, authorization: &str) -> Result<Arc<Claims>, Denied> {
    let token = bearer(authorization).ok_or(Denied::Unauthenticated("only bearer tokens name a user"))?;
    Ok(tokens.verify(token).await?)
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_matches(' '))
}

impl From<TokenError> for Denied {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Namespace => Self::Forbidden(error.reason()),
            TokenError::NoKeys | TokenError::Busy => Self::Unavailable(error.reason()),
            _ => Self::Unauthenticated(error.reason()),
        }
    }
}

/// The text of a header that may occur once: of two values, two readers could use different ones.
///
/// # Errors
/// When it occurs twice.
pub fn single_header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Denied> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().unwrap_or_default());
    match values.next() {
        None => Ok(first),
        Some(_) => Err(Denied::Unauthenticated("a header that names the user is there twice")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bearer_scheme_is_read() {
        for (authorization, expect) in [
            ("Bearer a.b.c", Some("a.b.c")),
            ("bearer  a.b.c ", Some("a.b.c")),
            ("Basic a.b.c", None),
            ("Bearer", None),
            ("Bearera.b.c", None),
        ] {
            assert_eq!(bearer(authorization), expect, "{authorization}");
        }
    }
}
