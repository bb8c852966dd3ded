//! The recorder between real loops' exchanges and real sinks.

use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use archive::{Overwrite, RecordError, Recorder, Sinks, Stored, Writer};
use evidence::exchange::{Inlet, Offer, Outlet, exchange};
use evidence::sink::{Sink, SinkError};
use evidence::{KeyId, Run, RunEnd, Sample, SeriesKey, Tick};

use crate::sample::{completed, cpu, manifest, tick};

fn archive_at(path: &Path) -> Sinks {
    let writer = Writer::create(path, &manifest(), Overwrite::Refuse).unwrap();
    Sinks { recording: vec![Box::new(writer)], drawing: Vec::new() }
}

/// A loop of `seconds` seconds that offers each tick until it is taken.
fn run_loop(outlet: &Outlet, index: u16, seconds: std::ops::Range<u32>) {
    for second in seconds {
        let mut offered = Box::new(tick(second));
        offered.loop_index = index;
        while let Offer::Later(back) = outlet.offer(offered) {
            thread::yield_now();
            offered = back;
        }
    }
}

/// Wait for something that another thread brings about.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..300_000 {
        if holds() {
            return;
        }
        thread::sleep(std::time::Duration::from_micros(100));
    }
    panic!("never: {what}");
}

/// A sink that notes what is called and fails at the tick of second `fails_at`.
#[derive(Clone, Default)]
struct Notes {
    calls: Arc<Mutex<Vec<&'static str>>>,
    fails_at: Option<u32>,
}

impl Notes {
    fn note(&self, call: &'static str) -> Result<(), SinkError> {
        self.calls.lock().unwrap().push(call);
        Ok(())
    }

    fn noted(&self, call: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|c| **c == call).count()
    }
}

impl Sink for Notes {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        if self.fails_at == Some(tick.second) {
            return Err(SinkError(format!("no second {}", tick.second)));
        }
        self.note("tick")
    }

    fn samples(&mut self, _: &[(SeriesKey, Sample)]) -> Result<(), SinkError> {
        self.note("samples")
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.note("flush")
    }

    fn end(&mut self, _: &RunEnd) -> Result<(), SinkError> {
        self.note("end")
    }
}

fn exchanges<const N: usize>() -> (Vec<Outlet>, Vec<Inlet>) {
    (0..N).map(|_| exchange()).unzip()
}

#[test]
fn two_loops_and_an_observer_end_up_in_one_sealed_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<2>();
    let (observer, samples) = channel();
    let live = Notes::default();
    let mut sinks = archive_at(&path);
    sinks.drawing.push(Box::new(live.clone()));
    let recorder = Recorder::start(sinks, inlets, samples).unwrap();
    thread::scope(|scope| {
        for (index, outlet) in (0..).zip(outlets) {
            scope.spawn(move || run_loop(&outlet, index, 0..20));
        }
        for second in 0..20 {
            observer.send(vec![cpu(second)]).unwrap();
        }
    });
    drop(observer);
    assert!(!recorder.is_failed());
    let recorded = recorder.finish(&completed(19)).unwrap();
    assert_eq!(recorded.drawing_failures, Vec::<String>::new());
    assert_eq!((live.noted("tick"), live.noted("samples"), live.noted("end")), (40, 20, 1));

    let run = Stored::open(&path).unwrap();
    assert_eq!((run.seconds(), run.end()), (20, Some(&completed(19))));
    assert_eq!(run.total(KeyId(1)).unwrap(), 2 * 20 * 11);
    assert_eq!(run.histograms(KeyId(0), 3..5).unwrap().iter().map(|(_, h)| h.count()).sum::<u64>(), 40);
    assert_eq!(run.samples(&cpu(0).0, run.whole()).unwrap().len(), 20);
}

#[test]
fn a_second_is_readable_while_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let recorder = Recorder::start(archive_at(&path), inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..1);
    let reader = rusqlite::Connection::open(&path).unwrap();
    let seconds = || reader.query_row("SELECT count(*) FROM ticks", [], |row| row.get::<_, u32>(0)).unwrap();
    until("the first second is flushed", || seconds() == 1);
    run_loop(&outlets[0], 0, 1..2);
    until("the next second is flushed", || seconds() == 2);
    drop(reader);
    drop(outlets);
    recorder.finish(&completed(1)).unwrap();
}

#[test]
fn a_sink_that_cannot_record_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let live = Notes::default();
    let mut sinks = archive_at(&path);
    sinks.recording.push(Box::new(Notes { fails_at: Some(2), ..Notes::default() }));
    sinks.drawing.push(Box::new(live.clone()));
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..2);
    until("the seconds before are flushed", || live.noted("flush") > 0 && live.noted("tick") == 2);
    let mut second = 2;
    until("the loop learns of it", || {
        second += 1;
        matches!(outlets[0].offer(Box::new(tick(second - 1))), Offer::Gone)
    });
    until("the handle knows", || recorder.is_failed());
    let error = recorder.finish(&completed(2)).unwrap_err();
    assert_eq!(error.to_string(), "no second 2");
    assert_eq!((live.noted("tick"), live.noted("end")), (2, 1));
    assert_eq!(Stored::open(&path).unwrap().end(), None);
}

#[test]
fn a_sink_that_cannot_draw_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.plimsoll");
    let (outlets, inlets) = exchanges::<1>();
    let broken = Notes { fails_at: Some(1), ..Notes::default() };
    let mut sinks = archive_at(&path);
    sinks.drawing.push(Box::new(broken.clone()));
    let recorder = Recorder::start(sinks, inlets, channel().1).unwrap();
    run_loop(&outlets[0], 0, 0..4);
    drop(outlets);
    let recorded = recorder.finish(&completed(3)).unwrap();
    assert_eq!(recorded.drawing_failures, ["no second 1"]);
    assert_eq!((broken.noted("tick"), broken.noted("end")), (1, 0));
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
        fn samples(&mut self, _: &[(SeriesKey, Sample)]) -> Result<(), SinkError> {
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
    assert!(matches!(outlets[0].offer(Box::new(tick(0))), Offer::Taken(_)));
    until("the handle knows", || recorder.is_failed());
    assert!(matches!(recorder.finish(&completed(0)), Err(RecordError::Panicked)));
}
