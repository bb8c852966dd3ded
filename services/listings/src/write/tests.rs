//! Whatever is written in whatever order, the sums that follow are those of the rows themselves.

use super::*;
use crate::listing::example;
use crate::scope::Scope;
use crate::stats::Stats;
use proptest::prelude::*;
use std::collections::VecDeque;

const NOW: UtcMs = UtcMs(1_000);

fn held(listings: Vec<Listing>) -> Held {
    Held::new(listings, (100..200).collect(), VecDeque::new())
}

fn movement(direction: Direction, quantity: i32) -> Write {
    Write::Move(Box::new(Movement {
        storefront_id: 3,
        product_id: 1,
        direction,
        quantity,
        reason: None,
        notes: None,
        user_id: 7,
        owner: None,
    }))
}

fn order(id: Option<&str>, items: &[(i64, i32)]) -> Box<OrderItems> {
    let item = |(product_id, quantity): &(i64, i32)| Item {
        product_id: *product_id,
        variant_id: None,
        quantity: *quantity,
    };
    Box::new(OrderItems { items: items.iter().map(item).collect(), order_id: id.map(str::to_owned) })
}

#[test]
fn stock_moves_in_and_out_and_never_below_nothing() {
    let mut held = held(vec![example(1)]);
    let mut moved = |direction, quantity| movement(direction, quantity).apply(&mut held, NOW);
    assert_eq!(moved(Direction::In, 5), Ok(Written::Moved(10, 15)));
    assert_eq!(moved(Direction::Out, 15), Ok(Written::Moved(15, 0)));
    let refused = Refused::Precondition("1 were asked for and 0 are in stock".to_owned());
    assert_eq!(moved(Direction::Out, 1), Err(refused));
    assert_eq!(moved(Direction::Adjustment, i32::MAX), Ok(Written::Moved(0, i32::MAX)));
    assert!(moved(Direction::In, 1).is_err(), "more than can be counted");
    assert_eq!(Changes::of(held).movements.len(), 3);
}

#[test]
fn another_storefronts_product_and_what_is_no_product_are_not_found() {
    let elsewhere = Listing { storefront_id: Some(9), ..example(1) };
    let none = Listing { storefront_id: None, ..example(1) };
    let gone = Listing { deleted_at: Some(NOW), ..example(1) };
    for listing in [elsewhere, none, gone] {
        let refused = movement(Direction::In, 1).apply(&mut held(vec![listing]), NOW);
        assert_eq!(refused, Err(Refused::NotFound("product", 1)));
    }
}

#[test]
fn an_order_takes_all_or_nothing_and_once_and_gives_back_once() {
    let mut held = held(vec![example(1), example(2)]);
    let mut done = |write: Write| write.apply(&mut held, NOW);
    let stocks = |written: Result<Written, Refused>| match written.unwrap() {
        Written::Items(outcomes) => {
            outcomes.into_iter().map(|o| (o.stock, o.error.is_none())).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let short = done(Write::Take(order(Some("a"), &[(1, 3), (2, 11)])));
    assert_eq!(stocks(short), [((10, 10), true), ((10, 10), false)]);
    let taken = [((10, 7), true), ((10, 6), true)];
    assert_eq!(stocks(done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)])))), taken);
    assert_eq!(
        stocks(done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)])))),
        taken,
        "asking again takes nothing"
    );
    assert!(done(Write::Take(order(Some("a"), &[(1, 3)]))).is_err(), "other items");
    assert_eq!(
        stocks(done(Write::Return(order(Some("a"), &[(1, 9)])))),
        [((7, 7), false)],
        "more than it took"
    );
    assert_eq!(stocks(done(Write::Return(order(Some("b"), &[(1, 3)])))), [((7, 7), false)], "nothing taken");
    assert_eq!(stocks(done(Write::Return(order(Some("a"), &[(1, 3)])))), [((7, 10), true)]);
    assert_eq!(stocks(done(Write::Return(order(Some("a"), &[(1, 3)])))), [((10, 10), true)], "once");
    assert!(done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)]))).is_err(), "rolled back");
    assert_eq!(stocks(done(Write::Take(order(None, &[(1, 1)])))), [((10, 9), true)]);
    let changes = Changes::of(held);
    let stocks: Vec<_> = changes.updated.iter().map(|listing| (listing.quantity, listing.sold)).collect();
    assert_eq!(stocks, [(9, 1), (6, 4)]);
}

#[test]
fn a_mark_counts_once_and_goes_with_the_listing() {
    let mut held = held(vec![example(1)]);
    let mark = Write::Mark { user_id: 5, listing_id: 1 };
    for _ in 0..2 {
        mark.apply(&mut held, NOW).unwrap();
    }
    assert_eq!(held.rows[&1].now.favorites, 1);
    Write::Delete(1, Deleter::Owner(7)).apply(&mut held, NOW).unwrap();
    assert_eq!(mark.apply(&mut held, NOW), Err(Refused::NotFound("listing", 1)));
    let changes = Changes::of(held);
    assert_eq!((changes.marked, changes.forgotten), (vec![], vec![1]));
}

#[test]
fn only_the_owner_changes_and_the_owner_or_an_administrator_deletes() {
    let mut held = held(vec![example(1), example(2)]);
    let edit = |user_id| Write::Update(Box::new(Edit { id: 1, user_id, ..Edit::default() }));
    assert_eq!(edit(8).apply(&mut held, NOW), Err(Refused::NotOwner));
    assert!(edit(7).apply(&mut held, NOW).is_ok());
    assert_eq!(Write::Delete(1, Deleter::Owner(8)).apply(&mut held, NOW), Err(Refused::NotOwner));
    assert!(Write::Delete(1, Deleter::Owner(7)).apply(&mut held, NOW).is_ok());
    assert_eq!(Write::Delete(1, Deleter::Admin).apply(&mut held, NOW), Err(Refused::NotFound("listing", 1)));
    assert!(Write::Delete(2, Deleter::Admin).apply(&mut held, NOW).is_ok());
}

#[test]
fn a_movement_touches_the_listing_and_the_sums_and_no_search() {
    let mut held = held(vec![example(1)]);
    movement(Direction::In, 1).apply(&mut held, NOW).unwrap();
    let changes = Changes::of(held);
    assert_eq!(changes.touched.into_iter().collect::<Vec<_>>(), [Scope::Listing(1), Scope::Stats(3)]);
    assert!(changes.reworded.is_empty());
}

fn a_write() -> impl Strategy<Value = Write> {
    let id = 1..6_i64;
    prop_oneof![
        (id.clone(), 0..4_i32).prop_map(|(id, n)| Write::Take(order(None, &[(id, n)]))),
        (id.clone(), 0..9_i32).prop_map(|(product_id, quantity)| Write::Move(Box::new(Movement {
            storefront_id: 3,
            product_id,
            direction: Direction::Adjustment,
            quantity,
            reason: None,
            notes: None,
            user_id: 7,
            owner: None,
        }))),
        (id.clone(), any::<bool>()).prop_map(|(id, sold)| Write::Update(Box::new(Edit {
            id,
            user_id: 7,
            status: Some(if sold { Status::Sold } else { Status::Active }),
            ..Edit::default()
        }))),
        (id.clone(), 1..9_000_i64).prop_map(|(id, price)| Write::Update(Box::new(Edit {
            id,
            user_id: 7,
            price: Some(Price::of_hundredths(price)),
            ..Edit::default()
        }))),
        id.prop_map(|id| Write::Delete(id, Deleter::Admin)),
    ]
}

proptest! {
    #[test]
    fn kept_sums_are_the_sums_of_the_rows(writes in prop::collection::vec(a_write(), 0..40)) {
        let listings: Vec<Listing> = (1..5).map(example).collect();
        let sum = |listings: &[Listing]| {
            listings.iter().filter_map(Listing::counts_for).fold(Stats::default(), |sum, (_, stats)| sum + stats)
        };
        let before = sum(&listings);
        let mut held = held(listings);
        for write in &writes {
            let _refused = write.apply(&mut held, NOW);
        }
        let now: Vec<Listing> = held.rows.values().map(|row| row.now.clone()).collect();
        let changes = Changes::of(held);
        let moved = changes.stats.get(&3).copied().unwrap_or_default();
        prop_assert_eq!(before + moved, sum(&now));
        let active = changes.counts.iter().filter(|((_, status), _)| *status == Status::Active).map(|(_, n)| n);
        prop_assert_eq!(4 + active.sum::<i64>(), sum(&now).active);
    }
}
