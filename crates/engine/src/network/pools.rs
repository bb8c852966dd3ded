//! The pools of one loop, which are made when a request first needs them.

use crate::index::{OriginIndex, PoolIndex, UserIndex};

use super::pool::Pool;

/// Which connections a request may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolKey {
    pub(super) origin: OriginIndex,
    /// The virtual user that they belong to; none: to all.
    pub(super) owner: Option<UserIndex>,
}

/// The pools of one loop.
#[derive(Debug, Default)]
pub(super) struct Pools {
    all: Vec<Pool>,
    /// Those of all virtual users, by origin.
    common: Vec<Option<PoolIndex>>,
    /// By the virtual user: the first of those that are its own; each has few.
    owned: Vec<Option<PoolIndex>>,
}

impl Pools {
    /// The pool of this key, which `make` makes if there is none yet.
    pub(super) fn find(&mut self, key: PoolKey, make: impl FnOnce() -> Pool) -> PoolIndex {
        let known = match key.owner {
            None => self.common.get(key.origin.0).copied().flatten(),
            Some(owner) => {
                let next = |pool: &PoolIndex| self.get(*pool).next_of_user;
                let mut own = std::iter::successors(self.first_of_user(owner), next);
                own.find(|pool| self.get(*pool).origin == key.origin)
            }
        };
        known.unwrap_or_else(|| self.add(key, make()))
    }

    fn add(&mut self, key: PoolKey, mut pool: Pool) -> PoolIndex {
        let index = PoolIndex(self.all.len() as u32);
        match key.owner {
            None => {
                self.common.resize(self.common.len().max(key.origin.0 + 1), None);
                self.common[key.origin.0] = Some(index);
            }
            Some(owner) => {
                let owner = owner.0 as usize;
                self.owned.resize(self.owned.len().max(owner + 1), None);
                pool.next_of_user = self.owned[owner].replace(index);
            }
        }
        self.all.push(pool);
        index
    }

    /// The first pool of a virtual user; each says which is the next.
    pub(super) fn first_of_user(&self, user: UserIndex) -> Option<PoolIndex> {
        self.owned.get(user.0 as usize).copied().flatten()
    }

    pub(super) fn get(&self, index: PoolIndex) -> &Pool {
        &self.all[index.0 as usize]
    }

    pub(super) fn get_mut(&mut self, index: PoolIndex) -> &mut Pool {
        &mut self.all[index.0 as usize]
    }
}
