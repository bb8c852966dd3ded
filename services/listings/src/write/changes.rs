//! What a store must write and which cache scopes it must invalidate, derived from the rows before and after.

use std::collections::{BTreeMap, BTreeSet};

use super::loaded_rows::RowVersions;
use super::{FavoriteKey, KeyedOrderLine, LoadedRows, MovementRecord};
use crate::listing::{Listing, Status, Visibility};
use crate::scope::CacheScope;
use crate::stats::StorefrontStats;

/// A listing whose search entries change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEntryChange {
    pub id: i64,
    /// Words whose entries are deleted.
    pub before: BTreeSet<String>,
    /// Words whose entries are inserted, with the listing's category and price.
    pub now: BTreeSet<String>,
    pub category_id: i64,
    /// Its price in hundredths.
    pub price: i64,
}

/// What was counted of a listing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub views: i64,
    pub favorites: i64,
}

/// All that a group of writes changes. Every list is in ascending order of its key, so that two writers that change the
/// same rows cannot deadlock.
#[derive(Debug, Default)]
pub struct Changes {
    /// New listings, with their images.
    pub inserted: Vec<Listing>,
    pub updated: Vec<Listing>,
    pub search_entry_changes: Vec<SearchEntryChange>,
    /// Differences to the statistics of storefronts.
    pub stats: BTreeMap<i64, StorefrontStats>,
    /// Differences to the numbers of listings by category, status and visibility.
    pub counts: BTreeMap<(i64, Status, Visibility), i64>,
    /// Differences to the counters of listings, which are apart from their rows.
    pub counters: BTreeMap<i64, Counted>,
    /// New favourites.
    pub added_favorites: Vec<FavoriteKey>,
    /// Removed favourites.
    pub removed_favorites: Vec<FavoriteKey>,
    /// Listings that lose all their favourites.
    pub cleared_favorites: Vec<i64>,
    /// New or changed order lines.
    pub orders: Vec<KeyedOrderLine>,
    /// New storefronts with their owners.
    pub new_storefronts: BTreeMap<i64, i64>,
    /// New movement records, in their order.
    pub movements: Vec<MovementRecord>,
    pub invalidated: BTreeSet<CacheScope>,
}

impl Changes {
    /// The changes between the rows before and after.
    #[must_use]
    pub fn new(loaded: LoadedRows) -> Self {
        let mut changes =
            Self { movements: loaded.movements, new_storefronts: loaded.new_storefronts, ..Self::default() };
        for (_, row) in loaded.listings {
            changes.compare(row);
        }
        changes.stats.retain(|_, difference| !difference.is_zero());
        changes.counts.retain(|_, difference| *difference != 0);
        for (id, views) in loaded.views {
            changes.counters.entry(id).or_default().views += views;
        }
        for (key, presence) in loaded.favorites {
            if presence.before == presence.now || changes.cleared_favorites.contains(&key.listing_id) {
                continue;
            }
            let (list, difference) = match presence.now {
                true => (&mut changes.added_favorites, 1),
                false => (&mut changes.removed_favorites, -1),
            };
            list.push(key);
            changes.counters.entry(key.listing_id).or_default().favorites += difference;
            changes.invalidated.insert(CacheScope::Listing(key.listing_id));
        }
        let line = |(order_id, listing_id): (String, i64)| {
            let line = *loaded.orders.get(&order_id)?.get(&listing_id)?;
            Some(KeyedOrderLine { order_id, listing_id, line })
        };
        changes.orders = loaded.changed_orders.into_iter().filter_map(line).collect();
        changes
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty()
            && self.updated.is_empty()
            && self.counters.is_empty()
            && self.movements.is_empty()
            && self.orders.is_empty()
    }

    fn compare(&mut self, RowVersions { before, now }: RowVersions) {
        if before.as_ref() == Some(&now) {
            return;
        }
        self.invalidated.insert(CacheScope::Listing(now.id));
        self.count(before.as_ref(), &now);
        self.invalidate_lists(before.as_ref(), &now);
        if now.deleted_at.is_some() && before.as_ref().is_none_or(|before| before.deleted_at.is_none()) {
            self.cleared_favorites.push(now.id);
        }
        if before.is_none() { self.inserted.push(now) } else { self.updated.push(now) }
    }

    fn count(&mut self, before: Option<&Listing>, now: &Listing) {
        let removed = before
            .and_then(Listing::contribution)
            .into_iter()
            .map(|(id, stats)| (id, StorefrontStats::default() - stats));
        for (storefront, stats) in removed.chain(now.contribution()) {
            let difference = self.stats.entry(storefront).or_default();
            *difference = *difference + stats;
        }
        let storefront = |listing: &Listing| listing.contribution().map(|(storefront, _)| storefront);
        if before.and_then(Listing::contribution) != now.contribution() {
            let storefronts = before.and_then(storefront).into_iter().chain(storefront(now));
            self.invalidated.extend(storefronts.map(CacheScope::Stats));
        }
        let counted = |listing: &Listing| {
            let key = (listing.category_id, listing.status, listing.visibility);
            listing.deleted_at.is_none().then_some(key)
        };
        let (old, new) = (before.and_then(counted), counted(now));
        if old != new {
            old.into_iter().for_each(|old| *self.counts.entry(old).or_default() -= 1);
            new.into_iter().for_each(|new| *self.counts.entry(new).or_default() += 1);
            self.invalidated.insert(CacheScope::Categories);
        }
    }

    /// Lists depend on a listing's owner, category, status, visibility and price; similar listings on its price while it is for
    /// sale; searches also on its words. No write changes a category.
    fn invalidate_lists(&mut self, before: Option<&Listing>, now: &Listing) {
        let listed = |listing: &Listing| {
            (listing.deleted_at.is_some(), listing.status, listing.visibility, listing.price)
        };
        if before.map(listed) != Some(listed(now)) {
            self.invalidated.extend([
                CacheScope::All,
                CacheScope::OfUser(now.user_id),
                CacheScope::OfCategory(now.category_id),
            ]);
            self.invalidated.extend(now.storefront_id.map(CacheScope::OfStorefront));
        }
        if before.map(|before| &before.sku) != Some(&now.sku) || before.map(listed) != Some(listed(now)) {
            self.invalidated.extend(now.sku.clone().map(CacheScope::Sku));
        }
        let offered = |listing: &Listing| listing.is_searchable().then_some(listing.price);
        if before.and_then(offered) != offered(now) {
            self.invalidated.insert(CacheScope::Offers(now.category_id));
        }
        let words = before.map(Listing::search_words).unwrap_or_default();
        let entry = |listing: &Listing| (listing.category_id, listing.price);
        let new_words = now.search_words();
        if words != new_words || before.map(entry) != Some(entry(now)) {
            self.invalidated.extend(words.iter().chain(&new_words).cloned().map(CacheScope::Word));
            self.search_entry_changes.push(SearchEntryChange {
                id: now.id,
                before: words,
                now: new_words,
                category_id: now.category_id,
                price: now.price.hundredths(),
            });
        }
    }
}
