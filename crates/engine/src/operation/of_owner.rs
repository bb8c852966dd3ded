//! The open operations of each virtual user, as lists through the operations themselves: to cancel one iteration costs what it
//! has under way, however many operations the loop has.

use super::{Operation, Operations};
use crate::index::{OperationIndex, UserIndex, grown};

/// The neighbours of an operation among those of its owner.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Neighbours {
    previous: Option<OperationIndex>,
    next: Option<OperationIndex>,
}

impl Operations {
    /// The virtual user has asked for the operation's request.
    pub(crate) fn begin(&mut self, index: OperationIndex, owner: UserIndex) -> &mut Operation {
        let next = grown(&mut self.first_of, owner.0 as usize, None).replace(index);
        if let Some(next) = next {
            self.get_mut(next).neighbours.previous = Some(index);
        }
        let operation = self.get_mut(index);
        operation.owner = owner;
        operation.neighbours = Neighbours { previous: None, next };
        operation
    }

    /// The operation is over; one that was never begun is in no list.
    pub(super) fn leave_owner(&mut self, index: OperationIndex) {
        let operation = self.get_mut(index);
        let owner = operation.owner.0 as usize;
        let Neighbours { previous, next } = std::mem::take(&mut operation.neighbours);
        match previous {
            Some(previous) => self.get_mut(previous).neighbours.next = next,
            None => match self.first_of.get_mut(owner) {
                Some(first) if *first == Some(index) => *first = next,
                _ => return,
            },
        }
        if let Some(next) = next {
            self.get_mut(next).neighbours.previous = previous;
        }
    }

    /// What a virtual user has under way.
    pub(crate) fn of_owner(&self, owner: UserIndex) -> impl Iterator<Item = OperationIndex> {
        let first = self.first_of.get(owner.0 as usize).copied().flatten();
        std::iter::successors(first, |index| self.get(*index).neighbours.next)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::body_budget::BodyBudget;

    #[derive(Debug, Clone, Copy)]
    enum Change {
        Begin(u32),
        /// The n-th of those that are open ends.
        End(usize),
        /// It is asked for, and ends before it is begun.
        OpenAndEnd,
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            4 => (0..5_u32).prop_map(Change::Begin),
            3 => any::<usize>().prop_map(Change::End),
            1 => Just(Change::OpenAndEnd),
        ];
        prop::collection::vec(change, 0..200)
    }

    proptest! {
        /// The list of each virtual user has its open operations, each once, and none of another one's: nothing else is
        /// looked at when one of them is cancelled.
        #[test]
        fn each_virtual_user_has_its_own_open_operations(changes in changes()) {
            let mut operations = Operations::new(&BodyBudget::new(0));
            let mut open: Vec<(UserIndex, OperationIndex)> = Vec::new();
            for change in changes {
                match change {
                    Change::Begin(owner) => {
                        let index = operations.open(0);
                        operations.begin(index, UserIndex(owner));
                        open.push((UserIndex(owner), index));
                    }
                    Change::End(nth) if !open.is_empty() => {
                        let (_, index) = open.swap_remove(nth % open.len());
                        operations.close(index);
                    }
                    Change::End(_) => {}
                    Change::OpenAndEnd => {
                        let index = operations.open(0);
                        operations.close(index);
                    }
                }
                for owner in (0..6).map(UserIndex) {
                    let mut listed: Vec<OperationIndex> = operations.of_owner(owner).collect();
                    listed.sort_unstable();
                    let own = open.iter().filter(|(user, _)| *user == owner);
                    let mut own: Vec<OperationIndex> = own.map(|(_, index)| *index).collect();
                    own.sort_unstable();
                    prop_assert_eq!(listed, own);
                }
            }
        }
    }
}
