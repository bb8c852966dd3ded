//! Making, changing and deleting listings.

use super::held::Row;
use super::{Deleter, Edit, Held, NewListing, Refused, Written, image};
use crate::listing::{Listing, Status, Visibility};
use crate::uuid::uuid_of;
use kit::clock::UtcMs;

/// It is for sale at once.
pub(super) fn create(held: &mut Held, new: &NewListing, now: UtcMs) -> Written {
    // A store loads an id for each write that makes a listing.
    let id = held.new_ids.pop_front().unwrap_or_default();
    let images = new.images.iter().enumerate();
    let images = images.map(|place| image(held.new_image_ids.pop_front().unwrap_or_default(), place));
    let listing = Listing {
        id,
        uuid: uuid_of((id, now)),
        user_id: new.user_id,
        storefront_id: new.storefront_id,
        title: new.title.clone(),
        description: new.description.clone(),
        price: new.price,
        currency: new.currency.clone(),
        category_id: new.category_id,
        status: Status::Active,
        visibility: Visibility::Public,
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
        images: images.collect(),
    };
    held.rows.insert(id, Row { before: None, now: listing.clone() });
    Written::Listing(Box::new(listing))
}

pub(super) fn update(held: &mut Held, edit: &Edit, now: UtcMs) -> Result<Written, Refused> {
    let listing = held.listing("listing", edit.id)?;
    if listing.user_id != edit.user_id {
        return Err(Refused::NotOwner);
    }
    if let Some(title) = &edit.title {
        listing.title.clone_from(title);
    }
    if let Some(description) = &edit.description {
        listing.description = Some(description.clone());
    }
    listing.price = edit.price.unwrap_or(listing.price);
    listing.quantity = edit.quantity.unwrap_or(listing.quantity);
    listing.status = edit.status.unwrap_or(listing.status);
    if listing.status == Status::Active {
        listing.published_at.get_or_insert(now);
    }
    listing.updated_at = now;
    Ok(Written::Listing(Box::new(listing.clone())))
}

pub(super) fn delete(held: &mut Held, (id, deleter): (i64, Deleter), now: UtcMs) -> Result<Written, Refused> {
    let listing = held.listing("listing", id)?;
    match deleter {
        Deleter::Owner(user) if user != listing.user_id => return Err(Refused::NotOwner),
        Deleter::Owner(_) | Deleter::Admin => {}
    }
    listing.deleted_at = Some(now);
    listing.updated_at = now;
    listing.favorites = 0;
    Ok(Written::Done)
}
