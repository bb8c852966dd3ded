//! Views of products, counted in memory and written together. They are answered before they are written, and show
//! within a second: written twice a second, and what is left when the service ends is written then.

use crate::store::{Store, StoreError, WriteError};
use crate::write::Write;
use kit::drain::Draining;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Between two writes.
const EVERY: Duration = Duration::from_millis(500);
/// Products at most between two writes; each write locks the rows that it counts for.
const MAX_PRODUCTS: usize = 100_000;
/// Rows in one write.
const TOGETHER: usize = 1_000;
/// Attempts at what is left when the service ends.
const LAST_ATTEMPTS: usize = 20;

/// Views that are not written yet.
#[derive(Debug, Default)]
pub struct Views {
    counted: Mutex<HashMap<i64, i32>>,
}

/// There is no room for more products before the next write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Views {
    /// Counts one view of a product that there is.
    ///
    /// # Errors
    /// When too many products wait to be written.
    pub fn count(&self, product_id: i64) -> Result<(), Full> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.len() >= MAX_PRODUCTS && !counted.contains_key(&product_id) {
            return Err(Full);
        }
        let views = counted.entry(product_id).or_default();
        *views = views.saturating_add(1);
        Ok(())
    }

    /// Products whose views are not written yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Writes twice a second until the drain begins; [`Views::finish`] writes the rest.
    pub async fn run(self: Arc<Self>, store: Arc<Store>, mut draining: Draining) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = draining.begun() => return,
            }
            if let Err(error) = self.write(&store).await {
                tracing::warn!(%error, "views are kept and written later");
            }
        }
    }

    /// Writes what is left, when nobody counts any more.
    pub async fn finish(&self, store: &Store) {
        for _attempt in 0..LAST_ATTEMPTS {
            if self.write(store).await.is_ok() {
                return;
            }
            tokio::time::sleep(EVERY).await;
        }
        tracing::error!(products = self.waiting(), "views were lost: the store did not take them");
    }

    async fn write(&self, store: &Store) -> Result<(), WriteError> {
        let taken = std::mem::take(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner));
        let mut taken: Vec<(i64, i32)> = taken.into_iter().collect();
        taken.sort_unstable();
        let mut parts = taken.chunks(TOGETHER);
        while let Some(part) = parts.next() {
            if let Err(error) = store.write(Write::View(part.to_vec())).await {
                let rest = parts.flatten().chain(undone(&error, part));
                self.put_back(rest);
                return Err(error);
            }
        }
        Ok(())
    }

    fn put_back<'a>(&self, views: impl Iterator<Item = &'a (i64, i32)>) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, times) in views {
            let sum = counted.entry(*id).or_default();
            *sum = sum.saturating_add(*times);
        }
    }
}

/// What was certainly not written. Of a commit that nobody answered, it is unknown: counting again what may have been
/// counted would show views that nobody made.
fn undone<'a>(error: &WriteError, part: &'a [(i64, i32)]) -> &'a [(i64, i32)] {
    match error {
        WriteError::Store(StoreError::Slow) => &[],
        _ => part,
    }
}
