//! Reading, through the cache where an answer is worth remembering.

use super::{Operations, Refusal};
use crate::cache::Value;
use crate::categories::Category;
use crate::find::{Filters, Page, Similar, Slice};
use crate::listing::Listing;
use crate::scope::Scope;
use crate::stats::Stats;
use kit::store::StoreError;
use std::collections::HashMap;
use std::sync::Arc;

/// Users told of at most.
pub const MAX_FAVORED_BY: i64 = 10_000;

impl Operations {
    /// One listing.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn listing(&self, id: i64) -> Result<Arc<Listing>, Refusal> {
        self.find_listing(id).await?.ok_or(Refusal::NotFound("listing", id))
    }

    /// One product, of the storefront when one is named.
    ///
    /// # Errors
    /// As [`Operations::listing`].
    pub async fn product(&self, id: i64, storefront_id: Option<i64>) -> Result<Arc<Listing>, Refusal> {
        let found = self.find_listing(id).await?;
        let fits = |listing: &Arc<Listing>| is_product(listing, storefront_id);
        found.filter(fits).ok_or(Refusal::NotFound("product", id))
    }

    async fn find_listing(&self, id: i64) -> Result<Option<Arc<Listing>>, StoreError> {
        let ask = async {
            let found = self.store.listings(&[id]).await?.pop();
            Ok(found.map_or(Value::Nothing, |listing| Value::Listing(Arc::new(listing))))
        };
        Ok(listing_of(self.remembered.get((Scope::Listing(id), ""), ask).await?))
    }

    /// The listings of these ids that there are, in their order; those that are not remembered are asked for together.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn listings(&self, ids: &[i64]) -> Result<Vec<Arc<Listing>>, Refusal> {
        let scopes: Vec<Scope> = ids.iter().copied().map(Scope::Listing).collect();
        let (mut found, mut missing) = (HashMap::new(), HashMap::new());
        for (id, looked) in ids.iter().zip(self.remembered.look(&scopes, "").await) {
            match looked {
                Ok(value) => found.extend(listing_of(value).map(|listing| (*id, listing))),
                Err(ticket) => drop(missing.insert(*id, ticket)),
            }
        }
        let asked: Vec<i64> = missing.keys().copied().collect();
        let mut read: HashMap<i64, Arc<Listing>> = HashMap::new();
        if !asked.is_empty() {
            let listings = self.store.listings(&asked).await?.into_iter();
            read.extend(listings.map(|listing| (listing.id, Arc::new(listing))));
        }
        for (id, ticket) in missing {
            let value = read.get(&id).map_or(Value::Nothing, |listing| Value::Listing(Arc::clone(listing)));
            self.remembered.add(&Scope::Listing(id), ("", ticket), &value).await;
        }
        found.extend(read);
        Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
    }

    /// The products of these ids that there are, in their order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn products(
        &self,
        ids: &[i64],
        storefront_id: Option<i64>,
    ) -> Result<Vec<Arc<Listing>>, Refusal> {
        let mut products = self.listings(ids).await?;
        products.retain(|listing| is_product(listing, storefront_id));
        Ok(products)
    }

    /// The products that have one of these stock-keeping units.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn products_of(
        &self,
        skus: &[String],
        storefront_id: Option<i64>,
    ) -> Result<Vec<Arc<Listing>>, Refusal> {
        let mut ids = Vec::new();
        for sku in skus {
            let ask = async {
                let ids = self.store.of_sku(sku).await?;
                Ok(Value::Page(Arc::new(Page { total: ids.len() as i64, ids })))
            };
            let page = page_of(self.remembered.get((Scope::Sku(sku.clone()), ""), ask).await?);
            ids.extend_from_slice(&page.ids);
        }
        ids.sort_unstable();
        ids.dedup();
        self.products(&ids, storefront_id).await
    }

    /// A slice of what passes the filters, and how many do.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(&self, filters: &Filters, slice: Slice) -> Result<(Vec<Arc<Listing>>, i64), Refusal> {
        let ask = async { Ok(Value::Page(Arc::new(self.store.page(filters, slice).await?))) };
        let page = page_of(self.remembered.get((filters.scope(), &filters.key(slice)), ask).await?);
        Ok((self.listings(&page.ids).await?, page.total))
    }

    /// At most `limit` that are like a listing.
    ///
    /// # Errors
    /// When there is no such listing, or the store fails.
    pub async fn similar(&self, id: i64, limit: i64) -> Result<Vec<Arc<Listing>>, Refusal> {
        let similar = Similar::to(&*self.listing(id).await?);
        let ask = async {
            let ids = self.store.similar(&similar, limit).await?;
            Ok(Value::Page(Arc::new(Page { total: ids.len() as i64, ids })))
        };
        let page = page_of(self.remembered.get((similar.scope(), &similar.key(limit)), ask).await?);
        self.listings(&page.ids).await
    }

    /// A storefront's sums.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stats(&self, storefront_id: i64) -> Result<Stats, Refusal> {
        let ask = async { Ok(Value::Stats(self.store.stats(storefront_id).await?)) };
        match self.remembered.get((Scope::Stats(storefront_id), ""), ask).await? {
            Value::Stats(stats) => Ok(stats),
            _ => Ok(Stats::default()),
        }
    }

    /// All categories, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn categories(&self) -> Result<Arc<Vec<Category>>, Refusal> {
        let ask = async { Ok(Value::Categories(Arc::new(self.store.categories().await?))) };
        match self.remembered.get((Scope::Categories, ""), ask).await? {
            Value::Categories(all) => Ok(all),
            _ => Ok(Arc::default()),
        }
    }

    /// What a user has marked, newest mark first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn favorites(&self, user_id: i64, slice: Slice) -> Result<Page, Refusal> {
        Ok(self.store.favorites(user_id, slice).await?)
    }

    /// Whether a user has marked a listing.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_favorite(&self, user_id: i64, listing_id: i64) -> Result<bool, Refusal> {
        Ok(self.store.is_favorite(user_id, listing_id).await?)
    }

    /// Who has marked a listing.
    ///
    /// # Errors
    /// When there is no such listing, or the store fails.
    pub async fn favored_by(&self, listing_id: i64) -> Result<Vec<i64>, Refusal> {
        self.listing(listing_id).await?;
        Ok(self.store.favored_by(listing_id, MAX_FAVORED_BY).await?)
    }
}

fn is_product(listing: &Listing, storefront_id: Option<i64>) -> bool {
    match storefront_id {
        Some(_) => listing.storefront_id == storefront_id,
        None => listing.storefront_id.is_some(),
    }
}

fn listing_of(value: Value) -> Option<Arc<Listing>> {
    match value {
        Value::Listing(listing) => Some(listing),
        _ => None,
    }
}

fn page_of(value: Value) -> Arc<Page> {
    match value {
        Value::Page(page) => page,
        _ => Arc::default(),
    }
}
