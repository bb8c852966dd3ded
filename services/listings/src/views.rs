//! Views of products, counted in memory and written together. A call is answered before its view is written. Views are
//! written twice a second and once more when the service ends. They are counted apart from the rows of products and
//! invalidate nothing, so they show when a cached answer has reached the age that the settings allow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kit::drain::Draining;

use crate::store::{Store, WriteError};
use crate::write::{ViewCount, Write};

/// The interval between two writes.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);
/// Products with unwritten views at most.
const MAX_PRODUCTS: usize = 100_000;
const MAX_PRODUCTS_PER_WRITE: usize = 1_000;
/// How long the last writes are tried when the service ends.
const FINAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Counts views and writes them.
#[derive(Debug, Default)]
pub struct ViewCounter {
    counted: Mutex<HashMap<i64, i32>>,
    /// Locked while counted views are written.
    writing: tokio::sync::Mutex<()>,
}

/// Too many products have unwritten views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyViews;

impl ViewCounter {
    /// Counts one view of an existing product.
    ///
    /// # Errors
    /// When too many products have unwritten views.
    pub fn count(&self, product_id: i64) -> Result<(), TooManyViews> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MAX_PRODUCTS && !counted.contains_key(&product_id) {
            return Err(TooManyViews);
        }
        let views = counted.entry(product_id).or_default();
        *views = views.saturating_add(1);
        Ok(())
    }

    /// The number of products with unwritten views.
    #[must_use]
    pub fn unwritten_products(&self) -> usize {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Writes twice a second until the drain begins; [`ViewCounter::finish`] writes the rest.
    pub async fn run(self: Arc<Self>, store: Arc<Store>, mut draining: Draining) {
        let mut ticks = tokio::time::interval(WRITE_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = draining.begun() => return,
            }
            if let Err(error) = self.write(&store).await {
                tracing::warn!(%error, "views were not written; they are kept for the next write");
            }
        }
    }

    /// Writes the remaining views; called when no more are counted.
    pub async fn finish(&self, store: &Store) {
        let all_written = async {
            while self.write(store).await.is_err() {
                tokio::time::sleep(WRITE_INTERVAL).await;
            }
        };
        if tokio::time::timeout(FINAL_TIMEOUT, all_written).await.is_err() {
            let products = self.unwritten_products();
            tracing::error!(products, "views were lost: the store did not accept them");
        }
    }

    /// Each view is written once: the outcome of a write is waited for, and only those of a failed write are kept.
    async fn write(&self, store: &Store) -> Result<(), WriteError> {
        let _only_write = self.writing.lock().await;
        let counted = std::mem::take(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner));
        let counts = counted.into_iter().map(|(product_id, count)| ViewCount { product_id, count });
        let mut views: Vec<ViewCount> = counts.collect();
        views.sort_unstable();
        let mut parts = views.chunks(MAX_PRODUCTS_PER_WRITE);
        while let Some(part) = parts.next() {
            if let Err(error) = store.write_surely(Write::View(part.to_vec())).await {
                self.put_back(parts.flatten().chain(part));
                return Err(error);
            }
        }
        Ok(())
    }

    fn put_back<'a>(&self, views: impl Iterator<Item = &'a ViewCount>) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for view in views {
            let sum = counted.entry(view.product_id).or_default();
            *sum = sum.saturating_add(view.count);
        }
    }
}
