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
    /// Those of one virtual user, by the user; each has few.
    owned: Vec<Vec<PoolIndex>>,
}

impl Pools {
    /// The pool of this key, which `make` makes if there is none yet.
    pub(super) fn find(&mut self, key: PoolKey, make: impl FnOnce() -> Pool) -> PoolIndex {
        let known = match key.owner {
            None => self.common.get(key.origin.0).copied().flatten(),
            Some(owner) => {
                let is_same = |pool: &&PoolIndex| self.get(**pool).origin == key.origin;
                self.of_user(owner).iter().find(is_same).copied()
            }
        };
        known.unwrap_or_else(|| self.add(key, make()))
    }

    fn add(&mut self, key: PoolKey, pool: Pool) -> PoolIndex {
        let index = PoolIndex(self.all.len() as u32);
        self.all.push(pool);
        match key.owner {
            None => {
                self.common.resize(self.common.len().max(key.origin.0 + 1), None);
                self.common[key.origin.0] = Some(index);
            }
            Some(owner) => {
                let owner = owner.0 as usize;
                self.owned.resize_with(self.owned.len().max(owner + 1), Vec::new);
                self.owned[owner].push(index);
            }
        }
        index
    }

    /// The pools of a virtual user.
    pub(super) fn of_user(&self, user: UserIndex) -> &[PoolIndex] {
        self.owned.get(user.0 as usize).map_or(&[], Vec::as_slice)
    }

    pub(super) fn get(&self, index: PoolIndex) -> &Pool {
        &self.all[index.0 as usize]
    }

    pub(super) fn get_mut(&mut self, index: PoolIndex) -> &mut Pool {
        &mut self.all[index.0 as usize]
    }
}
