//! What is seldom counted, by a tag: waits for a connection by what limited it, responses by how they depart from a standard.

use evidence::{Key, KeyId, Metric};
use wire::{Deviation, Deviations};

use super::{Accounting, NO_KEY, PlacedRow};
use crate::exchange::{HeldBack, PlaceLimit};
use crate::index::grown;

/// Key numbers by tag, then row.
#[derive(Debug, Default)]
pub(super) struct ByTag {
    place_waits: [Vec<u32>; PlaceLimit::COUNT],
    deviations: [Vec<u32>; Deviation::ALL.len()],
}

impl Accounting {
    /// A request waited because no connection could take it.
    pub(super) fn held_back(&mut self, row: PlacedRow, held_back: HeldBack) {
        let limit = held_back.limit;
        let key = match *grown(&mut self.by_tag.place_waits[limit as usize], row.position, NO_KEY) {
            NO_KEY => {
                let key = self.describe(Metric::PlaceWait, row.row, None).tag("limit", limit.name());
                let id = self.announce(key);
                self.by_tag.place_waits[limit as usize][row.position] = id.0;
                id
            }
            known => KeyId(known),
        };
        self.tick.record_ns(key, held_back.ns);
    }

    /// A response departed from a standard.
    #[cold]
    pub(super) fn deviated(&mut self, row: PlacedRow, deviations: Deviations) {
        for one in deviations.iter() {
            let key = match *grown(&mut self.by_tag.deviations[one as usize], row.position, NO_KEY) {
                NO_KEY => {
                    let key =
                        self.describe(Metric::Deviations, row.row, None).tag(Key::DEVIATION, one.name());
                    let id = self.announce(key);
                    self.by_tag.deviations[one as usize][row.position] = id.0;
                    id
                }
                known => KeyId(known),
            };
            self.tick.add(key, self.tick.second, 1);
        }
    }
}
