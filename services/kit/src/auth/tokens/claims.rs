//! The claims of a verified token, compared with what a service expects. Pure: the time is an argument.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Claims, TokenError};
use crate::clock::UtcMs;

/// What a token must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Policy {
    /// `iss` must be this.
    pub(super) issuer: String,
    /// `aud` must be, or contain, this.
    pub(super) audience: Option<String>,
    /// The name of a claim, and its required value.
    pub(super) namespace: Option<(String, String)>,
    /// How far clocks may differ.
    pub(super) skew: Duration,
}

impl Policy {
    /// Reads the JSON of a token whose signature was verified.
    pub(super) fn read(&self, payload: &[u8], now: UtcMs) -> Result<Claims, TokenError> {
        let claims: Map<String, Value> =
            serde_json::from_slice(payload).map_err(|_| TokenError::Malformed)?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(&self.issuer) {
            return Err(TokenError::Issuer);
        }
        if !self.audience.as_ref().is_none_or(|ours| is_for(claims.get("aud"), ours)) {
            return Err(TokenError::Audience);
        }
        let expires_at = instant(&claims, "exp")?.ok_or(TokenError::Malformed)?;
        let subject = text("sub").filter(|subject| !subject.is_empty()).ok_or(TokenError::Malformed)?;
        let accepted = Claims { subject: subject.to_owned(), expires_at };
        self.in_time(&accepted, now)?;
        for name in ["nbf", "iat"] {
            if instant(&claims, name)?.is_some_and(|from| from.0 > now.0.saturating_add(self.skew_ms())) {
                return Err(TokenError::NotYetValid);
            }
        }
        // Last, as it alone is answered with 403: only a token that is valid in every other respect may be.
        match &self.namespace {
            Some((name, ours)) if text(name) != Some(ours) => Err(TokenError::Namespace),
            _ => Ok(accepted),
        }
    }

    /// Refuses a token that has expired.
    pub(super) fn in_time(&self, claims: &Claims, now: UtcMs) -> Result<(), TokenError> {
        let is_expired = claims.expires_at.0.saturating_add(self.skew_ms()) <= now.0;
        if is_expired { Err(TokenError::Expired) } else { Ok(()) }
    }

    fn skew_ms(&self) -> i64 {
        i64::try_from(self.skew.as_millis()).unwrap_or(i64::MAX)
    }
}

fn is_for(audience: Option<&Value>, ours: &str) -> bool {
    match audience {
        Some(Value::String(one)) => one == ours,
        Some(Value::Array(several)) => several.iter().any(|one| one == ours),
        _ => false,
    }
}

/// Seconds since 1970, possibly with a fraction. A member that is no such number is malformed.
fn instant(claims: &Map<String, Value>, name: &str) -> Result<Option<UtcMs>, TokenError> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|s| (0.0..1e12).contains(s)).ok_or(TokenError::Malformed)?;
    // In range by the line above; 1e15 ms is exact in a double.
    Ok(Some(UtcMs((seconds * 1000.0) as i64)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW_S: i64 = 1_800_000_000;

    fn policy() -> Policy {
        Policy {
            issuer: "https://id.example".to_owned(),
            audience: Some("game".to_owned()),
            namespace: Some(("namespace".to_owned(), "accelbyte".to_owned())),
            skew: Duration::from_secs(30),
        }
    }

    /// A valid token, with members changed or (by null) removed.
    fn check(changes: Value, expect: Result<&str, TokenError>) {
        let mut claims = json!({
            "iss": "https://id.example", "aud": ["web", "game"], "sub": "ann", "namespace": "accelbyte",
            "exp": NOW_S + 60, "nbf": NOW_S, "iat": NOW_S,
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        let read = policy().read(claims.to_string().as_bytes(), UtcMs(NOW_S * 1000));
        assert_eq!(read.map(|claims| claims.subject), expect.map(str::to_owned), "{changes}");
    }

    #[test]
    fn every_claim_is_compared_with_the_policy() {
        check(json!({}), Ok("ann"));
        check(json!({"aud": "game"}), Ok("ann"));
        check(json!({"nbf": null, "iat": null}), Ok("ann"));
        for issuer in [json!("https://id.example.evil"), json!(["https://id.example"]), Value::Null] {
            check(json!({ "iss": issuer }), Err(TokenError::Issuer));
        }
        for audience in [json!("web"), json!([]), json!([["game"]]), json!({"game": 1}), Value::Null] {
            check(json!({ "aud": audience }), Err(TokenError::Audience));
        }
        for namespace in [json!("other"), json!(["accelbyte"]), Value::Null] {
            check(json!({ "namespace": namespace }), Err(TokenError::Namespace));
        }
        for subject in [json!(""), json!(7), Value::Null] {
            check(json!({ "sub": subject }), Err(TokenError::Malformed));
        }
    }

    #[test]
    fn times_are_compared_with_the_skew() {
        check(json!({"exp": NOW_S - 29}), Ok("ann"));
        check(json!({"exp": NOW_S - 30}), Err(TokenError::Expired));
        check(json!({"exp": NOW_S as f64 - 29.5}), Ok("ann"));
        check(json!({"nbf": NOW_S + 30}), Ok("ann"));
        check(json!({"nbf": NOW_S + 31}), Err(TokenError::NotYetValid));
        check(json!({"iat": NOW_S + 31}), Err(TokenError::NotYetValid));
        for expiry in [json!("1900000000"), json!(-1), json!(1e300), json!(true), Value::Null] {
            check(json!({ "exp": expiry }), Err(TokenError::Malformed));
        }
    }

    #[test]
    fn a_foreign_namespace_is_reported_only_for_a_token_that_is_valid_otherwise() {
        check(json!({"namespace": "other", "exp": 1}), Err(TokenError::Expired));
    }

    #[test]
    fn a_payload_that_is_no_object_is_malformed() {
        for payload in ["", "[]", "null", "{", "7"] {
            assert_eq!(policy().read(payload.as_bytes(), UtcMs(0)), Err(TokenError::Malformed));
        }
    }
}
