//! The virtual users of one loop: who is free, who is in the middle of an iteration.

use std::sync::Arc;

use evidence::tick::ScenarioState;
use evidence::{Instant, Name, Outcome};

use crate::iteration::{Arrival, Behaviour, Iteration};

/// One virtual user.
pub(crate) struct User {
    pub(crate) iteration: Box<dyn Iteration>,
    pub(crate) scenario: usize,
    /// In a closed model: its seat, which nobody else takes.
    seat: Option<u32>,
    /// Its number within the run, from 1.
    number: u32,
    /// How many iterations it has begun: tells a late timer of an earlier one apart.
    pub(crate) serial: u32,
    pub(crate) active: Option<Active>,
}

/// The iteration a virtual user is in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Active {
    pub(crate) due: Instant,
    pub(crate) phase: usize,
    /// The first outcome that was not `ok`, else `ok`.
    pub(crate) outcome: Outcome,
}

/// The virtual users of one scenario, in one loop.
struct Crew {
    name: Name,
    behaviour: Arc<dyn Behaviour>,
    /// How many there may be in this loop.
    cap: u32,
    free: Vec<u32>,
    /// In a closed model: who sits in each seat; `NOBODY` until its first iteration.
    seated: Vec<u32>,
    made: u32,
    active: u32,
    gauge: Gauge,
}

const NOBODY: u32 = u32::MAX;

/// How many were active, over time.
#[derive(Debug, Default)]
struct Gauge {
    since: Instant,
    integral: f64,
    at_cap_ns: u64,
    max: u32,
}

impl Crew {
    /// From this many on the cap counts as reached: 99 % of it.
    fn is_at_cap(&self) -> bool {
        u64::from(self.active) * 100 >= u64::from(self.cap) * 99
    }

    /// Account for the time since the last change; call before `active` changes.
    fn settle(&mut self, now: Instant) {
        let passed = now.since(self.gauge.since);
        self.gauge.integral += passed.as_nanos() as f64 * f64::from(self.active);
        if self.is_at_cap() {
            self.gauge.at_cap_ns += passed.as_nanos() as u64;
        }
        self.gauge.since = self.gauge.since.max(now);
    }
}

/// The virtual users of one loop.
pub(crate) struct Users {
    all: Vec<User>,
    crews: Vec<Crew>,
    /// This loop gives the numbers n with (n − 1) % step == offset.
    offset: u32,
    step: u32,
}

impl Users {
    pub(crate) fn new((offset, step): (u32, u32)) -> Self {
        Users { all: Vec::new(), crews: Vec::new(), offset, step }
    }

    /// Add the next scenario's virtual users, of which there may be `cap` in this loop.
    pub(crate) fn add_crew(&mut self, name: Name, behaviour: Arc<dyn Behaviour>, cap: u32) {
        let gauge = Gauge::default();
        self.crews.push(Crew {
            name,
            behaviour,
            cap,
            free: Vec::new(),
            seated: Vec::new(),
            made: 0,
            active: 0,
            gauge,
        });
    }

    pub(crate) fn behaviour(&self, scenario: usize) -> &Arc<dyn Behaviour> {
        &self.crews[scenario].behaviour
    }

    /// A virtual user for one arrival; none when the cap is reached. In a closed model it is the one in the
    /// arrival's seat.
    pub(crate) fn take(&mut self, (scenario, seat): (usize, Option<u32>), now: Instant) -> Option<u32> {
        let place = match seat {
            Some(seat) => self.sitting_in(scenario, seat),
            None => self.crews[scenario].free.pop(),
        };
        let place = match place {
            Some(place) => place,
            None => self.make((scenario, seat))?,
        };
        let crew = &mut self.crews[scenario];
        crew.settle(now);
        crew.active += 1;
        crew.gauge.max = crew.gauge.max.max(crew.active);
        Some(place)
    }

    /// Make so many virtual users of an open scenario before they are needed, as far as its cap allows.
    pub(crate) fn prepare(&mut self, scenario: usize, count: u32) {
        let made: Vec<u32> = (0..count).map_while(|_| self.make((scenario, None))).collect();
        // The first to be made is the first to be taken.
        self.crews[scenario].free.extend(made.into_iter().rev());
    }

    /// A new virtual user, unless the cap is reached.
    fn make(&mut self, (scenario, seat): (usize, Option<u32>)) -> Option<u32> {
        let place = self.count();
        let crew = &mut self.crews[scenario];
        if crew.made >= crew.cap {
            return None;
        }
        crew.made += 1;
        if let Some(seat) = seat.map(|seat| seat as usize) {
            crew.seated.resize(crew.seated.len().max(seat + 1), NOBODY);
            crew.seated[seat] = place;
        }
        let number = self.offset + 1 + place * self.step;
        let iteration = crew.behaviour.virtual_user();
        self.all.push(User { iteration, scenario, seat, number, serial: 0, active: None });
        Some(place)
    }

    /// Who sits in a seat of a closed scenario.
    pub(crate) fn sitting_in(&self, scenario: usize, seat: u32) -> Option<u32> {
        self.crews[scenario].seated.get(seat as usize).copied().filter(|place| *place != NOBODY)
    }

    /// In a closed model: the seat of this virtual user.
    pub(crate) fn seat_of(&self, place: u32) -> Option<u32> {
        self.all[place as usize].seat
    }

    /// Enter an arrival into a virtual user that was taken.
    pub(crate) fn begin(&mut self, place: u32, (number, active): (u64, Active)) -> Arrival {
        let user = &mut self.all[place as usize];
        user.serial = user.serial.wrapping_add(1);
        user.active = Some(active);
        Arrival { number, due: active.due, virtual_user: user.number }
    }

    /// The virtual user's iteration is over: it is free again.
    pub(crate) fn release(&mut self, place: u32, now: Instant) -> Option<Active> {
        let user = &mut self.all[place as usize];
        let active = user.active.take()?;
        let crew = &mut self.crews[user.scenario];
        crew.settle(now);
        crew.active -= 1;
        if user.seat.is_none() {
            crew.free.push(place);
        }
        Some(active)
    }

    pub(crate) fn get_mut(&mut self, place: u32) -> &mut User {
        &mut self.all[place as usize]
    }

    pub(crate) fn get(&self, place: u32) -> &User {
        &self.all[place as usize]
    }

    pub(crate) fn active_in(&self, scenario: usize) -> u32 {
        self.crews[scenario].active
    }

    pub(crate) fn active(&self) -> u32 {
        self.crews.iter().map(|c| c.active).sum()
    }

    pub(crate) fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// The virtual users of a scenario that are in the middle of an iteration.
    pub(crate) fn busy_in(&self, scenario: usize) -> Vec<u32> {
        let is_busy = |u: &User| u.scenario == scenario && u.active.is_some();
        (0..self.count()).filter(|place| is_busy(self.get(*place))).collect()
    }

    /// How each scenario that had a virtual user stood since the tick began.
    pub(crate) fn states(&mut self, (since, now): (Instant, Instant)) -> Vec<ScenarioState> {
        let covered = now.since(since).as_nanos().max(1) as f64;
        let mut states = Vec::new();
        for crew in &mut self.crews {
            crew.gauge.since = crew.gauge.since.max(since);
            crew.settle(now);
            let gauge = &crew.gauge;
            if crew.made > 0 {
                states.push(ScenarioState {
                    scenario: crew.name.clone(),
                    active_mean: gauge.integral / covered,
                    active_max: gauge.max,
                    cap: crew.cap,
                    at_cap: (gauge.at_cap_ns as f64 / covered).min(1.0),
                });
            }
        }
        states
    }

    /// Measure how each scenario stands afresh.
    pub(crate) fn begin_tick(&mut self, now: Instant) {
        for crew in &mut self.crews {
            crew.gauge = Gauge { since: now, max: crew.active, ..Gauge::default() };
        }
    }
}
