//! The open streams of a connection, by identifier.
//!
//! Identifiers are ours and count up by two, so that streams which are open at the same time mostly differ in the last bits of
//! half the identifier: these are the place in a table at which a stream is looked for, and the next places where another one
//! has it. Where the stream itself is does not change as the table grows.

use slab::Slab;

use super::stream::Stream;

/// The table's first length; it is always a power of two, at least twice the number of streams.
const FIRST_PLACES: usize = 8;
/// The identifier of a free place: stream 0 is the connection.
const FREE: StreamSlot = StreamSlot { id: 0, key: 0 };

#[derive(Debug, Clone, Copy)]
struct StreamSlot {
    id: u32,
    key: u32,
}

#[derive(Debug, Default)]
pub(super) struct Streams {
    places: Vec<StreamSlot>,
    all: Slab<(u32, Stream)>,
}

impl Streams {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn home_of(&self, id: u32) -> usize {
        (id >> 1) as usize & self.places.len().wrapping_sub(1)
    }

    /// The index in the table, and the place there.
    #[inline]
    fn find(&self, id: u32) -> Option<(usize, StreamSlot)> {
        let mut at = self.home_of(id);
        loop {
            let place = *self.places.get(at)?;
            if place.id == id {
                return Some((at, place));
            }
            if place.id == FREE.id {
                return None;
            }
            at = (at + 1) & (self.places.len() - 1);
        }
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Stream> {
        let (_, place) = self.find(id)?;
        self.all.get(place.key as usize).map(|(_, stream)| stream)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        let (_, place) = self.find(id)?;
        self.all.get_mut(place.key as usize).map(|(_, stream)| stream)
    }

    /// Add a stream whose identifier no other one has.
    pub(super) fn insert(&mut self, id: u32, stream: Stream) {
        let key = self.all.insert((id, stream)) as u32;
        if self.all.len() * 2 > self.places.len() {
            self.grow();
        } else {
            self.put(StreamSlot { id, key });
        }
    }

    fn put(&mut self, place: StreamSlot) {
        let mut at = self.home_of(place.id);
        while self.places[at].id != FREE.id {
            at = (at + 1) & (self.places.len() - 1);
        }
        self.places[at] = place;
    }

    #[cold]
    fn grow(&mut self) {
        let length = (self.places.len() * 2).max(FIRST_PLACES);
        self.places = vec![FREE; length];
        let all: Vec<StreamSlot> =
            self.all.iter().map(|(key, (id, _))| StreamSlot { id: *id, key: key as u32 }).collect();
        all.into_iter().for_each(|place| self.put(place));
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let (mut free, place) = self.find(id)?;
        let mask = self.places.len() - 1;
        // Those after it that are not where they belong move up, so that a search does not end at its place.
        let mut at = free;
        loop {
            at = (at + 1) & mask;
            let next = self.places[at];
            if next.id == FREE.id {
                break;
            }
            let from_home = at.wrapping_sub(self.home_of(next.id)) & mask;
            if from_home >= at.wrapping_sub(free) & mask {
                self.places[free] = next;
                free = at;
            }
        }
        self.places[free] = FREE;
        self.all.try_remove(place.key as usize).map(|(_, stream)| stream)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.all.iter().map(|(_, (id, stream))| (*id, stream))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Stream)> {
        self.all.iter_mut().map(|(_, (id, stream))| (*id, stream))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::h2::stream::tests::stream;

    #[derive(Debug, Clone, Copy)]
    enum Change {
        /// Open the next stream, so many identifiers on.
        Open(u32),
        /// The n-th of those that are open ends.
        Close(usize),
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let skipped = prop_oneof![9 => Just(0_u32), 1 => 0_u32..300];
        let change = prop_oneof![
            6 => skipped.prop_map(Change::Open),
            5 => any::<usize>().prop_map(Change::Close),
            // Streams that stay open while others come and go.
            3 => (0_usize..4).prop_map(|nth| Change::Close(usize::MAX - nth)),
        ];
        prop::collection::vec(change, 0..400)
    }

    proptest! {
        /// It has the streams that a map has, whatever opens and ends in which order.
        #[test]
        fn streams_are_found_as_in_a_map(changes in changes()) {
            let (mut streams, mut map, mut next) = (Streams::default(), BTreeMap::new(), 1_u32);
            for change in changes {
                match change {
                    Change::Open(skipped) => {
                        next += 2 * skipped;
                        streams.insert(next, stream(next.into()));
                        map.insert(next, u64::from(next));
                        next += 2;
                    }
                    Change::Close(_) if map.is_empty() => {}
                    Change::Close(nth) => {
                        let id = *map.keys().nth(nth % map.len()).unwrap();
                        prop_assert_eq!(streams.remove(id).map(|stream| stream.token), map.remove(&id));
                        prop_assert!(streams.remove(id).is_none());
                    }
                }
                prop_assert_eq!(streams.len(), map.len());
                let found: BTreeMap<u32, u64> = streams.iter().map(|(id, stream)| (id, stream.token)).collect();
                prop_assert_eq!(&found, &map);
                for (id, token) in &map {
                    prop_assert_eq!(streams.get(*id).map(|stream| stream.token), Some(*token));
                }
                prop_assert!(streams.get(next).is_none() && streams.get_mut(next).is_none());
                prop_assert!(streams.places.len() <= (4 * map.len()).max(streams.all.capacity() * 4).max(FIRST_PLACES));
            }
        }
    }
}
