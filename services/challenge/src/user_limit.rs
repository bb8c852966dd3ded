//! A bound on the requests of one user at once, and on what they began and left, so that no user takes the slots of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::user::UserId;

/// The same bound for each user. Clones share the counts.
#[derive(Debug, Clone)]
pub struct UserLimit {
    max: usize,
    /// Only users with requests are in it.
    requests: Arc<Mutex<HashMap<UserId, usize>>>,
}

/// A user's place: that of a request, and of what it began when this outlives it. Freed with the last clone.
#[derive(Debug, Clone)]
pub struct UserSlot {
    place: Arc<UserPlace>,
}

#[derive(Debug)]
struct UserPlace {
    limit: UserLimit,
    user: UserId,
}

impl UserLimit {
    /// At most `max` requests of each user at once.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, requests: Arc::default() }
    }

    /// A slot; `None` when the user has as many requests as may be.
    #[must_use]
    pub fn enter(&self, user: &UserId) -> Option<UserSlot> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry(user.clone()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(UserSlot { place: Arc::new(UserPlace { limit: self.clone(), user: user.clone() }) })
    }
}

impl UserSlot {
    /// Whose place it is.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.place.user
    }
}

impl Drop for UserPlace {
    fn drop(&mut self) {
        let mut requests = self.limit.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = requests.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                requests.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_bound_of_their_own_and_nothing_is_kept_of_users_without_requests() {
        let limit = UserLimit::new(2);
        let [ann, bob] = ["ann", "bob"].map(|name| UserId::new(name).unwrap());
        let held = [limit.enter(&ann).unwrap(), limit.enter(&ann).unwrap()];
        assert!(limit.enter(&ann).is_none());
        assert!(limit.enter(&bob).is_some());
        let outlives = held[0].clone();
        drop(held);
        let second = limit.enter(&ann).unwrap();
        assert!(limit.enter(&ann).is_none(), "a clone has the place of the first");
        drop((outlives, second));
        assert!(limit.enter(&ann).is_some());
        assert!(limit.requests.lock().unwrap().is_empty());
    }
}
