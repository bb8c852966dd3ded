//! One lock for each goal of a user that is claimed now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

use crate::user::UserId;

/// A user's goal by its id: a claim may remain open after its goal was removed from the challenge file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ClaimLockKey {
    pub(super) user: UserId,
    pub(super) goal_id: String,
}

type Locks = Mutex<HashMap<ClaimLockKey, Arc<tokio::sync::Mutex<()>>>>;

/// The locks in use.
#[derive(Debug, Default)]
pub(super) struct ClaimLocks {
    locks: Arc<Locks>,
}

/// One of them. The last to drop it removes it, also when its owner never got it.
#[derive(Debug)]
pub(super) struct ClaimLock {
    locks: Arc<Locks>,
    key: ClaimLockKey,
    mutex: Arc<tokio::sync::Mutex<()>>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl ClaimLocks {
    pub(super) fn get(&self, key: ClaimLockKey) -> ClaimLock {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        let mutex = Arc::clone(locks.entry(key.clone()).or_default());
        ClaimLock { locks: Arc::clone(&self.locks), key, mutex, guard: None }
    }
}

impl ClaimLock {
    /// Waits until no other owner has it.
    pub(super) async fn acquired(mut self) -> Self {
        self.guard = Some(Arc::clone(&self.mutex).lock_owned().await);
        self
    }

    /// The lock, unless another owner has it.
    pub(super) fn try_acquired(mut self) -> Option<Self> {
        self.guard = Some(Arc::clone(&self.mutex).try_lock_owned().ok()?);
        Some(self)
    }
}

impl Drop for ClaimLock {
    fn drop(&mut self) {
        self.guard = None;
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        // One reference is the map's, the other this owner's.
        if Arc::strong_count(&self.mutex) == 2 {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ClaimLockKey {
        ClaimLockKey { user: UserId::new("ann").unwrap(), goal_id: "g".to_owned() }
    }

    #[tokio::test]
    async fn a_lock_is_removed_with_its_last_owner_also_when_that_gave_up_waiting() {
        let locks = ClaimLocks::default();
        let first = locks.get(key()).try_acquired().unwrap();
        assert!(locks.get(key()).try_acquired().is_none());
        let mut waiting = Box::pin(locks.get(key()).acquired());
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("another owner has it"),
            () = std::future::ready(()) => {}
        }
        drop(first);
        assert_eq!(locks.locks.lock().unwrap().len(), 1, "one owner waits");
        drop(waiting);
        assert_eq!(locks.locks.lock().unwrap().len(), 0);
    }
}
