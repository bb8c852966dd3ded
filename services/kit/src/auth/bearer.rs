//! From a request's headers to what its bearer token says, or to why nobody is served.

use super::{Claims, TokenError, Verifier};
use axum::http::HeaderMap;
use std::sync::Arc;

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

/// What the bearer token in an `authorization` header says.
///
/// # Errors
/// When it is no bearer token, or one that is not believed.
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

/// The text of a header that may be there once: two of them could be read differently by two readers.
///
/// # Errors
/// When it is there twice.
pub fn single_header<'a>(headers: &'a HeaderMap, name: &'static str) -> Result<Option<&'a str>, Denied> {
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
