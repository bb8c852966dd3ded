//! Listings similar to one: of the same category and active, nearest in price first, newest first among equals.

use super::{Sql, SqlValue};
use crate::listing::Listing;
use crate::price::Price;
use crate::scope::CacheScope;

/// The condition of the index `listings_by_price`.
const OFFERS: &str = "SELECT id, price_hundredths FROM listings WHERE deleted_at IS NULL AND status = 'active' \
     AND visibility = 'public'";

/// A query for listings similar to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimilarQuery {
    id: i64,
    category_id: i64,
    price: Price,
}

impl SimilarQuery {
    /// Listings similar to this one, without it.
    #[must_use]
    pub fn to(listing: &Listing) -> Self {
        Self { id: listing.id, category_id: listing.category_id, price: listing.price }
    }

    /// The scope of an answer; the listing itself is in the key.
    #[must_use]
    pub fn cache_scope(&self) -> CacheScope {
        CacheScope::Offers(self.category_id)
    }

    /// A unique cache key.
    #[must_use]
    pub fn cache_key(&self, limit: i64) -> String {
        format!("{};{};{limit}", self.id, self.price.hundredths())
    }

    /// The ids of at most `limit` listings; the store writes `placeholder` before a value's number. Both sides of the
    /// price are read in index order, so the cost does not depend on the number of listings.
    #[must_use]
    pub fn select(&self, limit: i64, placeholder: char) -> Sql {
        let text = "SELECT id FROM (".to_owned();
        let mut sql = Sql { text, values: Vec::new(), placeholder, preceding_values: 0 };
        self.add_side(&mut sql, "SELECT * FROM (", " AND price_hundredths >= ");
        sql.add(" ORDER BY price_hundredths, id DESC LIMIT ", SqlValue::Int(limit));
        self.add_side(&mut sql, ") AS dearer UNION ALL SELECT * FROM (", " AND price_hundredths < ");
        sql.add(" ORDER BY price_hundredths DESC, id DESC LIMIT ", SqlValue::Int(limit));
        let nearest = ") AS cheaper) AS offers ORDER BY abs(price_hundredths - ";
        sql.add(nearest, SqlValue::Int(self.price.hundredths()));
        sql.add("), id DESC LIMIT ", SqlValue::Int(limit));
        sql
    }

    fn add_side(&self, sql: &mut Sql, before: &str, comparison: &str) {
        sql.text += before;
        sql.text += OFFERS;
        sql.add(" AND category_id = ", SqlValue::Int(self.category_id));
        sql.add(" AND id <> ", SqlValue::Int(self.id));
        sql.add(comparison, SqlValue::Int(self.price.hundredths()));
    }
}
