//! Filters of searches and lists, and their SQL: the same in both stores.
//!
//! With words, a query reads `listing_words`, which has entries of active listings only, with the columns that searches
//! filter by. Without words it reads the listings. Every filter is part of the cache key and of the count.

mod similar;

pub use similar::SimilarQuery;

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::listing::Status;
use crate::price::Price;
use crate::scope::CacheScope;

/// Filters; a listing must pass all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Filters {
    /// Words in title or description; with any, only active listings are found.
    pub words: Vec<String>,
    /// Their owner.
    pub user_id: Option<i64>,
    pub storefront_id: Option<i64>,
    pub category_id: Option<i64>,
    pub status: Option<Status>,
    /// The lowest price.
    pub min_price: Option<Price>,
    /// The highest price.
    pub max_price: Option<Price>,
    /// Whether drafts are left out.
    pub hides_drafts: bool,
    /// Whether private and unlisted listings are left out; searches for words find only public ones.
    pub only_public: bool,
}

/// Matches that are counted at most, so that no count reads them all. A total above stands for any larger number.
pub const MAX_COUNTED: i64 = 1_000;

/// A part of the listings found, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PageRange {
    /// The number of listings at most.
    pub limit: i64,
    /// The number of listings to skip.
    pub offset: i64,
    /// The last listing of the page before: only those before it are found.
    pub before: Option<i64>,
}

/// The listings found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Page {
    /// Newest first.
    pub ids: Vec<i64>,
    /// The number of listings on all pages; above [`MAX_COUNTED`] for any larger number, unless it is stored.
    pub total: i64,
}

/// A value in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SqlValue {
    /// A number.
    Int(i64),
    Text(String),
}

/// A statement with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The text; it refers to values by the placeholder and their number.
    pub text: String,
    /// The values, numbered from 1 or after those of another statement.
    pub values: Vec<SqlValue>,
    placeholder: char,
    preceding_values: usize,
}

impl Sql {
    fn add(&mut self, sql: &str, value: SqlValue) {
        self.values.push(value);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{sql}{}{}", self.placeholder, self.preceding_values + self.values.len());
    }
}

impl Filters {
    /// The scope of an answer.
    #[must_use]
    pub fn cache_scope(&self) -> CacheScope {
        // The longest word is likely the rarest.
        if let Some(word) = self.words.iter().max_by_key(|word| word.len()) {
            return CacheScope::Word(word.clone());
        }
        match (self.storefront_id, self.user_id, self.category_id) {
            (Some(id), _, _) => CacheScope::OfStorefront(id),
            (None, Some(id), _) => CacheScope::OfUser(id),
            (None, None, Some(id)) => CacheScope::OfCategory(id),
            (None, None, None) => CacheScope::All,
        }
    }

    /// Whether they name the owner of the listings, by user or by storefront.
    #[must_use]
    pub fn names_owner(&self) -> bool {
        self.user_id.is_some() || self.storefront_id.is_some()
    }

    /// Whether an index leads to the listings, so that filters by price do not read all others.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        !self.words.is_empty() || self.names_owner() || self.category_id.is_some()
    }

    /// Whether no listing can pass.
    #[must_use]
    pub fn match_nothing(&self) -> bool {
        self.hides_drafts && self.status == Some(Status::Draft)
    }

    /// Whether drafts could be among the listings.
    #[must_use]
    pub fn may_match_drafts(&self) -> bool {
        self.words.is_empty() && self.status.is_none_or(|status| status == Status::Draft)
    }

    /// A cache key, unique for these filters and this range.
    #[must_use]
    pub fn cache_key(&self, range: PageRange) -> String {
        let status = self.status.map_or("", Status::as_str);
        let Self { words, user_id, storefront_id, category_id, min_price, max_price, .. } = self;
        let [min, max] = [min_price, max_price].map(|price| price.map(Price::hundredths));
        let number = |id: &Option<i64>| id.map(|id| id.to_string()).unwrap_or_default();
        let numbers = [user_id, storefront_id, category_id, &min, &max].map(number).join(",");
        let drafts = if self.hides_drafts { ";published" } else { "" };
        let public = if self.only_public { ";public" } else { "" };
        let PageRange { limit, offset, before } = range;
        let before = before.map(|id| format!("<{id}")).unwrap_or_default();
        format!("{};{numbers};{status};{limit},{offset}{before}{drafts}{public}", words.join(" "))
    }

    /// Whether the stored counts by category, status and visibility contain the total.
    #[must_use]
    pub fn has_stored_count(&self) -> bool {
        let Self { words, user_id, storefront_id, min_price, max_price, .. } = self;
        words.is_empty()
            && user_id.is_none()
            && storefront_id.is_none()
            && min_price.is_none()
            && max_price.is_none()
    }

    /// The ids of a range; the store writes `placeholder` before a value's number.
    #[must_use]
    pub fn select(&self, range: PageRange, placeholder: char) -> Sql {
        let id = if self.words.is_empty() { "id" } else { "w.listing_id" };
        let mut sql = self.matching(id, placeholder, 0);
        if let Some(before) = range.before {
            sql.add(&format!(" AND {id} < "), SqlValue::Int(before));
        }
        sql.text += &format!(" ORDER BY {id} DESC");
        sql.add(" LIMIT ", SqlValue::Int(range.limit));
        sql.add(" OFFSET ", SqlValue::Int(range.offset));
        sql
    }

    /// Counts the listings.
    #[must_use]
    pub fn count(&self, placeholder: char) -> Sql {
        self.count_after(0, placeholder)
    }

    /// The same, with its values numbered after those of another statement.
    #[must_use]
    pub fn count_after(&self, preceding_values: usize, placeholder: char) -> Sql {
        if self.has_stored_count() {
            let text = "SELECT coalesce(sum(listings), 0) FROM category_counts WHERE 1 = 1".to_owned();
            let mut sql = Sql { text, values: Vec::new(), placeholder, preceding_values };
            self.add_counted_columns(&mut sql);
            return sql;
        }
        let mut sql = self.matching("1", placeholder, preceding_values);
        sql.text = format!("SELECT count(*) FROM ({} LIMIT {}) AS counted", sql.text, MAX_COUNTED + 1);
        sql
    }

    fn matching(&self, columns: &str, placeholder: char, preceding_values: usize) -> Sql {
        let text = format!("SELECT {columns} FROM ");
        let mut sql = Sql { text, values: Vec::new(), placeholder, preceding_values };
        if self.words.is_empty() {
            sql.text += "listings WHERE deleted_at IS NULL";
            self.add_counted_columns(&mut sql);
            for (column, id) in [("user_id", self.user_id), ("storefront_id", self.storefront_id)] {
                if let Some(id) = id {
                    sql.add(&format!(" AND {column} = "), SqlValue::Int(id));
                }
            }
        } else {
            self.add_words(&mut sql);
        }
        for (comparison, price) in [(">=", self.min_price), ("<=", self.max_price)] {
            if let Some(price) = price {
                sql.add(&format!(" AND price_hundredths {comparison} "), SqlValue::Int(price.hundredths()));
            }
        }
        sql
    }

    fn add_words(&self, sql: &mut Sql) {
        sql.text += "listing_words AS w";
        // Of the other words an entry must exist; each has at most one.
        let mut words = self.words.iter().rev();
        let first = words.next().cloned().unwrap_or_default();
        sql.add(" WHERE w.word = ", SqlValue::Text(first));
        for word in words {
            sql.text += " AND EXISTS (SELECT 1 FROM listing_words AS o WHERE o.listing_id = w.listing_id";
            sql.add(" AND o.word = ", SqlValue::Text(word.clone()));
            sql.text += ")";
        }
        if let Some(id) = self.category_id {
            sql.add(" AND category_id = ", SqlValue::Int(id));
        }
    }

    fn add_counted_columns(&self, sql: &mut Sql) {
        if let Some(id) = self.category_id {
            sql.add(" AND category_id = ", SqlValue::Int(id));
        }
        if let Some(status) = self.status {
            sql.add(" AND status = ", SqlValue::Text(status.as_str().to_owned()));
        }
        if self.hides_drafts {
            sql.text += " AND status <> 'draft'";
        }
        if self.only_public {
            sql.text += " AND visibility = 'public'";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: PageRange = PageRange { limit: 20, offset: 40, before: None };

    #[test]
    fn every_filter_is_in_the_statement_the_count_and_the_key() {
        let price = |hundredths| Some(Price::from_hundredths(hundredths));
        let filters = Filters {
            user_id: Some(1),
            storefront_id: Some(2),
            category_id: Some(3),
            status: Some(Status::Sold),
            min_price: price(400),
            max_price: price(500),
            ..Filters::default()
        };
        let sql = filters.select(RANGE, '$');
        assert_eq!(
            sql.text,
            "SELECT id FROM listings WHERE deleted_at IS NULL AND category_id = $1 AND status = $2 AND user_id = $3 \
             AND storefront_id = $4 AND price_hundredths >= $5 AND price_hundredths <= $6 ORDER BY id DESC LIMIT $7 \
             OFFSET $8"
        );
        assert_eq!(sql.values.len(), 8);
        assert!(filters.count('?').text.ends_with("price_hundredths <= ?6 LIMIT 1001) AS counted"));
        assert_eq!(filters.cache_key(RANGE), ";1,2,3,400,500;sold;20,40");
        assert_eq!(filters.cache_scope(), CacheScope::OfStorefront(2));
        let next = PageRange { before: Some(9), offset: 0, ..RANGE };
        let sql = filters.select(next, '$');
        assert!(sql.text.ends_with("AND id < $7 ORDER BY id DESC LIMIT $8 OFFSET $9"), "{}", sql.text);
        assert_eq!(filters.cache_key(next), ";1,2,3,400,500;sold;20,0<9");
    }

    #[test]
    fn hidden_drafts_are_neither_in_the_statement_nor_the_count() {
        let filters = Filters { category_id: Some(3), hides_drafts: true, ..Filters::default() };
        assert!(filters.may_match_drafts());
        for sql in [filters.select(RANGE, '?'), filters.count('?')] {
            assert!(sql.text.contains(" AND category_id = ?1 AND status <> 'draft'"), "{}", sql.text);
        }
        assert_ne!(filters.cache_key(RANGE), Filters { hides_drafts: false, ..filters }.cache_key(RANGE));
    }

    #[test]
    fn listings_that_are_not_public_are_neither_in_the_statement_nor_the_count() {
        let filters = Filters { category_id: Some(3), only_public: true, ..Filters::default() };
        for sql in [filters.select(RANGE, '?'), filters.count('?')] {
            assert!(sql.text.contains(" AND category_id = ?1 AND visibility = 'public'"), "{}", sql.text);
        }
        assert_ne!(filters.cache_key(RANGE), Filters { only_public: false, ..filters }.cache_key(RANGE));
    }

    #[test]
    fn a_search_reads_the_entries_of_its_words() {
        let words = vec!["bike".to_owned(), "red".to_owned()];
        let filters = Filters { words, category_id: Some(3), ..Filters::default() };
        assert_eq!(
            filters.count('?').text,
            "SELECT count(*) FROM (SELECT 1 FROM listing_words AS w WHERE w.word = ?1 AND EXISTS (SELECT 1 FROM \
             listing_words AS o WHERE o.listing_id = w.listing_id AND o.word = ?2) AND category_id = ?3 LIMIT 1001) \
             AS counted"
        );
        assert_eq!(filters.cache_scope(), CacheScope::Word("bike".to_owned()));
        assert_eq!(filters.cache_key(RANGE), "bike red;,,3,,;;20,40");
    }

    #[test]
    fn a_total_by_category_status_and_visibility_is_read_from_the_stored_counts() {
        let filters = Filters { category_id: Some(3), ..Filters::default() };
        assert_eq!(
            filters.count('?').text,
            "SELECT coalesce(sum(listings), 0) FROM category_counts WHERE 1 = 1 AND category_id = ?1"
        );
    }
}
