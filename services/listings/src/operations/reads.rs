//! Reads, through the cache where caching an answer pays off.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kit::store::StoreError;

use super::Operations;
use crate::cache::CachedValue;
use crate::caller::Caller;
use crate::categories::Category;
use crate::find::{Filters, Page, PageRange, SimilarQuery};
use crate::listing::Listing;
use crate::refusal::Refusal;
use crate::scope::CacheScope;
use crate::stats::StorefrontStats;
use crate::store::MAX_OF_SKUS;
use crate::write::FavoriteKey;

/// Users returned for a listing at most.
pub const MAX_FAVORED_BY: i64 = 10_000;

impl Operations {
    /// One listing.
    ///
    /// # Errors
    /// When there is none that the caller may see, or the store fails.
    pub async fn listing(&self, caller: &Caller, id: i64) -> Result<Arc<Listing>, Refusal> {
        let found = self.find_listing(id).await?.filter(|listing| caller.may_see(listing));
        found.ok_or(Refusal::NotFound("listing", id))
    }

    /// One product; with `storefront_id`, a product of that storefront.
    ///
    /// # Errors
    /// As [`Operations::listing`].
    pub async fn product(
        &self,
        caller: &Caller,
        id: i64,
        storefront_id: Option<i64>,
    ) -> Result<Arc<Listing>, Refusal> {
        let found = self.find_listing(id).await?;
        let fits = |listing: &Arc<Listing>| is_product(listing, storefront_id) && caller.may_see(listing);
        found.filter(fits).ok_or(Refusal::NotFound("product", id))
    }

    async fn find_listing(&self, id: i64) -> Result<Option<Arc<Listing>>, StoreError> {
        let query = || async {
            let found = self.store.listings(&[id]).await?.pop();
            Ok(found.map_or(CachedValue::Nothing, |listing| CachedValue::Listing(Arc::new(listing))))
        };
        Ok(listing_of(self.cached_reads.get(CacheScope::Listing(id), "", query).await?))
    }

    /// The existing listings among these ids that the caller may see, in their order. Those that are not cached are read
    /// in one query.
    async fn listings(&self, caller: &Caller, ids: &[i64]) -> Result<Vec<Arc<Listing>>, Refusal> {
        let scopes: Vec<CacheScope> = ids.iter().copied().map(CacheScope::Listing).collect();
        let (mut found, mut missing) = (HashMap::new(), HashMap::new());
        for (id, cached) in ids.iter().zip(self.cached_reads.look_up(&scopes, "").await) {
            match cached {
                Ok(value) => found.extend(listing_of(value).map(|listing| (*id, listing))),
                Err(token) => drop(missing.insert(*id, token)),
            }
        }
        let missing_ids: Vec<i64> = missing.keys().copied().collect();
        let mut read: HashMap<i64, Arc<Listing>> = HashMap::new();
        if !missing_ids.is_empty() {
            let listings = self.store.listings(&missing_ids).await?.into_iter();
            read.extend(listings.map(|listing| (listing.id, Arc::new(listing))));
        }
        for (id, token) in missing {
            let value = read
                .get(&id)
                .map_or(CachedValue::Nothing, |listing| CachedValue::Listing(Arc::clone(listing)));
            self.cached_reads.add(&CacheScope::Listing(id), "", token, &value).await;
        }
        found.extend(read);
        let listings = ids.iter().filter_map(|id| found.get(id).cloned());
        Ok(listings.filter(|listing| caller.may_see(listing)).collect())
    }

    /// The existing products among these ids that the caller may see, in their order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn products(
        &self,
        caller: &Caller,
        ids: &[i64],
        storefront_id: Option<i64>,
    ) -> Result<Vec<Arc<Listing>>, Refusal> {
        let mut products = self.listings(caller, ids).await?;
        products.retain(|listing| is_product(listing, storefront_id));
        Ok(products)
    }

    /// The products that have one of these stock-keeping units and that the caller may find.
    ///
    /// # Errors
    /// When they are more than [`MAX_OF_SKUS`], or the store fails.
    pub async fn products_of(
        &self,
        caller: &Caller,
        skus: BTreeSet<String>,
        storefront_id: Option<i64>,
    ) -> Result<Vec<Arc<Listing>>, Refusal> {
        let mut ids = self.ids_of(skus, storefront_id).await?;
        ids.sort_unstable();
        let mut products = self.products(caller, &ids, storefront_id).await?;
        products.retain(|product| caller.may_find(product));
        Ok(products)
    }

    /// The products of stock-keeping units. Those of units that are not cached are read in one query.
    async fn ids_of(&self, skus: BTreeSet<String>, storefront_id: Option<i64>) -> Result<Vec<i64>, Refusal> {
        let key = storefront_id.map(|id| id.to_string()).unwrap_or_default();
        let scopes: Vec<CacheScope> = skus.iter().cloned().map(CacheScope::Sku).collect();
        let (mut ids, mut missing, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
        for (sku, cached) in skus.into_iter().zip(self.cached_reads.look_up(&scopes, &key).await) {
            match cached {
                Ok(value) => ids.extend_from_slice(&page_of(value).ids),
                Err(token) => {
                    missing.push(sku);
                    tokens.push(token);
                }
            }
        }
        let mut read = Vec::new();
        if !missing.is_empty() {
            read = self.store.of_skus(&missing, storefront_id).await?;
        }
        if ids.len() + read.len() > MAX_OF_SKUS {
            return Err(Refusal::Invalid(format!(
                "skus: more than {MAX_OF_SKUS} products have them; ask for fewer at once, or for those of one storefront"
            )));
        }
        let mut by_sku: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for (sku, id) in read {
            ids.push(id);
            by_sku.entry(sku).or_default().push(id);
        }
        for (sku, token) in missing.into_iter().zip(tokens) {
            let ids = by_sku.remove(&sku).unwrap_or_default();
            let value = CachedValue::Page(Arc::new(Page { total: ids.len() as i64, ids }));
            self.cached_reads.add(&CacheScope::Sku(sku), &key, token, &value).await;
        }
        Ok(ids)
    }

    /// A range of the listings that pass the filters and that the caller may find, and their total. Lists that name no
    /// owner have public listings only, for every caller.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(
        &self,
        caller: &Caller,
        mut filters: Filters,
        range: PageRange,
    ) -> Result<(Vec<Arc<Listing>>, i64), Refusal> {
        let is_complete = self.is_complete(caller, &filters).await?;
        filters.hides_drafts = filters.may_match_drafts() && !is_complete;
        filters.only_public |= filters.words.is_empty() && !(is_complete && filters.names_owner());
        if filters.match_nothing() {
            return Ok((Vec::new(), 0));
        }
        let filters = &filters;
        let query = || async {
            let _place = self.search_places.enter(caller).await?;
            Ok(CachedValue::Page(Arc::new(self.store.page(filters, range).await?)))
        };
        let key = filters.cache_key(range);
        let found = self.cached_reads.get(filters.cache_scope(), &key, query).await;
        let page = page_of(found.map_err(search_refused)?);
        Ok((self.listings(caller, &page.ids).await?, page.total))
    }

    /// Whether the caller is shown also what others may not see: in the lists of their own listings, by user or by
    /// storefront.
    async fn is_complete(&self, caller: &Caller, filters: &Filters) -> Result<bool, Refusal> {
        let Some(user) = caller.owner() else { return Ok(true) };
        let owner = match filters.storefront_id {
            Some(id) if filters.user_id.is_none() => self.storefront_owner(id).await?,
            _ => filters.user_id,
        };
        Ok(owner == Some(user))
    }

    /// At most `limit` listings similar to one; none when there is no such listing that the caller may see.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn similar(&self, caller: &Caller, id: i64, limit: i64) -> Result<Vec<Arc<Listing>>, Refusal> {
        let listing = self.find_listing(id).await?.filter(|listing| caller.may_see(listing));
        let Some(listing) = listing else { return Ok(Vec::new()) };
        let similar = SimilarQuery::to(&listing);
        let query = || async {
            let _place = self.search_places.enter(caller).await?;
            let ids = self.store.similar(&similar, limit).await?;
            Ok(CachedValue::Page(Arc::new(Page { total: ids.len() as i64, ids })))
        };
        let key = similar.cache_key(limit);
        let found = self.cached_reads.get(similar.cache_scope(), &key, query).await;
        let page = page_of(found.map_err(search_refused)?);
        self.listings(caller, &page.ids).await
    }

    /// A storefront's statistics.
    ///
    /// # Errors
    /// When the storefront does not belong to the caller, or the store fails.
    pub async fn stats(&self, caller: &Caller, storefront_id: i64) -> Result<StorefrontStats, Refusal> {
        if caller.owner().is_some() {
            caller.require_owner(self.storefront_owner(storefront_id).await?)?;
        }
        let query = || async { Ok(CachedValue::Stats(self.store.stats(storefront_id).await?)) };
        match self.cached_reads.get(CacheScope::Stats(storefront_id), "", query).await? {
            CachedValue::Stats(stats) => Ok(stats),
            _ => Ok(StorefrontStats::default()),
        }
    }

    async fn storefront_owner(&self, storefront_id: i64) -> Result<Option<i64>, Refusal> {
        let query = || async { Ok(CachedValue::Owner(self.store.storefront_owner(storefront_id).await?)) };
        match self.cached_reads.get(CacheScope::Stats(storefront_id), "owner", query).await? {
            CachedValue::Owner(owner) => Ok(owner),
            _ => Ok(None),
        }
    }

    /// All categories, in order.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn categories(&self) -> Result<Arc<Vec<Category>>, Refusal> {
        let query = || async { Ok(CachedValue::Categories(Arc::new(self.store.categories().await?))) };
        match self.cached_reads.get(CacheScope::Categories, "", query).await? {
            CachedValue::Categories(all) => Ok(all),
            _ => Ok(Arc::default()),
        }
    }

    /// A user's favourites, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn favorites(&self, user_id: i64, range: PageRange) -> Result<Page, Refusal> {
        Ok(self.store.favorites(user_id, range).await?)
    }

    /// Whether a listing is a user's favourite.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_favorite(&self, favorite: FavoriteKey) -> Result<bool, Refusal> {
        Ok(self.store.is_favorite(favorite).await?)
    }

    /// The users who have a listing as a favourite.
    ///
    /// # Errors
    /// When there is no such listing, it belongs to another user, or the store fails.
    pub async fn favored_by(&self, caller: &Caller, listing_id: i64) -> Result<Vec<i64>, Refusal> {
        let listing = self.listing(caller, listing_id).await?;
        caller.require_owner(Some(listing.user_id))?;
        Ok(self.store.favored_by(listing_id, MAX_FAVORED_BY).await?)
    }
}

fn search_refused(error: StoreError) -> Refusal {
    match error {
        StoreError::Ended => Refusal::TooBroad,
        other => other.into(),
    }
}

fn is_product(listing: &Listing, storefront_id: Option<i64>) -> bool {
    match storefront_id {
        Some(_) => listing.storefront_id == storefront_id,
        None => listing.storefront_id.is_some(),
    }
}

fn listing_of(value: CachedValue) -> Option<Arc<Listing>> {
    match value {
        CachedValue::Listing(listing) => Some(listing),
        _ => None,
    }
}

fn page_of(value: CachedValue) -> Arc<Page> {
    match value {
        CachedValue::Page(page) => page,
        _ => Arc::default(),
    }
}
