//! What writes need to see, and the rows that they are decided on.

use super::{MovementLine, Refused, Write};
use crate::listing::Listing;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// What some writes need to see, for all of them to be loaded at once.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Listings to lock, in this order.
    pub listings: BTreeSet<i64>,
    /// User and listing of marks that may be there.
    pub marks: BTreeSet<(i64, i64)>,
    /// Orders whose lines may be there.
    pub orders: BTreeSet<String>,
    /// Ids for new listings, and for their images.
    pub new_listings: usize,
    /// Ids for new images.
    pub new_images: usize,
}

impl Needs {
    /// What these need.
    pub fn of<'a>(writes: impl IntoIterator<Item = &'a Write>) -> Self {
        let mut needs = Self::default();
        writes.into_iter().for_each(|write| needs.add(write));
        needs
    }

    fn add(&mut self, write: &Write) {
        match write {
            Write::Create(new) => {
                self.new_listings += 1;
                self.new_images += new.images.len();
            }
            Write::Update(edit) => drop(self.listings.insert(edit.id)),
            Write::Delete(id, _) => drop(self.listings.insert(*id)),
            Write::Mark { user_id, listing_id } | Write::Unmark { user_id, listing_id } => {
                self.listings.insert(*listing_id);
                self.marks.insert((*user_id, *listing_id));
            }
            Write::Move(movement) => drop(self.listings.insert(movement.product_id)),
            Write::Set(set) => self.listings.extend(set.items.iter().map(|(item, _)| item.product_id)),
            Write::Take(order) | Write::Return(order) => {
                self.listings.extend(order.items.iter().map(|item| item.product_id));
                self.orders.extend(order.order_id.clone());
            }
            Write::View(views) => self.listings.extend(views.iter().map(|(id, _)| *id)),
        }
    }
}

/// What an order took of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderLine {
    /// How many.
    pub quantity: i32,
    /// Stock before and after.
    pub stock: (i32, i32),
    /// Whether it was given back.
    pub is_returned: bool,
}

/// A listing before and after.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// `None` when it is new.
    pub(super) before: Option<Listing>,
    pub(super) now: Listing,
}

/// The rows that writes are decided on, and what they have done so far.
#[derive(Debug, Default)]
pub struct Held {
    pub(super) rows: BTreeMap<i64, Row>,
    /// Which of the marks asked for are there, before and now.
    pub(super) marks: BTreeMap<(i64, i64), (bool, bool)>,
    pub(super) orders: HashMap<String, BTreeMap<i64, OrderLine>>,
    pub(super) changed_orders: BTreeSet<(String, i64)>,
    pub(super) movements: Vec<MovementLine>,
    pub(super) new_ids: VecDeque<i64>,
    pub(super) new_image_ids: VecDeque<i64>,
}

impl Held {
    /// Rows as a store loaded them: listings that were not deleted, marks and order lines that are there, and ids.
    #[must_use]
    pub fn new(listings: Vec<Listing>, new_ids: VecDeque<i64>, new_image_ids: VecDeque<i64>) -> Self {
        let row = |listing: Listing| (listing.id, Row { before: Some(listing.clone()), now: listing });
        Self { rows: listings.into_iter().map(row).collect(), new_ids, new_image_ids, ..Self::default() }
    }

    /// Adds a mark that is there.
    pub fn add_mark(&mut self, mark: (i64, i64)) {
        self.marks.insert(mark, (true, true));
    }

    /// Adds a line of an order that is there.
    pub fn add_order_line(&mut self, order: String, (listing_id, line): (i64, OrderLine)) {
        self.orders.entry(order).or_default().insert(listing_id, line);
    }

    /// The listing, to be changed.
    pub(super) fn listing(&mut self, what: &'static str, id: i64) -> Result<&mut Listing, Refused> {
        let row = self.rows.get_mut(&id).filter(|row| row.now.deleted_at.is_none());
        row.map(|row| &mut row.now).ok_or(Refused::NotFound(what, id))
    }
}
