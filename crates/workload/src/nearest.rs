//! Suggestions for misspelled names.

/// The candidate among `known` that is most similar to `word`, if any is similar enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |candidate: &str| {
        let (a, b) = (word.to_lowercase(), candidate.to_lowercase());
        // A word that contains the other is similar, whatever its length.
        let part = a.len().min(b.len()) >= 3 && (a.contains(&b) || b.contains(&a));
        strsim::jaro_winkler(&a, &b).max(if part { 0.8 } else { 0.0 })
    };
    known
        .into_iter()
        .map(|candidate| (similarity(candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
