use std::time::Instant;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::entry::TaskBacking;
use Priority::{High, Low, Medium};

fn entry(priority: Priority, name: &str, slot: Permit) -> QueueEntry {
    let task = Bytes::copy_from_slice(name.as_bytes());
    QueueEntry { priority, task, since: Instant::now(), slot: Some(slot), backing: TaskBacking::Memory }
}

fn add(queue: &Queue, priority: Priority, name: &str) -> Result<(), QueueFull> {
    let slots = queue.reserve([priority].into_iter())?;
    queue.push(slots.into_iter().map(|slot| entry(priority, name, slot)));
    Ok(())
}

fn names(entries: &[QueueEntry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8(entry.task.to_vec()).unwrap()).collect()
}

#[test]
fn higher_priorities_are_taken_first_and_equal_ones_in_order_of_arrival() {
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
fn a_full_queue_sheds_the_lowest_priority_for_a_higher_one_and_for_no_other() {
    let queue = Queue::new(Limit::new(3), Shedding::Allowed);
    for (priority, name) in [(Low, "l1"), (Low, "l2"), (Medium, "m1")] {
        add(&queue, priority, name).unwrap();
    }
    assert_eq!(add(&queue, Low, "l3"), Err(QueueFull));
    add(&queue, Medium, "m2").unwrap();
    add(&queue, High, "h1").unwrap();
    assert_eq!(add(&queue, Medium, "m3"), Err(QueueFull), "no task of a lower priority is left");
    add(&queue, High, "h2").unwrap();
    assert!(
        queue.has_space_for(Some(High)) && !queue.has_space_for(Some(Medium)) && !queue.has_space_for(None)
    );
    assert_eq!([Low, Medium, High].map(|priority| queue.shed(priority)), [2, 1, 0]);
    assert_eq!(names(&queue.take(9)), ["h1", "h2", "m1"]);
}

#[test]
fn a_request_gets_slots_for_all_of_its_samples_or_for_none() {
    let queue = Queue::new(Limit::new(3), Shedding::Allowed);
    add(&queue, Low, "l1").unwrap();
    assert_eq!(queue.reserve([Low, High, Low, Low].into_iter()).unwrap_err(), QueueFull);
    assert_eq!((queue.depth(), queue.shed(Low)), (1, 0), "nothing was shed for a request that is refused");
    let slots = queue.reserve([Low, High, High].into_iter()).unwrap();
    assert_eq!((slots.len(), queue.shed(Low)), (3, 1));
    assert_eq!(
        queue.reserve([High].into_iter()).unwrap_err(),
        QueueFull,
        "slots are taken before anything is pushed"
    );
    drop(slots);
    add(&queue, Low, "l2").unwrap();
}

#[test]
fn promised_tasks_are_never_shed_and_the_lowest_priority_is_refused_first() {
    let queue = Queue::new(Limit::new(10), Shedding::Never);
    let fill = |priority| (0..10).take_while(|_| add(&queue, priority, "").is_ok()).count();
    assert_eq!(fill(Low), 8);
    assert!(
        !queue.has_space_for(Some(Low)) && queue.has_space_for(Some(Medium)),
        "a slot is reserved for it"
    );
    assert_eq!(queue.reserve([Medium, High, Low].into_iter()).unwrap_err(), QueueFull);
    assert_eq!(fill(Medium), 1);
    assert!(!queue.has_space_for(Some(Medium)) && queue.has_space_for(Some(High)));
    assert!(queue.has_space_for(None), "it may contain a priority that there is a slot for");
    assert_eq!(fill(High), 1);
    assert!(!queue.has_space_for(Some(High)) && !queue.has_space_for(None));
    assert_eq!((queue.depth(), Priority::ALL.map(|priority| queue.shed(priority))), (10, [0; 3]));
}

fn priority() -> impl Strategy<Value = Priority> {
    prop::sample::select(Priority::ALL.to_vec())
}

proptest! {
    /// For any requests, where nothing may be shed: a refused request leaves no slot taken, and a single sample that is
    /// refused would be refused with a lower priority, too.
    #[test]
    fn a_higher_priority_is_never_refused_before_a_lower_one(
        size in 1_usize..40,
        requests in prop::collection::vec((prop::collection::vec(priority(), 1..6), 0_usize..4), 1..60)
    ) {
        let limit = Limit::new(size);
        let queue = Queue::new(limit.clone(), Shedding::Never);
        for (priorities, take) in requests {
            let before = limit.taken();
            match queue.reserve(priorities.iter().copied()) {
                Ok(slots) => queue.push(priorities.iter().zip(slots).map(|(priority, slot)| entry(*priority, "", slot))),
                Err(QueueFull) => prop_assert_eq!(limit.taken(), before),
            }
            let is_admitted = Priority::ALL.map(|priority| queue.reserve([priority].into_iter()).is_ok());
            prop_assert!(is_admitted.is_sorted(), "{:?}", is_admitted);
            prop_assert_eq!(is_admitted, Priority::ALL.map(|priority| queue.has_space_for(Some(priority))));
            drop(queue.take(take));
        }
    }

    /// For any requests: never more tasks than slots, each taken in order, and none lost without being counted.
    #[test]
    fn the_queue_is_bounded_and_ordered_and_every_drop_is_counted(
        requests in prop::collection::vec((prop::collection::vec(priority(), 1..6), 0_usize..4), 1..60)
    ) {
        let queue = Queue::new(Limit::new(8), Shedding::Allowed);
        let (mut accepted, mut taken) = (0_u64, 0_u64);
        for (priorities, take) in requests {
            if let Ok(slots) = queue.reserve(priorities.iter().copied()) {
                accepted += priorities.len() as u64;
                queue.push(priorities.iter().zip(slots).map(|(priority, slot)| entry(*priority, "", slot)));
            }
            prop_assert!(queue.depth() <= 8);
            let got = queue.take(take);
            prop_assert!(got.is_sorted_by(|a, b| a.priority >= b.priority));
            taken += got.len() as u64;
        }
        let shed: u64 = Priority::ALL.into_iter().map(|priority| queue.shed(priority)).sum();
        prop_assert_eq!(accepted, taken + shed + queue.depth() as u64);
        drop(queue.take(8));
        prop_assert_eq!(queue.reserve([Low; 8].into_iter()).map(|slots| slots.len()), Ok(8));
    }
}
