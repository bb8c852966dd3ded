//! Suggestions for misspelled names.

/// The candidate among `known` that is most similar to `word`, if any is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |candidate: &str| {
        let (a, b) = (word.to_lowercase(), candidate.to_lowercase());
        // A word that contains the other is similar, whatever its length.
        let shorter = a.len().min(b.len());
        let part = shorter >= 3 && (a.contains(&b) || b.contains(&a));
        // In a short word one slip is much of it.
        let slip = shorter >= 3 && strsim::damerau_levenshtein(&a, &b) == 1;
        strsim::jaro_winkler(&a, &b).max(if part || slip { 0.8 } else { 0.0 })
    };
    known
        .into_iter()
        .map(|candidate| (similarity(candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
