//! The operations of the service. The interface calls these and nothing else.

mod reads;
mod writes;

use std::sync::Arc;

use crate::cache::CachedReads;
use crate::store::Store;
use crate::views::ViewCounter;

pub use reads::MAX_FAVORED_BY;

/// The operations on a store.
pub struct Operations {
    store: Arc<Store>,
    cached_reads: CachedReads,
    views: Arc<ViewCounter>,
}

impl Operations {
    #[must_use]
    pub fn new(store: Arc<Store>, cached_reads: CachedReads, views: Arc<ViewCounter>) -> Self {
        Self { store, cached_reads, views }
    }
}
