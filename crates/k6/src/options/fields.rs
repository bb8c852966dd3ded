//! Sets of optional fields that are read by name, from JSON or from variables.

use std::collections::BTreeMap;

use serde_json::Value;

use super::duration::OptionDuration;

/// What is read from JSON.
pub(super) trait FromJson: Sized {
    /// # Errors
    /// What is wrong with the value: a sentence whose subject is the option, or a path into it before that.
    fn from_json(value: &Value) -> Result<Self, String>;

    /// Whether a field with this value is not set.
    fn is_unset(value: &Value) -> bool {
        value.is_null()
    }

    /// What `null` is in a list or a map, if it is allowed there.
    fn of_null() -> Option<Self> {
        None
    }
}

/// What is read from the text of a variable, which is not empty.
pub(super) trait FromText: Sized {
    /// # Errors
    /// What is wrong with the text.
    fn from_text(text: &str) -> Result<Self, String>;
}

/// Whether a set of fields has one of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldName {
    Known,
    Unknown,
}

/// Fields that are read by name.
pub(super) trait Fields: Sized {
    /// Set the field of this name; `null` leaves it out.
    ///
    /// # Errors
    /// What is wrong with the value.
    fn set(&mut self, key: &str, value: &Value) -> Result<FieldName, String>;

    /// These, and where one is not set that of `lower`.
    fn over(self, lower: Self) -> Self;

    /// Set the fields of an object, and return the first of its names that is unknown.
    ///
    /// # Errors
    /// What is wrong, with the field's name before it.
    fn set_all(&mut self, value: &Value) -> Result<Option<String>, String> {
        let entries = value.as_object().ok_or_else(|| mismatch("an object", value))?;
        let mut unknown = None;
        for (key, value) in entries {
            match self.set(key, value).map_err(|reason| below(key, &reason))? {
                FieldName::Known => {}
                FieldName::Unknown => unknown = unknown.or_else(|| Some(key.clone())),
            }
        }
        Ok(unknown)
    }
}

/// Defines a struct of optional fields: each with its name in JSON, which is read without regard to case as k6 does, and
/// the environment variable that sets it, if there is one.
macro_rules! fields {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty = $key:literal $(or $variable:literal)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        $visibility struct $name {
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        impl $crate::options::fields::Fields for $name {
            fn set(&mut self, key: &str, value: &serde_json::Value) -> Result<$crate::options::fields::FieldName, String> {
                $(
                    if key.eq_ignore_ascii_case($key) {
                        self.$field = match value {
                            value if <$type as $crate::options::fields::FromJson>::is_unset(value) => None,
                            value => Some(<$type as $crate::options::fields::FromJson>::from_json(value)?),
                        };
                        return Ok($crate::options::fields::FieldName::Known);
                    }
                )*
                Ok($crate::options::fields::FieldName::Unknown)
            }

            fn over(self, lower: Self) -> Self {
                $name { $($field: self.$field.or(lower.$field),)* }
            }
        }

        fields!(@variables $name $($($field: $type = $variable;)?)*);
    };
    (@variables $name:ident) => {};
    (@variables $name:ident $($field:ident: $type:ty = $variable:literal;)+) => {
        impl $name {
            /// Every variable that sets a field.
            const VARIABLES: &[&str] = &[$($variable),+];

            /// Set the field of this variable.
            fn set_variable(&mut self, variable: &str, text: &str) -> Result<(), String> {
                $(
                    if variable == $variable {
                        self.$field = Some(<$type as $crate::options::fields::FromText>::from_text(text)?);
                    }
                )+
                Ok(())
            }
        }
    };
}
pub(super) use fields;

/// What is wrong with a value of another type than expected.
pub(super) fn mismatch(expected: &str, value: &Value) -> String {
    const SHOWN: usize = 60;
    let text = value.to_string();
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("must be {expected}, not {shown}{rest}")
}

/// Whether a value is `null` or an empty text.
pub(super) fn is_null_or_empty(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// An item of a list, or a value of a map.
fn inner<T: FromJson>(value: &Value) -> Result<T, String> {
    match T::of_null().filter(|_| value.is_null()) {
        Some(null) => Ok(null),
        None => T::from_json(value),
    }
}

/// What is wrong with a value below `path`.
pub(super) fn below(path: &str, reason: &str) -> String {
    format!("{path}: {reason}")
}

impl FromJson for i64 {
    fn from_json(value: &Value) -> Result<i64, String> {
        let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e18).then_some(number as i64);
        let read = match value {
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        read.ok_or_else(|| mismatch("a whole number", value))
    }

    fn is_unset(value: &Value) -> bool {
        is_null_or_empty(value)
    }
}

impl FromText for i64 {
    fn from_text(text: &str) -> Result<i64, String> {
        text.parse().map_err(|_| format!("must be a whole number, not {text:?}"))
    }
}

impl FromJson for bool {
    fn from_json(value: &Value) -> Result<bool, String> {
        value.as_bool().ok_or_else(|| mismatch("true or false", value))
    }
}

/// As Go reads it. k6 reads some variables so, and of others `true` and `false` only.
impl FromText for bool {
    fn from_text(text: &str) -> Result<bool, String> {
        const TRUE: [&str; 6] = ["true", "TRUE", "True", "t", "T", "1"];
        const FALSE: [&str; 6] = ["false", "FALSE", "False", "f", "F", "0"];
        match TRUE.contains(&text) || FALSE.contains(&text) {
            true => Ok(TRUE.contains(&text)),
            false => Err(format!("must be true or false, not {text:?}")),
        }
    }
}

impl FromJson for String {
    fn from_json(value: &Value) -> Result<String, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| mismatch("a text", value))
    }

    fn of_null() -> Option<String> {
        Some(String::new())
    }
}

impl FromText for String {
    fn from_text(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}

impl FromJson for OptionDuration {
    fn from_json(value: &Value) -> Result<OptionDuration, String> {
        match value {
            Value::Number(number) => OptionDuration::from_millis(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => OptionDuration::parse_or_millis(text),
            _ => Err(mismatch("a duration such as \"30s\", or a number of milliseconds", value)),
        }
    }
}

impl FromText for OptionDuration {
    fn from_text(text: &str) -> Result<OptionDuration, String> {
        OptionDuration::parse_or_millis(text)
    }
}

/// Any JSON, which is accepted and has no effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Ignored;

impl FromJson for Ignored {
    fn from_json(_: &Value) -> Result<Ignored, String> {
        Ok(Ignored)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: &Value) -> Result<Vec<T>, String> {
        let items = value.as_array().ok_or_else(|| mismatch("a list", value))?.iter().enumerate();
        items.map(|(at, item)| inner::<T>(item).map_err(|e| below(&format!("item {}", at + 1), &e))).collect()
    }

    fn of_null() -> Option<Vec<T>> {
        Some(Vec::new())
    }
}

/// Items separated by commas.
impl<T: FromText> FromText for Vec<T> {
    fn from_text(text: &str) -> Result<Vec<T>, String> {
        text.split(',').map(T::from_text).collect()
    }
}

impl<T: FromJson> FromJson for BTreeMap<String, T> {
    fn from_json(value: &Value) -> Result<BTreeMap<String, T>, String> {
        let entries = value.as_object().ok_or_else(|| mismatch("an object", value))?;
        let read = |(name, value): (&String, &Value)| {
            let value = inner::<T>(value).map_err(|reason| below(name, &reason))?;
            Ok((name.clone(), value))
        };
        entries.iter().map(read).collect()
    }
}

/// Pairs such as `a:b`, separated by commas.
impl<T: FromText> FromText for BTreeMap<String, T> {
    fn from_text(text: &str) -> Result<BTreeMap<String, T>, String> {
        let read = |pair: &str| {
            let (name, value) = pair
                .split_once(':')
                .ok_or_else(|| format!("must be pairs such as \"a:b,c:d\", not {pair:?}"))?;
            Ok((name.to_owned(), T::from_text(value)?))
        };
        text.split(',').map(read).collect()
    }
}
