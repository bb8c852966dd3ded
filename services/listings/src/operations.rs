//! The operations of the service. The interface calls these and nothing else.

mod reads;
mod search_places;
mod writes;

use std::sync::Arc;

use crate::cache::CachedReads;
use crate::store::Store;
use crate::views::ViewCounter;
use search_places::SearchPlaces;

pub use reads::MAX_FAVORED_BY;

/// The operations on a store.
pub struct Operations {
    store: Arc<Store>,
    cached_reads: CachedReads,
    views: Arc<ViewCounter>,
    search_places: SearchPlaces,
}

impl Operations {
    /// Operations on a store that works on this many searches at once.
    #[must_use]
    pub fn new(
        store: Arc<Store>,
        cached_reads: CachedReads,
        views: Arc<ViewCounter>,
        searches: usize,
    ) -> Self {
        Self { store, cached_reads, views, search_places: SearchPlaces::of_store(searches) }
    }
}
