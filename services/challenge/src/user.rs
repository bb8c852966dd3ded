//! The user of a request or an event.

use std::fmt;
use std::sync::Arc;

use kit::caller_limit::CallerPlace;

/// Characters a user id may have.
const MAX_CHARS: usize = 100;

/// A user id: 1 to 100 characters, none of them a control character. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(Arc<str>);

/// The place of a user among the requests in progress.
pub type UserPlace = CallerPlace<UserId>;

impl UserId {
    /// `text` as a user id, unless it is empty, too long or contains control characters.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_valid = !text.is_empty()
            && text.len() <= MAX_CHARS * 4
            && text.chars().count() <= MAX_CHARS
            && !text.chars().any(char::is_control);
        is_valid.then(|| Self(text.into()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_ids_are_accepted() {
        assert_eq!(UserId::new("ann").unwrap().as_str(), "ann");
        assert_eq!(UserId::new("é".repeat(100).as_str()).unwrap().as_str().chars().count(), 100);
        for invalid in ["", "a\nb", &"x".repeat(101), &"x".repeat(100_000)] {
            assert_eq!(UserId::new(invalid), None);
        }
    }
}
