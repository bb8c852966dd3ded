//! Reads rows.

use std::collections::HashMap;

use kit::clock::UtcMs;
use kit::postgres::Stamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::categories::Category;
use crate::find::{Page, SqlValue};
use crate::listing::{Image, Listing, Status, Visibility};
use crate::price::Price;
use crate::stats::StorefrontStats;

/// Listings with their images. A row that this version cannot read is skipped and logged.
pub(super) fn listings(rows: &[Row], images: &[Row]) -> Result<Vec<Listing>, Error> {
    let mut by_listing: HashMap<i64, Vec<Image>> = HashMap::new();
    for row in images {
        let image = Image {
            id: row.try_get(1)?,
            url: row.try_get(2)?,
            display_order: row.try_get(3)?,
            is_primary: row.try_get(4)?,
        };
        by_listing.entry(row.try_get(0)?).or_default().push(image);
    }
    let mut listings = Vec::with_capacity(rows.len());
    for row in rows {
        match listing(row)? {
            Some(mut listing) => {
                listing.images = by_listing.remove(&listing.id).unwrap_or_default();
                listings.push(listing);
            }
            None => tracing::error!(id = row.try_get::<_, i64>(0)?, "a listing cannot be read"),
        }
    }
    Ok(listings)
}

fn listing(row: &Row) -> Result<Option<Listing>, Error> {
    let status = Status::parse(row.try_get(9)?);
    let visibility = Visibility::parse(row.try_get(10)?);
    let (Some(status), Some(visibility)) = (status, visibility) else { return Ok(None) };
    let translations: Option<&str> = row.try_get(19)?;
    let Ok(translations) = serde_json::from_str(translations.unwrap_or("{}")) else { return Ok(None) };
    let tags: Option<&str> = row.try_get(21)?;
    let Ok(tags) = serde_json::from_str(tags.unwrap_or("[]")) else { return Ok(None) };
    let at = |column: usize| Ok::<UtcMs, Error>(row.try_get::<_, Stamp>(column)?.0);
    Ok(Some(Listing {
        id: row.try_get(0)?,
        uuid: row.try_get(1)?,
        user_id: row.try_get(2)?,
        storefront_id: row.try_get(3)?,
        title: row.try_get(4)?,
        description: row.try_get(5)?,
        price: Price::from_hundredths(row.try_get(6)?),
        currency: row.try_get(7)?,
        category_id: row.try_get(8)?,
        status,
        visibility,
        quantity: row.try_get(11)?,
        sku: row.try_get(12)?,
        views: row.try_get(13)?,
        favorites: row.try_get(14)?,
        sold: row.try_get(15)?,
        created_at: at(16)?,
        updated_at: at(17)?,
        published_at: row.try_get::<_, Option<Stamp>>(18)?.map(|stamp| stamp.0),
        deleted_at: None,
        translations,
        original_language: row.try_get(20)?,
        images: Vec::new(),
        tags,
    }))
}

pub(super) fn page(row: &Row) -> Result<Page, Error> {
    Ok(Page { ids: row.try_get(0)?, total: row.try_get(1)? })
}

pub(super) fn parameter(value: &SqlValue) -> &(dyn ToSql + Sync) {
    match value {
        SqlValue::Int(number) => number,
        SqlValue::Text(text) => text,
    }
}

pub(super) fn stats(row: Option<&Row>) -> Result<StorefrontStats, Error> {
    let Some(row) = row else { return Ok(StorefrontStats::default()) };
    let value: &str = row.try_get(4)?;
    Ok(StorefrontStats {
        total: row.try_get(0)?,
        active: row.try_get(1)?,
        out_of_stock: row.try_get(2)?,
        low_stock: row.try_get(3)?,
        // The column contains integers of at most forty digits.
        value: value.parse().unwrap_or(i128::MAX),
        sold: row.try_get(5)?,
    })
}

pub(super) fn categories(rows: &[Row]) -> Result<Vec<Category>, Error> {
    let category = |row: &Row| {
        let translations: Option<&str> = row.try_get(9)?;
        Ok(Category {
            id: row.try_get(0)?,
            name: row.try_get(1)?,
            slug: row.try_get(2)?,
            parent_id: row.try_get(3)?,
            sort_order: row.try_get(4)?,
            listings: row.try_get(5)?,
            icon: row.try_get(6)?,
            description: row.try_get(7)?,
            is_active: row.try_get(8)?,
            // Without names that cannot be read, clients show the category's own.
            translations: serde_json::from_str(translations.unwrap_or("{}")).unwrap_or_default(),
            custom_ui_component: row.try_get(10)?,
        })
    };
    rows.iter().map(category).collect()
}

pub(super) fn ids(rows: &[Row]) -> Result<Vec<i64>, Error> {
    rows.iter().map(|row| row.try_get(0)).collect()
}
