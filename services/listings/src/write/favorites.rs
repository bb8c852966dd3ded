//! Favourites and views.

use super::{FavoriteKey, LoadedRows, ViewCount, WriteOutcome, WriteRefusal};

/// Adding a favourite that exists changes nothing.
pub(super) fn add(loaded: &mut LoadedRows, key: FavoriteKey) -> Result<WriteOutcome, WriteRefusal> {
    let listing = loaded.listing("listing", key.listing_id)?;
    if !listing.is_visible_to(key.user_id) {
        return Err(WriteRefusal::NotFound("listing", key.listing_id));
    }
    loaded.favorites.entry(key).or_default().now = true;
    Ok(WriteOutcome::Done)
}

/// Removing a favourite that does not exist changes nothing; a deleted listing has no favourites.
pub(super) fn remove(loaded: &mut LoadedRows, key: FavoriteKey) -> WriteOutcome {
    if let Some(presence) = loaded.favorites.get_mut(&key) {
        presence.now = false;
    }
    WriteOutcome::Done
}

/// Neither reads nor locks the products, so that views do not delay what changes these.
pub(super) fn view(loaded: &mut LoadedRows, views: &[ViewCount]) -> WriteOutcome {
    for view in views {
        *loaded.views.entry(view.product_id).or_default() += i64::from(view.count);
    }
    WriteOutcome::Done
}
