//! The known word that is nearest to one that is not known.

/// The one of `known` that is most like `word`, if any is like it at all.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |candidate: &str| {
        let (a, b) = (word.to_lowercase(), candidate.to_lowercase());
        // A word of which the other is the beginning or the end is near, however long it is.
        let part = a.len().min(b.len()) >= 3 && (a.contains(&b) || b.contains(&a));
        strsim::jaro_winkler(&a, &b).max(if part { 0.8 } else { 0.0 })
    };
    known
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}
