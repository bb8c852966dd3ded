//! Words of texts, as searches index them: runs of letters and digits in lower case. Both stores search by these words
//! and by no tokenizer of their own, so that both find the same listings.

use std::collections::BTreeSet;

/// Words of a listing that are indexed at most, in the order of its text.
const MAX_WORDS: usize = 256;
/// Characters of a word that are indexed.
const MAX_WORD_CHARS: usize = 40;

#[must_use]
pub fn words_of<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for word in texts.into_iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric())) {
        if words.len() == MAX_WORDS {
            break;
        }
        if !word.is_empty() {
            words.insert(word.chars().take(MAX_WORD_CHARS).flat_map(char::to_lowercase).collect());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_and_digits_in_lower_case_each_once() {
        let words = words_of(["Crveni BICIKL, crveni!", "Ćuprija 26'' -- bicikl"]);
        assert_eq!(words.into_iter().collect::<Vec<_>>(), ["26", "bicikl", "crveni", "ćuprija"]);
        assert!(words_of(["", " \u{0}--"]).is_empty());
        let many: String = (0..1_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(words_of([many.as_str()]).len(), MAX_WORDS);
        assert_eq!(words_of(["x".repeat(9_000).as_str()]).pop_first().unwrap().len(), MAX_WORD_CHARS);
    }
}
