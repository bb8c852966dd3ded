use std::collections::HashSet;

use super::*;
use crate::schedule::Segment;

#[test]
fn unique_rows_are_used_once_for_any_number_of_segments() {
    let picker = RowPicker { pick: Pick::Unique, rows: 1_000, base: 100, spare: 0, salt: 0 };
    let mut rows = HashSet::new();
    for index in 0..3 {
        let segment = Segment { index, count: 3 };
        for k in 0..segment.share(900) {
            assert!(rows.insert(picker.row(&Draw::new(1, 0, segment.nth(k)))));
        }
    }
    assert_eq!((rows.len(), rows.iter().min(), rows.iter().max()), (900, Some(&100), Some(&999)));
}

#[test]
fn empty_data_and_empty_weights_do_not_panic() {
    let draw = Draw::new(0, 0, u64::MAX);
    for pick in [Pick::Unique, Pick::Random, Pick::Sequential] {
        assert_eq!(RowPicker { pick, rows: 0, base: u64::MAX, spare: u64::MAX, salt: 0 }.row(&draw), 0);
    }
    assert_eq!((draw.weighted(0, &[]), draw.weighted(0, &[0, 0]), draw.below(0, 0)), (0, 1, 0));
}

#[test]
fn requests_beside_the_schedule_take_rows_that_the_schedule_does_not_use() {
    let extra = |place: u64| Draw::new(1, 0, FIRST_EXTRA + place);
    let unique = RowPicker { pick: Pick::Unique, rows: 100, base: 0, spare: 90, salt: 0 };
    assert_eq!((unique.row(&extra(0)), unique.row(&extra(9))), (90, 99));
    let in_turn = RowPicker { pick: Pick::Sequential, rows: 100, base: 0, spare: 0, salt: 0 };
    assert_eq!((in_turn.row(&extra(0)), in_turn.row(&extra(2))), (99, 97));
}
