//! How many lines each part of the screen has.

/// The lines that a part would have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Want {
    /// With fewer it is left out.
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Want {
    /// Of so many rows below a title, at least `least` of them.
    pub(super) fn titled(rows: usize, least: usize, gap: usize) -> Want {
        let title = usize::from(rows > 0);
        Want { least: rows.min(least) + title, most: rows + title }.with(gap)
    }

    /// With lines before it, if it has any.
    pub(super) fn with(self, gap: usize) -> Want {
        match self.most {
            0 => self,
            _ => Want { least: self.least + gap, most: self.most + gap },
        }
    }
}

/// The lines of each part, the most important first; the last gets what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space<const N: usize>(pub(super) [usize; N]);

/// The last part grows to this share of the lines before any other grows beyond what it needs: two of five.
const LAST_SHARE: [usize; 2] = [2, 5];

impl<const N: usize> Space<N> {
    /// Shares `rows` lines: first what each part needs, in their order, then the rest.
    pub(super) fn shared(rows: usize, wants: [Want; N]) -> Space<N> {
        let mut space = [0; N];
        let mut free = rows;
        for (got, want) in space.iter_mut().zip(wants).filter(|(_, want)| want.least <= rows) {
            if want.least <= free {
                *got = want.least;
                free -= want.least;
            }
        }
        let last = N - 1;
        let mut grow = |part: usize, to: usize| {
            let more = to.min(wants[part].most).saturating_sub(space[part]).min(free);
            if space[part] > 0 {
                space[part] += more;
                free -= more;
            }
            more > 0 && space[part] > 0
        };
        let [part, whole] = LAST_SHARE;
        grow(last, rows * part / whole);
        let mut grown = [0; N];
        loop {
            let mut has_grown = false;
            for part in 0..last {
                grown[part] += 1;
                has_grown |= grow(part, wants[part].least + grown[part]);
            }
            if !has_grown {
                break;
            }
        }
        grow(last, rows);
        Space(space)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_gets_what_it_needs_and_the_last_what_is_left() {
        let wants = [Want { least: 3, most: 5 }, Want { least: 2, most: 9 }, Want { least: 5, most: 40 }];
        for (rows, space) in [
            (2, [0, 2, 0]),
            (4, [4, 0, 0]),
            (9, [5, 4, 0]),
            (10, [3, 2, 5]),
            (13, [5, 3, 5]),
            (21, [5, 8, 8]),
            (60, [5, 9, 40]),
        ] {
            assert_eq!(Space::shared(rows, wants), Space(space), "{rows}");
        }
        assert_eq!(Space::shared(20, [Want::titled(0, 2, 1), Want { least: 5, most: 40 }]), Space([0, 20]));
    }
}
