//! The table of endpoints.

use figures::live::heat::SCALES_S;
use figures::live::{Ended, EndpointFigures, EndpointRow};

use super::{Drawing, row_of};
use crate::document::terminal::line::{TextLine, Tone};
use crate::live::lines::columns_of;
use crate::number;
use crate::text::fit;

/// The narrowest column of names.
const NAME: usize = 18;
/// Columns of a number, with a blank before it.
const NUMBER: usize = 9;
/// Columns of a trend, at least and at most.
const TREND: [usize; 2] = [10, 60];

/// A column of numbers.
#[derive(Clone, Copy)]
struct Column {
    title: &'static str,
    /// Of the whole run; else of the last seconds.
    is_so_far: bool,
    of: Number,
    /// Those with the highest are left out first.
    rank: u8,
}

#[derive(Clone, Copy)]
enum Number {
    Rate,
    Failed,
    Quantile(f64),
    Count,
}

const COLUMNS: [Column; 10] = [
    Column { title: "req/s", is_so_far: false, of: Number::Rate, rank: 0 },
    Column { title: "failed", is_so_far: false, of: Number::Failed, rank: 1 },
    Column { title: "p50", is_so_far: false, of: Number::Quantile(0.5), rank: 3 },
    Column { title: "p95", is_so_far: false, of: Number::Quantile(0.95), rank: 2 },
    Column { title: "p99", is_so_far: false, of: Number::Quantile(0.99), rank: 4 },
    Column { title: "done", is_so_far: true, of: Number::Count, rank: 8 },
    Column { title: "failed", is_so_far: true, of: Number::Failed, rank: 9 },
    Column { title: "p50", is_so_far: true, of: Number::Quantile(0.5), rank: 7 },
    Column { title: "p95", is_so_far: true, of: Number::Quantile(0.95), rank: 5 },
    Column { title: "p99", is_so_far: true, of: Number::Quantile(0.99), rank: 6 },
];

/// What fits into the columns of a screen.
struct Widths {
    name: usize,
    shown: Vec<Column>,
    /// Of each of two trends; 0 where there is none.
    trend: usize,
}

impl Widths {
    fn of(columns: usize) -> Widths {
        let numbers = columns.saturating_sub(NAME + 3) / NUMBER;
        let shown: Vec<Column> =
            COLUMNS.into_iter().filter(|column| usize::from(column.rank) < numbers).collect();
        let free = columns.saturating_sub(3 + shown.len() * NUMBER);
        let [least, most] = TREND;
        let name = free.min(if free > 2 * (NAME + least) { 2 * NAME } else { NAME.max(free) });
        let trend = Some(free.saturating_sub(name) / 2)
            .filter(|trend| *trend > least)
            .map_or(0, |trend| trend.min(most));
        Widths { name, shown, trend }
    }
}

impl Drawing<'_> {
    /// A heading, a row for all, and a row for each endpoint as far as there are lines: those that fail first, and the chosen
    /// one among them.
    pub(super) fn endpoints(&self, rows: usize) -> Vec<TextLine> {
        let widths = Widths::of(self.columns);
        let all: Vec<EndpointRow<'_>> = self.table.rows().collect();
        let is_whole = all.len() + 2 <= rows;
        let space = rows.saturating_sub(if is_whole { 2 } else { 3 });
        let order = self.screen.endpoint_order();
        let first = row_of(self.choice.endpoint, &order).saturating_sub(space);
        let mut lines = vec![heading(&widths), self.row(&widths, None, "all", &self.table.all)];
        for endpoint in order.into_iter().skip(first).take(space) {
            let row = &all[endpoint];
            let name = match row.name {
                None => "further names".to_owned(),
                Some((scenario, endpoint)) if self.screen.has_scenarios => {
                    format!("{scenario} › {}", self.labels.without_origin(endpoint))
                }
                Some((_, endpoint)) => self.labels.without_origin(endpoint).to_owned(),
            };
            lines.push(self.row(&widths, Some(endpoint), &name, row.figures));
        }
        let hidden = all.len().saturating_sub(space);
        if !is_whole && hidden > 0 {
            let mut more = TextLine::new();
            let endpoints = if hidden == 1 { "endpoint" } else { "endpoints" };
            more.add(Tone::Dim, &format!("   and {hidden} more {endpoints}"));
            lines.push(more);
        }
        lines
    }

    fn row(&self, widths: &Widths, endpoint: Option<usize>, name: &str, of: &EndpointFigures) -> TextLine {
        let is_chosen = self.choice.endpoint == endpoint;
        let tone = if is_chosen { Tone::Strong } else { Tone::Normal };
        let mut line = TextLine::new();
        line.add(Tone::Accent, if is_chosen { " ▸ " } else { "   " });
        line.add(
            if endpoint.is_none() { Tone::Strong } else { Tone::Accent },
            &fit(name, widths.name.saturating_sub(1)),
        );
        line.pad_to(widths.name + 3);
        let window = self.screen.figures.window();
        let recent = of.within(&window);
        let seconds = f64::from(window.end - window.start).max(1.0);
        for column in &widths.shown {
            let ended = if column.is_so_far { &of.so_far } else { &recent };
            let (text, is_bad) = column.of.text(ended, seconds);
            line.add_right(if is_bad { Tone::Bad } else { tone }, &text, NUMBER);
        }
        if widths.trend > 0 {
            let [rate, p95] = self.trends(of, widths.trend - 2);
            line.add(Tone::Normal, "  ").add(Tone::Accent, &rate);
            line.add(Tone::Normal, "  ").add(Tone::Warn, &p95);
        }
        line
    }

    /// Requests a second, and the 95th percentile, of the last columns at the chosen scale.
    fn trends(&self, of: &EndpointFigures, columns: usize) -> [String; 2] {
        let length_s = SCALES_S[self.choice.scale];
        // A column that is not complete would be a fall that never was.
        let end = self.screen.figures.complete_s() / length_s;
        let begin = end.saturating_sub(columns as u32);
        let mut values = vec![[None, None]; columns];
        for column in of.heat.columns(self.choice.scale, begin * length_s..end * length_s) {
            let at = (column.start_s / length_s + columns as u32 - end) as usize;
            let p95 = column.quantile(0.95).map(figures::live::heat::row_us);
            values[at] = [Some(column.completed() as f64), p95];
        }
        [0, 1].map(|which| columns_of(&values.iter().map(|value| value[which]).collect::<Vec<_>>()))
    }
}

fn heading(widths: &Widths) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Dim, &format!("   {}", fit("endpoint, last 5 s", widths.name.saturating_sub(1))));
    line.pad_to(widths.name + 3);
    let mut is_so_far = false;
    for column in &widths.shown {
        let begins = column.is_so_far && !is_so_far;
        is_so_far = column.is_so_far;
        let title = if begins { format!("│run {}", column.title) } else { column.title.to_owned() };
        line.add_right(Tone::Dim, &title, NUMBER);
    }
    if widths.trend > 0 {
        let end = line.width() + widths.trend;
        line.add(Tone::Dim, "  req/s").pad_to(end).add(Tone::Dim, "  p95");
    }
    line
}

impl Number {
    /// In words, and whether it is a failure.
    fn text(self, ended: &Ended, seconds: f64) -> (String, bool) {
        match self {
            Number::Rate => (number::significant(ended.completed() as f64 / seconds, 4), false),
            Number::Count => (number::count(ended.completed()), false),
            Number::Failed if ended.completed() == 0 => (number::NOT_MEASURED.to_owned(), false),
            Number::Failed => {
                let share = ended.failed as f64 / ended.completed() as f64;
                let text = if ended.failed == 0 { "0".to_owned() } else { number::percent_with(share, 2) };
                (text, ended.failed > 0)
            }
            Number::Quantile(q) => (number::time_or_none(ended.quantile_ms(q)), false),
        }
    }
}
