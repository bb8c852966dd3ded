//! The recorder between real loops' exchanges and real sinks.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use archive::{Overwrite, RecordError, Recorder, Sinks, Stored, Writer};
use evidence::sink::{Sink, SinkError};
use evidence::tick_channel::{Offer, TickReceiver, TickSender, tick_channel};
use evidence::{KeyId, Observed, Run, RunEnd, Tick};

use crate::sample::{completed, cpu, manifest, observed, tick};

fn archive_at(path: &Path) -> Sinks {
    let writer = Writer::create(path, &manifest(), Overwrite::Refuse).unwrap();
    Sinks { recording: vec![Box::new(writer)], drawing: Vec::new() }
}

/// A loop of `seconds` seconds that offers each tick until it is taken.
fn run_loop(outlet: &TickSender, index: u16, seconds: std::ops::Range<u32>) {
    for second in seconds {
        let mut offered = Box::new(tick(second));
        offered.instance = evidence::Instance::of_loop(index);
        while let Offer::Later(back) = outlet.offer(offered) {
            thread::yield_now();
            offered = back;
        }
    }
}

/// Offer ticks until the recorder is gone.
fn offer_until_gone(outlet: &TickSender, mut second: u32) {
    while !matches!(outlet.offer(Box::new(tick(second))), Offer::Gone) {
        second += 1;
        thread::yield_now();
    }
}

/// A sink that says what is called and fails at the tick of second `fails_at`.
struct Notes {
    calls: Sender<&'static str>,
    fails_at: Option<u32>,
}

impl Notes {
    fn new(fails_at: Option<u32>) -> (Box<Notes>, Receiver<&'static str>) {
        let (calls, noted) = channel();
        (Box::new(Notes { calls, fails_at }), noted)
    }

    fn note(&self, call: &'static str) -> Result<(), SinkError> {
        self.calls.send(call).map_err(|e| SinkError(e.to_string()))
    }
}

/// Wait until `call` was noted `times` times.
fn wait_for(noted: &Receiver<&'static str>, call: &str, times: usize) {
    assert_eq!(noted.iter().filter(|c| *c == call).take(times).count(), times);
}

/// Of the calls noted since, how many are of each of these.
fn noted<const N: usize>(noted: &Receiver<&'static str>, calls: [&str; N]) -> [usize; N] {
    let all: Vec<_> = noted.try_iter().collect();
    calls.map(|call| all.iter().filter(|c| **c == call).count())
}

impl Sink for Notes {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        if self.fails_at == Some(tick.second) {
            return Err(SinkError(format!("no second {}", tick.second)));
        }
        self.note("tick")
    }

    fn observed(&mut self, _: &Observed) -> Result<(), SinkError> {
        self.note("observed")
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.note("flush")
    }

    fn end(&mut self, _: &RunEnd) -> Result<(), SinkError> {
        self.note("end")
    }
}

fn exchanges<const N: usize>() -> (Vec<TickSender>, Vec<TickReceiver>) {
    (0..N).map(|_| tick_channel()).unzip()
}

#[test]
fn two_loops_and_an_observer_end_up_in_one_sealed_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<2>();
    let (observer, seen) = channel();
    let (live, calls) = Notes::new(None);
    let mut sinks = archive_at(&path);
    sinks.drawing.push(live);
    let recorder = Recorder::start(sinks, inlets, seen).unwrap();
    thread::scope(|scope| {
        for (index, outlet) in (0..).zip(outlets) {
            scope.spawn(move || run_loop(&outlet, index, 0..20));
        }
        for second in 0..20 {
            observer.send(observed(second)).unwrap();
        }
    });
    drop(observer);
    assert!(!recorder.is_failed());
    let recorded = recorder.finish(&completed(19)).unwrap();
    assert_eq!(recorded.drawing_failures, Vec::<String>::new());
    assert_eq!(noted(&calls, ["tick", "observed", "end"]), [40, 20, 1]);

    let run = Stored::open(&path).unwrap();
    assert_eq!((run.seconds(), run.end()), (20, Some(&completed(19))));
    assert_eq!(run.total(KeyId(1)).unwrap(), 2 * 20 * 11);
    assert_eq!(run.histograms(KeyId(0), 3..5).unwrap().iter().map(|(_, h)| h.count()).sum::<u64>(), 40);
    assert_eq!(run.samples(&cpu(0).0, run.whole()).unwrap().len(), 20);
}

#[test]
fn a_second_is_readable_during_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let (live, calls) = Notes::new(None);
    let mut sinks = archive_at(&path);
    sinks.drawing.push(live);
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..1);
    let reader = rusqlite::Connection::open(&path).unwrap();
    let seconds = || reader.query_row("SELECT count(*) FROM ticks", [], |row| row.get::<_, u32>(0)).unwrap();
    wait_for(&calls, "flush", 1);
    assert_eq!(seconds(), 1);
    run_loop(&outlets[0], 0, 1..2);
    wait_for(&calls, "flush", 1);
    assert_eq!(seconds(), 2);
    drop(reader);
    drop(outlets);
    recorder.finish(&completed(1)).unwrap();
}

#[test]
fn a_sink_that_cannot_record_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let (failing, _unheard) = Notes::new(Some(2));
    let (live, calls) = Notes::new(None);
    let mut sinks = archive_at(&path);
    sinks.recording.push(failing);
    sinks.drawing.push(live);
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..2);
    wait_for(&calls, "tick", 2);
    wait_for(&calls, "flush", 1);
    offer_until_gone(&outlets[0], 2);
    assert!(recorder.is_failed());
    let error = recorder.finish(&completed(2)).unwrap_err();
    assert_eq!(error.to_string(), "no second 2");
    assert_eq!(noted(&calls, ["tick", "end"]), [0, 1]);
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.seconds(), run.end()), (2, None));
}

#[test]
fn a_sink_that_cannot_draw_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let (broken, calls) = Notes::new(Some(1));
    let mut sinks = archive_at(&path);
    sinks.drawing.push(broken);
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..4);
    drop(outlets);
    let recorded = recorder.finish(&completed(3)).unwrap();
    assert_eq!(recorded.drawing_failures, ["no second 1"]);
    assert_eq!(noted(&calls, ["tick", "end"]), [1, 0]);
    assert_eq!(Stored::open(&path).unwrap().seconds(), 4);
}

#[test]
fn a_handle_that_is_dropped_leaves_an_unsealed_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let recorder = Recorder::start(archive_at(&path), inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..3);
    drop(recorder);
    let run = Stored::open(&path).unwrap();
    assert_eq!((run.seconds(), run.is_sealed()), (3, false));
    assert!(matches!(outlets[0].offer(Box::new(tick(3))), Offer::Gone));
}

#[test]
fn a_panic_is_an_error_and_not_a_hang() {
    struct Panics;
    impl Sink for Panics {
        fn tick(&mut self, _: &Tick) -> Result<(), SinkError> {
            panic!("on purpose")
        }
        fn observed(&mut self, _: &Observed) -> Result<(), SinkError> {
            Ok(())
        }
        fn flush(&mut self) -> Result<(), SinkError> {
            Ok(())
        }
        fn end(&mut self, _: &RunEnd) -> Result<(), SinkError> {
            Ok(())
        }
    }
    let (outlets, inlets) = exchanges::<1>();
    let sinks = Sinks { recording: vec![Box::new(Panics)], drawing: Vec::new() };
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    offer_until_gone(&outlets[0], 0);
    assert!(matches!(recorder.finish(&completed(0)), Err(RecordError::Panicked)));
}

#[test]
fn a_run_that_cannot_be_sealed_is_an_error() {
    let (failing, calls) = Notes::new(None);
    let (live, live_calls) = Notes::new(None);
    // The failing sink's own error is the run's failure.
    drop(calls);
    let (outlets, inlets) = exchanges::<1>();
    let sinks = Sinks { recording: vec![failing], drawing: vec![live] };
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    drop(outlets);
    assert!(matches!(recorder.finish(&completed(0)), Err(RecordError::Sink(_))));
    assert_eq!(noted(&live_calls, ["end"]), [1]);
}
