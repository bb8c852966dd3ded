//! The loops of a run. Each makes its virtual users on a thread of its own, where they stay, before the run begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use evidence::Instance;
use evidence::tick_channel::TickSender;
use workload::schedule::Segment;

use crate::event_loop::{EventLoop, LoopLinks, LoopLoad, LoopShare, LoopTotals, Shared, early_users};
use crate::handover::Handover;
use crate::iteration::Behaviour;
use crate::shared_iterations::SharedIterations;
use crate::vu_slots::BegunIterations;
use crate::{Control, EngineError, Program, RunOptions, Totals};

/// Which loops of the run this process has: the load is divided among all, whichever process they are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopGroup {
    /// The group's position among the groups of the run, from 0.
    pub index: u32,
    /// How many loops are in it.
    pub loops: u16,
    /// How many loops are in the groups before it.
    pub first_loop: u32,
    /// How many loops are in all groups.
    pub all_loops: u32,
    /// The machine and process by which evidence names this one.
    pub place: Instance,
}

impl LoopGroup {
    /// All loops of a run of one process.
    pub fn whole(loops: u16) -> LoopGroup {
        LoopGroup { index: 0, loops, first_loop: 0, all_loops: loops.into(), place: Instance::default() }
    }

    /// Groups of so many loops, with the places by which evidence names them.
    pub fn several(groups: &[(u16, Instance)]) -> Vec<LoopGroup> {
        let all_loops = groups.iter().map(|(loops, _)| u32::from(*loops)).sum();
        let mut first_loop = 0;
        let group = |(index, (loops, place)): (u32, &(u16, Instance))| {
            let group = LoopGroup { index, loops: *loops, first_loop, all_loops, place: *place };
            first_loop += u32::from(*loops);
            group
        };
        (0..).zip(groups).map(group).collect()
    }

    /// The share of the load that a loop of the group has, by its number in the group.
    pub fn segment(&self, loop_index: u16) -> Segment {
        Segment { index: self.first_loop + u32::from(loop_index), count: self.all_loops }
    }

    /// How evidence names a loop of the group.
    pub fn instance(&self, loop_index: u16) -> Instance {
        Instance { loop_index, ..self.place }
    }

    /// Which of the iterations that all virtual users share this group makes, where there are so many users: those of its loops
    /// that have any.
    pub(crate) fn of_shared(&self, users: u32) -> SharedIterations {
        let count = self.all_loops.min(users);
        let end = (self.first_loop + u32::from(self.loops)).min(count);
        SharedIterations::new(self.first_loop..end, count)
    }
}

/// The loops of a run that has not begun, which make their virtual users.
#[derive(Debug)]
pub struct Loops {
    threads: Vec<LoopThread>,
    vus_ready: Arc<AtomicU32>,
    vus_to_create: u32,
    /// Disconnected once every loop has made its virtual users.
    setup: Receiver<()>,
}

#[derive(Debug)]
struct LoopThread {
    begin: Sender<Begin>,
    ended: JoinHandle<Result<LoopTotals, EngineError>>,
}

/// What a loop needs to begin the run.
struct Begin {
    options: RunOptions,
    links: LoopLinks,
}

impl Loops {
    /// The loops of this group, which make their virtual users from now on.
    ///
    /// # Errors
    /// [`EngineError::Loop`] when a thread cannot be started.
    pub fn spawn(
        program: &Arc<Program>,
        behaviour: Option<&Arc<dyn Behaviour>>,
        group: &LoopGroup,
    ) -> Result<Loops, EngineError> {
        let of_scenario = |index| BegunIterations::new(group.of_shared(program.scenario(index).max_vus));
        let begun: Arc<[_]> = program.shape.all().map(of_scenario).collect();
        let vus_ready = Arc::new(AtomicU32::new(0));
        let (makes, setup) = channel();
        let segments: Vec<Segment> = (0..group.loops).map(|index| group.segment(index)).collect();
        let thread = |(index, handover): (u16, Option<Handover>)| {
            let (segment, instance) = (group.segment(index), group.instance(index));
            let share = LoopShare { segment, instance, begun: begun.clone() };
            let (begin, begins) = channel::<Begin>();
            let (program, behaviour) = (program.clone(), behaviour.cloned());
            let (vus_ready, creating) = (vus_ready.clone(), makes.clone());
            let run = move || {
                let users = share.users(&program, behaviour.as_ref(), &vus_ready, handover);
                drop(creating);
                let Ok(Begin { options, links }) = begins.recv() else { return Ok(LoopTotals::default()) };
                let guard = LoopGuard { others: Some(options.control.clone()) };
                let made = EventLoop::new(&options, LoopLoad::Share(share), users, links);
                let end = made.and_then(EventLoop::run);
                if end.is_ok() {
                    guard.disarm();
                }
                end
            };
            let started = std::thread::Builder::new().name("plimsoll-loop".into()).spawn(run);
            let ended = started.map_err(|error| EngineError::Loop(error.to_string()))?;
            Ok(LoopThread { begin, ended })
        };
        let others = Handover::among(program, &segments);
        let threads = (0..).zip(others).map(thread).collect::<Result<_, EngineError>>()?;
        let vus_to_create =
            segments.into_iter().map(|segment| early_users(program, behaviour.is_some(), segment)).sum();
        Ok(Loops { threads, vus_ready, vus_to_create, setup })
    }

    /// How many virtual users are made, and how many will be before the run begins.
    pub fn vus_ready(&self) -> (u32, u32) {
        (self.vus_ready.load(Ordering::Relaxed), self.vus_to_create)
    }

    /// Wait until all virtual users are made, at most so long; whether they are.
    pub fn wait(&self, at_most: Duration) -> bool {
        self.setup.recv_timeout(at_most) == Err(RecvTimeoutError::Disconnected)
    }

    /// Offer the load: see [`run`](crate::run).
    ///
    /// # Errors
    /// As of [`run`](crate::run).
    pub fn run(self, options: &RunOptions, outlets: Vec<TickSender>) -> Result<Totals, EngineError> {
        let shared = Shared::default();
        let begin = |(thread, outlet): (LoopThread, TickSender)| {
            let links = LoopLinks { outlet, shared: shared.clone() };
            if thread.begin.send(Begin { options: options.clone(), links }).is_err() {
                options.control.abandon();
            }
            thread.ended
        };
        let running: Vec<_> = self.threads.into_iter().zip(outlets).map(begin).collect();
        let join = |ended: JoinHandle<_>| {
            ended.join().unwrap_or_else(|_| Err(EngineError::Loop("it panicked".into())))
        };
        let ends: Vec<Result<LoopTotals, EngineError>> = running.into_iter().map(join).collect();
        let mut totals = Totals::default();
        for end in ends {
            let end = end?;
            totals.last_second = totals.last_second.max(end.last_second);
            totals.requests_in_flight += end.requests_in_flight;
            totals.iterations_in_flight += end.iterations_in_flight;
            totals.folded_ticks += end.folded_ticks;
            totals.stopped_at = totals.stopped_at.into_iter().chain(end.stopped_at).min();
        }
        Ok(totals)
    }
}

/// Ends the other loops when it is dropped with them: its loop failed or panicked, or its thread never started.
struct LoopGuard {
    others: Option<Control>,
}

impl LoopGuard {
    /// The loop ended well: the others go on.
    fn disarm(mut self) {
        self.others = None;
    }
}

impl Drop for LoopGuard {
    fn drop(&mut self) {
        if let Some(others) = &self.others {
            others.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use workload::schedule::Schedule;
    use workload::timetable::{ArrivalSpacing, Timetable};
    use workload::{Arrivals, Executor, Stage};

    use super::*;

    /// Processes with so many loops each.
    fn groups(loops: &[u16]) -> Vec<LoopGroup> {
        let place = |index| Instance { machine: 0, process: index, loop_index: 0 };
        LoopGroup::several(&(0..).zip(loops).map(|(index, loops)| (*loops, place(index))).collect::<Vec<_>>())
    }

    fn segments(loops: &[u16]) -> Vec<Segment> {
        let of_group = |group: LoopGroup| (0..group.loops).map(move |index| group.segment(index));
        groups(loops).into_iter().flat_map(of_group).collect()
    }

    /// The loops of each of several processes.
    fn uneven(processes: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u16>> {
        prop::collection::vec(1_u16..9, processes)
    }

    proptest! {
        /// Whichever process a loop is in, it has the share of the loop with its number in one process.
        #[test]
        fn loops_of_several_processes_are_those_of_one(loops in uneven(1..200)) {
            let whole = LoopGroup::whole(loops.iter().sum());
            let of_one: Vec<Segment> = (0..whole.loops).map(|index| whole.segment(index)).collect();
            prop_assert_eq!(segments(&loops), of_one);
        }

        /// The same numbers are due at the same instants, each once, in any number of processes and loops.
        #[test]
        fn open_arrivals_are_due_at_the_same_instants_however_they_are_divided(
            loops in uneven(1..7),
            (from, to, over_ms) in (0.0_f64..80.0, 0.0_f64..80.0, 1_u64..3_000),
            seed in any::<u64>(),
            is_random in any::<bool>(),
        ) {
            let over = Duration::from_millis(over_ms);
            let stages = vec![Stage { to, over }, Stage { to: from, over }];
            let schedule = Schedule::new(&Executor::RampingArrivalRate { start_rate: from, stages }).unwrap();
            let arrivals = if is_random { Arrivals::Poisson } else { Arrivals::Even };
            let spacing = ArrivalSpacing { arrivals, seed, scenario: 1_usize.into() };
            let due = |segment| Timetable::along(schedule.clone(), spacing, segment).collect::<Vec<_>>();
            let whole = due(Segment::WHOLE);
            let mut divided: Vec<_> = segments(&loops).into_iter().flat_map(due).collect();
            divided.sort_unstable();
            prop_assert_eq!(divided, whole);
        }

        /// Iterations that all virtual users share are made once each, by processes that have virtual users.
        #[test]
        fn shared_iterations_are_divided_over_the_loops_with_virtual_users(
            loops in uneven(1..12),
            (users, iterations) in (1_u32..40, 0_u64..200),
        ) {
            let mut made = BTreeSet::new();
            for group in groups(&loops) {
                let own = group.of_shared(users);
                let with_users = (0..group.loops).filter(|index| group.segment(*index).share(users.into()) > 0).count();
                let share = own.share(iterations);
                // Of each loop with users as many as of any other, or one more.
                let least = iterations / u64::from(users.min(group.all_loops)) * with_users as u64;
                prop_assert!((least..=least + with_users as u64).contains(&share), "{share}");
                for number in (0..share).map(|number| own.nth(number)) {
                    prop_assert!(number < iterations && made.insert(number), "{number}");
                }
            }
            prop_assert_eq!(made.len() as u64, iterations);
        }
    }
}
