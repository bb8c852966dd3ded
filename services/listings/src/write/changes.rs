//! What a store must write, and what caches must forget, as it follows from the rows before and after.

use super::held::Row;
use super::{Held, MovementLine, OrderLine};
use crate::listing::{Listing, Status};
use crate::scope::Scope;
use crate::stats::Stats;
use std::collections::{BTreeMap, BTreeSet};

/// A listing whose search entries change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reworded {
    /// Which.
    pub id: i64,
    /// Entries to take away.
    pub before: BTreeSet<String>,
    /// Entries to make, with the listing's category and price.
    pub now: BTreeSet<String>,
    /// Its category.
    pub category_id: i64,
    /// Its price in hundredths.
    pub price: i64,
}

/// All that some writes change. Every list is in ascending order of its key, so that two writers that touch the same
/// rows can wait for each other, never in a circle.
#[derive(Debug, Default)]
pub struct Changes {
    /// New listings, with their images.
    pub inserted: Vec<Listing>,
    /// Listings that changed.
    pub updated: Vec<Listing>,
    /// Search entries that change.
    pub reworded: Vec<Reworded>,
    /// By how much storefronts' sums move.
    pub stats: BTreeMap<i64, Stats>,
    /// By how much the numbers of listings by category and status move.
    pub counts: BTreeMap<(i64, Status), i64>,
    /// User and listing of new marks.
    pub marked: Vec<(i64, i64)>,
    /// User and listing of marks that go.
    pub unmarked: Vec<(i64, i64)>,
    /// Listings all of whose marks go.
    pub forgotten: Vec<i64>,
    /// Lines of orders that are new or changed.
    pub orders: Vec<(String, i64, OrderLine)>,
    /// New lines in the record of movements, in their order.
    pub movements: Vec<MovementLine>,
    /// What caches must forget.
    pub touched: BTreeSet<Scope>,
}

impl Changes {
    /// What follows from the rows.
    #[must_use]
    pub fn of(held: Held) -> Self {
        let mut changes = Self { movements: held.movements, ..Self::default() };
        for (_, row) in held.rows {
            changes.compare(row);
        }
        changes.stats.retain(|_, moved| !moved.is_zero());
        changes.counts.retain(|_, moved| *moved != 0);
        for (mark, (before, now)) in held.marks {
            let list = if now { &mut changes.marked } else { &mut changes.unmarked };
            if before != now && !changes.forgotten.contains(&mark.1) {
                list.push(mark);
            }
        }
        let line = |(order, id): (String, i64)| {
            let line = *held.orders.get(&order)?.get(&id)?;
            Some((order, id, line))
        };
        changes.orders = held.changed_orders.into_iter().filter_map(line).collect();
        changes
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inserted.is_empty()
            && self.updated.is_empty()
            && self.movements.is_empty()
            && self.orders.is_empty()
    }

    fn compare(&mut self, Row { before, now }: Row) {
        if before.as_ref() == Some(&now) {
            return;
        }
        self.touched.insert(Scope::Listing(now.id));
        self.count(before.as_ref(), &now);
        self.find(before.as_ref(), &now);
        if now.deleted_at.is_some() && before.as_ref().is_none_or(|before| before.deleted_at.is_none()) {
            self.forgotten.push(now.id);
        }
        if before.is_none() { self.inserted.push(now) } else { self.updated.push(now) }
    }

    fn count(&mut self, before: Option<&Listing>, now: &Listing) {
        let sums = before
            .and_then(Listing::counts_for)
            .into_iter()
            .map(|(id, stats)| (id, Stats::default() - stats));
        for (storefront, stats) in sums.chain(now.counts_for()) {
            let sum = self.stats.entry(storefront).or_default();
            *sum = *sum + stats;
        }
        let moved = |listing: &Listing| listing.counts_for().map(|(storefront, _)| storefront);
        if before.and_then(Listing::counts_for) != now.counts_for() {
            let storefronts = before.and_then(moved).into_iter().chain(moved(now));
            self.touched.extend(storefronts.map(Scope::Stats));
        }
        let kind =
            |listing: &Listing| listing.deleted_at.is_none().then_some((listing.category_id, listing.status));
        let (was, is) = (before.and_then(kind), kind(now));
        if was != is {
            was.into_iter().for_each(|was| *self.counts.entry(was).or_default() -= 1);
            is.into_iter().for_each(|is| *self.counts.entry(is).or_default() += 1);
            self.touched.insert(Scope::Categories);
        }
    }

    /// Lists depend on who it belongs to, its category, status and price, what is like another on its price while it is
    /// for sale; searches on its words besides. No write changes a category.
    fn find(&mut self, before: Option<&Listing>, now: &Listing) {
        let listed = |listing: &Listing| (listing.deleted_at.is_some(), listing.status, listing.price);
        if before.map(listed) != Some(listed(now)) {
            self.touched.extend([Scope::All, Scope::OfUser(now.user_id), Scope::OfCategory(now.category_id)]);
            self.touched.extend(now.storefront_id.map(Scope::OfStorefront));
        }
        if before.map(|before| &before.sku) != Some(&now.sku) || before.map(listed) != Some(listed(now)) {
            self.touched.extend(now.sku.clone().map(Scope::Sku));
        }
        let offered = |listing: &Listing| listing.is_searchable().then_some(listing.price);
        if before.and_then(offered) != offered(now) {
            self.touched.insert(Scope::Offers(now.category_id));
        }
        let words = before.map(Listing::search_words).unwrap_or_default();
        let entry = |listing: &Listing| (listing.category_id, listing.price);
        let new_words = now.search_words();
        if words != new_words || before.map(entry) != Some(entry(now)) {
            self.touched.extend(words.iter().chain(&new_words).cloned().map(Scope::Word));
            self.reworded.push(Reworded {
                id: now.id,
                before: words,
                now: new_words,
                category_id: now.category_id,
                price: now.price.hundredths(),
            });
        }
    }
}
