//! Makes pages of a run from its file so far, when one is asked for.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::report::{Reported as _, Summary};
use archive::Stored;
use evidence::Run as _;

use super::delivered::DeliveredWatch;
use super::pace::{Pace, thread_time};
use super::until_over::until_over;
use super::{NICENESS, RunUnderWay, Shared};
use crate::marks::Marker;
use crate::screen::note;

pub(super) enum Order {
    Render,
    End,
}

/// Pages of a run are made until it is dropped.
pub(crate) struct Rendering {
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    is_over: Arc<AtomicBool>,
    /// How many seconds of the run are complete in its file.
    complete: Arc<AtomicU32>,
    shared: Arc<Shared>,
}

impl Rendering {
    pub(super) fn start(path: PathBuf, shared: Arc<Shared>, marker: Marker) -> io::Result<Rendering> {
        let (orders, received) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let complete = Arc::new(AtomicU32::new(0));
        let renderer = Renderer {
            path,
            is_over: is_over.clone(),
            complete: complete.clone(),
            shared: shared.clone(),
            pace: Pace::default(),
            served: Duration::ZERO,
        };
        let thread =
            thread::Builder::new().name("live page".to_owned()).spawn(move || renderer.obey(&received))?;
        shared.set_run(Some(RunUnderWay { marker, orders: orders.clone() }));
        if shared.page.receiver_count() > 0 {
            shared.ask();
        }
        Ok(Rendering { orders, thread: Some(thread), is_over, complete, shared })
    }

    /// What tells it how far the loops of the run are, of which there are so many.
    pub(crate) fn watch(&self, loops: u16) -> DeliveredWatch {
        DeliveredWatch::new(loops, self.complete.clone())
    }
}

impl Drop for Rendering {
    /// A page that is being made is given up, and waited for until it is: the file cannot be sealed before.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.shared.set_run(None);
        // A thread that is gone makes no page.
        let _ = self.orders.send(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Renderer {
    path: PathBuf,
    is_over: Arc<AtomicBool>,
    complete: Arc<AtomicU32>,
    shared: Arc<Shared>,
    pace: Pace,
    /// What the server's thread had taken when the page before was made.
    served: Duration,
}

impl Renderer {
    fn obey(mut self, orders: &Receiver<Order>) {
        // It makes pages as well where this is refused.
        let _ = rustix::process::nice(NICENESS);
        let mut has_failed = false;
        while let Ok(Order::Render) = orders.recv() {
            match orders.recv_timeout(self.pace.wait(Instant::now())) {
                Err(RecvTimeoutError::Timeout) | Ok(Order::Render) => {}
                Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
            self.shared.is_asked.store(false, Ordering::Relaxed);
            let (begun, before) = (Instant::now(), thread_time());
            if let Err(error) = self.render()
                && !has_failed
                && !self.is_over.load(Ordering::Relaxed)
            {
                note(format_args!("the live page cannot be made: {error:#}; the run continues"));
                has_failed = true;
            }
            let served = Duration::from_nanos(self.shared.serving_ns.load(Ordering::Relaxed));
            let cost = thread_time().saturating_sub(before) + served.saturating_sub(self.served);
            self.served = served;
            self.pace.made(begun, cost);
        }
    }

    fn render(&self) -> anyhow::Result<()> {
        // Asked before the file is read, which then has at least these.
        let complete = self.complete.load(Ordering::Relaxed);
        let stored = Stored::so_far(&self.path)?;
        let run = until_over(&stored, &self.is_over, complete);
        let workload = serde_json::from_value(run.manifest().workload.clone())?;
        let judgement = judge::judgement_so_far(&run, &workload)?;
        let mut summary = Summary::of(&run, &workload, &judgement)?.so_far();
        if let Some(percentiles) = &self.shared.percentiles {
            summary = summary.with_percentiles(percentiles.clone());
        }
        self.shared.publish(&summary.document(), false);
        Ok(())
    }
}
