//! The virtual users of one loop: which are free, and which iteration each of the others makes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use evidence::tick::ScenarioState;
use evidence::{Instant, Name, Outcome};
use mio::Waker;
use workload::schedule::Segment;

use crate::handover::{HandedArrival, Handover};
use crate::index::{PhaseIndex, ScenarioIndex, UserIndex, VuSlotIndex};
use crate::iteration::{Arrival, Iteration, UserMaker};
use crate::vu_numbers::{NeededVus, VuNumbers};
use crate::vu_slots::ScheduledArrival;

/// One virtual user, in one cache line: each request reads another one.
#[repr(align(64))]
pub(crate) struct User {
    pub(crate) iteration: Box<dyn Iteration>,
    pub(crate) scenario: ScenarioIndex,
    /// In a closed model: its VU slot, which no other virtual user gets.
    vu_slot: Option<VuSlotIndex>,
    /// Its number within the run, from 1; that of another one, too, whose scenario is over before its own begins.
    number: u32,
    /// Its number within its scenario, from 0.
    scenario_number: u32,
    /// How many iterations it has begun, by which a late timer of an earlier iteration is recognised.
    pub(crate) serial: u32,
    pub(crate) active: Option<ActiveIteration>,
}

const _: () = assert!(size_of::<User>() == 64);

/// The iteration that a virtual user makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ActiveIteration {
    pub(crate) due: Instant,
    pub(crate) phase: PhaseIndex,
    /// The first outcome that was not `ok`, else `ok`.
    pub(crate) outcome: Outcome,
}

/// The virtual users of one scenario, in one loop.
struct ScenarioVus {
    name: Name,
    maker: Box<dyn UserMaker>,
    /// How many there may be in this loop.
    limit: u32,
    free: VecDeque<UserIndex>,
    /// Whether one more is made, while there is time, when all are busy.
    is_made_ahead: bool,
    /// The virtual user that was made first.
    first: Option<UserIndex>,
    /// In a closed model: the virtual user of each slot; none until the slot's first iteration.
    assigned: Vec<Option<UserIndex>>,
    made: u32,
    active: u32,
    gauge: ActivityGauge,
}

/// How many virtual users were active, over time.
#[derive(Debug, Default)]
struct ActivityGauge {
    since: Instant,
    integral: f64,
    at_limit_ns: u64,
    max: u32,
}

impl ScenarioVus {
    /// The limit counts as reached from 99 % of it on.
    fn is_at_limit(&self) -> bool {
        u64::from(self.active) * 100 >= u64::from(self.limit) * 99
    }

    /// Add the time since the last change to the gauge; call before `active` changes.
    fn update_gauge(&mut self, now: Instant) {
        let passed = now.since(self.gauge.since);
        self.gauge.integral += passed.as_nanos() as f64 * f64::from(self.active);
        if self.is_at_limit() {
            self.gauge.at_limit_ns += passed.as_nanos() as u64;
        }
        self.gauge.since = self.gauge.since.max(now);
    }
}

/// Which free virtual user makes the next arrival of an open scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taking {
    /// The one that became free last: few are used, and few connections.
    LastFree,
    /// The one that has been free for the longest time: they take turns, as k6's do.
    InTurn,
}

/// The virtual users of one loop.
pub(crate) struct Users {
    all: Vec<User>,
    taking: Taking,
    numbers: VuNumbers,
    /// The first with each number.
    first_with: Vec<UserIndex>,
    /// Of each further one with a number the first, in ascending order: both have the same connections.
    same_as: Vec<(UserIndex, UserIndex)>,
    scenarios: Vec<ScenarioVus>,
    /// This loop uses the numbers n with (n − 1) % count == index.
    segment: Segment,
    /// How many there are, over all loops.
    counted: Arc<AtomicU32>,
    /// None of a loop without others in its process.
    handover: Option<Handover>,
}

impl Users {
    pub(crate) fn new(segment: Segment, counted: Arc<AtomicU32>, handover: Option<Handover>) -> Self {
        Users {
            all: Vec::new(),
            taking: Taking::LastFree,
            numbers: VuNumbers::default(),
            first_with: Vec::new(),
            same_as: Vec::new(),
            scenarios: Vec::new(),
            segment,
            counted,
            handover,
        }
    }

    /// The same, that take turns, and of which scenarios that need so many hand them on.
    pub(crate) fn handed_on(self, needed: &[NeededVus]) -> Self {
        Users { taking: Taking::InTurn, numbers: VuNumbers::planned(needed), ..self }
    }

    /// Of each that has the number of an earlier one the first with it, in ascending order.
    pub(crate) fn same_as(&self) -> &[(UserIndex, UserIndex)] {
        &self.same_as
    }

    /// Add the next scenario, which may have `limit` virtual users in this loop.
    pub(crate) fn add_scenario(&mut self, name: Name, maker: Box<dyn UserMaker>, limit: u32) {
        self.scenarios.push(ScenarioVus {
            name,
            maker,
            limit,
            free: VecDeque::new(),
            is_made_ahead: false,
            first: None,
            assigned: Vec::new(),
            made: 0,
            active: 0,
            gauge: ActivityGauge::default(),
        });
    }

    pub(crate) fn maker(&self, scenario: ScenarioIndex) -> &dyn UserMaker {
        &*self.scenarios[scenario.0].maker
    }

    /// A virtual user for one arrival; none when the limit is reached. In a closed model it is the one assigned
    /// to the arrival's slot.
    pub(crate) fn take(
        &mut self,
        scenario: ScenarioIndex,
        slot: Option<VuSlotIndex>,
        now: Instant,
    ) -> Option<UserIndex> {
        let is_free = slot.is_some() || self.handover.as_ref().is_none_or(|others| others.take_own(scenario));
        if is_free { self.take_free(scenario, slot, now) } else { None }
    }

    /// Hand an arrival for which none is free here to a loop that has one; false where none has.
    pub(crate) fn hand_over(&self, handed: HandedArrival) -> bool {
        self.handover.as_ref().is_some_and(|others| others.hand_over(handed))
    }

    /// The arrivals that were handed to this loop. Each has a virtual user, which [`Users::take_handed`] or
    /// [`Users::refuse_handed`] must follow.
    pub(crate) fn handed(&self) -> Vec<HandedArrival> {
        self.handover.as_ref().map(Handover::take_handed).unwrap_or_default()
    }

    pub(crate) fn take_handed(&mut self, scenario: ScenarioIndex, now: Instant) -> Option<UserIndex> {
        self.take_free(scenario, None, now)
    }

    pub(crate) fn refuse_handed(&self, scenario: ScenarioIndex) {
        if let Some(others) = &self.handover {
            others.give_back(scenario);
        }
    }

    /// What wakes the loop when an arrival is handed to it.
    pub(crate) fn wakes(&self, waker: &Arc<Waker>) {
        if let Some(others) = &self.handover {
            others.wakes(waker);
        }
    }

    /// The loop has no further arrivals of open scenarios.
    pub(crate) fn hand_over_no_more(&mut self) {
        if let Some(others) = &mut self.handover {
            others.stop_offering();
        }
    }

    pub(crate) fn is_handed_nothing_more(&self) -> bool {
        self.handover.as_ref().is_none_or(Handover::is_handed_nothing_more)
    }

    fn take_free(
        &mut self,
        scenario: ScenarioIndex,
        slot: Option<VuSlotIndex>,
        now: Instant,
    ) -> Option<UserIndex> {
        let user = match slot {
            Some(slot) => self.assigned_to(scenario, slot),
            None => {
                let free = &mut self.scenarios[scenario.0].free;
                if self.taking == Taking::InTurn { free.pop_front() } else { free.pop_back() }
            }
        };
        let user = match user {
            Some(user) => user,
            None => self.make(scenario, slot)?,
        };
        let vus = &mut self.scenarios[scenario.0];
        vus.update_gauge(now);
        vus.active += 1;
        vus.gauge.max = vus.gauge.max.max(vus.active);
        Some(user)
    }

    /// How long after its due instant the first request of an arrival still has time left: asked of the virtual user that
    /// would make it, or where all are busy of one of those.
    pub(crate) fn time_limit_of(
        &self,
        scenario: ScenarioIndex,
        arrival: &ScheduledArrival,
    ) -> Option<Duration> {
        let vus = &self.scenarios[scenario.0];
        let user = match arrival.vu_slot {
            Some(slot) => self.assigned_to(scenario, slot),
            None if vus.free.is_empty() && vus.made >= vus.limit => vus.first,
            None if self.taking == Taking::InTurn => vus.free.front().copied(),
            None => vus.free.back().copied(),
        };
        match user {
            Some(user) => self.get(user).iteration.time_limit_of(arrival.number),
            None => vus.maker.time_limit_of(arrival.number),
        }
    }

    /// Make so many virtual users of an open scenario before they are needed, as far as its limit allows.
    pub(crate) fn prepare(&mut self, scenario: ScenarioIndex, count: u32) {
        let made: Vec<UserIndex> = (0..count).map_while(|_| self.make(scenario, None)).collect();
        // The first to be made is the first to be taken.
        let free = &mut self.scenarios[scenario.0].free;
        match self.taking {
            Taking::LastFree => free.extend(made.into_iter().rev()),
            Taking::InTurn => free.extend(made),
        }
    }

    /// From now on one further virtual user of this open scenario is made whenever there is time and all others are busy.
    pub(crate) fn make_ahead(&mut self, scenario: ScenarioIndex) {
        self.scenarios[scenario.0].is_made_ahead = true;
    }

    /// Make one that is made ahead; false where none is needed.
    pub(crate) fn make_spare(&mut self) -> bool {
        let needs_one = |vus: &ScenarioVus| vus.is_made_ahead && vus.free.is_empty() && vus.made < vus.limit;
        let Some(scenario) = self.scenarios.iter().position(needs_one) else { return false };
        let made = self.make(ScenarioIndex(scenario), None);
        self.scenarios[scenario].free.extend(made);
        true
    }

    /// A new virtual user, unless the limit is reached.
    fn make(&mut self, scenario: ScenarioIndex, slot: Option<VuSlotIndex>) -> Option<UserIndex> {
        let user = UserIndex(self.count());
        let vus = &mut self.scenarios[scenario.0];
        if vus.made >= vus.limit {
            return None;
        }
        let scenario_number = self.segment.nth(u64::from(vus.made)) as u32;
        vus.made += 1;
        vus.first = vus.first.or(Some(user));
        let place = self.numbers.take(scenario.0);
        match self.first_with.get(place as usize).copied() {
            Some(first) => self.same_as.push((user, first)),
            // Numbers are given in their order.
            None => self.first_with.push(user),
        }
        if let Some(slot) = slot.map(|slot| slot.0 as usize) {
            vus.assigned.resize(vus.assigned.len().max(slot + 1), None);
            vus.assigned[slot] = Some(user);
        }
        let number = self.segment.index + 1 + place * self.segment.count;
        let iteration = vus.maker.virtual_user(number);
        self.counted.fetch_add(1, Ordering::Relaxed);
        self.all.push(User {
            iteration,
            scenario,
            vu_slot: slot,
            number,
            scenario_number,
            serial: 0,
            active: None,
        });
        Some(user)
    }

    /// The same of a closed scenario, for its first slots.
    pub(crate) fn prepare_slots(&mut self, scenario: ScenarioIndex, count: u32) {
        for slot in 0..count {
            self.make(scenario, Some(VuSlotIndex(slot)));
        }
    }

    /// The virtual user of a slot of a closed scenario.
    pub(crate) fn assigned_to(&self, scenario: ScenarioIndex, slot: VuSlotIndex) -> Option<UserIndex> {
        self.scenarios[scenario.0].assigned.get(slot.0 as usize).copied().flatten()
    }

    /// In a closed model: the slot of this virtual user.
    pub(crate) fn slot_of(&self, user: UserIndex) -> Option<VuSlotIndex> {
        self.get(user).vu_slot
    }

    /// Begin the iteration of arrival `number` with a virtual user that was taken.
    pub(crate) fn begin(&mut self, user: UserIndex, number: u64, active: ActiveIteration) -> Arrival {
        let user = self.get_mut(user);
        user.serial = user.serial.wrapping_add(1);
        user.active = Some(active);
        Arrival { number, due: active.due, virtual_user: user.number, scenario_user: user.scenario_number }
    }

    /// The virtual user's iteration is over: it is free again.
    pub(crate) fn release(&mut self, index: UserIndex, now: Instant) -> Option<ActiveIteration> {
        let user = &mut self.all[index.0 as usize];
        let active = user.active.take()?;
        let vus = &mut self.scenarios[user.scenario.0];
        vus.update_gauge(now);
        vus.active -= 1;
        if user.vu_slot.is_none() {
            vus.free.push_back(index);
            if let Some(others) = &self.handover {
                others.give_back(user.scenario);
            }
        }
        Some(active)
    }

    pub(crate) fn get_mut(&mut self, index: UserIndex) -> &mut User {
        &mut self.all[index.0 as usize]
    }

    pub(crate) fn get(&self, index: UserIndex) -> &User {
        &self.all[index.0 as usize]
    }

    pub(crate) fn active_in(&self, scenario: ScenarioIndex) -> u32 {
        self.scenarios[scenario.0].active
    }

    pub(crate) fn active(&self) -> u32 {
        self.scenarios.iter().map(|vus| vus.active).sum()
    }

    pub(crate) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// The iterations that are under way.
    pub(crate) fn all_active(&self) -> impl Iterator<Item = (ScenarioIndex, ActiveIteration)> {
        self.all.iter().filter_map(|user| Some((user.scenario, user.active?)))
    }

    /// The virtual users of a scenario that have an iteration under way, in ascending order.
    pub(crate) fn busy_in(&self, scenario: ScenarioIndex) -> Vec<UserIndex> {
        let is_busy = |u: &User| u.scenario == scenario && u.active.is_some();
        (0..self.count()).map(UserIndex).filter(|user| is_busy(self.get(*user))).collect()
    }

    /// The state of each scenario that had a virtual user, over the time from `since` to `now`.
    pub(crate) fn states(&mut self, since: Instant, now: Instant) -> Vec<ScenarioState> {
        let covered = now.since(since).as_nanos().max(1) as f64;
        let mut states = Vec::new();
        for vus in &mut self.scenarios {
            vus.gauge.since = vus.gauge.since.max(since);
            vus.update_gauge(now);
            let gauge = &vus.gauge;
            if vus.made > 0 {
                states.push(ScenarioState {
                    scenario: vus.name.clone(),
                    active_mean: gauge.integral / covered,
                    active_max: gauge.max,
                    cap: vus.limit,
                    at_cap: (gauge.at_limit_ns as f64 / covered).min(1.0),
                });
            }
        }
        states
    }

    /// Begin new gauges.
    pub(crate) fn begin_tick(&mut self, now: Instant) {
        for vus in &mut self.scenarios {
            vus.gauge = ActivityGauge { since: now, max: vus.active, ..ActivityGauge::default() };
        }
    }
}
