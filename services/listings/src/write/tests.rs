//! Writes in any order: the statistics derived from the changes equal those computed from the rows.

use proptest::prelude::*;

use super::*;
use crate::listing::example;
use crate::scope::CacheScope;
use crate::stats::StorefrontStats;

const NOW: UtcMs = UtcMs(1_000);

fn loaded(listings: Vec<Listing>) -> LoadedRows {
    LoadedRows::new(listings, NewIds { listings: (100..200).collect(), ..NewIds::default() })
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
    let item = |(product_id, quantity): &(i64, i32)| ProductQuantity {
        product_id: *product_id,
        variant_id: None,
        quantity: *quantity,
    };
    Box::new(OrderItems { items: items.iter().map(item).collect(), order_id: id.map(str::to_owned) })
}

#[test]
fn stock_moves_in_and_out_and_never_below_zero() {
    let mut loaded = loaded(vec![example(1)]);
    let mut moved = |direction, quantity| movement(direction, quantity).apply(&mut loaded, NOW);
    let levels = |before, after| Ok(WriteOutcome::Moved(StockLevels { before, after }));
    assert_eq!(moved(Direction::In, 5), levels(10, 15));
    assert_eq!(moved(Direction::Out, 15), levels(15, 0));
    let refused = WriteRefusal::Precondition("1 requested, 0 in stock".to_owned());
    assert_eq!(moved(Direction::Out, 1), Err(refused));
    assert_eq!(moved(Direction::Adjustment, i32::MAX), levels(0, i32::MAX));
    assert!(moved(Direction::In, 1).is_err(), "the stock would overflow");
    assert_eq!(Changes::of(loaded).movements.len(), 3);
}

#[test]
fn a_product_of_another_storefront_and_a_listing_that_is_no_product_are_not_found() {
    let elsewhere = Listing { storefront_id: Some(9), ..example(1) };
    let none = Listing { storefront_id: None, ..example(1) };
    let gone = Listing { deleted_at: Some(NOW), ..example(1) };
    for listing in [elsewhere, none, gone] {
        let refused = movement(Direction::In, 1).apply(&mut loaded(vec![listing]), NOW);
        assert_eq!(refused, Err(WriteRefusal::NotFound("product", 1)));
    }
}

#[test]
fn an_order_takes_all_items_or_none_and_once_and_gives_back_once() {
    let mut loaded = loaded(vec![example(1), example(2)]);
    let mut done = |write: Write| write.apply(&mut loaded, NOW);
    let stocks = |written: Result<WriteOutcome, WriteRefusal>| match written.unwrap() {
        WriteOutcome::Items(outcomes) => outcomes
            .into_iter()
            .map(|o| ((o.stock.before, o.stock.after), o.error.is_none()))
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let short = done(Write::Take(order(Some("a"), &[(1, 3), (2, 11)])));
    assert_eq!(stocks(short), [((10, 10), true), ((10, 10), false)]);
    let taken = [((10, 7), true), ((10, 6), true)];
    assert_eq!(stocks(done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)])))), taken);
    assert_eq!(
        stocks(done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)])))),
        taken,
        "a repeated order takes nothing"
    );
    assert!(done(Write::Take(order(Some("a"), &[(1, 3)]))).is_err(), "other items");
    assert_eq!(
        stocks(done(Write::Return(order(Some("a"), &[(1, 9)])))),
        [((7, 7), false)],
        "more than it took"
    );
    assert_eq!(
        stocks(done(Write::Return(order(Some("b"), &[(1, 3)])))),
        [((7, 7), false)],
        "the order took nothing"
    );
    assert_eq!(stocks(done(Write::Return(order(Some("a"), &[(1, 3)])))), [((7, 10), true)]);
    assert_eq!(stocks(done(Write::Return(order(Some("a"), &[(1, 3)])))), [((10, 10), true)], "once");
    assert!(done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)]))).is_err(), "rolled back");
    assert_eq!(stocks(done(Write::Take(order(None, &[(1, 1)])))), [((10, 9), true)]);
    let changes = Changes::of(loaded);
    let stocks: Vec<_> = changes.updated.iter().map(|listing| (listing.quantity, listing.sold)).collect();
    assert_eq!(stocks, [(9, 1), (6, 4)]);
}

#[test]
fn a_favourite_counts_once_and_is_deleted_with_the_listing() {
    let mut loaded = loaded(vec![example(1)]);
    let add = Write::AddFavorite(FavoriteKey { user_id: 5, listing_id: 1 });
    for _ in 0..2 {
        add.apply(&mut loaded, NOW).unwrap();
    }
    assert_eq!(loaded.listings[&1].now.favorites, 1);
    Write::Delete(1, Deleter::Owner(7)).apply(&mut loaded, NOW).unwrap();
    assert_eq!(add.apply(&mut loaded, NOW), Err(WriteRefusal::NotFound("listing", 1)));
    let changes = Changes::of(loaded);
    assert_eq!((changes.added_favorites, changes.cleared_favorites), (vec![], vec![1]));
}

#[test]
fn only_the_owner_changes_and_the_owner_or_an_administrator_deletes() {
    let mut loaded = loaded(vec![example(1), example(2)]);
    let edit = |user_id| Write::Update(Box::new(ListingEdit { id: 1, user_id, ..ListingEdit::default() }));
    assert_eq!(edit(8).apply(&mut loaded, NOW), Err(WriteRefusal::NotOwner));
    assert!(edit(7).apply(&mut loaded, NOW).is_ok());
    assert_eq!(Write::Delete(1, Deleter::Owner(8)).apply(&mut loaded, NOW), Err(WriteRefusal::NotOwner));
    assert!(Write::Delete(1, Deleter::Owner(7)).apply(&mut loaded, NOW).is_ok());
    assert_eq!(
        Write::Delete(1, Deleter::Admin).apply(&mut loaded, NOW),
        Err(WriteRefusal::NotFound("listing", 1))
    );
    assert!(Write::Delete(2, Deleter::Admin).apply(&mut loaded, NOW).is_ok());
}

#[test]
fn a_movement_invalidates_the_listing_and_the_statistics_and_no_search() {
    let mut loaded = loaded(vec![example(1)]);
    movement(Direction::In, 1).apply(&mut loaded, NOW).unwrap();
    let changes = Changes::of(loaded);
    assert_eq!(
        changes.invalidated.into_iter().collect::<Vec<_>>(),
        [CacheScope::Listing(1), CacheScope::Stats(3)]
    );
    assert!(changes.search_entry_changes.is_empty());
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
        (id.clone(), any::<bool>()).prop_map(|(id, sold)| Write::Update(Box::new(ListingEdit {
            id,
            user_id: 7,
            status: Some(if sold { Status::Sold } else { Status::Active }),
            ..ListingEdit::default()
        }))),
        (id.clone(), 1..9_000_i64).prop_map(|(id, price)| Write::Update(Box::new(ListingEdit {
            id,
            user_id: 7,
            price: Some(Price::from_hundredths(price)),
            ..ListingEdit::default()
        }))),
        id.prop_map(|id| Write::Delete(id, Deleter::Admin)),
    ]
}

proptest! {
    #[test]
    fn stored_statistics_equal_the_statistics_of_the_rows(writes in prop::collection::vec(a_write(), 0..40)) {
        let listings: Vec<Listing> = (1..5).map(example).collect();
        let sum = |listings: &[Listing]| {
            listings.iter().filter_map(Listing::contribution).fold(StorefrontStats::default(), |sum, (_, stats)| sum + stats)
        };
        let before = sum(&listings);
        let mut loaded = loaded(listings);
        for write in &writes {
            let _refused = write.apply(&mut loaded, NOW);
        }
        let now: Vec<Listing> = loaded.listings.values().map(|row| row.now.clone()).collect();
        let changes = Changes::of(loaded);
        let moved = changes.stats.get(&3).copied().unwrap_or_default();
        prop_assert_eq!(before + moved, sum(&now));
        let active = changes.counts.iter().filter(|((_, status), _)| *status == Status::Active).map(|(_, n)| n);
        prop_assert_eq!(4 + active.sum::<i64>(), sum(&now).active);
    }
}
