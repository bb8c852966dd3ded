//! Favourites and views.

use super::{Held, Refused, Written};

/// Marking what is marked changes nothing.
pub(super) fn mark(held: &mut Held, mark: (i64, i64)) -> Result<Written, Refused> {
    let listing = held.listing("listing", mark.1)?;
    let favorites = listing.favorites.saturating_add(1);
    let is_there = held.marks.entry(mark).or_default();
    if !is_there.1 {
        is_there.1 = true;
        held.listing("listing", mark.1)?.favorites = favorites;
    }
    Ok(Written::Done)
}

/// So does taking away what is not there; a listing that was deleted has no marks.
pub(super) fn unmark(held: &mut Held, mark: (i64, i64)) -> Written {
    if let Some(is_there) = held.marks.get_mut(&mark)
        && std::mem::take(&mut is_there.1)
        && let Ok(listing) = held.listing("listing", mark.1)
    {
        listing.favorites = (listing.favorites - 1).max(0);
    }
    Written::Done
}

/// Views of what was deleted meanwhile are nobody's.
pub(super) fn view(held: &mut Held, views: &[(i64, i32)]) -> Written {
    for (id, times) in views {
        if let Ok(listing) = held.listing("product", *id) {
            listing.views = listing.views.saturating_add(*times);
        }
    }
    Written::Done
}
