//! Creating, changing and deleting listings.

use kit::clock::UtcMs;

use super::loaded_rows::RowVersions;
use super::{Deleter, ListingEdit, LoadedRows, NewListing, WriteOutcome, WriteRefusal};
use crate::listing::{Image, Listing, Status};
use crate::listing_uuid::listing_uuid;

/// A new listing is active at once. A storefront belongs to the user of its first product.
pub(super) fn create(
    loaded: &mut LoadedRows,
    new: &NewListing,
    now: UtcMs,
) -> Result<WriteOutcome, WriteRefusal> {
    if let Some(storefront_id) = new.storefront_id {
        let owner = loaded.storefront_owner(storefront_id, new.user_id);
        if new.owner.is_some_and(|user| user != owner) {
            return Err(WriteRefusal::NotStorefrontOwner);
        }
    }
    // A store reserves an id for each write that creates a listing.
    let id = loaded.new_ids.listings.pop_front().unwrap_or_default();
    let image = |(index, url): (usize, &String)| Image {
        id: loaded.new_ids.images.pop_front().unwrap_or_default(),
        url: url.clone(),
        display_order: i32::try_from(index).unwrap_or(i32::MAX),
        is_primary: index == 0,
    };
    let images = new.images.iter().enumerate().map(image).collect();
    let listing = Listing {
        id,
        uuid: listing_uuid(id, now),
        user_id: new.user_id,
        storefront_id: new.storefront_id,
        title: new.title.clone(),
        description: new.description.clone(),
        price: new.price,
        currency: new.currency.clone(),
        category_id: new.category_id,
        status: Status::Active,
        visibility: new.visibility,
        quantity: new.quantity,
        sku: new.sku.clone(),
        views: 0,
        favorites: 0,
        sold: 0,
        created_at: now,
        updated_at: now,
        published_at: Some(now),
        deleted_at: None,
        translations: new.translations.clone(),
        original_language: new.original_language.clone(),
        images,
        tags: new.tags.clone(),
    };
    loaded.listings.insert(id, RowVersions { before: None, now: listing.clone() });
    Ok(WriteOutcome::Listing(Box::new(listing)))
}

/// Whether a listing belongs to this user. A user who may not see it does not learn that it exists.
pub(super) fn require_owner(listing: &Listing, what: &'static str, user_id: i64) -> Result<(), WriteRefusal> {
    if listing.user_id == user_id {
        Ok(())
    } else if listing.is_visible_to(user_id) {
        Err(WriteRefusal::NotOwner)
    } else {
        Err(WriteRefusal::NotFound(what, listing.id))
    }
}

pub(super) fn update(
    loaded: &mut LoadedRows,
    edit: &ListingEdit,
    now: UtcMs,
) -> Result<WriteOutcome, WriteRefusal> {
    let listing = loaded.listing("listing", edit.id)?;
    require_owner(listing, "listing", edit.user_id)?;
    if let Some(title) = &edit.title {
        listing.title.clone_from(title);
    }
    if let Some(description) = &edit.description {
        listing.description = Some(description.clone());
    }
    listing.price = edit.price.unwrap_or(listing.price);
    listing.quantity = edit.quantity.unwrap_or(listing.quantity);
    listing.status = edit.status.unwrap_or(listing.status);
    listing.visibility = edit.visibility.unwrap_or(listing.visibility);
    if let Some(tags) = &edit.tags {
        listing.tags.clone_from(tags);
    }
    if listing.status == Status::Active {
        listing.published_at.get_or_insert(now);
    }
    listing.updated_at = now;
    Ok(WriteOutcome::Listing(Box::new(listing.clone())))
}

pub(super) fn delete(
    loaded: &mut LoadedRows,
    id: i64,
    deleter: Deleter,
    now: UtcMs,
) -> Result<WriteOutcome, WriteRefusal> {
    let listing = loaded.listing("listing", id)?;
    if let Deleter::Owner(user) = deleter {
        require_owner(listing, "listing", user)?;
    }
    listing.deleted_at = Some(now);
    listing.updated_at = now;
    Ok(WriteOutcome::Done)
}
