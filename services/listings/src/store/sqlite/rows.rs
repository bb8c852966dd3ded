//! Reads rows.

use std::collections::BTreeMap;

use kit::clock::UtcMs;
use rusqlite::types::{FromSqlError, ToSqlOutput};
use rusqlite::{Connection, OptionalExtension, Result, Row, ToSql, params, params_from_iter};

use crate::categories::Category;
use crate::find::{Filters, Page, PageRange, Sql, SqlValue};
use crate::listing::{Image, Listing, Status, Visibility};
use crate::price::Price;
use crate::stats::StorefrontStats;
use crate::store::MAX_OF_SKUS;
#[cfg(feature = "faults")]
use crate::store::faults::{is_unindexed, stats_over_all_listings, unindexed};
use crate::write::{FavoriteKey, KeyedOrderLine, OrderLine, StockLevels};

const COLUMNS: &str = "id, uuid, user_id, storefront_id, title, description, price_hundredths, currency, category_id, \
     status, visibility, quantity, sku, min(view_count + coalesce(views, 0), 2147483647), \
     max(favorites_count + coalesce(favorites, 0), 0), sold_count, created_at, updated_at, published_at, translations, \
     original_language, tags FROM listings LEFT JOIN listing_counters ON listing_id = id";

/// The listings with these ids that are not deleted, in no order: two queries for any number of ids.
pub(super) fn listings(connection: &Connection, ids: &[i64]) -> Result<Vec<Listing>> {
    let (condition, ids) = match ids {
        [] => return Ok(Vec::new()),
        [id] => ("= ?1", SqlValue::Int(*id)),
        ids => ("IN (SELECT value FROM json_each(?1))", SqlValue::Text(json(ids))),
    };
    let text = format!("SELECT {COLUMNS} WHERE id {condition} AND deleted_at IS NULL");
    let mut found: Vec<Listing> =
        connection.prepare_cached(&text)?.query_map([&ids], listing)?.collect::<Result<_>>()?;
    let text = format!(
        "SELECT listing_id, id, url, display_order, is_primary FROM listing_images WHERE listing_id {condition}
         ORDER BY listing_id, display_order"
    );
    let mut statement = connection.prepare_cached(&text)?;
    let mut images = statement.query([&ids])?;
    while let Some(row) = images.next()? {
        let listing_id: i64 = row.get(0)?;
        if let Some(listing) = found.iter_mut().find(|listing| listing.id == listing_id) {
            listing.images.push(image(row)?);
        }
    }
    Ok(found)
}

pub(super) fn json(ids: &[i64]) -> String {
    format!("[{}]", ids.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}

fn image(row: &Row<'_>) -> Result<Image> {
    Ok(Image { id: row.get(1)?, url: row.get(2)?, display_order: row.get(3)?, is_primary: row.get(4)? })
}

fn listing(row: &Row<'_>) -> Result<Listing> {
    let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let unknown = || rusqlite::Error::from(FromSqlError::InvalidType);
    let translations = match row.get_ref(19)?.as_str_or_null()? {
        Some(json) => serde_json::from_str(json).map_err(|_| unknown())?,
        None => BTreeMap::new(),
    };
    let tags = match row.get_ref(21)?.as_str_or_null()? {
        Some(json) => serde_json::from_str(json).map_err(|_| unknown())?,
        None => Vec::new(),
    };
    Ok(Listing {
        id: row.get(0)?,
        uuid: row.get(1)?,
        user_id: row.get(2)?,
        storefront_id: row.get(3)?,
        title: row.get(4)?,
        description: row.get(5)?,
        price: Price::from_hundredths(row.get(6)?),
        currency: row.get(7)?,
        category_id: row.get(8)?,
        status: Status::parse(text(9)?).ok_or_else(unknown)?,
        visibility: Visibility::parse(text(10)?).ok_or_else(unknown)?,
        quantity: row.get(11)?,
        sku: row.get(12)?,
        views: row.get(13)?,
        favorites: row.get(14)?,
        sold: row.get(15)?,
        created_at: UtcMs(row.get(16)?),
        updated_at: UtcMs(row.get(17)?),
        published_at: row.get::<_, Option<i64>>(18)?.map(UtcMs),
        deleted_at: None,
        translations,
        original_language: row.get(20)?,
        images: Vec::new(),
        tags,
    })
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        match self {
            Self::Int(number) => number.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

/// Both statements read the same snapshot.
pub(super) fn page(connection: &Connection, filters: &Filters, range: PageRange) -> Result<Page> {
    let snapshot = connection.unchecked_transaction()?;
    let (select, count) = (filters.select(range, '?'), filters.count('?'));
    #[cfg(feature = "faults")]
    let (select, count) =
        if is_unindexed() { (unindexed(select), unindexed(count)) } else { (select, count) };
    let found = ids(connection, select)?;
    let total = ids(connection, count)?.first().copied().unwrap_or_default();
    snapshot.finish()?;
    Ok(Page { ids: found, total })
}

/// The results of a statement with one number in each row.
pub(super) fn ids(connection: &Connection, sql: Sql) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(&sql.text)?;
    statement.query_map(params_from_iter(sql.values), |row| row.get(0))?.collect()
}

pub(super) fn stats(connection: &Connection, storefront_id: i64) -> Result<StorefrontStats> {
    let text = "SELECT total, active, out_of_stock, low_stock, value_hundredths, sold FROM storefront_stats
                WHERE storefront_id = ?1";
    #[cfg(feature = "faults")]
    let over_all_listings = stats_over_all_listings('?');
    #[cfg(feature = "faults")]
    let text = if is_unindexed() { over_all_listings.as_str() } else { text };
    let stats = |row: &Row<'_>| {
        let value = row.get_ref(4)?.as_str()?.parse().map_err(|_| FromSqlError::InvalidType)?;
        Ok(StorefrontStats {
            total: row.get(0)?,
            active: row.get(1)?,
            out_of_stock: row.get(2)?,
            low_stock: row.get(3)?,
            value,
            sold: row.get(5)?,
        })
    };
    let found = connection.prepare_cached(text)?.query_row([storefront_id], stats).optional()?;
    Ok(found.unwrap_or_default())
}

pub(super) fn storefront_owner(connection: &Connection, storefront_id: i64) -> Result<Option<i64>> {
    let text = "SELECT user_id FROM storefronts WHERE storefront_id = ?1";
    connection.prepare_cached(text)?.query_row([storefront_id], |row| row.get(0)).optional()
}

pub(super) fn categories(connection: &Connection) -> Result<Vec<Category>> {
    let text = "SELECT id, name, slug, parent_id, sort_order,
                    coalesce((SELECT listings FROM category_counts
                              WHERE category_id = id AND status = 'active' AND visibility = 'public'), 0),
                    icon, description, is_active, translations, custom_ui_component
                FROM categories ORDER BY sort_order, id";
    let category = |row: &Row<'_>| {
        let translations = row.get_ref(9)?.as_str_or_null()?.unwrap_or("{}");
        Ok(Category {
            id: row.get(0)?,
            name: row.get(1)?,
            slug: row.get(2)?,
            parent_id: row.get(3)?,
            sort_order: row.get(4)?,
            listings: row.get(5)?,
            icon: row.get(6)?,
            description: row.get(7)?,
            is_active: row.get(8)?,
            translations: serde_json::from_str(translations).map_err(|_| FromSqlError::InvalidType)?,
            custom_ui_component: row.get(10)?,
        })
    };
    connection.prepare_cached(text)?.query_map([], category)?.collect()
}

/// Deleted listings have no favourites.
pub(super) fn favorites(connection: &Connection, user_id: i64, range: PageRange) -> Result<Page> {
    let snapshot = connection.unchecked_transaction()?;
    let text = "SELECT listing_id FROM listing_favorites WHERE user_id = ?1
                ORDER BY marked_at DESC, listing_id DESC LIMIT ?2 OFFSET ?3";
    let mut statement = connection.prepare_cached(text)?;
    let ids = statement
        .query_map([user_id, range.limit, range.offset], |row| row.get(0))?
        .collect::<Result<Vec<i64>>>()?;
    let text = "SELECT count(*) FROM listing_favorites WHERE user_id = ?1";
    let total = connection.prepare_cached(text)?.query_row([user_id], |row| row.get(0))?;
    snapshot.finish()?;
    Ok(Page { ids, total })
}

pub(super) fn favored_by(connection: &Connection, listing_id: i64, limit: i64) -> Result<Vec<i64>> {
    let text = "SELECT user_id FROM listing_favorites WHERE listing_id = ?1 ORDER BY user_id LIMIT ?2";
    connection.prepare_cached(text)?.query_map([listing_id, limit], |row| row.get(0))?.collect()
}

pub(super) fn is_favorite(connection: &Connection, favorite: FavoriteKey) -> Result<bool> {
    let text = "SELECT 1 FROM listing_favorites WHERE user_id = ?1 AND listing_id = ?2";
    connection.prepare_cached(text)?.exists([favorite.user_id, favorite.listing_id])
}

/// Stops with the unit by which there are more than an answer may have.
pub(super) fn of_skus(
    connection: &Connection,
    skus: &[String],
    storefront_id: Option<i64>,
) -> Result<Vec<(String, i64)>> {
    let text = "SELECT sku, id FROM listings
                WHERE sku = ?1 AND deleted_at IS NULL AND storefront_id = coalesce(?2, storefront_id)
                ORDER BY id LIMIT 1000";
    let mut statement = connection.prepare_cached(text)?;
    let mut found = Vec::new();
    for sku in skus {
        let rows = statement.query_map(params![sku, storefront_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        found.extend(rows.collect::<Result<Vec<_>>>()?);
        if found.len() > MAX_OF_SKUS {
            break;
        }
    }
    Ok(found)
}

pub(super) fn order(connection: &Connection, order_id: &str) -> Result<Vec<KeyedOrderLine>> {
    let text = "SELECT listing_id, quantity, stock_before, stock_after, is_returned FROM stock_orders
                WHERE order_id = ?1";
    let line = |row: &Row<'_>| {
        let stock = StockLevels { before: row.get(2)?, after: row.get(3)? };
        let line = OrderLine { quantity: row.get(1)?, stock, is_returned: row.get(4)? };
        Ok(KeyedOrderLine { order_id: order_id.to_owned(), listing_id: row.get(0)?, line })
    };
    connection.prepare_cached(text)?.query_map([order_id], line)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::SimilarQuery;
    use crate::store::sqlite::schema::MIGRATIONS;

    /// The query plan.
    fn plan(connection: &Connection, sql: Sql) -> String {
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", sql.text)).unwrap();
        let steps = statement.query_map(params_from_iter(sql.values), |row| row.get::<_, String>(3)).unwrap();
        steps.collect::<Result<Vec<_>>>().unwrap().join("; ")
    }

    fn empty() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&MIGRATIONS.steps.concat()).unwrap();
        connection
    }

    #[test]
    fn similar_listings_are_read_from_both_sides_of_the_price_by_index() {
        let plan = plan(&empty(), SimilarQuery::to(&crate::listing::example(1)).select(20, '?'));
        let by_price = "SEARCH listings USING INDEX listings_by_price (category_id=? AND price_hundredths";
        assert_eq!(plan.matches(by_price).count(), 2, "{plan}");
        assert!(!plan.contains("SCAN listings"), "{plan}");
    }

    /// Nor does a list by status alone read the listings of other statuses.
    #[test]
    fn a_list_by_status_alone_is_read_by_an_index() {
        use crate::find::PageRange;
        let range = PageRange { limit: 20, offset: 0, before: Some(9) };
        let sold = Filters { status: Some(Status::Sold), only_public: true, ..Filters::default() };
        let plan = plan(&empty(), sold.select(range, '?'));
        assert!(plan.contains("listings_by_status (status=? AND id<?)") && !plan.contains("TEMP"), "{plan}");
    }

    #[cfg(feature = "faults")]
    #[test]
    fn an_injected_fault_leaves_an_expression_without_an_index() {
        let connection = empty();
        let of_storefront = Filters { storefront_id: Some(3), ..Filters::default() }.count('?');
        let with_word = Filters { words: vec!["bike".to_owned()], ..Filters::default() }.count('?');
        for usual in [of_storefront.clone(), with_word] {
            let slow = plan(&connection, unindexed(usual.clone()));
            let usual = plan(&connection, usual);
            assert!(usual.contains("SEARCH") && !slow.contains("SEARCH"), "{usual} {slow}");
        }
        let mut stats = of_storefront;
        stats.text = stats_over_all_listings('?');
        assert!(plan(&connection, stats).starts_with("SCAN listings"));
    }
}
