//! The rows that writes need, and the rows as the writes change them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::{MovementRecord, StockLevels, Write, WriteRefusal};
use crate::listing::Listing;

/// A favourite by its primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FavoriteKey {
    pub user_id: i64,
    pub listing_id: i64,
}

/// The rows that a group of writes needs; a store loads them all at once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequiredRows {
    /// Listings to lock, in this order.
    pub listings: BTreeSet<i64>,
    /// Favourites that may exist.
    pub favorites: BTreeSet<FavoriteKey>,
    /// Orders whose lines may exist.
    pub orders: BTreeSet<String>,
    /// Storefronts that may have an owner.
    pub storefronts: BTreeSet<i64>,
    /// How many ids new listings need.
    pub new_listings: usize,
    /// How many ids new images need.
    pub new_images: usize,
}

impl RequiredRows {
    /// The rows that these writes need.
    pub fn collect<'a>(writes: impl IntoIterator<Item = &'a Write>) -> Self {
        let mut required = Self::default();
        writes.into_iter().for_each(|write| required.add(write));
        required
    }

    fn add(&mut self, write: &Write) {
        match write {
            Write::Create(new) => {
                self.new_listings += 1;
                self.new_images += new.images.len();
                self.storefronts.extend(new.storefront_id);
            }
            Write::Update(edit) => drop(self.listings.insert(edit.id)),
            Write::Delete(id, _) => drop(self.listings.insert(*id)),
            Write::AddFavorite(key) | Write::RemoveFavorite(key) => {
                self.listings.insert(key.listing_id);
                self.favorites.insert(*key);
            }
            Write::Move(movement) => drop(self.listings.insert(movement.product_id)),
            Write::Set(set) => self.listings.extend(set.items.iter().map(|new| new.item.product_id)),
            Write::Take(order) | Write::Return(order) => {
                self.listings.extend(order.items.iter().map(|item| item.product_id));
                self.orders.extend(order.order_id.clone());
            }
            Write::View(_) => {}
        }
    }
}

/// What an order took of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderLine {
    /// The quantity taken.
    pub quantity: i32,
    /// Stock before and after.
    pub stock: StockLevels,
    /// Whether the quantity was given back.
    pub is_returned: bool,
}

/// An order line with its primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedOrderLine {
    pub order_id: String,
    pub listing_id: i64,
    pub line: OrderLine,
}

/// A listing before and after the writes.
#[derive(Debug, Clone)]
pub(super) struct RowVersions {
    /// `None` when it is new.
    pub(super) before: Option<Listing>,
    pub(super) now: Listing,
}

/// Whether a favourite exists before and after the writes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Presence {
    pub(super) before: bool,
    pub(super) now: bool,
}

/// The ids that a store has reserved for new rows.
#[derive(Debug, Default, Clone)]
pub struct NewIds {
    pub listings: VecDeque<i64>,
    pub images: VecDeque<i64>,
}

/// The rows that writes are decided on, and what the writes have changed so far.
#[derive(Debug, Default, Clone)]
pub struct LoadedRows {
    pub(super) listings: BTreeMap<i64, RowVersions>,
    pub(super) favorites: BTreeMap<FavoriteKey, Presence>,
    pub(super) orders: HashMap<String, BTreeMap<i64, OrderLine>>,
    pub(super) changed_orders: BTreeSet<(String, i64)>,
    pub(super) storefronts: HashMap<i64, i64>,
    pub(super) new_storefronts: BTreeMap<i64, i64>,
    pub(super) movements: Vec<MovementRecord>,
    /// New views by listing.
    pub(super) views: BTreeMap<i64, i64>,
    pub(super) new_ids: NewIds,
}

impl LoadedRows {
    /// Rows as a store loaded them: listings that were not deleted, and reserved ids.
    #[must_use]
    pub fn new(listings: Vec<Listing>, new_ids: NewIds) -> Self {
        let row =
            |listing: Listing| (listing.id, RowVersions { before: Some(listing.clone()), now: listing });
        Self { listings: listings.into_iter().map(row).collect(), new_ids, ..Self::default() }
    }

    /// Adds a favourite that exists.
    pub fn add_favorite(&mut self, key: FavoriteKey) {
        self.favorites.insert(key, Presence { before: true, now: true });
    }

    /// Adds an order line that exists.
    pub fn add_order_line(&mut self, keyed: KeyedOrderLine) {
        self.orders.entry(keyed.order_id).or_default().insert(keyed.listing_id, keyed.line);
    }

    /// Adds a storefront that has an owner.
    pub fn add_storefront(&mut self, storefront_id: i64, owner: i64) {
        self.storefronts.insert(storefront_id, owner);
    }

    /// The storefront's owner: the given user, when it had none.
    pub(super) fn storefront_owner(&mut self, storefront_id: i64, first: i64) -> i64 {
        match self.storefronts.get(&storefront_id) {
            Some(owner) => *owner,
            None => *self.new_storefronts.entry(storefront_id).or_insert(first),
        }
    }

    /// The listing, to be changed.
    pub(super) fn listing(&mut self, what: &'static str, id: i64) -> Result<&mut Listing, WriteRefusal> {
        let row = self.listings.get_mut(&id).filter(|row| row.now.deleted_at.is_none());
        row.map(|row| &mut row.now).ok_or(WriteRefusal::NotFound(what, id))
    }
}
