//! The header `Set-Cookie`, as k6 reads it (RFC 6265, section 5.2).

use jiff::fmt::rfc2822;

/// What k6 shows as the end of a cookie that has none.
const NO_END_MS: f64 = -6_795_364_578_871.0;

/// A cookie as a response sets it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SetCookie {
    pub(crate) name: String,
    /// Without the quotes around it.
    pub(crate) value: String,
    pub(crate) is_quoted: bool,
    pub(crate) domain: String,
    pub(crate) path: String,
    pub(crate) http_only: bool,
    pub(crate) secure: bool,
    /// Seconds; 0 where nothing is said, negative where it ends now.
    pub(crate) max_age: i64,
    /// Milliseconds since 1970.
    pub(crate) expires_ms: Option<f64>,
}

impl SetCookie {
    /// Read one; none where it has no name, or what a cookie cannot have.
    pub(crate) fn parse(line: &str) -> Option<SetCookie> {
        let mut parts = line.split(';').map(str::trim);
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let unquoted =
            value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|_| value.len() > 1);
        let is_valid = |byte: u8| (b' '..0x7f).contains(&byte) && !b"\";\\".contains(&byte);
        if !is_token(name) || !unquoted.unwrap_or(value).bytes().all(is_valid) {
            return None;
        }
        let mut cookie = SetCookie {
            name: name.to_owned(),
            value: unquoted.unwrap_or(value).to_owned(),
            is_quoted: unquoted.is_some(),
            ..SetCookie::default()
        };
        parts.for_each(|part| cookie.set(part));
        Some(cookie)
    }

    fn set(&mut self, attribute: &str) {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "domain" => value.clone_into(&mut self.domain),
            "path" => value.clone_into(&mut self.path),
            "httponly" => self.http_only = true,
            "secure" => self.secure = true,
            "max-age" => {
                let seconds = value.parse().unwrap_or(0_i64);
                let is_said = !value.starts_with('+') && value.parse::<i64>().is_ok();
                self.max_age = if is_said && seconds <= 0 { -1 } else { seconds };
            }
            "expires" => self.expires_ms = date_ms(value),
            _ => {}
        }
    }

    /// When it ends as k6 shows it.
    pub(crate) fn shown_expires_ms(&self) -> f64 {
        self.expires_ms.unwrap_or(NO_END_MS)
    }
}

fn is_token(name: &str) -> bool {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_valid)
}

/// Milliseconds since 1970 of a date such as `Wed, 21 Oct 2037 07:28:00 GMT`, also with `-` between the parts of the day.
pub(crate) fn date_ms(date: &str) -> Option<f64> {
    let spaced = date.replace('-', " ");
    let zoned = rfc2822::DateTimeParser::new().relaxed_weekday(true).parse_zoned(&spaced).ok()?;
    Some(zoned.timestamp().as_millisecond() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_response_sets_is_read_as_k6_reads_it() {
        let cookie = SetCookie::parse("d=\"q z\"; HttpOnly; Secure; Path=/sub; Domain=example.com").unwrap();
        assert_eq!((cookie.value.as_str(), cookie.is_quoted), ("q z", true));
        assert!(cookie.http_only && cookie.secure);
        assert_eq!((cookie.path.as_str(), cookie.domain.as_str()), ("/sub", "example.com"));
        assert_eq!(cookie.shown_expires_ms(), -6_795_364_578_871.0);
        for (line, max_age) in [("a=1; Max-Age=100", 100), ("a=1; max-age=0", -1), ("a=1; Max-Age=x", 0)] {
            assert_eq!(SetCookie::parse(line).unwrap().max_age, max_age, "{line}");
        }
        for date in ["Wed, 21 Oct 2037 07:28:00 GMT", "Wed, 21-Oct-2037 07:28:00 GMT"] {
            let cookie = SetCookie::parse(&format!("f=6; Expires={date}")).unwrap();
            assert_eq!(cookie.expires_ms, Some(2_139_722_880_000.0), "{date}");
        }
        for none in ["", "a", "=x", "a b=c", "a=b\\c", "a=\u{e4}", "a=\"x"] {
            assert_eq!(SetCookie::parse(none), None, "{none}");
        }
    }
}
