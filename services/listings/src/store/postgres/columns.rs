//! Changes turned into columns: one statement for each kind of change, however many rows it has.

use super::statements::Writing;
use crate::listing::Listing;
use crate::stats::Stats;
use crate::write::Changes;
use kit::clock::UtcMs;
use kit::postgres::Stamp;
use tokio_postgres::{Client, Error};

/// Writes all of the changes and commits. All of it is sent at once, the commit last: a statement that fails makes the
/// server turn it into a rollback, and the statement's error is returned. Each part must therefore be one statement.
pub(super) async fn save(
    client: &Client,
    statements: &Writing,
    (changes, now): (&Changes, UtcMs),
    end: &str,
) -> Result<(), Error> {
    tokio::try_join!(
        biased;
        insert(client, statements, &changes.inserted),
        insert_images(client, statements, &changes.inserted),
        update(client, statements, &changes.updated),
        delete_words(client, statements, changes),
        insert_words(client, statements, changes),
        mark(client, statements, (changes, now)),
        unmark(client, statements, changes),
        forget(client, statements, changes),
        movements(client, statements, (changes, now)),
        orders(client, statements, changes),
        move_stats(client, statements, changes),
        move_counts(client, statements, changes),
        client.batch_execute(end),
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
    let is_there = !listing.translations.is_empty();
    is_there.then(|| serde_json::to_string(&listing.translations).unwrap_or_default())
}

async fn insert(client: &Client, statements: &Writing, new: &[Listing]) -> Result<(), Error> {
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
                &column(new, |l| l.status.word()),
                &column(new, |l| l.visibility.word()),
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
            ],
        )
        .await
        .map(drop)
}

async fn insert_images(client: &Client, statements: &Writing, new: &[Listing]) -> Result<(), Error> {
    let images: Vec<_> = new.iter().flat_map(|l| l.images.iter().map(move |image| (l.id, image))).collect();
    if images.is_empty() {
        return Ok(());
    }
    let [listings, ids] = [column(&images, |row| row.0), column(&images, |row| row.1.id)];
    let urls = column(&images, |row| row.1.url.as_str());
    let (places, primary) =
        (column(&images, |row| row.1.display_order), column(&images, |row| row.1.is_primary));
    client.execute(&statements.insert_images, &[&listings, &places, &ids, &urls, &primary]).await.map(drop)
}

async fn update(client: &Client, statements: &Writing, rows: &[Listing]) -> Result<(), Error> {
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
                &column(rows, |l| l.status.word()),
                &column(rows, |l| l.quantity),
                &column(rows, |l| l.views),
                &column(rows, |l| l.favorites),
                &column(rows, |l| l.sold),
                &column(rows, |l| Stamp(l.updated_at)),
                &stamps(rows, |l| l.published_at),
                &stamps(rows, |l| l.deleted_at),
            ],
        )
        .await
        .map(drop)
}

async fn delete_words(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    let entries = changes.reworded.iter();
    let gone: Vec<(&str, i64)> =
        entries.flat_map(|entry| entry.before.iter().map(|word| (word.as_str(), entry.id))).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let (words, ids) = (column(&gone, |row| row.0), column(&gone, |row| row.1));
    client.execute(&statements.delete_words, &[&words, &ids]).await.map(drop)
}

async fn insert_words(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    let entries = changes.reworded.iter();
    let new: Vec<_> =
        entries.flat_map(|entry| entry.now.iter().map(move |word| (word.as_str(), entry))).collect();
    if new.is_empty() {
        return Ok(());
    }
    let (words, ids) = (column(&new, |row| row.0), column(&new, |row| row.1.id));
    let (categories, prices) = (column(&new, |row| row.1.category_id), column(&new, |row| row.1.price));
    client.execute(&statements.insert_words, &[&words, &ids, &categories, &prices]).await.map(drop)
}

async fn mark(client: &Client, statements: &Writing, (changes, now): (&Changes, UtcMs)) -> Result<(), Error> {
    let marks = &changes.marked;
    if marks.is_empty() {
        return Ok(());
    }
    let (users, listings) = (column(marks, |mark| mark.0), column(marks, |mark| mark.1));
    client.execute(&statements.mark, &[&users, &listings, &Stamp(now)]).await.map(drop)
}

async fn unmark(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    let marks = &changes.unmarked;
    if marks.is_empty() {
        return Ok(());
    }
    let (users, listings) = (column(marks, |mark| mark.0), column(marks, |mark| mark.1));
    client.execute(&statements.unmark, &[&users, &listings]).await.map(drop)
}

async fn forget(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    if changes.forgotten.is_empty() {
        return Ok(());
    }
    client.execute(&statements.forget, &[&changes.forgotten]).await.map(drop)
}

async fn movements(
    client: &Client,
    statements: &Writing,
    (changes, now): (&Changes, UtcMs),
) -> Result<(), Error> {
    let lines = &changes.movements;
    if lines.is_empty() {
        return Ok(());
    }
    let (before, after) = (column(lines, |line| line.stock.0), column(lines, |line| line.stock.1));
    let (ids, users) = (column(lines, |line| line.listing_id), column(lines, |line| line.user_id));
    let kinds = column(lines, |line| line.direction.word());
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

async fn orders(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    let lines = &changes.orders;
    if lines.is_empty() {
        return Ok(());
    }
    let (orders, ids) = (column(lines, |line| line.0.as_str()), column(lines, |line| line.1));
    let quantities = column(lines, |line| line.2.quantity);
    let (before, after) = (column(lines, |line| line.2.stock.0), column(lines, |line| line.2.stock.1));
    let returned = column(lines, |line| line.2.is_returned);
    client
        .execute(&statements.save_orders, &[&orders, &ids, &quantities, &before, &after, &returned])
        .await
        .map(drop)
}

async fn move_stats(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    if changes.stats.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = changes.stats.iter().collect();
    let ids = column(&rows, |row| *row.0);
    let kept: [fn(&Stats) -> i64; 5] =
        [|s| s.total, |s| s.active, |s| s.out_of_stock, |s| s.low_stock, |s| s.sold];
    let [total, active, out, low, sold] = kept.map(|of| column(&rows, |row| of(row.1)));
    let value = column(&rows, |row| row.1.value.to_string());
    client
        .execute(&statements.move_stats, &[&ids, &total, &active, &out, &low, &value, &sold])
        .await
        .map(drop)
}

async fn move_counts(client: &Client, statements: &Writing, changes: &Changes) -> Result<(), Error> {
    if changes.counts.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = changes.counts.iter().collect();
    let (categories, moved) = (column(&rows, |row| row.0.0), column(&rows, |row| *row.1));
    let statuses = column(&rows, |row| row.0.1.word());
    client.execute(&statements.move_counts, &[&categories, &statuses, &moved]).await.map(drop)
}
