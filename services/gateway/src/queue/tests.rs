use super::*;
use crate::entry::Kept;
use Priority::{High, Low, Medium};
use bytes::Bytes;
use proptest::prelude::*;
use std::time::Instant;

fn entry(priority: Priority, name: &str, place: Permit) -> Entry {
    let task = Bytes::copy_from_slice(name.as_bytes());
    Entry { priority, task, since: Instant::now(), place: Some(place), kept: Kept::Memory }
}

fn add(queue: &Queue, priority: Priority, name: &str) -> Result<(), Full> {
    let places = queue.reserve([priority].into_iter())?;
    queue.push(places.into_iter().map(|place| entry(priority, name, place)));
    Ok(())
}

fn names(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8(entry.task.to_vec()).unwrap()).collect()
}

#[test]
fn what_matters_more_is_taken_first_and_the_rest_in_its_order() {
    let queue = Queue::new(Limit::new(10), Shedding::Allowed);
    for (priority, name) in [(Low, "l1"), (High, "h1"), (Medium, "m1"), (High, "h2"), (Low, "l2")] {
        add(&queue, priority, name).unwrap();
    }
    let first = queue.take(3);
    assert_eq!(names(&first), ["h1", "h2", "m1"]);
    assert_eq!(names(&queue.take(1)), ["l1"]);
    queue.put_back(first);
    assert_eq!(names(&queue.take(9)), ["h1", "h2", "m1", "l2"]);
    assert!(queue.take(9).is_empty());
}

#[test]
fn a_full_queue_sheds_the_lowest_for_what_matters_more_and_for_nothing_else() {
    let queue = Queue::new(Limit::new(3), Shedding::Allowed);
    for (priority, name) in [(Low, "l1"), (Low, "l2"), (Medium, "m1")] {
        add(&queue, priority, name).unwrap();
    }
    assert_eq!(add(&queue, Low, "l3"), Err(Full));
    add(&queue, Medium, "m2").unwrap();
    add(&queue, High, "h1").unwrap();
    assert_eq!(add(&queue, Medium, "m3"), Err(Full), "nothing below it is left");
    add(&queue, High, "h2").unwrap();
    assert!(queue.has_room_for(Some(High)) && !queue.has_room_for(Some(Medium)) && !queue.has_room_for(None));
    assert_eq!([Low, Medium, High].map(|priority| queue.shed(priority)), [2, 1, 0]);
    assert_eq!(names(&queue.take(9)), ["h1", "h2", "m1"]);
}

#[test]
fn a_request_has_room_for_all_of_its_samples_or_for_none() {
    let queue = Queue::new(Limit::new(3), Shedding::Allowed);
    add(&queue, Low, "l1").unwrap();
    assert_eq!(queue.reserve([Low, High, Low, Low].into_iter()).unwrap_err(), Full);
    assert_eq!((queue.depth(), queue.shed(Low)), (1, 0), "nothing was shed for a request that is refused");
    let places = queue.reserve([Low, High, High].into_iter()).unwrap();
    assert_eq!((places.len(), queue.shed(Low)), (3, 1));
    assert_eq!(
        queue.reserve([High].into_iter()).unwrap_err(),
        Full,
        "places are taken before anything is pushed"
    );
    drop(places);
    add(&queue, Low, "l2").unwrap();
}

#[test]
fn what_was_promised_is_never_shed_and_the_lowest_is_refused_first() {
    let queue = Queue::new(Limit::new(10), Shedding::Never);
    let fill = |priority| (0..10).take_while(|_| add(&queue, priority, "").is_ok()).count();
    assert_eq!(fill(Low), 8);
    assert!(!queue.has_room_for(Some(Low)) && queue.has_room_for(Some(Medium)), "a place is kept for it");
    assert_eq!(queue.reserve([Medium, High, Low].into_iter()).unwrap_err(), Full);
    assert_eq!(fill(Medium), 1);
    assert!(!queue.has_room_for(Some(Medium)) && queue.has_room_for(Some(High)));
    assert!(queue.has_room_for(None), "it may carry what there is a place for");
    assert_eq!(fill(High), 1);
    assert!(!queue.has_room_for(Some(High)) && !queue.has_room_for(None));
    assert_eq!((queue.depth(), Priority::ALL.map(|priority| queue.shed(priority))), (10, [0; 3]));
}

fn priority() -> impl Strategy<Value = Priority> {
    prop::sample::select(Priority::ALL.to_vec())
}

proptest! {
    /// Whatever comes, where nothing may be shed: a request that is refused leaves no place taken, and whoever is
    /// refused alone would be so if he mattered less.
    #[test]
    fn who_matters_more_is_never_refused_before_who_matters_less(
        size in 1_usize..40,
        requests in prop::collection::vec((prop::collection::vec(priority(), 1..6), 0_usize..4), 1..60)
    ) {
        let limit = Limit::new(size);
        let queue = Queue::new(limit.clone(), Shedding::Never);
        for (wanted, take) in requests {
            let before = limit.taken();
            match queue.reserve(wanted.iter().copied()) {
                Ok(places) => queue.push(wanted.iter().zip(places).map(|(priority, place)| entry(*priority, "", place))),
                Err(Full) => prop_assert_eq!(limit.taken(), before),
            }
            let is_let_in = Priority::ALL.map(|priority| queue.reserve([priority].into_iter()).is_ok());
            prop_assert!(is_let_in.is_sorted(), "{:?}", is_let_in);
            prop_assert_eq!(is_let_in, Priority::ALL.map(|priority| queue.has_room_for(Some(priority))));
            drop(queue.take(take));
        }
    }

    /// Whatever comes and goes: never more than fit, each taken in order, and none lost without being counted.
    #[test]
    fn it_is_bounded_ordered_and_every_drop_is_counted(
        requests in prop::collection::vec((prop::collection::vec(priority(), 1..6), 0_usize..4), 1..60)
    ) {
        let queue = Queue::new(Limit::new(8), Shedding::Allowed);
        let (mut accepted, mut taken) = (0_u64, 0_u64);
        for (wanted, take) in requests {
            if let Ok(places) = queue.reserve(wanted.iter().copied()) {
                accepted += wanted.len() as u64;
                queue.push(wanted.iter().zip(places).map(|(priority, place)| entry(*priority, "", place)));
            }
            prop_assert!(queue.depth() <= 8);
            let got = queue.take(take);
            prop_assert!(got.is_sorted_by(|a, b| a.priority >= b.priority));
            taken += got.len() as u64;
        }
        let shed: u64 = Priority::ALL.into_iter().map(|priority| queue.shed(priority)).sum();
        prop_assert_eq!(accepted, taken + shed + queue.depth() as u64);
        drop(queue.take(8));
        prop_assert_eq!(queue.reserve([Low; 8].into_iter()).map(|places| places.len()), Ok(8));
    }
}
