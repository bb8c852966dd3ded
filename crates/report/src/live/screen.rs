//! A run under way as a full screen: what it offers and carries, by endpoint, its objectives as they form, its targets, and
//! its times as a heat map. It only formats: its caller reads keys and draws.

mod endpoints;
mod failures;
mod head;
mod heat_map;
mod help;
mod layout;
mod lost;
mod objectives;
mod targets;
mod workers;

use std::cmp::Reverse;

use evidence::key::Name;
use evidence::{Exemplar, NoticeKind, Observed, Outcome, TerminalText, Tick};
use figures::live::heat::SCALES_S;
use figures::live::{EndpointRow, EndpointTable, LiveFigures, LiveNumbers};
use workload::{Filter, Workload};

use super::objective::ObjectiveNow;
use crate::document::terminal::Style;
use crate::document::terminal::line::{TextLine, Tone, rendered};
use crate::summary::labels::Labels;
use layout::{Space, Want};
use lost::LostWorker;
use targets::Targets;
use workers::Workers;

/// What is known of a run under way.
#[derive(Debug, Clone)]
pub struct LiveScreen {
    name: String,
    has_scenarios: bool,
    /// Whether arrivals are due at times of the plan.
    is_open: bool,
    figures: LiveFigures,
    targets: Targets,
    workers: Workers,
    /// The latest recorded example of each: the step, and what was wrong.
    examples: Vec<(Outcome, [String; 2])>,
    objectives: Vec<ObjectiveNow>,
    /// What the objectives on single endpoints are about.
    with_objective: Vec<Filter>,
    /// The seconds of events that were marked: a run has a limited number.
    marks_s: Vec<u32>,
    /// Of those that offer the load.
    lost: Vec<LostWorker>,
    /// Whether so much was dropped that the run is invalid, as it is now.
    is_load_missed: bool,
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenSize {
    pub columns: usize,
    /// Its lines.
    pub rows: usize,
}

/// What is shown of a run, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScreenChoice {
    /// None for all endpoints, else its place among those of the figures.
    endpoint: Option<usize>,
    /// The scale of the heat map.
    scale: usize,
    /// Whether what is shown is that of an earlier second.
    pub is_paused: bool,
    /// Whether it is asked whether the run shall be stopped.
    pub is_asking: bool,
    /// Whether the keys are explained.
    pub is_help: bool,
    /// Whether the load is over and what is in flight is waited for.
    pub is_stopping: bool,
}

/// So many objectives have lines of their own before anything below them has any.
const MAX_OBJECTIVES: usize = 6;
/// Lines of the heat map at least.
const HEAT_MAP: usize = 4;

impl ScreenChoice {
    /// Show the next of the endpoints that are in this order, or the one before; beyond the last come all of them together.
    pub fn step_endpoint(&mut self, forward: bool, order: &[usize]) {
        let places = order.len() + 1;
        let row = (row_of(self.endpoint, order) + if forward { 1 } else { places - 1 }) % places;
        self.endpoint = row.checked_sub(1).map(|place| order[place]);
    }

    /// Let a column of the heat map cover more seconds, or fewer; at the end, or where it would be longer than a run of
    /// `length_s`, nothing changes.
    pub fn step_scale(&mut self, longer: bool, length_s: u32) {
        self.scale = match longer {
            true => (self.scale + 1).min(scales(length_s) - 1),
            false => self.scale.saturating_sub(1),
        };
    }

    /// The next scale, and after the last, or where it would be longer than a run of `length_s`, the first.
    pub fn next_scale(&mut self, length_s: u32) {
        self.scale = (self.scale + 1) % scales(length_s);
    }
}

/// How many scales a run of this length has.
fn scales(length_s: u32) -> usize {
    SCALES_S.iter().take_while(|scale_s| **scale_s <= length_s).count().max(1)
}

/// The row of an endpoint in a table in this order; 0 is that of all.
fn row_of(endpoint: Option<usize>, order: &[usize]) -> usize {
    let place = endpoint.and_then(|endpoint| order.iter().position(|known| *known == endpoint));
    place.map_or(0, |place| place + 1)
}

/// What a part of the screen is drawn from.
struct Drawing<'a> {
    screen: &'a LiveScreen,
    now: &'a LiveNumbers,
    table: &'a EndpointTable,
    labels: Labels,
    choice: ScreenChoice,
    columns: usize,
}

impl LiveScreen {
    /// Of a run with so many loops that has not started.
    pub fn new(workload: &Workload, loops: u16) -> LiveScreen {
        LiveScreen {
            name: workload.name.clone(),
            has_scenarios: workload.scenarios.len() > 1,
            is_open: workload.scenarios.iter().any(|scenario| scenario.executor.is_open()),
            figures: LiveFigures::new(workload, loops).by_endpoint(workload),
            targets: Targets::default(),
            workers: Workers::default(),
            examples: Vec::new(),
            objectives: Vec::new(),
            with_objective: workload
                .objectives
                .iter()
                .map(|objective| objective.filter.clone())
                .filter(|filter| filter.endpoint.is_some())
                .collect(),
            marks_s: Vec::new(),
            lost: Vec::new(),
            is_load_missed: false,
        }
    }

    /// Add one second of one loop.
    pub fn take(&mut self, tick: &Tick) {
        self.figures.take(tick);
        self.targets.take_loop(tick);
        self.workers.take(tick);
        tick.exemplars.iter().filter(|e| e.outcome.is_failure()).for_each(|e| self.keep_example(e));
    }

    /// Add what observers saw.
    pub fn observe(&mut self, observed: &Observed) {
        self.targets.take(observed);
        let marks = observed.notices.iter().filter(|notice| notice.kind == NoticeKind::Mark);
        self.marks_s.extend(marks.map(|mark| mark.at.second()));
        self.lost.extend(observed.notices.iter().filter_map(LostWorker::from_notice));
    }

    /// Whether so many arrivals were dropped that the run would be invalid if it ended now.
    pub fn set_load_missed(&mut self, is_missed: bool) {
        self.is_load_missed = is_missed;
    }

    /// The objectives by what was counted so far.
    pub fn set_objectives(&mut self, objectives: Vec<ObjectiveNow>) {
        self.objectives = objectives;
    }

    /// The figures that it shows.
    pub fn figures(&self) -> &LiveFigures {
        &self.figures
    }

    /// The order in which its table shows the endpoints of the figures: those with an objective first, then those that failed, by how
    /// often, then as planned.
    pub fn endpoint_order(&self) -> Vec<usize> {
        let rank = |row: EndpointRow<'_>| {
            (!row.name.is_some_and(|name| self.has_objective(name)), Reverse(row.figures.so_far.failed))
        };
        let ranks: Vec<_> = match self.figures.endpoints() {
            Some(table) => table.rows().map(rank).collect(),
            None => Vec::new(),
        };
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by_key(|endpoint| ranks[*endpoint]);
        order
    }

    fn has_objective(&self, (scenario, endpoint): (&str, &str)) -> bool {
        self.with_objective.iter().any(|of| {
            of.endpoint.as_deref() == Some(endpoint) && of.scenario.as_deref().is_none_or(|of| of == scenario)
        })
    }

    /// How long the run is planned to be, or has been.
    pub fn length_s(&self) -> u32 {
        let now = self.figures.now();
        now.total_s.max(now.elapsed_s)
    }

    fn endpoints(&self) -> usize {
        self.figures.endpoints().map_or(0, |table| table.rows().count())
    }

    fn keep_example(&mut self, exchange: &Exemplar) {
        let text = [exchange.endpoint.to_string(), exchange.detail.clone()];
        match self.examples.iter_mut().find(|(known, _)| *known == exchange.outcome) {
            Some((_, example)) => *example = text,
            None => self.examples.push((exchange.outcome, text)),
        }
    }

    /// At most as many lines as the screen has, none wider than it. Of `notes`, which were printed meanwhile, the last are
    /// shown.
    pub fn drawn(
        &self,
        style: Style,
        size: ScreenSize,
        choice: ScreenChoice,
        notes: &[String],
    ) -> TerminalText {
        let now = self.figures.now();
        let empty = EndpointTable::default();
        let table = self.figures.endpoints().unwrap_or(&empty);
        let labels = labels(table);
        let drawing = Drawing { screen: self, now: &now, table, labels, choice, columns: size.columns };
        let mut lines = if choice.is_help { help::lines() } else { drawing.parts(size.rows, notes) };
        lines.truncate(size.rows.saturating_sub(1));
        if size.rows > lines.len() + 1 {
            lines.resize(size.rows - 1, TextLine::new());
        }
        lines.push(match choice {
            ScreenChoice { is_stopping: true, .. } => help::stopping(now.in_flight),
            ScreenChoice { is_asking: true, .. } => help::asking(!self.objectives.is_empty()),
            _ => help::keys(choice),
        });
        rendered(&lines, style, size.columns)
    }
}

impl Drawing<'_> {
    /// Every part but the line of keys, in as many lines as there is space for.
    fn parts(&self, rows: usize, notes: &[String]) -> Vec<TextLine> {
        let head = self.head();
        let is_large = rows >= 32;
        let gap = usize::from(is_large);
        let rows = rows.saturating_sub(head.len() + 1);
        let endpoints = self.screen.endpoints();
        let workers = self.screen.workers.line(&self.screen.lost);
        let targets = self.screen.targets.len() + usize::from(workers.is_some());
        let wants = [
            // A heading and the row of all; of the others some, or the first and how many more there are.
            Want {
                least: 2 + endpoints.min(if rows >= 20 { 4 } else { 2 }) + gap,
                most: endpoints + 2 + gap,
            },
            Want::titled(self.screen.objectives.len(), MAX_OBJECTIVES, gap),
            Want { least: targets.min(2), most: targets }.with(gap),
            Want { least: self.now.failures.len().min(1), most: self.now.failures.len().min(4) }.with(gap),
            Want { least: HEAT_MAP + gap, most: 40 },
        ];
        let notes_rows =
            Want { least: 0, most: notes.len().min(if is_large { 6 } else { 1 }) }.with(gap).most;
        let (Space([endpoints, objectives, targets, failures, heat_map]), shown_notes) =
            with_notes(rows, wants, notes_rows, HEAT_MAP + gap);
        let mut lines = head;
        let mut part = |rows: usize, draw: &dyn Fn(usize) -> Vec<TextLine>| {
            if rows > gap {
                lines.resize(lines.len() + gap, TextLine::new());
                lines.extend(draw(rows - gap));
            }
        };
        part(endpoints, &|rows| self.endpoints(rows));
        part(objectives, &|rows| self.objectives(rows));
        part(targets, &|rows| {
            let of_targets = rows - usize::from(workers.is_some()).min(rows);
            let lines = self.screen.targets.lines(self.now, of_targets, self.columns);
            lines.into_iter().chain(workers.clone()).collect()
        });
        part(failures, &|rows| self.failures(rows));
        part(heat_map, &|rows| self.heat_map(rows));
        part(shown_notes, &|rows| {
            notes[notes.len().saturating_sub(rows)..].iter().map(|text| note(text)).collect()
        });
        lines
    }
}

fn labels(table: &EndpointTable) -> Labels {
    let mut labels = Labels::default();
    for (scenario, endpoint) in table.rows().filter_map(|row| row.name) {
        labels.add(&Name::from(scenario), &Name::from(endpoint));
    }
    labels
}

/// The lines of the parts, and those of the notes: they come out of what is left, then out of the heat map, which is the last part
/// and has at least `heat_map` lines, and only then out of the other parts.
fn with_notes<const N: usize>(
    rows: usize,
    wants: [Want; N],
    notes: usize,
    heat_map: usize,
) -> (Space<N>, usize) {
    let mut space = Space::shared(rows, wants);
    let last = N - 1;
    let left = rows - space.0.iter().sum::<usize>();
    let of_heat_map = notes.saturating_sub(left);
    if of_heat_map == 0 || space.0[last] >= heat_map + of_heat_map {
        space.0[last] -= of_heat_map;
        return (space, notes);
    }
    (Space::shared(rows.saturating_sub(notes), wants), notes.min(rows))
}

fn note(text: &str) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Warn, " › ").add(Tone::Normal, text);
    line
}
