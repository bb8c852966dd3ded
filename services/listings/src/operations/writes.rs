//! Writing. Every write goes to the store; what it makes the cache forget is the store's business.

use super::{Operations, Refusal};
use crate::categories;
use crate::listing::Listing;
use crate::views::Full;
use crate::write::{Deleter, Edit, ItemOutcome, Movement, NewListing, OrderItems, StockSet, Write, Written};

impl Operations {
    /// Makes a listing.
    ///
    /// # Errors
    /// When its category does not exist, or the store fails.
    pub async fn create(&self, new: NewListing) -> Result<Listing, Refusal> {
        let all = self.categories().await?;
        if categories::find(&all, new.category_id).is_none() {
            return Err(Refusal::NotFound("category", new.category_id));
        }
        self.listing_written(Write::Create(Box::new(new))).await
    }

    /// Changes a listing.
    ///
    /// # Errors
    /// When there is none, it is somebody else's, or the store fails.
    pub async fn update(&self, edit: Edit) -> Result<Listing, Refusal> {
        self.listing_written(Write::Update(Box::new(edit))).await
    }

    async fn listing_written(&self, write: Write) -> Result<Listing, Refusal> {
        match self.store.write(write).await? {
            Written::Listing(listing) => Ok(*listing),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Deletes a listing.
    ///
    /// # Errors
    /// As [`Operations::update`].
    pub async fn delete(&self, id: i64, deleter: Deleter) -> Result<(), Refusal> {
        Ok(self.store.write(Write::Delete(id, deleter)).await.map(drop)?)
    }

    /// Marks a listing.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn mark(&self, user_id: i64, listing_id: i64) -> Result<(), Refusal> {
        Ok(self.store.write(Write::Mark { user_id, listing_id }).await.map(drop)?)
    }

    /// Takes a mark away.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn unmark(&self, user_id: i64, listing_id: i64) -> Result<(), Refusal> {
        Ok(self.store.write(Write::Unmark { user_id, listing_id }).await.map(drop)?)
    }

    /// Counts a view.
    ///
    /// # Errors
    /// When there is no such product, there is no room, or the store fails.
    pub async fn view(&self, product_id: i64) -> Result<(), Refusal> {
        self.product(product_id, None).await?;
        self.views.count(product_id).map_err(|Full| Refusal::Full)
    }

    /// Moves stock; returns it before and after.
    ///
    /// # Errors
    /// When there is no such product, its stock does not allow it, or the store fails.
    pub async fn move_stock(&self, movement: Movement) -> Result<(i32, i32), Refusal> {
        match self.store.write(Write::Move(Box::new(movement))).await? {
            Written::Moved(before, after) => Ok((before, after)),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Sets stocks, each by itself.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_stock(&self, set: StockSet) -> Result<Vec<ItemOutcome>, Refusal> {
        self.items_written(Write::Set(Box::new(set))).await
    }

    /// Takes all of an order's items, or none of them.
    ///
    /// # Errors
    /// When one of them does not exist, the order contradicts itself, or the store fails.
    pub async fn take(&self, order: OrderItems) -> Result<Vec<ItemOutcome>, Refusal> {
        self.items_written(Write::Take(Box::new(order))).await
    }

    /// Gives all of an order's items back, or none of them.
    ///
    /// # Errors
    /// As [`Operations::take`].
    pub async fn give_back(&self, order: OrderItems) -> Result<Vec<ItemOutcome>, Refusal> {
        self.items_written(Write::Return(Box::new(order))).await
    }

    async fn items_written(&self, write: Write) -> Result<Vec<ItemOutcome>, Refusal> {
        match self.store.write(write).await? {
            Written::Items(outcomes) => Ok(outcomes),
            _ => Err(Refusal::Unavailable),
        }
    }
}
