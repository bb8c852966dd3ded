//! Persists the changes of a group of writes, in the caller's transaction.

use kit::clock::UtcMs;
use rusqlite::{Connection, Result, params};

use super::rows;
use crate::listing::Listing;
use crate::write::{Changes, KeyedOrderLine};

pub(super) fn save(connection: &Connection, changes: &Changes, now: UtcMs) -> Result<()> {
    changes.inserted.iter().try_for_each(|listing| insert(connection, listing))?;
    storefronts(connection, changes)?;
    changes.updated.iter().try_for_each(|listing| update(connection, listing))?;
    counters(connection, changes)?;
    words(connection, changes)?;
    favorites(connection, changes, now)?;
    movements(connection, changes, now)?;
    stats(connection, changes)
}

fn translations(listing: &Listing) -> Option<String> {
    let has_translations = !listing.translations.is_empty();
    has_translations.then(|| serde_json::to_string(&listing.translations).unwrap_or_default())
}

fn insert(connection: &Connection, listing: &Listing) -> Result<()> {
    let text =
        "INSERT INTO listings VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                ?17, ?18, ?19, ?20, ?21, ?22, ?23)";
    connection.prepare_cached(text)?.execute(params![
        listing.id,
        listing.uuid,
        listing.user_id,
        listing.storefront_id,
        listing.title,
        listing.description,
        listing.price.hundredths(),
        listing.currency,
        listing.category_id,
        listing.status.as_str(),
        listing.visibility.as_str(),
        listing.quantity,
        listing.sku,
        listing.views,
        listing.favorites,
        listing.sold,
        listing.created_at.0,
        listing.updated_at.0,
        listing.published_at.map(|at| at.0),
        listing.deleted_at.map(|at| at.0),
        translations(listing),
        listing.original_language,
        listing.tags_json(),
    ])?;
    let text = "INSERT INTO listing_images (listing_id, display_order, id, url, is_primary)
                VALUES (?1, ?2, ?3, ?4, ?5)";
    for image in &listing.images {
        let row = params![listing.id, image.display_order, image.id, image.url, image.is_primary];
        connection.prepare_cached(text)?.execute(row)?;
    }
    Ok(())
}

fn storefronts(connection: &Connection, changes: &Changes) -> Result<()> {
    for (storefront_id, owner) in &changes.new_storefronts {
        let text = "INSERT INTO storefronts VALUES (?1, ?2)";
        connection.prepare_cached(text)?.execute([storefront_id, owner])?;
    }
    Ok(())
}

/// Updates every column that a write can change.
fn update(connection: &Connection, listing: &Listing) -> Result<()> {
    let text =
        "UPDATE listings SET title = ?2, description = ?3, price_hundredths = ?4, status = ?5, quantity = ?6,
                sold_count = ?7, updated_at = ?8, published_at = ?9, deleted_at = ?10, visibility = ?11, tags = ?12
                WHERE id = ?1";
    connection.prepare_cached(text)?.execute(params![
        listing.id,
        listing.title,
        listing.description,
        listing.price.hundredths(),
        listing.status.as_str(),
        listing.quantity,
        listing.sold,
        listing.updated_at.0,
        listing.published_at.map(|at| at.0),
        listing.deleted_at.map(|at| at.0),
        listing.visibility.as_str(),
        listing.tags_json(),
    ])?;
    Ok(())
}

fn counters(connection: &Connection, changes: &Changes) -> Result<()> {
    let text = "INSERT INTO listing_counters VALUES (?1, ?2, ?3) ON CONFLICT (listing_id) DO UPDATE SET
                views = views + excluded.views, favorites = favorites + excluded.favorites";
    for (id, counted) in &changes.counters {
        connection.prepare_cached(text)?.execute([*id, counted.views, counted.favorites])?;
    }
    Ok(())
}

fn words(connection: &Connection, changes: &Changes) -> Result<()> {
    let (delete, insert) = (
        "DELETE FROM listing_words WHERE word = ?1 AND listing_id = ?2",
        "INSERT INTO listing_words (word, listing_id, category_id, price_hundredths) VALUES (?1, ?2, ?3, ?4)",
    );
    for entry in &changes.search_entry_changes {
        for word in &entry.before {
            connection.prepare_cached(delete)?.execute(params![word, entry.id])?;
        }
        for word in &entry.now {
            let row = params![word, entry.id, entry.category_id, entry.price];
            connection.prepare_cached(insert)?.execute(row)?;
        }
    }
    Ok(())
}

fn favorites(connection: &Connection, changes: &Changes, now: UtcMs) -> Result<()> {
    // Later than the user's last favourite, also when the clock has been set back since.
    let text = "INSERT INTO listing_favorites (user_id, listing_id, marked_at) VALUES (?1, ?2, max(?3, 1 +
                coalesce((SELECT max(marked_at) FROM listing_favorites WHERE user_id = ?1), 0)))";
    for favorite in &changes.added_favorites {
        connection.prepare_cached(text)?.execute([favorite.user_id, favorite.listing_id, now.0])?;
    }
    let text = "DELETE FROM listing_favorites WHERE user_id = ?1 AND listing_id = ?2";
    for favorite in &changes.removed_favorites {
        connection.prepare_cached(text)?.execute([favorite.user_id, favorite.listing_id])?;
    }
    for listing in &changes.cleared_favorites {
        let text = "DELETE FROM listing_favorites WHERE listing_id = ?1";
        connection.prepare_cached(text)?.execute([listing])?;
    }
    Ok(())
}

fn movements(connection: &Connection, changes: &Changes, now: UtcMs) -> Result<()> {
    let text = "INSERT INTO inventory_movements (listing_id, movement_type, quantity, stock_before, stock_after, reason,
                notes, user_id, moved_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    for line in &changes.movements {
        connection.prepare_cached(text)?.execute(params![
            line.listing_id,
            line.direction.as_str(),
            line.quantity,
            line.stock.before,
            line.stock.after,
            line.reason,
            line.notes,
            line.user_id,
            now.0,
        ])?;
    }
    let text = "INSERT INTO stock_orders VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                ON CONFLICT (order_id, listing_id) DO UPDATE SET is_returned = excluded.is_returned";
    for KeyedOrderLine { order_id, listing_id, line } in &changes.orders {
        let stock = line.stock;
        let row = params![order_id, listing_id, line.quantity, stock.before, stock.after, line.is_returned];
        connection.prepare_cached(text)?.execute(row)?;
    }
    Ok(())
}

/// There is no other writer, so a row read here cannot change before it is written.
fn stats(connection: &Connection, changes: &Changes) -> Result<()> {
    let text = "INSERT OR REPLACE INTO storefront_stats VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for (storefront, difference) in &changes.stats {
        let stats = rows::stats(connection, *storefront)? + *difference;
        connection.prepare_cached(text)?.execute(params![
            storefront,
            stats.total,
            stats.active,
            stats.out_of_stock,
            stats.low_stock,
            stats.value.to_string(),
            stats.sold,
        ])?;
    }
    let text = "INSERT INTO category_counts VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (category_id, status, visibility) DO UPDATE SET listings = listings + excluded.listings";
    for ((category, status, visibility), difference) in &changes.counts {
        let row = params![category, status.as_str(), visibility.as_str(), difference];
        connection.prepare_cached(text)?.execute(row)?;
    }
    Ok(())
}
