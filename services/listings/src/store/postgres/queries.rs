//! What can be read, each as a query of its own.

use super::rows;
use super::statements::Reading;
use crate::categories::Category;
use crate::find::{Filters, Page, Slice, Sql, Value};
use crate::listing::Listing;
use crate::stats::Stats;
use kit::postgres::Session;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

/// Something to be read. It may be read twice.
pub(super) trait Query: Sync {
    type Answer: Send;

    fn run(&self, session: &Session<Reading>) -> impl Future<Output = Result<Self::Answer, Error>> + Send;
}

/// Two queries, sent together, however many there are.
pub(super) struct Listings<'a>(pub(super) &'a [i64]);

impl Query for Listings<'_> {
    type Answer = Vec<Listing>;

    async fn run(&self, session: &Session<Reading>) -> Result<Vec<Listing>, Error> {
        let (client, known) = (session.client(), &session.statements.fixed);
        let ids: [&(dyn ToSql + Sync); 1] = [&self.0];
        let (rows, images) = tokio::try_join!(
            biased;
            client.query(&known.listings, &ids),
            client.query(&known.images, &ids),
        )?;
        rows::listings(&rows, &images)
    }
}

/// A slice of what filters find, by its statement.
pub(super) struct Pages {
    text: String,
    values: Vec<Value>,
}

impl Pages {
    pub(super) fn of(filters: &Filters, slice: Slice) -> Self {
        let (text, values) = rows::page_statement(filters, slice);
        Self { text, values }
    }
}

impl Query for Pages {
    type Answer = Page;

    async fn run(&self, session: &Session<Reading>) -> Result<Page, Error> {
        let statement = session.statements.page(session.client(), &self.text).await?;
        let values: Vec<&(dyn ToSql + Sync)> = self.values.iter().map(rows::parameter).collect();
        rows::page(&session.client().query_one(&statement, &values).await?)
    }
}

/// The ids that a statement finds.
pub(super) struct Ids(pub(super) Sql);

impl Query for Ids {
    type Answer = Vec<i64>;

    async fn run(&self, session: &Session<Reading>) -> Result<Vec<i64>, Error> {
        let statement = session.statements.page(session.client(), &self.0.text).await?;
        let values: Vec<&(dyn ToSql + Sync)> = self.0.values.iter().map(rows::parameter).collect();
        rows::ids(&session.client().query(&statement, &values).await?)
    }
}

/// A storefront's sums.
pub(super) struct Sums(pub(super) i64);

impl Query for Sums {
    type Answer = Stats;

    async fn run(&self, session: &Session<Reading>) -> Result<Stats, Error> {
        let statement = &session.statements.fixed.stats;
        #[cfg(feature = "faults")]
        let added_up = super::faults::sums(session).await?;
        #[cfg(feature = "faults")]
        let statement = added_up.as_ref().unwrap_or(statement);
        rows::stats(session.client().query_opt(statement, &[&self.0]).await?.as_ref())
    }
}

/// All categories.
pub(super) struct Categories;

impl Query for Categories {
    type Answer = Vec<Category>;

    async fn run(&self, session: &Session<Reading>) -> Result<Vec<Category>, Error> {
        rows::categories(&session.client().query(&session.statements.fixed.categories, &[]).await?)
    }
}

/// What a user has marked.
pub(super) struct Favorites(pub(super) i64, pub(super) Slice);

impl Query for Favorites {
    type Answer = Page;

    async fn run(&self, session: &Session<Reading>) -> Result<Page, Error> {
        let Self(user, slice) = self;
        let statement = &session.statements.fixed.favorites;
        rows::page(&session.client().query_one(statement, &[user, &slice.limit, &slice.offset]).await?)
    }
}

/// Who has marked a listing, at most so many.
pub(super) struct FavoredBy(pub(super) i64, pub(super) i64);

impl Query for FavoredBy {
    type Answer = Vec<i64>;

    async fn run(&self, session: &Session<Reading>) -> Result<Vec<i64>, Error> {
        let statement = &session.statements.fixed.favored_by;
        rows::ids(&session.client().query(statement, &[&self.0, &self.1]).await?)
    }
}

/// Whether a user has marked a listing.
pub(super) struct IsFavorite(pub(super) i64, pub(super) i64);

impl Query for IsFavorite {
    type Answer = bool;

    async fn run(&self, session: &Session<Reading>) -> Result<bool, Error> {
        let statement = &session.statements.fixed.is_favorite;
        session.client().query_one(statement, &[&self.0, &self.1]).await?.try_get(0)
    }
}

/// The products of a stock-keeping unit.
pub(super) struct OfSku<'a>(pub(super) &'a str);

impl Query for OfSku<'_> {
    type Answer = Vec<i64>;

    async fn run(&self, session: &Session<Reading>) -> Result<Vec<i64>, Error> {
        rows::ids(&session.client().query(&session.statements.fixed.of_sku, &[&self.0]).await?)
    }
}
