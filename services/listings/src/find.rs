//! What a search or a list asks for, and the SQL that finds it: the same in both stores.
//!
//! With words, entries of `listing_words` are read, which hold active listings alone together with what searches
//! filter by; without, the listings themselves. Every filter is in the key of a cached answer, and in the count.

mod similar;

pub use similar::Similar;

use crate::listing::Status;
use crate::price::Price;
use crate::scope::Scope;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Filters that all must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Filters {
    /// Words that title or description have; with any, only active listings are found.
    pub words: Vec<String>,
    /// Their owner.
    pub user_id: Option<i64>,
    /// Their storefront.
    pub storefront_id: Option<i64>,
    /// Their category.
    pub category_id: Option<i64>,
    /// Where they stand.
    pub status: Option<Status>,
    /// At least so much.
    pub min_price: Option<Price>,
    /// At most so much.
    pub max_price: Option<Price>,
}

/// A part of what is found, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slice {
    /// At most so many.
    pub limit: i64,
    /// After so many.
    pub offset: i64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Page {
    /// Newest first.
    pub ids: Vec<i64>,
    /// How many there are in all.
    pub total: i64,
}

/// A value in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
}

/// A statement with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// The text; values stand in it by their number after `mark`.
    pub text: String,
    /// From number 1, or from where another statement's end.
    pub values: Vec<Value>,
    mark: char,
    before: usize,
}

impl Sql {
    fn add(&mut self, sql: &str, value: Value) {
        self.values.push(value);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{sql}{}{}", self.mark, self.before + self.values.len());
    }
}

impl Filters {
    /// What an answer to them depends on.
    #[must_use]
    pub fn scope(&self) -> Scope {
        // The longest word is likely the rarest.
        if let Some(word) = self.words.iter().max_by_key(|word| word.len()) {
            return Scope::Word(word.clone());
        }
        match (self.storefront_id, self.user_id, self.category_id) {
            (Some(id), _, _) => Scope::OfStorefront(id),
            (None, Some(id), _) => Scope::OfUser(id),
            (None, None, Some(id)) => Scope::OfCategory(id),
            (None, None, None) => Scope::All,
        }
    }

    /// All of them and the slice, as a text that no other question has.
    #[must_use]
    pub fn key(&self, slice: Slice) -> String {
        let status = self.status.map_or("", Status::word);
        let Self { words, user_id, storefront_id, category_id, min_price, max_price, .. } = self;
        let [min, max] = [min_price, max_price].map(|price| price.map(Price::hundredths));
        let number = |id: &Option<i64>| id.map(|id| id.to_string()).unwrap_or_default();
        let numbers = [user_id, storefront_id, category_id, &min, &max].map(number).join(",");
        format!("{};{numbers};{status};{},{}", words.join(" "), slice.limit, slice.offset)
    }

    /// Whether the kept numbers by category and status tell how many there are.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        let Self { words, user_id, storefront_id, min_price, max_price, .. } = self;
        words.is_empty()
            && user_id.is_none()
            && storefront_id.is_none()
            && min_price.is_none()
            && max_price.is_none()
    }

    /// The ids of a slice; `mark` is what the store writes before a value's number.
    #[must_use]
    pub fn select(&self, slice: Slice, mark: char) -> Sql {
        let mut sql = self.matching(if self.words.is_empty() { "id" } else { "w.listing_id" }, (mark, 0));
        sql.text += if self.words.is_empty() { " ORDER BY id DESC" } else { " ORDER BY w.listing_id DESC" };
        sql.add(" LIMIT ", Value::Int(slice.limit));
        sql.add(" OFFSET ", Value::Int(slice.offset));
        sql
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self, mark: char) -> Sql {
        self.count_after(0, mark)
    }

    /// The same with its values numbered after those of another statement.
    #[must_use]
    pub fn count_after(&self, before: usize, mark: char) -> Sql {
        if self.is_counted() {
            let text = "SELECT coalesce(sum(listings), 0) FROM category_counts WHERE 1 = 1".to_owned();
            let mut sql = Sql { text, values: Vec::new(), mark, before };
            self.add_kind(&mut sql);
            return sql;
        }
        self.matching("count(*)", (mark, before))
    }

    fn matching(&self, what: &str, (mark, before): (char, usize)) -> Sql {
        let mut sql = Sql { text: format!("SELECT {what} FROM "), values: Vec::new(), mark, before };
        if self.words.is_empty() {
            sql.text += "listings WHERE deleted_at IS NULL";
            self.add_kind(&mut sql);
            for (column, id) in [("user_id", self.user_id), ("storefront_id", self.storefront_id)] {
                if let Some(id) = id {
                    sql.add(&format!(" AND {column} = "), Value::Int(id));
                }
            }
        } else {
            self.add_words(&mut sql);
        }
        for (comparison, price) in [(">=", self.min_price), ("<=", self.max_price)] {
            if let Some(price) = price {
                sql.add(&format!(" AND price_hundredths {comparison} "), Value::Int(price.hundredths()));
            }
        }
        sql
    }

    fn add_words(&self, sql: &mut Sql) {
        sql.text += "listing_words AS w";
        // Of the other words only the entry's existence counts; each has one at most.
        let mut words = self.words.iter().rev();
        let first = words.next().cloned().unwrap_or_default();
        sql.add(" WHERE w.word = ", Value::Text(first));
        for word in words {
            sql.text += " AND EXISTS (SELECT 1 FROM listing_words AS o WHERE o.listing_id = w.listing_id";
            sql.add(" AND o.word = ", Value::Text(word.clone()));
            sql.text += ")";
        }
        if let Some(id) = self.category_id {
            sql.add(" AND category_id = ", Value::Int(id));
        }
    }

    fn add_kind(&self, sql: &mut Sql) {
        if let Some(id) = self.category_id {
            sql.add(" AND category_id = ", Value::Int(id));
        }
        if let Some(status) = self.status {
            sql.add(" AND status = ", Value::Text(status.word().to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Slice = Slice { limit: 20, offset: 40 };

    #[test]
    fn every_filter_is_in_the_statement_the_count_and_the_key() {
        let price = |hundredths| Some(Price::of_hundredths(hundredths));
        let filters = Filters {
            user_id: Some(1),
            storefront_id: Some(2),
            category_id: Some(3),
            status: Some(Status::Sold),
            min_price: price(400),
            max_price: price(500),
            ..Filters::default()
        };
        let sql = filters.select(SLICE, '$');
        assert_eq!(
            sql.text,
            "SELECT id FROM listings WHERE deleted_at IS NULL AND category_id = $1 AND status = $2 AND user_id = $3 \
             AND storefront_id = $4 AND price_hundredths >= $5 AND price_hundredths <= $6 ORDER BY id DESC LIMIT $7 \
             OFFSET $8"
        );
        assert_eq!(sql.values.len(), 8);
        assert!(filters.count('?').text.ends_with("price_hundredths <= ?6"));
        assert_eq!(filters.key(SLICE), ";1,2,3,400,500;sold;20,40");
        assert_eq!(filters.scope(), Scope::OfStorefront(2));
    }

    #[test]
    fn searches_read_the_entries_of_words() {
        let words = vec!["bike".to_owned(), "red".to_owned()];
        let filters = Filters { words, category_id: Some(3), ..Filters::default() };
        assert_eq!(
            filters.count('?').text,
            "SELECT count(*) FROM listing_words AS w WHERE w.word = ?1 AND EXISTS (SELECT 1 FROM listing_words AS o \
             WHERE o.listing_id = w.listing_id AND o.word = ?2) AND category_id = ?3"
        );
        assert_eq!(filters.scope(), Scope::Word("bike".to_owned()));
        assert_eq!(filters.key(SLICE), "bike red;,,3,,;;20,40");
    }

    #[test]
    fn what_is_counted_anyway_is_not_counted_again() {
        let filters = Filters { category_id: Some(3), ..Filters::default() };
        assert_eq!(
            filters.count('?').text,
            "SELECT coalesce(sum(listings), 0) FROM category_counts WHERE 1 = 1 AND category_id = ?1"
        );
    }
}
