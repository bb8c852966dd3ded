//! A load that ends with the process that it is offered to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How many rounds the variable asks for; 3 when it is unset.
pub fn rounds(variable: &str) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// The state that the tasks of a load share.
#[derive(Debug, Default)]
pub struct Load {
    acknowledged: AtomicUsize,
    is_over: AtomicBool,
}

impl Load {
    /// Counts an acknowledged request.
    pub fn acknowledge(&self) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }

    pub fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Returns once so many requests were acknowledged.
    pub async fn reach(&self, enough: usize) {
        while self.acknowledged() < enough {
            tokio::task::yield_now().await;
        }
    }

    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}
