//! Writes and their outcomes. Pure: a write is decided on rows that the store has loaded and locked. All that it
//! changes elsewhere (storefront statistics, counts, search entries, cache scopes to invalidate) is derived from the
//! rows before and after, so that no write can omit any of it.

mod changes;
mod favorites;
mod listings;
mod loaded_rows;
mod stock;

pub use changes::{Changes, Counted, SearchEntryChange};
pub use loaded_rows::{FavoriteKey, KeyedOrderLine, LoadedRows, NewIds, OrderLine, RequiredRows};

use std::collections::BTreeMap;

use kit::clock::UtcMs;

use crate::listing::{Listing, Status, Translation, Visibility};
use crate::price::Price;

/// Why a write was refused. A refused write changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// The listing, product or variant does not exist or was deleted.
    #[error("no {0} has the id {1}")]
    NotFound(&'static str, i64),
    /// It belongs to another user.
    #[error("the listing belongs to another user")]
    NotOwner,
    /// The storefront belongs to another user.
    #[error("the storefront belongs to another user")]
    NotStorefrontOwner,
    /// The current state does not allow it.
    #[error("{0}")]
    Precondition(String),
}

/// A listing to create.
#[derive(Debug, Clone)]
pub struct NewListing {
    /// Its owner.
    pub user_id: i64,
    /// The storefront whose product it is.
    pub storefront_id: Option<i64>,
    /// 3 to 255 characters.
    pub title: String,
    /// At most 5,000 characters.
    pub description: Option<String>,
    /// Above zero.
    pub price: Price,
    /// Three capital letters.
    pub currency: String,
    pub category_id: i64,
    /// In stock.
    pub quantity: i32,
    /// Stock-keeping unit.
    pub sku: Option<String>,
    /// By language.
    pub translations: BTreeMap<String, Translation>,
    /// The language of title and description.
    pub original_language: String,
    /// URLs of its images, in their order.
    pub images: Vec<String>,
    /// Users who may see it.
    pub visibility: Visibility,
    /// Words by which searches find it, besides those of its texts.
    pub tags: Vec<String>,
    /// When given, the storefront must belong to this user, or have no owner yet.
    pub owner: Option<i64>,
}

/// Changes to a listing by its owner.
#[derive(Debug, Clone, Default)]
pub struct ListingEdit {
    pub id: i64,
    /// The user who changes it.
    pub user_id: i64,
    /// The new title.
    pub title: Option<String>,
    /// The new description.
    pub description: Option<String>,
    /// The new price.
    pub price: Option<Price>,
    /// The new stock.
    pub quantity: Option<i32>,
    /// The new status.
    pub status: Option<Status>,
    /// The new visibility.
    pub visibility: Option<Visibility>,
    /// The new tags.
    pub tags: Option<Vec<String>>,
}

/// The caller who deletes a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleter {
    /// A user, who may delete their own listings.
    Owner(i64),
    Admin,
}

/// How stock moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Stock is added.
    In,
    /// Stock is removed.
    Out,
    /// Stock is set to a counted quantity.
    Adjustment,
}

impl Direction {
    /// The name in messages and databases.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Adjustment => "adjustment",
        }
    }
}

/// One movement of stock.
#[derive(Debug, Clone)]
pub struct Movement {
    /// The product's storefront.
    pub storefront_id: i64,
    pub product_id: i64,
    /// How the stock changes.
    pub direction: Direction,
    /// The difference, or for an adjustment the new stock.
    pub quantity: i32,
    pub reason: Option<String>,
    /// Notes for the record.
    pub notes: Option<String>,
    /// The user who moves it.
    pub user_id: i64,
    /// When given, the product must belong to this user.
    pub owner: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductQuantity {
    pub product_id: i64,
    /// The variant, if any.
    pub variant_id: Option<i64>,
    /// The quantity; when stock is set, the new stock.
    pub quantity: i32,
}

/// A product's new stock.
#[derive(Debug, Clone)]
pub struct NewStock {
    /// The product and its new stock.
    pub item: ProductQuantity,
    pub reason: Option<String>,
}

/// New stocks of a storefront's products.
#[derive(Debug, Clone)]
pub struct StockSet {
    /// The products' storefront.
    pub storefront_id: i64,
    pub items: Vec<NewStock>,
    /// The user who sets them.
    pub user_id: i64,
    /// As [`Movement::owner`].
    pub owner: Option<i64>,
}

/// What an order takes or gives back.
#[derive(Debug, Clone)]
pub struct OrderItems {
    pub items: Vec<ProductQuantity>,
    /// The order; it makes a repeated request idempotent.
    pub order_id: Option<String>,
}

/// Views of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewCount {
    pub product_id: i64,
    /// The number of views.
    pub count: i32,
}

/// A change to the store.
#[derive(Debug, Clone)]
pub enum Write {
    Create(Box<NewListing>),
    /// Changes a listing.
    Update(Box<ListingEdit>),
    /// Deletes a listing.
    Delete(i64, Deleter),
    /// Adds a favourite.
    AddFavorite(FavoriteKey),
    /// Removes a favourite.
    RemoveFavorite(FavoriteKey),
    /// Moves stock.
    Move(Box<Movement>),
    Set(Box<StockSet>),
    /// Takes stock for an order.
    Take(Box<OrderItems>),
    /// Gives an order's stock back.
    Return(Box<OrderItems>),
    /// Counts views of products.
    View(Vec<ViewCount>),
}

/// Stock before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockLevels {
    /// Before the change.
    pub before: i32,
    /// After the change.
    pub after: i32,
}

impl StockLevels {
    /// The levels when nothing changes.
    pub(crate) fn unchanged(stock: i32) -> Self {
        Self { before: stock, after: stock }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemOutcome {
    pub item: ProductQuantity,
    /// Stock before and after; equal when the item was refused.
    pub stock: StockLevels,
    /// Why the item was refused.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WriteOutcome {
    /// The listing as it is now.
    Listing(Box<Listing>),
    /// The write succeeded and has no result.
    Done,
    /// Stock before and after.
    Moved(StockLevels),
    Items(Vec<ItemOutcome>),
}

/// A row in the record of stock movements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovementRecord {
    pub listing_id: i64,
    /// How the stock changed.
    pub direction: Direction,
    /// The difference, or for an adjustment the new stock.
    pub quantity: i32,
    /// Stock before and after.
    pub stock: StockLevels,
    pub reason: Option<String>,
    pub notes: Option<String>,
    /// The user; 0 for an order.
    pub user_id: i64,
}

impl Write {
    /// Applies the write to the loaded rows.
    ///
    /// # Errors
    /// When the write is refused; the rows are unchanged.
    pub fn apply(&self, loaded: &mut LoadedRows, now: UtcMs) -> Result<WriteOutcome, WriteRefusal> {
        match self {
            Self::Create(new) => listings::create(loaded, new, now),
            Self::Update(edit) => listings::update(loaded, edit, now),
            Self::Delete(id, deleter) => listings::delete(loaded, *id, *deleter, now),
            Self::AddFavorite(key) => favorites::add(loaded, *key),
            Self::RemoveFavorite(key) => Ok(favorites::remove(loaded, *key)),
            Self::Move(movement) => stock::move_one(loaded, movement, now),
            Self::Set(set) => Ok(stock::set_all(loaded, set, now)),
            Self::Take(order) => Ok(stock::take(loaded, order, now)),
            Self::Return(order) => Ok(stock::give_back(loaded, order, now)),
            Self::View(views) => Ok(favorites::view(loaded, views)),
        }
    }
}

#[cfg(test)]
mod tests;
