//! The watch: at once, then at whole seconds, until it is stopped.

use std::panic;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};
use observe::{Clock, Observer, Watch};

/// Yields the instants at which it is asked.
struct Echo;

impl Observer for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        vec![(SeriesKey::new("asked", "echo", "1"), Sample { at, value: 1.0 })]
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        let (observer, text) = ("echo".to_owned(), "asked".to_owned());
        vec![Notice { at: Instant::EPOCH, observer, kind: NoticeKind::Unreadable, text }]
    }
}

/// A clock that begins shortly before a whole second, so that tests wait only briefly.
fn clock() -> Clock {
    let start = std::time::Instant::now();
    Arc::new(move || Instant::at(Duration::from_millis(4_950) + start.elapsed()))
}

#[test]
fn asks_at_once_and_then_at_whole_seconds() {
    let (batches, received) = mpsc::channel();
    let watch = Watch::start(vec![Box::new(Echo), Box::new(Echo)], clock(), batches).unwrap();
    let first = received.recv().unwrap();
    assert_eq!((first.samples.len(), first.notices.len()), (2, 2));
    assert!(first.samples.iter().all(|(_, sample)| sample.at >= Instant::at(Duration::from_millis(4_950))));
    let second = received.recv().unwrap().samples;
    assert!(second[0].1.at >= Instant::at(Duration::from_secs(5)));
    assert!(
        second.iter().all(|(_, sample)| sample.at == second[0].1.at),
        "all observers are asked about one instant"
    );
    let costs = second.iter().filter(|(key, _)| &*key.name == "observer_cpu" && &*key.part == "echo");
    assert!(costs.clone().count() == 2 && costs.clone().all(|(_, sample)| sample.value > 0.0));
    watch.stop();
    assert!(received.recv().is_err(), "a stopped watch sends no more");
}

#[test]
fn ends_by_itself_when_the_receiver_is_gone() {
    let (batches, received) = mpsc::channel();
    drop(received);
    let watch = Watch::start(vec![Box::new(Echo)], clock(), batches).unwrap();
    watch.stop();
}

struct Broken;

impl Observer for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn sample(&mut self, _: Instant) -> Vec<(SeriesKey, Sample)> {
        panic!("an observer that is wrong");
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

#[test]
fn an_observer_that_is_wrong_does_not_pass_unseen() {
    let (batches, _received) = mpsc::channel();
    let watch = Watch::start(vec![Box::new(Broken)], clock(), batches).unwrap();
    let stopped = panic::catch_unwind(panic::AssertUnwindSafe(|| watch.stop()));
    assert!(stopped.is_err());
}
