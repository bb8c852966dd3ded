//! The watch: at once, then at whole seconds, and once more when it is stopped.

use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Observed, Sample, SeriesKey};
use observe::{Clock, Observer, ProcessObserver, ProcessRef, Watch};
use peers::redis::Redis;

use crate::child::Peer;

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
        vec![Notice { at: Instant::EPOCH, observer, instance: None, kind: NoticeKind::Unreadable, text }]
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
    let closing = received.recv().unwrap().samples;
    assert!(closing.iter().all(|(_, sample)| sample.at >= second[0].1.at), "{closing:?}");
    assert!(received.recv().is_err(), "a stopped watch sends no more");
}

/// A clock that the test sets, in microseconds.
#[derive(Clone)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn at(micros: u64) -> Hand {
        Hand(Arc::new(AtomicU64::new(micros)))
    }

    fn set(&self, micros: u64) {
        self.0.store(micros, Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let hand = self.clone();
        Arc::new(move || Instant::at(Duration::from_micros(hand.0.load(Ordering::SeqCst))))
    }
}

/// What `watch` sends when it is stopped.
fn closing(watch: Watch, received: &Receiver<Observed>) -> Observed {
    watch.stop();
    received.iter().fold(Observed::default(), |mut all, seen| {
        all.extend(seen);
        all
    })
}

#[test]
fn every_observer_is_sampled_once_more_when_the_watch_is_stopped() {
    let (hand, (batches, received)) = (Hand::at(5_000_142), mpsc::channel());
    let watch = Watch::start(vec![Box::new(Echo), Box::new(Echo)], hand.clock(), batches).unwrap();
    received.recv().unwrap();
    hand.set(5_730_311);
    let seen = closing(watch, &received);
    let asked = seen.samples.iter().filter(|(key, _)| &*key.name == "asked");
    let at: Vec<u64> = asked.map(|(_, sample)| sample.at.as_nanos()).collect();
    assert_eq!(at, [5_730_311_000; 2]);
    assert_eq!(seen.notices.len(), 2);
}

#[test]
fn a_process_that_ended_before_the_watch_is_a_gap_at_its_end() {
    let mut peer = Peer::new();
    peer.order("cpu");
    let observer = ProcessObserver::new("peer", ProcessRef::Pid(peer.pid()));
    let (hand, (batches, received)) = (Hand::at(5_000_142), mpsc::channel());
    let watch = Watch::start(vec![Box::new(observer)], hand.clock(), batches).unwrap();
    received.recv().unwrap();
    peer.kill();
    hand.set(5_730_311);
    let seen = closing(watch, &received);
    assert!(seen.samples.iter().all(|(key, _)| &*key.target != "peer"), "{:?}", seen.samples);
    let kinds: Vec<NoticeKind> = seen.notices.iter().map(|notice| notice.kind).collect();
    assert_eq!(kinds, [NoticeKind::Gone]);
}

#[test]
fn the_last_answer_of_a_server_is_waited_for_and_one_that_does_not_come_is_reported() {
    let server = Redis::start(&[]).unwrap();
    let redis = || {
        let url = format!("redis://{}", server.address());
        observe::redis("shop", &url, Duration::from_secs(60)).unwrap()
    };
    let answers =
        |seen: &Observed| seen.samples.iter().filter(|(key, _)| &*key.name == "redis_memory").count();
    let (hand, (batches, received)) = (Hand::at(5_000_142), mpsc::channel());
    let watch = Watch::start(vec![redis(), Box::new(Echo)], hand.clock(), batches).unwrap();
    received.recv().unwrap();
    hand.set(5_730_311);
    let seen = closing(watch, &received);
    assert_eq!(answers(&seen), 2, "of the first query and of the closing one");

    server.pause();
    let (hand, (batches, received)) = (Hand::at(5_000_142), mpsc::channel());
    let watch = Watch::start(vec![redis(), Box::new(Echo)], hand.clock(), batches).unwrap();
    received.recv().unwrap();
    hand.set(5_730_311);
    let seen = closing(watch, &received);
    server.resume();
    assert_eq!(answers(&seen), 0);
    let late = seen.notices.iter().find(|notice| notice.observer == "shop redis").unwrap();
    assert!(matches!(late.kind, NoticeKind::Late | NoticeKind::Gone), "{late:?}");
}

#[test]
fn ends_by_itself_when_the_receiver_is_gone() {
    let (batches, received) = mpsc::channel();
    drop(received);
    let watch = Watch::start(vec![Box::new(Echo)], clock(), batches).unwrap();
    watch.stop();
}

/// Panics at its second look.
struct Broken {
    has_looked: bool,
}

impl Observer for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn sample(&mut self, _: Instant) -> Vec<(SeriesKey, Sample)> {
        assert!(!self.has_looked, "an observer that is wrong");
        self.has_looked = true;
        Vec::new()
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

#[test]
fn an_observer_that_is_wrong_does_not_pass_unseen() {
    let (batches, _received) = mpsc::channel();
    let watch = Watch::start(vec![Box::new(Broken { has_looked: false })], clock(), batches).unwrap();
    let stopped = panic::catch_unwind(panic::AssertUnwindSafe(|| watch.stop()));
    assert!(stopped.is_err());
}
