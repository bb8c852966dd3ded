//! Endpoints that are named by URLs that differ in one part, such as an identifier or the value of a query.

use std::collections::BTreeMap;

use evidence::Name;
use evidence::url_pattern::{TOLD_APART, patterns_of};

use crate::ended::EndedCounts;
use crate::figures::Figures;
use crate::row::Row;
use crate::row_key::RowKey;

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

impl UrlPattern {
    /// In how many URLs it was met, in words.
    pub fn urls(&self) -> String {
        let own = self.of.iter().filter(|key| key.endpoint == self.row.key.endpoint).count();
        match self.of.len() - own {
            told_apart if own > 0 => format!("{told_apart}+ URLs"),
            all => format!("{all} URLs"),
        }
    }
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
                rows.into_iter().partition(|row| patterns_of(&row.key.endpoint).contains(&pattern));
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
    for row in rows {
        for pattern in patterns_of(&row.key.endpoint) {
            // A row of its own has the URLs past those that the run told apart.
            let urls = if *pattern == *row.key.endpoint { TOLD_APART } else { 1 };
            *counts.entry(pattern).or_default() += urls;
        }
    }
    let (pattern, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count > TOLD_APART).then_some(pattern)
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
    fn a_row_of_the_pattern_has_the_urls_that_were_not_told_apart() {
        let urls = ["http://a/items/1", "http://a/items/{…}", "http://a/items/2", "http://a/all"];
        let figures =
            Figures { rows: urls.iter().map(|url| row("run", url)).collect(), ..Figures::default() };
        let [pattern] = &figures.url_patterns()[..] else { panic!("not one pattern") };
        assert_eq!(&*pattern.row.key.endpoint, "http://a/items/{…}");
        assert_eq!((pattern.row.begun(), pattern.urls()), (3, "2+ URLs".to_owned()));
        assert_eq!(patterns(["http://a/items/{…}".to_owned()].into_iter()), []);
    }

    #[test]
    fn parts_with_digits_may_differ_together_and_names_are_no_urls() {
        let both = (0..30).map(|n| format!("http://a/users/{n}/orders/o-{}", n * 7));
        assert_eq!(patterns(both), [("http://a/users/{…}/orders/{…}".to_owned(), 30, 30)]);
        assert_eq!(patterns((0..30).map(|n| format!("step/{n}"))), []);
    }
}
