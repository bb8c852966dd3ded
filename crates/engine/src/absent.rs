//! The load of a loop that is gone: its arrivals are counted as dropped by the generator, so that the accounting adds up.

use std::sync::Arc;

use evidence::tick::LoopState;
use evidence::{Instant, Tick};

use crate::Program;
use crate::accounting::{Accounting, AccountingRow, DropReason, DueArrival, Subject};
use crate::arrivals::ArrivalSource;
use crate::index::ScenarioIndex;
use crate::loops::LoopGroup;
use crate::vu_slots::ScheduledArrival;

/// A loop that offers nothing from an instant on. Of closed scenarios nothing is due without virtual users.
#[derive(Debug)]
pub struct AbsentLoop {
    program: Arc<Program>,
    sources: Vec<(ScenarioIndex, ArrivalSource)>,
    accounting: Accounting,
    /// Arrivals due from here on are dropped.
    from: Instant,
}

impl AbsentLoop {
    /// The loop with this number in its group, gone since `from`.
    pub fn new(program: &Arc<Program>, group: &LoopGroup, loop_index: u16, from: Instant) -> AbsentLoop {
        let segment = group.segment(loop_index);
        AbsentLoop {
            program: program.clone(),
            sources: ArrivalSource::open_in(program, segment),
            accounting: Accounting::new(program.clone(), group.instance(loop_index)),
            from,
        }
    }

    /// The same, where the loop has used all numbers of keys before this one.
    #[must_use]
    pub fn with_keys_from(mut self, first: u32) -> AbsentLoop {
        self.accounting.number_keys_from(first);
        self
    }

    /// Add what was due before `until` since the last call, as dropped, to a tick, which is then of this second.
    pub fn add_dropped(&mut self, to: Box<Tick>, until: Instant, second: u32) -> Box<Tick> {
        let last = Instant::from_nanos(until.as_nanos().saturating_sub(1));
        self.accounting.open(to, second);
        for (scenario, source) in &mut self.sources {
            while let Some(ScheduledArrival { number, due, .. }) = source.take(last) {
                if due < self.from {
                    continue;
                }
                let drawn = self.program.endpoint_of(*scenario, number);
                let subject = drawn.map_or(Subject::Scenario(*scenario), Subject::Endpoint);
                let row = AccountingRow { subject, phase: self.program.phase_at(due) };
                let counted = DueArrival { row, due };
                self.accounting.scheduled(counted);
                self.accounting.dropped(counted, DropReason::GeneratorLate);
            }
        }
        self.accounting.close(LoopState::default(), Vec::new())
    }
}
