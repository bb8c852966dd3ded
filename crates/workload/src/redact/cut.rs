//! Secrets in texts that were cut, of which only the beginning is left.

use std::borrow::Cow;
use std::ops::Range;

use super::{MIN_VALUE_CHARS, REDACTED, Redactor};

/// Where a text was cut.
const CUT: char = '…';

impl Redactor {
    /// A text without secret values, and without their beginnings before a `…`, from 4 characters on.
    pub fn without_cut_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains(CUT) {
            return self.without_values(text);
        }
        let whole = |value: &String| -> Vec<Range<usize>> {
            text.match_indices(value.as_str()).map(|(at, found)| at..at + found.len()).collect()
        };
        let mut secrets: Vec<Range<usize>> = self.values.iter().flat_map(whole).collect();
        for (cut, _) in text.match_indices(CUT) {
            let begun = self.values.iter().filter_map(|value| beginning_at_end(value, &text[..cut]));
            secrets.extend(begun.map(|length| cut - length..cut));
        }
        secrets.sort_by_key(|range| range.start);
        let (mut shown, mut end) = (String::new(), 0);
        for Range { start, end: secret_end } in secrets {
            if start >= end {
                shown.push_str(&text[end..start]);
                shown.push_str(REDACTED);
            }
            end = end.max(secret_end);
        }
        Cow::Owned(shown + &text[end..])
    }
}

/// The bytes of the longest beginning of `value` that `text` ends with.
fn beginning_at_end(value: &str, text: &str) -> Option<usize> {
    let lengths = value.char_indices().skip(MIN_VALUE_CHARS).map(|(at, _)| at);
    lengths
        .take_while(|length| *length <= text.len())
        .filter(|length| text.ends_with(&value[..*length]))
        .last()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shown(text: &str) -> String {
        let values = ["secret-of-all", "secret", "all-is-well"].map(str::to_owned).to_vec();
        let redactor = Redactor { headers: BTreeSet::new(), names: BTreeSet::new(), values, fields: None };
        redactor.without_cut_values(text).into_owned()
    }

    #[test]
    fn the_beginning_of_a_secret_is_hidden_where_a_text_was_cut() {
        assert_eq!(shown("it says all-is-w…"), "it says [redacted]…");
        assert_eq!(shown("it says all-…; further ones"), "it says [redacted]…; further ones");
        assert_eq!(shown("it says all…"), "it says all…", "fewer characters may be a word");
        assert_eq!(shown("it says all-is-w"), "it says all-is-w", "it is not cut");
        assert_eq!(shown("a secret, then secret-of-…"), "a [redacted], then [redacted]…");
        assert_eq!(shown("a secret-of-all-is-…"), "a [redacted]…", "one begins in another");
    }
}
