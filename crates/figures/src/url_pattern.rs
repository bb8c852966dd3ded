//! Endpoints that are named by URLs that differ in one part, such as an identifier or the value of a query.

use std::collections::BTreeMap;

use evidence::Name;

use crate::ended::EndedCounts;
use crate::figures::Figures;
use crate::row::Row;
use crate::row_key::RowKey;

/// So many URLs of one pattern are listed one by one.
const LISTED_URLS: usize = 20;
/// In place of the part in which they differ.
const ANY: &str = "{…}";

/// URLs of one phase and scenario that differ in one part.
#[derive(Debug, Default)]
pub struct UrlPattern {
    /// What its rows counted, in one, merged as [`crate::PhaseTotal`] is; the key names the pattern as its endpoint.
    pub row: Row,
    /// What ended of them in the window of the phase.
    pub ended: EndedCounts,
    /// The keys of its rows.
    pub of: Vec<RowKey>,
}

impl Figures {
    /// The patterns of more URLs than tables should list.
    pub fn url_patterns(&self) -> Vec<UrlPattern> {
        let mut groups: BTreeMap<(&Name, &Name), Vec<&Row>> = BTreeMap::new();
        for row in self.endpoints().filter(|row| row.key.endpoint.contains("://")) {
            groups.entry((&row.key.phase, &row.key.scenario)).or_default().push(row);
        }
        groups.into_values().flat_map(|rows| self.patterns_of(rows)).collect()
    }

    fn patterns_of(&self, mut rows: Vec<&Row>) -> Vec<UrlPattern> {
        let mut patterns = Vec::new();
        while let Some(pattern) = most_frequent(&rows) {
            let (of_pattern, others): (Vec<&Row>, Vec<&Row>) =
                rows.into_iter().partition(|row| patterns_with(&row.key.endpoint).any(|one| one == pattern));
            let mut all = UrlPattern::default();
            for row in of_pattern {
                all.row.key = row.key.with_endpoint(&pattern);
                all.row.add_requests(row);
                self.ended.get(&row.key).into_iter().for_each(|ended| all.ended.add_requests(ended));
                all.of.push(row.key.clone());
            }
            patterns.push(all);
            rows = others;
        }
        patterns
    }
}

/// The pattern that most of them have; none where tables can list each of its URLs.
fn most_frequent(rows: &[&Row]) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for pattern in rows.iter().flat_map(|row| patterns_with(&row.key.endpoint)) {
        *counts.entry(pattern).or_default() += 1;
    }
    let (pattern, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count > LISTED_URLS).then_some(pattern)
}

/// A URL with any one of the parts of its path and query left open, and with all that contain a digit.
fn patterns_with(url: &str) -> impl Iterator<Item = String> {
    let path = url.find("://").map_or(0, |at| at + "://".len());
    let path = url[path..].find(['/', '?']).map_or(url.len(), |at| path + at);
    let (origin, path) = url.split_at(path);
    let parts: Vec<&str> = path.split_inclusive(['/', '?', '&', '=']).collect();
    let open = move |is_open: &dyn Fn(usize, &str) -> bool| -> String {
        let part = |(at, part): (usize, &&str)| {
            let value = part.trim_end_matches(['/', '?', '&', '=']);
            match is_open(at, value) && !value.is_empty() {
                true => format!("{ANY}{}", &part[value.len()..]),
                false => (*part).to_owned(),
            }
        };
        let parts: String = parts.iter().enumerate().map(part).collect();
        format!("{origin}{parts}")
    };
    let count = path.split_inclusive(['/', '?', '&', '=']).count();
    let with_digit = open(&|_, value| value.contains(|c: char| c.is_ascii_digit()));
    let one: Vec<String> = (0..count).map(|open_at| open(&|at, _| at == open_at)).collect();
    let is_open = |pattern: &String| pattern.contains(ANY);
    let mut all: Vec<String> = one.into_iter().chain([with_digit]).filter(is_open).collect();
    all.sort();
    all.dedup();
    all.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(phase: &str, endpoint: &str) -> Row {
        let key = RowKey { phase: phase.into(), scenario: "default".into(), endpoint: endpoint.into() };
        Row { key, requests: Some(1), ..Row::default() }
    }

    fn patterns(urls: impl Iterator<Item = String>) -> Vec<(String, u64, usize)> {
        let figures = Figures { rows: urls.map(|url| row("run", &url)).collect(), ..Figures::default() };
        let shown = |all: UrlPattern| (all.row.key.endpoint.to_string(), all.row.begun(), all.of.len());
        figures.url_patterns().into_iter().map(shown).collect()
    }

    #[test]
    fn more_than_twenty_urls_that_differ_in_one_part_are_one_pattern() {
        let items = |count: u32| (0..count).map(|n| format!("http://a:80/items/{n}/price"));
        assert_eq!(patterns(items(20)), []);
        assert_eq!(patterns(items(21)), [("http://a:80/items/{…}/price".to_owned(), 21, 21)]);
        let words = (b'a'..=b'z').map(|c| format!("http://a/find?kind=book&q={}", char::from(c)));
        let others = ["http://a/find", "http://b/items/1/price"].map(str::to_owned);
        assert_eq!(
            patterns(words.chain(items(25)).chain(others)),
            [
                ("http://a/find?kind=book&q={…}".to_owned(), 26, 26),
                ("http://a:80/items/{…}/price".to_owned(), 25, 25)
            ]
        );
    }

    #[test]
    fn parts_with_digits_may_differ_together_and_names_are_no_urls() {
        let both = (0..30).map(|n| format!("http://a/users/{n}/orders/o-{}", n * 7));
        assert_eq!(patterns(both), [("http://a/users/{…}/orders/{…}".to_owned(), 30, 30)]);
        assert_eq!(patterns((0..30).map(|n| format!("step/{n}"))), []);
    }
}
