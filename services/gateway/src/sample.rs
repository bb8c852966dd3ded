//! A valid sample, and the reasons why others are invalid. Pure.

use std::borrow::Cow;

/// Longest `device_id` and `type`, in bytes.
pub const MAX_NAME_BYTES: usize = 64;
/// Longest `unit`, in bytes.
pub const MAX_UNIT_BYTES: usize = 16;
/// Members of `metadata`.
pub const MAX_METADATA: usize = 16;
/// Longest name of a member of `metadata`, in bytes.
pub const MAX_METADATA_NAME_BYTES: usize = 64;
/// Longest text in `metadata`, in bytes.
pub const MAX_METADATA_TEXT_BYTES: usize = 256;

/// A sample's priority; `Low` is less than `High`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// First to be shed.
    Low,
    /// The default.
    Medium,
    /// First to be handed on.
    High,
}

impl Priority {
    /// From the lowest to the highest.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Its name in requests, tasks and metrics.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        }
    }

    /// The priority of a name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.word() == word)
    }

    /// Its index in [`Priority::ALL`].
    #[must_use]
    pub fn level(self) -> usize {
        match self {
            Self::Low => 0,
            Self::Medium => 1,
            Self::High => 2,
        }
    }
}

/// A value in `metadata`.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    Text(Cow<'a, str>),
    /// A finite number.
    Number(f64),
    /// Yes or no.
    Bool(bool),
}

/// A valid sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Letters, digits and `._:-`.
    pub device_id: Cow<'a, str>,
    /// What was measured: letters, digits and `._:-`.
    pub kind: Cow<'a, str>,
    /// Finite and within the limit.
    pub value: f64,
    /// Without control characters.
    pub unit: Cow<'a, str>,
    pub priority: Priority,
    /// RFC 3339.
    pub timestamp: Cow<'a, str>,
    /// The device's own number of the sample; 0 when there is none.
    pub sequence: u64,
    /// Further members, in the order sent.
    pub metadata: Vec<(Cow<'a, str>, Scalar<'a>)>,
}

/// Why a sample is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{member} {reason}")]
pub struct Invalid {
    /// The invalid member, or `sample` for all of it.
    pub member: &'static str,
    /// The requirement, as text that follows the member's name.
    pub reason: Cow<'static, str>,
    /// The sample's device, when it could be read.
    pub device_id: Option<String>,
}

impl Invalid {
    /// A refusal with a constant text.
    #[must_use]
    pub fn fixed(member: &'static str, reason: &'static str) -> Self {
        Self { member, reason: Cow::Borrowed(reason), device_id: None }
    }
}

/// Checks a `device_id` or a `type`.
///
/// # Errors
/// When it is empty, too long or has other characters than letters, digits and `._:-`.
pub fn name<'a>(member: &'static str, text: Cow<'a, str>) -> Result<Cow<'a, str>, Invalid> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    if (1..=MAX_NAME_BYTES).contains(&text.len()) && text.bytes().all(is_plain) {
        return Ok(text);
    }
    Err(Invalid::fixed(member, "must be 1 to 64 letters, digits and ._:-"))
}

/// Checks a `unit`.
///
/// # Errors
/// When it is empty, too long or has control characters.
pub fn unit(text: Cow<'_, str>) -> Result<Cow<'_, str>, Invalid> {
    if (1..=MAX_UNIT_BYTES).contains(&text.len()) && !text.contains(char::is_control) {
        return Ok(text);
    }
    Err(Invalid::fixed("unit", "must have 1 to 16 bytes and no control characters"))
}

/// Checks a `value` against the limit on its absolute value.
///
/// # Errors
/// When it is not a finite number, or too large in either direction.
pub fn value(number: f64, limit: f64) -> Result<f64, Invalid> {
    if !number.is_finite() {
        return Err(Invalid::fixed("value", "must be a finite number"));
    }
    if number.abs() > limit {
        let reason = Cow::Owned(format!("must lie between -{limit} and {limit}"));
        return Err(Invalid { member: "value", reason, device_id: None });
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_ordered_and_their_names_are_read() {
        assert!(Priority::High > Priority::Medium && Priority::Medium > Priority::Low);
        for (level, priority) in Priority::ALL.into_iter().enumerate() {
            assert_eq!((Priority::from_word(priority.word()), priority.level()), (Some(priority), level));
        }
        assert_eq!(Priority::from_word("high"), None);
    }

    #[test]
    fn values_must_be_finite_and_within_the_limit() {
        for number in [0.0, -0.0, 1e9, -1e9, f64::MIN_POSITIVE] {
            assert_eq!(value(number, 1e9), Ok(number));
        }
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(value(number, 1e9).unwrap_err().to_string(), "value must be a finite number");
        }
        let message = value(-1.1e9, 1e9).unwrap_err().to_string();
        assert_eq!(message, "value must lie between -1000000000 and 1000000000");
    }

    #[test]
    fn names_are_short_and_have_plain_characters() {
        for text in ["a", "sensor-001.x:y_Z", &"a".repeat(64)] {
            assert!(name("device_id", text.into()).is_ok(), "{text}");
        }
        for text in ["", " ", "a b", "é", "a/b", "a\"b", "a\n", &"a".repeat(65)] {
            assert!(name("device_id", text.into()).is_err(), "{text}");
        }
        assert!(unit("°C".into()).is_ok() && unit("µmol/m²·s".into()).is_ok());
        assert!(
            unit("".into()).is_err()
                && unit("a\u{0}".into()).is_err()
                && unit("a".repeat(17).into()).is_err()
        );
    }
}
