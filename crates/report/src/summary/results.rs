//! The statuses of responses in words.

use figures::StatusCount;

/// The statuses in a line: `200 × 29,000 · 503 × 1,204`; empty where they were not counted.
pub(crate) fn in_words(statuses: &[StatusCount]) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for of in statuses {
        match sums.iter_mut().find(|(status, _)| *status == of.status_text()) {
            Some((_, sum)) => *sum += of.count,
            None => sums.push((of.status_text(), of.count)),
        }
    }
    let parts = sums.iter().map(|(status, n)| format!("{status}\u{a0}×\u{a0}{}", crate::number::count(*n)));
    parts.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use evidence::Outcome;

    use super::*;

    #[test]
    fn requests_of_one_status_are_added_up() {
        let count = |status: Option<&str>, outcome, count| StatusCount {
            status: status.map(str::to_owned),
            outcome,
            count,
        };
        let statuses = [
            count(Some("200"), Outcome::Ok, 90),
            count(Some("503"), Outcome::Http503, 7),
            count(Some("200"), Outcome::Check, 4),
            count(None, Outcome::Timeout, 1),
        ];
        assert_eq!(in_words(&statuses).replace('\u{a0}', " "), "200 × 94 · 503 × 7 · no response × 1");
    }
}
