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
    assert_eq!(Changes::new(loaded).movements.len(), 3);
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
fn to_a_user_who_may_not_see_a_listing_every_change_is_refused_as_if_there_was_none() {
    let hidden = [
        Listing { status: Status::Draft, ..example(1) },
        Listing { visibility: Visibility::Private, ..example(1) },
    ];
    for listing in hidden {
        let by = |user_id| {
            let item = ProductQuantity { product_id: 1, variant_id: None, quantity: 1 };
            let items = vec![NewStock { item, reason: None }];
            let Write::Move(mut movement) = movement(Direction::In, 1) else { unreachable!() };
            movement.owner = Some(user_id);
            [
                Write::Update(Box::new(ListingEdit { id: 1, user_id, ..ListingEdit::default() })),
                Write::Delete(1, Deleter::Owner(user_id)),
                Write::Move(movement),
                Write::Set(Box::new(StockSet { storefront_id: 3, items, user_id, owner: Some(user_id) })),
            ]
        };
        for write in by(8) {
            let refused = write.apply(&mut loaded(vec![listing.clone()]), NOW);
            assert_eq!(refused, write.apply(&mut loaded(Vec::new()), NOW));
        }
        assert!(by(7).iter().all(|write| write.apply(&mut loaded(vec![listing.clone()]), NOW).is_ok()));
    }
}

fn items(written: Result<WriteOutcome, WriteRefusal>) -> Vec<ItemOutcome> {
    match written.unwrap() {
        WriteOutcome::Items(outcomes) => outcomes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_order_says_of_each_item_why_it_is_not_carried_out() {
    let none = Listing { storefront_id: None, ..example(3) };
    let request = order(None, &[(0, 1), (-5, 1), (1, 0), (1, 2), (1, 2), (2, 11), (3, 1), (9, 1)]);
    let errors = [
        Some("product_id: must be above 0"),
        Some("product_id: must be above 0"),
        Some("quantity: must be above 0"),
        None,
        Some("occurs twice"),
        Some("11 requested, 10 in stock"),
        Some("no product has the id 3"),
        Some("no product has the id 9"),
    ];
    let mut loaded = loaded(vec![example(1), example(2), none]);
    let outcomes = items(Write::Take(request).apply(&mut loaded, NOW));
    assert_eq!(outcomes.iter().map(|outcome| outcome.error.as_deref()).collect::<Vec<_>>(), errors);
    let variant = ProductQuantity { product_id: 1, variant_id: Some(4), quantity: 1 };
    let request = Box::new(OrderItems { items: vec![variant], order_id: None });
    let outcomes = items(Write::Return(request).apply(&mut loaded, NOW));
    assert_eq!(outcomes[0].error.as_deref(), Some("no variant has the id 4"));
    assert!(Changes::new(loaded).is_empty());
}

#[test]
fn an_order_takes_all_items_or_none_and_once_and_gives_back_once() {
    let mut loaded = loaded(vec![example(1), example(2)]);
    let mut done = |write: Write| write.apply(&mut loaded, NOW);
    let stocks = |written: Result<WriteOutcome, WriteRefusal>| {
        let of = |o: ItemOutcome| ((o.stock.before, o.stock.after), o.error.is_none());
        items(written).into_iter().map(of).collect::<Vec<_>>()
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
    assert_eq!(stocks(done(Write::Take(order(Some("a"), &[(1, 3)])))), [((7, 7), false)], "other items");
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
    let again = done(Write::Take(order(Some("a"), &[(1, 3), (2, 4)])));
    assert_eq!(stocks(again), [((10, 10), false), ((6, 6), false)], "rolled back");
    assert_eq!(stocks(done(Write::Take(order(None, &[(1, 1)])))), [((10, 9), true)]);
    let changes = Changes::new(loaded);
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
    assert_eq!(Changes::new(loaded.clone()).counters, [(1, Counted { views: 0, favorites: 1 })].into());
    Write::Delete(1, Deleter::Owner(7)).apply(&mut loaded, NOW).unwrap();
    assert_eq!(add.apply(&mut loaded, NOW), Err(WriteRefusal::NotFound("listing", 1)));
    let changes = Changes::new(loaded);
    assert_eq!((changes.added_favorites, changes.cleared_favorites), (vec![], vec![1]));
    assert!(changes.counters.is_empty());
}

/// Also when its counter says that there is none, as that of an imported listing may.
#[test]
fn a_favourite_that_exists_is_removed_whatever_its_counter_says() {
    let key = FavoriteKey { user_id: 5, listing_id: 1 };
    let mut loaded = loaded(vec![example(1)]);
    loaded.add_favorite(key);
    Write::RemoveFavorite(key).apply(&mut loaded, NOW).unwrap();
    let changes = Changes::new(loaded);
    assert!(!changes.is_empty());
    assert_eq!(changes.removed_favorites, [key]);
    assert_eq!(changes.counters[&1].favorites, -1);
}

#[test]
fn views_lock_and_rewrite_no_listing_and_invalidate_nothing() {
    let views = Write::View(vec![ViewCount { product_id: 1, count: 3 }]);
    assert_eq!(RequiredRows::collect([&views]), RequiredRows::default());
    let mut loaded = loaded(vec![]);
    views.apply(&mut loaded, NOW).unwrap();
    views.apply(&mut loaded, NOW).unwrap();
    let changes = Changes::new(loaded);
    assert!(changes.updated.is_empty() && changes.invalidated.is_empty() && !changes.is_empty());
    assert_eq!(changes.counters, [(1, Counted { views: 6, favorites: 0 })].into());
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
    let changes = Changes::new(loaded);
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
        (id.clone(), 0..3_usize).prop_map(|(id, at)| Write::Update(Box::new(ListingEdit {
            id,
            user_id: 7,
            visibility: Some([Visibility::Public, Visibility::Private, Visibility::Unlisted][at]),
            ..ListingEdit::default()
        }))),
        (id.clone(), prop::collection::vec("[a-c]", 0..3)).prop_map(|(id, tags)| Write::Update(Box::new(
            ListingEdit { id, user_id: 7, tags: Some(tags), ..ListingEdit::default() }
        ))),
        id.prop_map(|id| Write::Delete(id, Deleter::Admin)),
    ]
}

/// A product, or none; a quantity that may be invalid.
fn an_item() -> impl Strategy<Value = (i64, i32)> {
    (-1..6_i64, -1..13_i32)
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
        let changes = Changes::new(loaded);
        let moved = changes.stats.get(&3).copied().unwrap_or_default();
        prop_assert_eq!(before + moved, sum(&now));
        let active = changes.counts.iter().filter(|((_, status, _), _)| *status == Status::Active).map(|(_, n)| n);
        prop_assert_eq!(4 + active.sum::<i64>(), sum(&now).active);
    }

    /// Of an order all items are carried out, or none, and then an item has an error.
    #[test]
    fn an_order_is_carried_out_or_changes_nothing(
        requested in prop::collection::vec(an_item(), 1..5),
        is_return: bool,
        id in prop::option::of("[ab]"),
    ) {
        let mut loaded = loaded((1..5).map(example).collect());
        Write::Take(order(Some("a"), &[(1, 2), (2, 10)])).apply(&mut loaded, NOW).unwrap();
        let stocks = |loaded: &LoadedRows| -> Vec<(i32, i32)> {
            loaded.listings.values().map(|row| (row.now.quantity, row.now.sold)).collect()
        };
        let (before, movements) = (stocks(&loaded), loaded.movements.len());
        let request = order(id.as_deref(), &requested);
        let write = if is_return { Write::Return(request) } else { Write::Take(request) };
        let outcomes = items(write.apply(&mut loaded, NOW));
        prop_assert_eq!(outcomes.len(), requested.len());
        if outcomes.iter().any(|outcome| outcome.error.is_some()) {
            prop_assert!(outcomes.iter().all(|outcome| outcome.stock.before == outcome.stock.after));
            prop_assert_eq!((stocks(&loaded), loaded.movements.len()), (before, movements));
        } else {
            let moved: i32 = outcomes.iter().map(|outcome| outcome.stock.after - outcome.stock.before).sum();
            let sum: i32 = requested.iter().map(|(_, quantity)| *quantity).sum();
            prop_assert_eq!(moved, if is_return { sum } else { -sum });
        }
        prop_assert!(stocks(&loaded).iter().all(|(stock, sold)| *stock >= 0 && *sold >= 0));
    }

    /// Every page that a listing is on, before or after, is invalidated: pages that it enters, leaves, or moves on.
    #[test]
    fn every_page_that_changes_is_invalidated(writes in prop::collection::vec(a_write(), 1..8)) {
        let mut loaded = loaded((1..5).map(example).collect());
        let before: Vec<Listing> = loaded.listings.values().map(|row| row.now.clone()).collect();
        for write in &writes {
            let _refused = write.apply(&mut loaded, NOW);
        }
        let now: Vec<Listing> = loaded.listings.values().map(|row| row.now.clone()).collect();
        let invalidated = Changes::new(loaded).invalidated;
        // What a page shows of a listing that passes its filters, besides the listing itself, which has its own scope.
        let on = |all: &[Listing], passes: &dyn Fn(&Listing) -> bool| -> Vec<(i64, i64)> {
            let on = all.iter().filter(|listing| listing.deleted_at.is_none() && passes(listing));
            on.map(|listing| (listing.id, listing.price.hundredths())).collect()
        };
        let changes = |passes: &dyn Fn(&Listing) -> bool| on(&before, passes) != on(&now, passes);
        for status in [Status::Active, Status::Sold] {
            for is_public in [true, false] {
                let passes =
                    |one: &Listing| one.status == status && (one.visibility == Visibility::Public || !is_public);
                if changes(&passes) {
                    for scope in [
                        CacheScope::All, CacheScope::OfUser(7), CacheScope::OfStorefront(3), CacheScope::OfCategory(1),
                    ] {
                        prop_assert!(invalidated.contains(&scope), "{:?} {:?}", scope, invalidated);
                    }
                }
            }
        }
        if changes(&Listing::is_searchable) {
            prop_assert!(invalidated.contains(&CacheScope::Offers(1)));
        }
        for word in ["red", "bike", "a", "b", "c"] {
            if changes(&|one: &Listing| one.search_words().contains(word)) {
                prop_assert!(invalidated.contains(&CacheScope::Word(word.to_owned())), "{}", word);
            }
        }
        for (before, now) in before.iter().zip(&now).filter(|(before, now)| before != now) {
            prop_assert!(invalidated.contains(&CacheScope::Listing(now.id)), "{:?}", before);
        }
    }
}
