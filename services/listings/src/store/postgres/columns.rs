//! Persists changes, one statement for each kind of change; the rows are passed as arrays of columns.

use kit::clock::UtcMs;
use kit::postgres::Stamp;
use tokio_postgres::{Client, Error};

use super::statements::WriterStatements;
use crate::listing::Listing;
use crate::stats::StorefrontStats;
use crate::write::Changes;

/// Writes all changes and commits. All statements are pipelined, the commit last: after a statement that failed, the
/// server turns the commit into a rollback, and that statement's error is returned. Each part must therefore be one
/// statement.
pub(super) async fn save(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
    now: UtcMs,
) -> Result<(), Error> {
    tokio::try_join!(
        biased;
        insert(client, statements, &changes.inserted),
        insert_images(client, statements, &changes.inserted),
        insert_storefronts(client, statements, changes),
        update(client, statements, &changes.updated),
        delete_words(client, statements, changes),
        insert_words(client, statements, changes),
        add_favorites(client, statements, changes, now),
        remove_favorites(client, statements, changes),
        clear_favorites(client, statements, changes),
        movements(client, statements, changes, now),
        orders(client, statements, changes),
        update_stats(client, statements, changes),
        update_counts(client, statements, changes),
        client.batch_execute("COMMIT"),
    )
    .map(drop)
}

fn column<'a, T, R>(rows: &'a [R], value: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn stamps(listings: &[Listing], at: impl Fn(&Listing) -> Option<UtcMs>) -> Vec<Option<Stamp>> {
    column(listings, |listing| at(listing).map(Stamp))
}

fn translations(listing: &Listing) -> Option<String> {
    let has_translations = !listing.translations.is_empty();
    has_translations.then(|| serde_json::to_string(&listing.translations).unwrap_or_default())
}

async fn insert(client: &Client, statements: &WriterStatements, new: &[Listing]) -> Result<(), Error> {
    if new.is_empty() {
        return Ok(());
    }
    client
        .execute(
            &statements.insert,
            &[
                &column(new, |l| l.id),
                &column(new, |l| l.uuid.as_str()),
                &column(new, |l| l.user_id),
                &column(new, |l| l.storefront_id),
                &column(new, |l| l.title.as_str()),
                &column(new, |l| l.description.as_deref()),
                &column(new, |l| l.price.hundredths()),
                &column(new, |l| l.currency.as_str()),
                &column(new, |l| l.category_id),
                &column(new, |l| l.status.as_str()),
                &column(new, |l| l.visibility.as_str()),
                &column(new, |l| l.quantity),
                &column(new, |l| l.sku.as_deref()),
                &column(new, |l| l.views),
                &column(new, |l| l.favorites),
                &column(new, |l| l.sold),
                &column(new, |l| Stamp(l.created_at)),
                &column(new, |l| Stamp(l.updated_at)),
                &stamps(new, |l| l.published_at),
                &stamps(new, |l| l.deleted_at),
                &column(new, translations),
                &column(new, |l| l.original_language.as_str()),
                &column(new, Listing::tags_json),
            ],
        )
        .await
        .map(drop)
}

async fn insert_images(client: &Client, statements: &WriterStatements, new: &[Listing]) -> Result<(), Error> {
    let images: Vec<_> = new.iter().flat_map(|l| l.images.iter().map(move |image| (l.id, image))).collect();
    if images.is_empty() {
        return Ok(());
    }
    let [listings, ids] = [column(&images, |row| row.0), column(&images, |row| row.1.id)];
    let urls = column(&images, |row| row.1.url.as_str());
    let (positions, primary) =
        (column(&images, |row| row.1.display_order), column(&images, |row| row.1.is_primary));
    client.execute(&statements.insert_images, &[&listings, &positions, &ids, &urls, &primary]).await.map(drop)
}

async fn update(client: &Client, statements: &WriterStatements, rows: &[Listing]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    client
        .execute(
            &statements.update,
            &[
                &column(rows, |l| l.id),
                &column(rows, |l| l.title.as_str()),
                &column(rows, |l| l.description.as_deref()),
                &column(rows, |l| l.price.hundredths()),
                &column(rows, |l| l.status.as_str()),
                &column(rows, |l| l.quantity),
                &column(rows, |l| l.views),
                &column(rows, |l| l.favorites),
                &column(rows, |l| l.sold),
                &column(rows, |l| Stamp(l.updated_at)),
                &stamps(rows, |l| l.published_at),
                &stamps(rows, |l| l.deleted_at),
                &column(rows, |l| l.visibility.as_str()),
                &column(rows, Listing::tags_json),
            ],
        )
        .await
        .map(drop)
}

async fn delete_words(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    let entries = changes.search_entry_changes.iter();
    let deleted: Vec<(&str, i64)> =
        entries.flat_map(|entry| entry.before.iter().map(|word| (word.as_str(), entry.id))).collect();
    if deleted.is_empty() {
        return Ok(());
    }
    let (words, ids) = (column(&deleted, |row| row.0), column(&deleted, |row| row.1));
    client.execute(&statements.delete_words, &[&words, &ids]).await.map(drop)
}

async fn insert_words(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    let entries = changes.search_entry_changes.iter();
    let new: Vec<_> =
        entries.flat_map(|entry| entry.now.iter().map(move |word| (word.as_str(), entry))).collect();
    if new.is_empty() {
        return Ok(());
    }
    let (words, ids) = (column(&new, |row| row.0), column(&new, |row| row.1.id));
    let (categories, prices) = (column(&new, |row| row.1.category_id), column(&new, |row| row.1.price));
    client.execute(&statements.insert_words, &[&words, &ids, &categories, &prices]).await.map(drop)
}

async fn add_favorites(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
    now: UtcMs,
) -> Result<(), Error> {
    let added = &changes.added_favorites;
    if added.is_empty() {
        return Ok(());
    }
    let (users, listings) = (column(added, |key| key.user_id), column(added, |key| key.listing_id));
    client.execute(&statements.add_favorites, &[&users, &listings, &Stamp(now)]).await.map(drop)
}

async fn insert_storefronts(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    if changes.new_storefronts.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = changes.new_storefronts.keys().copied().collect();
    let owners: Vec<i64> = changes.new_storefronts.values().copied().collect();
    client.execute(&statements.insert_storefronts, &[&ids, &owners]).await.map(drop)
}

async fn remove_favorites(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    let removed = &changes.removed_favorites;
    if removed.is_empty() {
        return Ok(());
    }
    let (users, listings) = (column(removed, |key| key.user_id), column(removed, |key| key.listing_id));
    client.execute(&statements.remove_favorites, &[&users, &listings]).await.map(drop)
}

async fn clear_favorites(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    if changes.cleared_favorites.is_empty() {
        return Ok(());
    }
    client.execute(&statements.clear_favorites, &[&changes.cleared_favorites]).await.map(drop)
}

async fn movements(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
    now: UtcMs,
) -> Result<(), Error> {
    let lines = &changes.movements;
    if lines.is_empty() {
        return Ok(());
    }
    let (before, after) = (column(lines, |line| line.stock.before), column(lines, |line| line.stock.after));
    let (ids, users) = (column(lines, |line| line.listing_id), column(lines, |line| line.user_id));
    let kinds = column(lines, |line| line.direction.as_str());
    let quantities = column(lines, |line| line.quantity);
    let (reasons, notes) =
        (column(lines, |line| line.reason.as_deref()), column(lines, |line| line.notes.as_deref()));
    let at = Stamp(now);
    client
        .execute(
            &statements.movements,
            &[&ids, &kinds, &quantities, &before, &after, &reasons, &notes, &users, &at],
        )
        .await
        .map(drop)
}

async fn orders(client: &Client, statements: &WriterStatements, changes: &Changes) -> Result<(), Error> {
    let lines = &changes.orders;
    if lines.is_empty() {
        return Ok(());
    }
    let (orders, ids) =
        (column(lines, |keyed| keyed.order_id.as_str()), column(lines, |keyed| keyed.listing_id));
    let quantities = column(lines, |keyed| keyed.line.quantity);
    let before = column(lines, |keyed| keyed.line.stock.before);
    let after = column(lines, |keyed| keyed.line.stock.after);
    let returned = column(lines, |keyed| keyed.line.is_returned);
    client
        .execute(&statements.save_orders, &[&orders, &ids, &quantities, &before, &after, &returned])
        .await
        .map(drop)
}

async fn update_stats(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    if changes.stats.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = changes.stats.iter().collect();
    let ids = column(&rows, |row| *row.0);
    let values: [fn(&StorefrontStats) -> i64; 5] =
        [|s| s.total, |s| s.active, |s| s.out_of_stock, |s| s.low_stock, |s| s.sold];
    let [total, active, out, low, sold] = values.map(|of| column(&rows, |row| of(row.1)));
    let value = column(&rows, |row| row.1.value.to_string());
    client
        .execute(&statements.update_stats, &[&ids, &total, &active, &out, &low, &value, &sold])
        .await
        .map(drop)
}

async fn update_counts(
    client: &Client,
    statements: &WriterStatements,
    changes: &Changes,
) -> Result<(), Error> {
    if changes.counts.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = changes.counts.iter().collect();
    let (categories, differences) = (column(&rows, |row| row.0.0), column(&rows, |row| *row.1));
    let statuses = column(&rows, |row| row.0.1.as_str());
    let visibilities = column(&rows, |row| row.0.2.as_str());
    client
        .execute(&statements.update_counts, &[&categories, &statuses, &visibilities, &differences])
        .await
        .map(drop)
}
