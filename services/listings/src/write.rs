//! What can be asked of the store to change, and what comes of it. Pure: a write is decided on rows that the store has
//! loaded and locked; what it changes elsewhere (sums, counts, words, what caches must forget) follows from the rows
//! before and after, so that no write can leave any of it out.

mod changes;
mod held;
mod listings;
mod marks;
mod stock;

pub use changes::{Changes, Reworded};
pub use held::{Held, Needs, OrderLine};

use crate::listing::{Image, Listing, Status, Translation};
use crate::price::Price;
use kit::clock::UtcMs;
use std::collections::BTreeMap;

/// Why a write was refused. Nothing of it was done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such listing, product or variant, or it was deleted.
    #[error("no {0} has the id {1}")]
    NotFound(&'static str, i64),
    /// It belongs to somebody else.
    #[error("the listing belongs to somebody else")]
    NotOwner,
    /// What is there does not allow it.
    #[error("{0}")]
    Precondition(String),
}

/// A listing to be.
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
    /// One of the categories.
    pub category_id: i64,
    /// In stock.
    pub quantity: i32,
    /// Stock-keeping unit.
    pub sku: Option<String>,
    /// By language.
    pub translations: BTreeMap<String, Translation>,
    /// The language of title and description.
    pub original_language: String,
    /// Where its images are, in their order.
    pub images: Vec<String>,
}

/// What its owner changes of a listing.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Which listing.
    pub id: i64,
    /// Who changes it.
    pub user_id: i64,
    /// The new title.
    pub title: Option<String>,
    /// The new description.
    pub description: Option<String>,
    /// The new price.
    pub price: Option<Price>,
    /// The new stock.
    pub quantity: Option<i32>,
    /// Where it stands from now on.
    pub status: Option<Status>,
}

/// Who deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleter {
    /// A user, who may delete what is theirs.
    Owner(i64),
    /// An administrator.
    Admin,
}

/// How stock moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// So many come in.
    In,
    /// So many go out.
    Out,
    /// It was counted.
    Adjustment,
}

impl Direction {
    /// The word that clients and databases know it by.
    #[must_use]
    pub fn word(self) -> &'static str {
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
    /// Whose product it is.
    pub storefront_id: i64,
    /// The product.
    pub product_id: i64,
    /// How it moves.
    pub direction: Direction,
    /// By how much, or to how much.
    pub quantity: i32,
    /// Why.
    pub reason: Option<String>,
    /// For the record.
    pub notes: Option<String>,
    /// Who moved it.
    pub user_id: i64,
    /// Whose product alone it may be, when the mover may not touch others'.
    pub owner: Option<i64>,
}

/// Some of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// The product.
    pub product_id: i64,
    /// The variant asked for, if any.
    pub variant_id: Option<i64>,
    /// How many; for setting stock, the new stock.
    pub quantity: i32,
}

/// New stocks of a storefront's products.
#[derive(Debug, Clone)]
pub struct StockSet {
    /// Whose products they are.
    pub storefront_id: i64,
    /// Each with the new quantity and why.
    pub items: Vec<(Item, Option<String>)>,
    /// Who counted.
    pub user_id: i64,
    /// As of a movement.
    pub owner: Option<i64>,
}

/// What an order takes or gives back.
#[derive(Debug, Clone)]
pub struct OrderItems {
    /// What and how many.
    pub items: Vec<Item>,
    /// The order, so that asking twice is asking once.
    pub order_id: Option<String>,
}

/// Everything that changes anything.
#[derive(Debug, Clone)]
pub enum Write {
    /// Makes a listing.
    Create(Box<NewListing>),
    /// Changes one.
    Update(Box<Edit>),
    /// Takes one away.
    Delete(i64, Deleter),
    /// A user marks a listing.
    Mark {
        /// The user.
        user_id: i64,
        /// The listing.
        listing_id: i64,
    },
    /// A user takes a mark away.
    Unmark {
        /// The user.
        user_id: i64,
        /// The listing.
        listing_id: i64,
    },
    /// Stock moves.
    Move(Box<Movement>),
    /// Stocks are set.
    Set(Box<StockSet>),
    /// An order takes stock.
    Take(Box<OrderItems>),
    /// An order gives it back.
    Return(Box<OrderItems>),
    /// Products were looked at so many times.
    View(Vec<(i64, i32)>),
}

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemOutcome {
    /// Which.
    pub item: Item,
    /// Stock before and after; the same when nothing was done.
    pub stock: (i32, i32),
    /// Why nothing was done.
    pub error: Option<String>,
}

/// What came of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// The listing as it is now.
    Listing(Box<Listing>),
    /// It is done.
    Done,
    /// Stock before and after.
    Moved(i32, i32),
    /// Of each item.
    Items(Vec<ItemOutcome>),
}

/// A line in the record of movements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovementLine {
    /// Of which product.
    pub listing_id: i64,
    /// How.
    pub direction: Direction,
    /// By how much, or to how much.
    pub quantity: i32,
    /// Stock before and after.
    pub stock: (i32, i32),
    /// Why.
    pub reason: Option<String>,
    /// For the record.
    pub notes: Option<String>,
    /// Who; 0 for an order.
    pub user_id: i64,
}

impl Write {
    /// Does it to the rows held.
    ///
    /// # Errors
    /// When it is refused; the rows are as before.
    pub fn apply(&self, held: &mut Held, now: UtcMs) -> Result<Written, Refused> {
        match self {
            Self::Create(new) => Ok(listings::create(held, new, now)),
            Self::Update(edit) => listings::update(held, edit, now),
            Self::Delete(id, deleter) => listings::delete(held, (*id, *deleter), now),
            Self::Mark { user_id, listing_id } => marks::mark(held, (*user_id, *listing_id)),
            Self::Unmark { user_id, listing_id } => Ok(marks::unmark(held, (*user_id, *listing_id))),
            Self::Move(movement) => stock::move_one(held, movement, now),
            Self::Set(set) => Ok(stock::set_all(held, set, now)),
            Self::Take(order) => stock::take(held, order, now),
            Self::Return(order) => stock::give_back(held, order, now),
            Self::View(views) => Ok(marks::view(held, views)),
        }
    }
}

fn image(id: i64, (place, url): (usize, &String)) -> Image {
    let display_order = i32::try_from(place).unwrap_or(i32::MAX);
    Image { id, url: url.clone(), display_order, is_primary: place == 0 }
}

#[cfg(test)]
mod tests;
