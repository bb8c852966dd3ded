//! How a loop is made: for a part of the run's load, or for one iteration before it.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use evidence::tick_channel::TickSender;
use evidence::{Disturbed, Instance, Instant, Perturbation};
use mio::{Poll, Waker};
use workload::schedule::Segment;

use super::deadlines::Deadlines;
use super::sleep::{Sleeper, WAKER};
use super::timers::Timers;
use super::{EventLoop, InFlight};
use crate::accounting::Accounting;
use crate::arrivals::ArrivalSource;
use crate::control::Command;
use crate::exemplars::Exemplars;
use crate::handover::Handover;
use crate::index::{PhaseIndex, ScenarioIndex};
use crate::iteration::{Behaviour, LoopScenario, UserMaker};
use crate::metrics::{LoopMetrics, MetricDirectory};
use crate::network::Network;
use crate::operation::Operations;
use crate::program::{KeptExchanges, MetNames, Program};
use crate::script_cpu::ScriptCpu;
use crate::steps::PlanUsers;
use crate::users::Users;
use crate::vu_numbers::NeededVus;
use crate::vu_slots::{BegunIterations, ScenarioShare};
use crate::window::CurrentWindow;
use crate::{EngineError, RunOptions};

/// What a loop is connected with: the recorder, and the other loops of the run.
pub(crate) struct LoopLinks {
    pub(crate) outlet: TickSender,
    pub(crate) shared: Shared,
}

/// What the loops of a run share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    disturbed: Disturbed,
    metrics: MetricDirectory,
}

/// What a loop offers.
pub(crate) enum LoopLoad {
    /// A share of the run's load.
    Share(LoopShare),
    /// One iteration of one virtual user.
    Once(SingleIteration),
}

/// The share of the run's load that one loop offers.
#[derive(Debug, Clone)]
pub(crate) struct LoopShare {
    pub(crate) segment: Segment,
    pub(crate) instance: Instance,
    /// By scenario, shared by all loops of the process.
    pub(crate) begun: Arc<[BegunIterations]>,
}

impl LoopShare {
    fn of_scenario(&self, scenario: ScenarioIndex) -> ScenarioShare {
        ScenarioShare { segment: self.segment, begun: self.begun[scenario.0].clone() }
    }
}

/// One iteration of one virtual user, which is not load.
pub(crate) struct SingleIteration {
    /// The scenario that it belongs to.
    pub(crate) scenario: ScenarioIndex,
    /// The phase that its requests are counted for.
    pub(crate) phase: PhaseIndex,
}

/// Where a loop counts, and which exchanges it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ledger {
    /// In the phases of the load; examples of exchanges.
    Load,
    /// In this phase; all exchanges.
    Once(PhaseIndex),
}

impl LoopLoad {
    fn segment(&self) -> Segment {
        match self {
            LoopLoad::Share(share) => share.segment,
            LoopLoad::Once(_) => Segment::WHOLE,
        }
    }

    fn instance(&self) -> Instance {
        match self {
            LoopLoad::Share(share) => share.instance,
            LoopLoad::Once(_) => Instance::default(),
        }
    }

    fn ledger(&self) -> Ledger {
        match self {
            LoopLoad::Share(_) => Ledger::Load,
            LoopLoad::Once(single) => Ledger::Once(single.phase),
        }
    }

    fn sources(&self, options: &RunOptions) -> Vec<ArrivalSource> {
        let program = &options.program;
        let single = match self {
            LoopLoad::Share(share) => {
                let source = |index| ArrivalSource::new(program, index, &share.of_scenario(index));
                return program.shape.load().map(source).collect();
            }
            LoopLoad::Once(single) => single,
        };
        let start = options.clock.now();
        let source = |index| {
            let mut source = ArrivalSource::once(start);
            if index != single.scenario {
                source.stop(start);
            }
            source
        };
        program.shape.all().map(source).collect()
    }
}

impl LoopShare {
    /// The virtual users of the share. Those that are needed at once, or by a script, are made; `made` counts them.
    pub(crate) fn users(
        &self,
        program: &Arc<Program>,
        behaviour: Option<&Arc<dyn Behaviour>>,
        made: &Arc<AtomicU32>,
        handover: Option<Handover>,
    ) -> Users {
        let segment = self.segment;
        let mut users = Users::new(segment, made.clone(), handover);
        let place = |index: ScenarioIndex| LoopScenario {
            position: index.0,
            name: program.scenario(index).name.clone(),
            segment,
        };
        let makers: Vec<Box<dyn UserMaker>> = match behaviour {
            Some(behaviour) => {
                let needed: Vec<_> = program.shape.load().map(|index| self.needed(program, index)).collect();
                users = users.handed_on(&needed);
                behaviour.on_loop(program.shape.load().map(place).collect())
            }
            None => {
                let maker = |index| Box::new(PlanUsers::new(program.clone(), index)) as _;
                program.shape.load().map(maker).collect()
            }
        };
        for (index, maker) in program.shape.load().zip(makers) {
            let scenario = program.scenario(index);
            let part = segment.among_first(scenario.max_vus);
            let own = |vus: u32| part.map_or(0, |part| part.share(u64::from(vus)) as u32);
            users.add_scenario(scenario.name.clone(), maker, own(scenario.max_vus));
            match behaviour {
                Some(_) if !scenario.executor.is_open() => {
                    users.prepare_slots(index, own(scenario.max_vus));
                }
                Some(_) => {
                    users.prepare(index, own(scenario.preallocated_vus));
                    users.make_ahead(index);
                }
                None => users.prepare(index, own(scenario.preallocated_vus)),
            }
        }
        users
    }
}

impl LoopShare {
    /// The virtual users that this share of a scenario of a script has from its start on.
    fn needed(&self, program: &Program, index: ScenarioIndex) -> NeededVus {
        let scenario = program.scenario(index);
        let early = if scenario.executor.is_open() { scenario.preallocated_vus } else { scenario.max_vus };
        let part = self.segment.among_first(scenario.max_vus);
        NeededVus {
            from: scenario.start,
            to: scenario.start + scenario.executor.duration() + scenario.graceful_stop,
            count: part.map_or(0, |part| part.share(u64::from(early)) as u32),
        }
    }
}

/// How many virtual users are made before a run, by the loop of this segment.
pub(crate) fn early_users(program: &Program, has_behaviour: bool, segment: Segment) -> u32 {
    let early = |index| {
        let scenario = program.scenario(index);
        let is_made_whole = has_behaviour && !scenario.executor.is_open();
        let all = if is_made_whole { scenario.max_vus } else { scenario.preallocated_vus };
        segment.among_first(scenario.max_vus).map_or(0, |part| part.share(u64::from(all)) as u32)
    };
    program.shape.load().map(early).sum()
}

impl SingleIteration {
    /// Its virtual user, which `maker` makes when the iteration begins.
    pub(crate) fn users(&self, program: &Arc<Program>, maker: Box<dyn UserMaker>) -> Users {
        let mut users = Users::new(Segment::WHOLE, Arc::default(), None);
        let mut own = Some(maker);
        for index in program.shape.all() {
            let maker = if index == self.scenario { own.take() } else { None };
            let limit = u32::from(maker.is_some());
            let maker = maker.unwrap_or_else(|| Box::new(PlanUsers::new(program.clone(), index)));
            users.add_scenario(program.scenario(index).name.clone(), maker, limit);
        }
        users
    }
}

impl EventLoop {
    /// A loop that offers this load with these virtual users.
    pub(crate) fn new(
        options: &RunOptions,
        load: LoopLoad,
        users: Users,
        links: LoopLinks,
    ) -> Result<Self, EngineError> {
        let LoopLinks { outlet, shared } = links;
        let RunOptions { program, clock, control, .. } = options;
        let (segment, ledger) = (load.segment(), load.ledger());
        let instance = load.instance();
        let poll = Poll::new().map_err(EngineError::Poll)?;
        let registry = poll.registry().try_clone().map_err(EngineError::Poll)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER).map_err(EngineError::Poll)?);
        control.register(waker.clone());
        users.wakes(&waker);
        let same_users = users.same_as().to_vec();
        let sleeper = Sleeper::new(*clock, options.wakeup, poll.registry()).map_err(EngineError::Poll)?;
        let mut accounting = Accounting::new(program.clone(), instance);
        let phases = program.shape.phases.iter().map(|phase| phase.name.clone()).collect();
        let mut metrics = LoopMetrics::new(shared.metrics, phases);
        if segment.index == 0 && ledger == Ledger::Load {
            accounting.add_setup();
            metrics.add_setup(&program.steps.setup_ticks);
        }
        let kept = match ledger {
            Ledger::Load => program.kept_exchanges,
            Ledger::Once(_) => KeptExchanges::All,
        };
        Ok(EventLoop {
            clock: *clock,
            control: control.clone(),
            poll,
            sleeper,
            sources: load.sources(options),
            users,
            operations: Operations::new(&program.body_budget),
            network: Network::new(program.clone(), *clock, registry, waker).with_users(segment, same_users),
            accounting,
            exemplars: Exemplars::new(program.clone(), kept),
            perturbation: Perturbation::new(shared.disturbed),
            metrics,
            ledger,
            counters: program.steps.names.counters_of(segment),
            met_names: MetNames::default(),
            timers: Timers::default(),
            deadlines: Deadlines::default(),
            in_flight: InFlight::default(),
            window: match ledger {
                Ledger::Load => CurrentWindow::first(program),
                Ledger::Once(phase) => CurrentWindow::lasting(phase),
            },
            outlet: Some(outlet),
            tick_began: Instant::EPOCH,
            cpu_ns: 0,
            script_cpu: ScriptCpu::default(),
            folded: 0,
            folded_ticks: 0,
            applied_command: Command::Run,
            stopped_at: None,
            requests: Vec::new(),
            checks: Vec::new(),
            yielded: Vec::new(),
            resumed: Vec::new(),
            program: program.clone(),
        })
    }
}
