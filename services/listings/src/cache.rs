//! What answers of the store are remembered, and when they are forgotten.

mod local;
mod value;

pub use local::Local;
pub use value::Value;

use crate::scope::Scope;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A cache, or none. Clones share it.
#[derive(Debug, Clone)]
pub enum Cache {
    /// Nothing is remembered: every read asks the store.
    Off,
    /// In this process, for a store that this process alone writes.
    Local(Arc<Local>),
}

impl Cache {
    /// Forgets, before a write is answered, what it has touched; for the embedded store.
    pub(crate) fn forget_here(&self, scopes: &BTreeSet<Scope>) {
        if let Self::Local(local) = self {
            local.forget(scopes);
        }
    }
}
