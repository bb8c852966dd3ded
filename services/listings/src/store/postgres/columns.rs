//! Persists changes, one statement for each kind of change; the rows are passed as arrays of columns.

use kit::clock::UtcMs;
use kit::postgres::Stamp;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

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
    let rows = ChangedRows { client, statements, changes, now: Stamp(now) };
    tokio::try_join!(
        biased;
        rows.insert(),
        rows.insert_images(),
        rows.insert_storefronts(),
        rows.update(),
        rows.update_counters(),
        rows.delete_words(),
        rows.insert_words(),
        rows.add_favorites(),
        rows.remove_favorites(),
        rows.clear_favorites(),
        rows.movements(),
        rows.orders(),
        rows.update_stats(),
        rows.update_counts(),
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

/// A function for each kind of change.
struct ChangedRows<'a> {
    client: &'a Client,
    statements: &'a WriterStatements,
    changes: &'a Changes,
    now: Stamp,
}

impl ChangedRows<'_> {
    /// Executes a statement for this many rows; none without any.
    async fn execute(
        &self,
        statement: &Statement,
        rows: usize,
        columns: &[&(dyn ToSql + Sync)],
    ) -> Result<(), Error> {
        if rows == 0 {
            return Ok(());
        }
        self.client.execute(statement, columns).await.map(drop)
    }

    async fn insert(&self) -> Result<(), Error> {
        let new = &self.changes.inserted;
        let columns: &[&(dyn ToSql + Sync)] = &[
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
        ];
        self.execute(&self.statements.insert, new.len(), columns).await
    }

    async fn insert_images(&self) -> Result<(), Error> {
        let new = self.changes.inserted.iter();
        let images: Vec<_> = new.flat_map(|l| l.images.iter().map(move |image| (l.id, image))).collect();
        let [listings, ids] = [column(&images, |row| row.0), column(&images, |row| row.1.id)];
        let urls = column(&images, |row| row.1.url.as_str());
        let (positions, primary) =
            (column(&images, |row| row.1.display_order), column(&images, |row| row.1.is_primary));
        let statement = &self.statements.insert_images;
        self.execute(statement, images.len(), &[&listings, &positions, &ids, &urls, &primary]).await
    }

    async fn insert_storefronts(&self) -> Result<(), Error> {
        let new = &self.changes.new_storefronts;
        let (ids, owners): (Vec<i64>, Vec<i64>) = new.iter().unzip();
        self.execute(&self.statements.insert_storefronts, new.len(), &[&ids, &owners]).await
    }

    async fn update(&self) -> Result<(), Error> {
        let rows = &self.changes.updated;
        let columns: &[&(dyn ToSql + Sync)] = &[
            &column(rows, |l| l.id),
            &column(rows, |l| l.title.as_str()),
            &column(rows, |l| l.description.as_deref()),
            &column(rows, |l| l.price.hundredths()),
            &column(rows, |l| l.status.as_str()),
            &column(rows, |l| l.quantity),
            &column(rows, |l| l.sold),
            &column(rows, |l| Stamp(l.updated_at)),
            &stamps(rows, |l| l.published_at),
            &stamps(rows, |l| l.deleted_at),
            &column(rows, |l| l.visibility.as_str()),
            &column(rows, Listing::tags_json),
        ];
        self.execute(&self.statements.update, rows.len(), columns).await
    }

    async fn update_counters(&self) -> Result<(), Error> {
        let rows: Vec<_> = self.changes.counters.iter().collect();
        let ids = column(&rows, |row| *row.0);
        let (views, favorites) = (column(&rows, |row| row.1.views), column(&rows, |row| row.1.favorites));
        self.execute(&self.statements.update_counters, rows.len(), &[&ids, &views, &favorites]).await
    }

    async fn delete_words(&self) -> Result<(), Error> {
        let entries = self.changes.search_entry_changes.iter();
        let deleted: Vec<(&str, i64)> =
            entries.flat_map(|entry| entry.before.iter().map(|word| (word.as_str(), entry.id))).collect();
        let (words, ids) = (column(&deleted, |row| row.0), column(&deleted, |row| row.1));
        self.execute(&self.statements.delete_words, deleted.len(), &[&words, &ids]).await
    }

    async fn insert_words(&self) -> Result<(), Error> {
        let entries = self.changes.search_entry_changes.iter();
        let new: Vec<_> =
            entries.flat_map(|entry| entry.now.iter().map(move |word| (word.as_str(), entry))).collect();
        let (words, ids) = (column(&new, |row| row.0), column(&new, |row| row.1.id));
        let (categories, prices) = (column(&new, |row| row.1.category_id), column(&new, |row| row.1.price));
        let statement = &self.statements.insert_words;
        self.execute(statement, new.len(), &[&words, &ids, &categories, &prices]).await
    }

    async fn add_favorites(&self) -> Result<(), Error> {
        let added = &self.changes.added_favorites;
        let (users, listings) = (column(added, |key| key.user_id), column(added, |key| key.listing_id));
        self.execute(&self.statements.add_favorites, added.len(), &[&users, &listings, &self.now]).await
    }

    async fn remove_favorites(&self) -> Result<(), Error> {
        let removed = &self.changes.removed_favorites;
        let (users, listings) = (column(removed, |key| key.user_id), column(removed, |key| key.listing_id));
        self.execute(&self.statements.remove_favorites, removed.len(), &[&users, &listings]).await
    }

    async fn clear_favorites(&self) -> Result<(), Error> {
        let cleared = &self.changes.cleared_favorites;
        self.execute(&self.statements.clear_favorites, cleared.len(), &[cleared]).await
    }

    async fn movements(&self) -> Result<(), Error> {
        let lines = &self.changes.movements;
        let columns: &[&(dyn ToSql + Sync)] = &[
            &column(lines, |line| line.listing_id),
            &column(lines, |line| line.direction.as_str()),
            &column(lines, |line| line.quantity),
            &column(lines, |line| line.stock.before),
            &column(lines, |line| line.stock.after),
            &column(lines, |line| line.reason.as_deref()),
            &column(lines, |line| line.notes.as_deref()),
            &column(lines, |line| line.user_id),
            &self.now,
        ];
        self.execute(&self.statements.movements, lines.len(), columns).await
    }

    async fn orders(&self) -> Result<(), Error> {
        let lines = &self.changes.orders;
        let columns: &[&(dyn ToSql + Sync)] = &[
            &column(lines, |keyed| keyed.order_id.as_str()),
            &column(lines, |keyed| keyed.listing_id),
            &column(lines, |keyed| keyed.line.quantity),
            &column(lines, |keyed| keyed.line.stock.before),
            &column(lines, |keyed| keyed.line.stock.after),
            &column(lines, |keyed| keyed.line.is_returned),
        ];
        self.execute(&self.statements.save_orders, lines.len(), columns).await
    }

    async fn update_stats(&self) -> Result<(), Error> {
        let rows: Vec<_> = self.changes.stats.iter().collect();
        let ids = column(&rows, |row| *row.0);
        let values: [fn(&StorefrontStats) -> i64; 5] =
            [|s| s.total, |s| s.active, |s| s.out_of_stock, |s| s.low_stock, |s| s.sold];
        let [total, active, out, low, sold] = values.map(|of| column(&rows, |row| of(row.1)));
        let value = column(&rows, |row| row.1.value.to_string());
        let statement = &self.statements.update_stats;
        self.execute(statement, rows.len(), &[&ids, &total, &active, &out, &low, &value, &sold]).await
    }

    async fn update_counts(&self) -> Result<(), Error> {
        let rows: Vec<_> = self.changes.counts.iter().collect();
        let (categories, differences) = (column(&rows, |row| row.0.0), column(&rows, |row| *row.1));
        let statuses = column(&rows, |row| row.0.1.as_str());
        let visibilities = column(&rows, |row| row.0.2.as_str());
        let statement = &self.statements.update_counts;
        self.execute(statement, rows.len(), &[&categories, &statuses, &visibilities, &differences]).await
    }
}
