//! What the rules share, drawn up once from the evidence: tables by phase, scenario and endpoint, the
//! generator's own state, and what each objective comes to. Rules see this and nothing else.

mod backlog;
mod captured;
mod concurrency;
mod generator;
mod host;
mod observers;
mod steady_state;
mod tables;

use evidence::run::ReadError;
use evidence::{Ending, Histogram, Run, RunEnd, Scope, SeriesKey, Source};
use workload::{Filter, Measure, Objective, Scenario, Workload};

pub(crate) use backlog::Backlog;
pub(crate) use captured::{Captured, LastSecond};
pub(crate) use concurrency::Concurrency;
pub(crate) use generator::{AtCap, Generator, LoopUse, samples_in};
pub(crate) use host::Host;
pub(crate) use observers::Watcher;
pub(crate) use steady_state::{Course, Kept, Settled, Unsettled, after};
pub(crate) use tables::{Cell, Place, Span, Stretch, Tables, steps_of_sequence};

use crate::leaks::{self, LeakAnswer};
use crate::measure::{self, Observed};
use crate::rules::m4;

/// Everything the rules may know of a run.
pub(crate) struct Facts<'a> {
    pub(crate) workload: &'a Workload,
    /// Where an imported run comes from.
    pub(crate) source: Option<&'a Source>,
    /// How it ended; none when it was killed.
    pub(crate) end: Option<&'a RunEnd>,
    /// How many seconds of evidence there are.
    pub(crate) seconds: u32,
    pub(crate) tables: Tables,
    pub(crate) generator: Generator,
    /// Observers that had something to say.
    pub(crate) watchers: Vec<Watcher>,
    /// Profiles that were captured over a window.
    pub(crate) profiles: Vec<Captured>,
    /// Its last second; none where nobody counted what was in flight.
    pub(crate) last_second: Option<LastSecond>,
    /// Phases that began with what the one before had left.
    pub(crate) backlogs: Vec<Backlog>,
    /// Iterations under way, as seen and as rate and times make them.
    pub(crate) concurrencies: Vec<Concurrency>,
    /// The mean number of virtual users that an imported run tells of.
    pub(crate) virtual_users: Option<f64>,
    /// The generator's machine; none where nobody watched it.
    pub(crate) host: Option<Host>,
    /// What series show of leaks, where an objective speaks of one.
    pub(crate) leaks: Vec<LeakAnswer>,
    /// How endpoints went through phases whose load does not change on purpose.
    pub(crate) courses: Vec<Course>,
    /// Each objective, with what it comes to, in the plan's order.
    pub(crate) asked: Vec<Asked<'a>>,
}

/// An objective and what was observed of it.
pub(crate) struct Asked<'a> {
    pub(crate) objective: &'a Objective,
    pub(crate) observed: Observed,
}

/// What a number about times is made of: observations with a time, and those that never had one.
pub(crate) struct Group<'a> {
    pub(crate) place: &'a Place,
    /// Of successes.
    pub(crate) times: &'a Histogram,
    /// Failed and dropped: infinitely slow.
    pub(crate) missed: u64,
}

impl Group<'_> {
    /// How many observations it has.
    pub(crate) fn count(&self) -> u64 {
        self.times.count() + self.missed
    }

    /// Failed and dropped share; 0 of nothing.
    pub(crate) fn missed_share(&self) -> f64 {
        self.missed as f64 / self.count().max(1) as f64
    }
}

impl<'a> Facts<'a> {
    /// Draw up the facts of a run.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub(crate) fn of(run: &'a dyn Run, workload: &'a Workload) -> Result<Facts<'a>, ReadError> {
        let tables = Tables::of(run, workload)?;
        let generator = Generator::of(run, workload, &tables)?;
        let backlogs = backlog::backlogs(run, &tables.spans)?;
        let speaks_of_a_leak = workload.objectives.iter().any(|o| m4::speaks_of_a_leak(&o.name));
        let leaks = if speaks_of_a_leak { leaks::of(run, workload)? } else { Vec::new() };
        let asked = |objective| {
            let observed = measure::observe(run, (workload, &tables), objective)?;
            Ok(Asked { objective, observed })
        };
        let courses = steady_state::courses(run, (workload, &tables))?;
        let asked = workload.objectives.iter().map(asked).collect::<Result<_, ReadError>>()?;
        Ok(Facts {
            workload,
            source: run.manifest().source.as_ref(),
            end: run.end(),
            seconds: run.seconds(),
            tables,
            generator,
            watchers: observers::watchers(run)?,
            profiles: captured::profiles(run)?,
            last_second: captured::last_second(run)?,
            courses,
            backlogs,
            concurrencies: concurrency::concurrencies(run, workload)?,
            virtual_users: virtual_users(run)?,
            host: host::host(run)?,
            leaks,
            asked,
        })
    }

    /// Whether every scenario ran its course.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| end.ending == Ending::Completed)
    }

    /// How many requests and iterations were still under way when it ended. Not known of a run that was
    /// killed or that broke off.
    pub(crate) fn in_flight(&self) -> Option<(u64, u64)> {
        let end = self.end.filter(|end| !matches!(end.ending, Ending::Aborted(_)))?;
        Some((end.requests_in_flight, end.iterations_in_flight))
    }

    /// The scenario of this name.
    pub(crate) fn scenario(&self, name: &str) -> Option<&'a Scenario> {
        self.workload.scenarios.iter().find(|s| s.name == name)
    }

    /// Whether arrivals of this scenario are independent of completions.
    pub(crate) fn is_open(&self, scenario: &str) -> bool {
        self.scenario(scenario).is_none_or(|s| s.executor.is_open())
    }

    /// The phase of this name.
    pub(crate) fn span(&self, phase: &str) -> Option<&Span> {
        self.tables.spans.iter().find(|span| span.name == phase)
    }
}

impl Asked<'_> {
    /// The objective's name.
    pub(crate) fn name(&self) -> &str {
        &self.objective.name
    }

    /// Whether it is about times.
    pub(crate) fn is_about_times(&self) -> bool {
        is_time(&self.objective.measure)
    }

    /// Whether it is about requests, and not about an observed series.
    pub(crate) fn is_about_load(&self) -> bool {
        !matches!(self.objective.measure, Measure::Series { .. })
    }

    /// Whether it counts completions a second.
    pub(crate) fn is_a_rate(&self) -> bool {
        matches!(self.objective.measure, Measure::Goodput { .. } | Measure::Throughput)
    }

    /// A scope of this objective alone.
    pub(crate) fn scope(&self) -> Scope {
        Scope { objective: Some(self.objective.name.clone()), ..Scope::default() }
    }

    /// What its number about times is made of; empty for one that is not about times.
    pub(crate) fn groups<'t>(&self, tables: &'t Tables) -> Vec<Group<'t>> {
        groups(&self.objective.measure, &self.objective.filter, tables)
    }

    /// The endpoints it counts, by phase and scenario.
    pub(crate) fn cells<'t>(&self, tables: &'t Tables) -> impl Iterator<Item = &'t Cell> {
        tables.cells.iter().filter(|cell| matches(&self.objective.filter, &cell.place))
    }

    /// Whether it counts anything within `scope`.
    pub(crate) fn applies_to(&self, scope: &Scope, tables: &Tables) -> bool {
        let filter = &self.objective.filter;
        let is_in = |place: &Place| {
            let same = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|w| w == name);
            same(&scope.phase, &place.phase)
                && same(&scope.scenario, &place.scenario)
                && (same(&scope.endpoint, &place.endpoint) || place.endpoint.is_empty())
                && matches(filter, place)
        };
        tables.cells.iter().any(|cell| is_in(&cell.place)) || tables.stretches.iter().any(|s| is_in(&s.place))
    }
}

/// How many virtual users another tool had, in the mean.
fn virtual_users(run: &dyn Run) -> Result<Option<f64>, ReadError> {
    let is_it = |s: &&SeriesKey| &*s.name == "virtual_users" && &*s.target == SeriesKey::GENERATOR;
    let Some(series) = run.series().iter().find(is_it).filter(|_| run.manifest().source.is_some()) else {
        return Ok(None);
    };
    let values: Vec<f64> = run.samples(series, run.whole())?.iter().map(|sample| sample.value).collect();
    Ok(stats::mean(&values))
}

/// Whether a measure is about times.
fn is_time(measure: &Measure) -> bool {
    matches!(measure, Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_))
}

/// Whether an objective with this filter counts what belongs to `place`.
pub(crate) fn matches(filter: &Filter, place: &Place) -> bool {
    let same = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|w| w == name);
    same(&filter.phase, &place.phase)
        && same(&filter.scenario, &place.scenario)
        && (same(&filter.endpoint, &place.endpoint))
}

/// What a number about times is made of.
pub(crate) fn groups<'t>(measure: &Measure, filter: &Filter, tables: &'t Tables) -> Vec<Group<'t>> {
    let cells = tables.cells.iter().filter(|cell| matches(filter, &cell.place));
    let all: Vec<Group<'t>> = match measure {
        Measure::ResponseTime(_) => cells
            .map(|c| Group { place: &c.place, times: &c.ok, missed: c.failed.count() + c.dropped() })
            .collect(),
        Measure::ServiceTime(_) => {
            cells.map(|c| Group { place: &c.place, times: &c.service_ok, missed: c.service_failed }).collect()
        }
        Measure::IterationTime(_) => {
            let stretches = tables.stretches.iter().filter(|s| matches(filter, &s.place));
            stretches
                .map(|s| Group {
                    place: &s.place,
                    times: &s.iteration_ok,
                    missed: s.iteration_failed.count() + s.dropped(),
                })
                .collect()
        }
        _ => Vec::new(),
    };
    all.into_iter().filter(|group| group.count() > 0).collect()
}
