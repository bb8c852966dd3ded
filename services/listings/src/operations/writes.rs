//! Writes. Every write goes to the store, which also invalidates the cache.

use super::Operations;
use crate::caller::Caller;
use crate::categories;
use crate::listing::Listing;
use crate::refusal::Refusal;
use crate::views::TooManyViews;
use crate::write::{
    Deleter, FavoriteKey, ItemOutcome, ListingEdit, Movement, NewListing, OrderItems, StockLevels, StockSet,
    Write, WriteOutcome,
};

impl Operations {
    /// Creates a listing.
    ///
    /// # Errors
    /// When its category does not exist or is not active, the storefront belongs to another user, or the store fails.
    pub async fn create(&self, new: NewListing) -> Result<Listing, Refusal> {
        let all = self.categories().await?;
        let id = new.category_id;
        let category = categories::find(&all, id).ok_or(Refusal::NotFound("category", id))?;
        if !category.is_active {
            return Err(Refusal::Precondition(format!("category {id} is not active and takes no listings")));
        }
        self.listing_written(Write::Create(Box::new(new))).await
    }

    /// Changes a listing.
    ///
    /// # Errors
    /// When it does not exist, belongs to another user, or the store fails.
    pub async fn update(&self, edit: ListingEdit) -> Result<Listing, Refusal> {
        self.listing_written(Write::Update(Box::new(edit))).await
    }

    async fn listing_written(&self, write: Write) -> Result<Listing, Refusal> {
        match self.store.write(write).await? {
            WriteOutcome::Listing(listing) => Ok(*listing),
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

    /// Adds a favourite.
    ///
    /// # Errors
    /// When the listing does not exist, or the store fails.
    pub async fn add_favorite(&self, favorite: FavoriteKey) -> Result<(), Refusal> {
        Ok(self.store.write(Write::AddFavorite(favorite)).await.map(drop)?)
    }

    /// Removes a favourite.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remove_favorite(&self, favorite: FavoriteKey) -> Result<(), Refusal> {
        Ok(self.store.write(Write::RemoveFavorite(favorite)).await.map(drop)?)
    }

    /// Counts a view.
    ///
    /// # Errors
    /// When the product does not exist, too many views wait to be written, or the store fails.
    pub async fn view(&self, caller: &Caller, product_id: i64) -> Result<(), Refusal> {
        self.product(caller, product_id, None).await?;
        self.views.count(product_id).map_err(|TooManyViews| Refusal::Full)
    }

    /// Moves stock; returns it before and after.
    ///
    /// # Errors
    /// When the product does not exist, its stock does not allow it, or the store fails.
    pub async fn move_stock(&self, movement: Movement) -> Result<StockLevels, Refusal> {
        match self.store.write(Write::Move(Box::new(movement))).await? {
            WriteOutcome::Moved(stock) => Ok(stock),
            _ => Err(Refusal::Unavailable),
        }
    }

    /// Sets stocks; each item succeeds or fails by itself.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_stock(&self, set: StockSet) -> Result<Vec<ItemOutcome>, Refusal> {
        self.items_written(Write::Set(Box::new(set))).await
    }

    /// Takes all of an order's items, or none of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn take(&self, order: OrderItems) -> Result<Vec<ItemOutcome>, Refusal> {
        self.items_written(Write::Take(Box::new(order))).await
    }

    /// Gives back all of an order's items, or none of them.
    ///
    /// # Errors
    /// As [`Operations::take`].
    pub async fn give_back(&self, order: OrderItems) -> Result<Vec<ItemOutcome>, Refusal> {
        self.items_written(Write::Return(Box::new(order))).await
    }

    async fn items_written(&self, write: Write) -> Result<Vec<ItemOutcome>, Refusal> {
        match self.store.write(write).await? {
            WriteOutcome::Items(outcomes) => Ok(outcomes),
            _ => Err(Refusal::Unavailable),
        }
    }
}
