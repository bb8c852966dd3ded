//! The queries of reads.

use kit::postgres::Session;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use super::rows;
use super::statements::ReaderStatements;
use crate::categories::Category;
use crate::find::{Filters, Page, PageRange, Sql, SqlValue};
use crate::listing::Listing;
use crate::stats::StorefrontStats;
#[cfg(feature = "faults")]
use crate::store::faults::{is_unindexed, unindexed};
use crate::write::FavoriteKey;

/// A query. It may run twice.
pub(super) trait Query: Sync {
    type Output: Send;

    fn run(
        &self,
        session: &Session<ReaderStatements>,
    ) -> impl Future<Output = Result<Self::Output, Error>> + Send;
}

/// Listings by id: two queries, pipelined, for any number of ids.
pub(super) struct Listings<'a>(pub(super) &'a [i64]);

impl Query for Listings<'_> {
    type Output = Vec<Listing>;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Vec<Listing>, Error> {
        let (client, statements) = (session.client(), &session.statements.fixed);
        let ids: [&(dyn ToSql + Sync); 1] = [&self.0];
        let (rows, images) = tokio::try_join!(
            biased;
            client.query(&statements.listings, &ids),
            client.query(&statements.images, &ids),
        )?;
        rows::listings(&rows, &images)
    }
}

/// A range of the listings that pass filters.
pub(super) struct Pages {
    text: String,
    values: Vec<SqlValue>,
}

impl Pages {
    /// One statement for the range and the count, so that both read the same snapshot.
    pub(super) fn of(filters: &Filters, range: PageRange) -> Self {
        let ids = filters.select(range, '$');
        let count = filters.count_after(ids.values.len(), '$');
        #[cfg(feature = "faults")]
        let (ids, count) = if is_unindexed() { (unindexed(ids), unindexed(count)) } else { (ids, count) };
        let text = format!("SELECT array({}), ({})::bigint", ids.text, count.text);
        Self { text, values: ids.values.into_iter().chain(count.values).collect() }
    }
}

impl Query for Pages {
    type Output = Page;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Page, Error> {
        let statement = session.statements.page(session.client(), &self.text).await?;
        let values: Vec<&(dyn ToSql + Sync)> = self.values.iter().map(rows::parameter).collect();
        rows::page(&session.client().query_one(&statement, &values).await?)
    }
}

/// The ids that a statement selects.
pub(super) struct Ids(pub(super) Sql);

impl Query for Ids {
    type Output = Vec<i64>;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Vec<i64>, Error> {
        let statement = session.statements.page(session.client(), &self.0.text).await?;
        let values: Vec<&(dyn ToSql + Sync)> = self.0.values.iter().map(rows::parameter).collect();
        rows::ids(&session.client().query(&statement, &values).await?)
    }
}

/// A storefront's statistics.
pub(super) struct Stats(pub(super) i64);

impl Query for Stats {
    type Output = StorefrontStats;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<StorefrontStats, Error> {
        let statement = &session.statements.fixed.stats;
        #[cfg(feature = "faults")]
        let over_all_listings = super::faults::stats_statement(session).await?;
        #[cfg(feature = "faults")]
        let statement = over_all_listings.as_ref().unwrap_or(statement);
        rows::stats(session.client().query_opt(statement, &[&self.0]).await?.as_ref())
    }
}

pub(super) struct StorefrontOwner(pub(super) i64);

impl Query for StorefrontOwner {
    type Output = Option<i64>;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Option<i64>, Error> {
        let statement = &session.statements.fixed.storefront_owner;
        let row = session.client().query_opt(statement, &[&self.0]).await?;
        row.map(|row| row.try_get(0)).transpose()
    }
}

pub(super) struct Categories;

impl Query for Categories {
    type Output = Vec<Category>;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Vec<Category>, Error> {
        rows::categories(&session.client().query(&session.statements.fixed.categories, &[]).await?)
    }
}

/// A user's favourites.
pub(super) struct Favorites(pub(super) i64, pub(super) PageRange);

impl Query for Favorites {
    type Output = Page;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Page, Error> {
        let Self(user, range) = self;
        let statement = &session.statements.fixed.favorites;
        rows::page(&session.client().query_one(statement, &[user, &range.limit, &range.offset]).await?)
    }
}

/// The users who have a listing as a favourite, and how many of them at most.
pub(super) struct FavoredBy(pub(super) i64, pub(super) i64);

impl Query for FavoredBy {
    type Output = Vec<i64>;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Vec<i64>, Error> {
        let statement = &session.statements.fixed.favored_by;
        rows::ids(&session.client().query(statement, &[&self.0, &self.1]).await?)
    }
}

/// Whether a listing is a user's favourite.
pub(super) struct IsFavorite(pub(super) FavoriteKey);

impl Query for IsFavorite {
    type Output = bool;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<bool, Error> {
        let statement = &session.statements.fixed.is_favorite;
        session.client().query_one(statement, &[&self.0.user_id, &self.0.listing_id]).await?.try_get(0)
    }
}

/// The products of stock-keeping units, in one storefront or in all.
pub(super) struct OfSkus<'a>(pub(super) &'a [String], pub(super) Option<i64>);

impl Query for OfSkus<'_> {
    type Output = Vec<(String, i64)>;

    async fn run(&self, session: &Session<ReaderStatements>) -> Result<Vec<(String, i64)>, Error> {
        let statement = &session.statements.fixed.of_skus;
        let found = session.client().query(statement, &[&self.0, &self.1]).await?;
        found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }
}
