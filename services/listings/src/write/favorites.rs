//! Favourites and views.

use super::{FavoriteKey, LoadedRows, ViewCount, WriteOutcome, WriteRefusal};

/// Adding a favourite that exists changes nothing.
pub(super) fn add(loaded: &mut LoadedRows, key: FavoriteKey) -> Result<WriteOutcome, WriteRefusal> {
    let listing = loaded.listing("listing", key.listing_id)?;
    if !listing.is_visible_to(key.user_id) {
        return Err(WriteRefusal::NotFound("listing", key.listing_id));
    }
    let favorites = listing.favorites.saturating_add(1);
    let presence = loaded.favorites.entry(key).or_default();
    if !presence.now {
        presence.now = true;
        loaded.listing("listing", key.listing_id)?.favorites = favorites;
    }
    Ok(WriteOutcome::Done)
}

/// Removing a favourite that does not exist changes nothing; a deleted listing has no favourites.
pub(super) fn remove(loaded: &mut LoadedRows, key: FavoriteKey) -> WriteOutcome {
    if let Some(presence) = loaded.favorites.get_mut(&key)
        && std::mem::take(&mut presence.now)
        && let Ok(listing) = loaded.listing("listing", key.listing_id)
    {
        listing.favorites = (listing.favorites - 1).max(0);
    }
    WriteOutcome::Done
}

/// Views of a product that was deleted meanwhile are ignored.
pub(super) fn view(loaded: &mut LoadedRows, views: &[ViewCount]) -> WriteOutcome {
    for view in views {
        if let Ok(listing) = loaded.listing("product", view.product_id) {
            listing.views = listing.views.saturating_add(view.count);
        }
    }
    WriteOutcome::Done
}
