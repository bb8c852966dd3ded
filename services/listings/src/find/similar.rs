//! What is like a listing: of its category and for sale, nearest in price first, newest first among equals.

use super::{Sql, Value};
use crate::listing::Listing;
use crate::price::Price;
use crate::scope::Scope;

/// As the index of offers by price has them.
const OFFERS: &str = "SELECT id, price_hundredths FROM listings WHERE deleted_at IS NULL AND status = 'active' \
     AND visibility = 'public'";

/// Like what it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Similar {
    id: i64,
    category_id: i64,
    price: Price,
}

impl Similar {
    /// Like this listing, without it.
    #[must_use]
    pub fn to(listing: &Listing) -> Self {
        Self { id: listing.id, category_id: listing.category_id, price: listing.price }
    }

    /// What the answer depends on besides the listing itself, which is in the key.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::Offers(self.category_id)
    }

    /// A text that no other question has.
    #[must_use]
    pub fn key(&self, limit: i64) -> String {
        format!("{};{};{limit}", self.id, self.price.hundredths())
    }

    /// The ids of at most `limit`; `mark` is what the store writes before a value's number. Both sides of the price are
    /// read in their order, however many offers there are.
    #[must_use]
    pub fn select(&self, limit: i64, mark: char) -> Sql {
        let mut sql = Sql { text: "SELECT id FROM (".to_owned(), values: Vec::new(), mark, before: 0 };
        self.add_side(&mut sql, ("SELECT * FROM (", " AND price_hundredths >= "));
        sql.add(" ORDER BY price_hundredths, id DESC LIMIT ", Value::Int(limit));
        self.add_side(&mut sql, (") AS dearer UNION ALL SELECT * FROM (", " AND price_hundredths < "));
        sql.add(" ORDER BY price_hundredths DESC, id DESC LIMIT ", Value::Int(limit));
        let nearest = ") AS cheaper) AS offers ORDER BY abs(price_hundredths - ";
        sql.add(nearest, Value::Int(self.price.hundredths()));
        sql.add("), id DESC LIMIT ", Value::Int(limit));
        sql
    }

    fn add_side(&self, sql: &mut Sql, (before, comparison): (&str, &str)) {
        sql.text += before;
        sql.text += OFFERS;
        sql.add(" AND category_id = ", Value::Int(self.category_id));
        sql.add(" AND id <> ", Value::Int(self.id));
        sql.add(comparison, Value::Int(self.price.hundredths()));
    }
}
