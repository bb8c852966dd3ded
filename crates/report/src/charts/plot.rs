//! One plot as SVG: axes, shaded phases, lines, bars for failures.
//!
//! Colours come from the page's style sheet by class, so that the same drawing is used for light, dark and print.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr as _;

use super::ticks::Scale;
use crate::text::{escape, fit};

pub(crate) const WIDTH: f64 = 520.0;
pub(crate) const HEIGHT: f64 = 240.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 26.0;
/// The height of a bar of 100 %.
const BAR_HEIGHT: f64 = 60.0;
/// The least height of a bar, so that a single failure is visible.
const MIN_BAR_HEIGHT: f64 = 4.0;
/// The approximate width of a character of a phase's name.
const CHARACTER_WIDTH: f64 = 6.2;
/// Between the line of a mark and its label.
const MARK_GAP: f64 = 4.0;
/// The fewest characters of a mark's text that say anything.
const LEAST_TEXT: usize = 3;

/// The end of what moves when the script shows a range of the x axis.
const DATA_END: &str = "</g></svg>";

/// The unit in which the script shows values under the pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Clock,
    Tail,
    Ms,
    PerSecond,
    Cores,
    Bytes,
    One,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Clock => "clock",
            Unit::Tail => "tail",
            Unit::Ms => "ms",
            Unit::PerSecond => "rate",
            Unit::Cores => "cores",
            Unit::Bytes => "bytes",
            Unit::One => "one",
        }
    }
}

/// An axis: its scale, its unit and the labels of its ticks.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) scale: Scale,
    pub(super) unit: Unit,
    pub(super) labels: Vec<String>,
}

/// A line of a plot.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) label: String,
    /// The class for its colour and dashes.
    pub(super) class: String,
    /// `None` interrupts the line.
    pub(super) points: Vec<Option<(f64, f64)>>,
    /// Whether the area below it is filled.
    pub(super) fill: Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    None,
    Below,
}

/// A shaded interval of the x axis.
#[derive(Debug, Clone)]
pub(super) struct Band {
    pub(super) label: String,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// An event at an instant of the x axis.
#[derive(Debug, Clone)]
pub(super) struct PlotMark {
    /// Its number and text.
    pub(super) label: String,
    pub(super) at: f64,
}

/// A bar from the top of the plot downwards.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) from: f64,
    pub(super) to: f64,
    /// From 0 to 1.
    pub(super) height: f64,
}

/// A value of the y axis that must not be exceeded.
#[derive(Debug)]
pub(super) struct PlotBound {
    pub(super) label: String,
    pub(super) at: f64,
}

#[derive(Debug)]
pub(super) struct Plot {
    /// What it shows, for screen readers.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) bands: Vec<Band>,
    pub(super) traces: Vec<Trace>,
    /// Bars at the top of the plot.
    pub(super) bars: Vec<Bar>,
    /// Ascending.
    pub(super) marks: Vec<PlotMark>,
    pub(super) bounds: Vec<PlotBound>,
    /// When the generator stalled, from and to.
    pub(super) stalls: Vec<(f64, f64)>,
}

/// The begin of what moves when the script shows a range of the x axis: a group in a drawing of its own, whose edges cut it
/// off.
fn begin_data(out: &mut String) {
    let width = WIDTH - LEFT - RIGHT;
    let _ = write!(
        out,
        "<svg class=\"data\" x=\"{LEFT}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\" viewBox=\"{LEFT} 0 {width} {HEIGHT}\"><g>"
    );
}

impl Plot {
    /// As an `svg` element.
    pub(super) fn svg(&self) -> String {
        let mut out = String::with_capacity(8_192);
        let (x, y) = (&self.x.scale, &self.y.scale);
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\" data-x=\"{} {} {}\" data-y=\"{} {} {} {}\">",
            escape(&self.description),
            x.low,
            x.high,
            self.x.unit.name(),
            y.low,
            y.high,
            self.y.unit.name(),
            if y.is_log { "log" } else { "lin" },
        );
        begin_data(&mut out);
        self.bands(&mut out);
        self.stalls(&mut out);
        out.push_str(DATA_END);
        self.band_labels(&mut out);
        self.axes(&mut out);
        begin_data(&mut out);
        self.bars(&mut out);
        for trace in &self.traces {
            self.trace(&mut out, trace);
        }
        self.mark_lines(&mut out);
        out.push_str(DATA_END);
        self.bounds(&mut out);
        self.mark_labels(&mut out);
        out.push_str("</svg>");
        out
    }

    fn px(&self, x: f64) -> f64 {
        LEFT + self.x.scale.position(x) * (WIDTH - LEFT - RIGHT)
    }

    fn py(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.scale.position(y) * (HEIGHT - TOP - BOTTOM)
    }

    fn bands(&self, out: &mut String) {
        for (i, band) in self.bands.iter().enumerate() {
            let (from, to) = (self.px(band.from), self.px(band.to));
            let (width, height) = (to - from, HEIGHT - TOP - BOTTOM);
            let class = if i % 2 == 0 { "band" } else { "band odd" };
            let _ = write!(
                out,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height}\"/>"
            );
        }
    }

    fn stalls(&self, out: &mut String) {
        for (from, to) in &self.stalls {
            let (from, to) = (self.px(*from), self.px(*to));
            let (width, height) = (to - from, HEIGHT - TOP - BOTTOM);
            let _ = write!(
                out,
                "<rect class=\"stall\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height}\"/>"
            );
        }
    }

    /// A line across the plot for each, whose label is above it, or below it at the top of the plot.
    fn bounds(&self, out: &mut String) {
        let right = WIDTH - RIGHT;
        let columns = ((right - LEFT) / CHARACTER_WIDTH) as usize;
        for PlotBound { label, at } in &self.bounds {
            let y = self.py(*at);
            let below = if y < TOP + 12.0 { 12.0 } else { -4.0 };
            let _ = write!(
                out,
                "<path class=\"bound\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"bound\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                right - MARK_GAP,
                y + below,
                escape(&fit(label, columns))
            );
        }
    }

    fn band_labels(&self, out: &mut String) {
        for band in &self.bands {
            let (from, to) = (self.px(band.from), self.px(band.to));
            let columns = ((to - from) / CHARACTER_WIDTH) as usize;
            if columns >= 3 {
                let (label, middle) = (escape(&fit(&band.label, columns)), (from + to) / 2.0);
                let _ = write!(
                    out,
                    "<text class=\"phase\" data-from=\"{}\" data-to=\"{}\" x=\"{middle:.1}\" y=\"{}\">{label}</text>",
                    band.from,
                    band.to,
                    TOP - 7.0
                );
            }
        }
    }

    fn mark_lines(&self, out: &mut String) {
        for mark in &self.marks {
            let (label, x, bottom) = (escape(&mark.label), self.px(mark.at), HEIGHT - BOTTOM);
            let _ = write!(
                out,
                "<path class=\"mark\" d=\"M{x:.1} {TOP}V{bottom}\"><title>{label}</title></path>"
            );
        }
    }

    /// At the lower end of each line: its number and as much of its text as fits before the next one. The text of the last
    /// one is before its line where there is more space.
    fn mark_labels(&self, out: &mut String) {
        let columns_of =
            |from: f64, to: f64| ((to - from - 2.0 * MARK_GAP) / CHARACTER_WIDTH).max(0.0) as usize;
        let (mut free_from, y) = (LEFT, HEIGHT - BOTTOM - MARK_GAP);
        for (i, PlotMark { label, at }) in self.marks.iter().enumerate() {
            let (x, next) = (self.px(*at), self.marks.get(i + 1).map(|next| self.px(next.at)));
            let (before, after) = (columns_of(free_from, x), columns_of(x, next.unwrap_or(WIDTH - RIGHT)));
            let is_before = next.is_none() && after < label.width().min(before);
            let (class, anchor, columns) = match is_before {
                true => ("mark before", x - MARK_GAP, before),
                false => ("mark", x + MARK_GAP, after),
            };
            free_from = x + MARK_GAP + label.width().min(after) as f64 * CHARACTER_WIDTH;
            // A narrow screen hides all but the number.
            let (number, text) = label.split_once(' ').unwrap_or((label, ""));
            let text = match columns.saturating_sub(number.len() + 1) {
                left if left < LEAST_TEXT => String::new(),
                left => escape(&fit(text, left)),
            };
            let _ = write!(
                out,
                "<text class=\"{class}\" data-at=\"{at}\" x=\"{anchor:.1}\" y=\"{y}\">{number}<tspan> {text}</tspan></text>"
            );
        }
    }

    fn axes(&self, out: &mut String) {
        let right = WIDTH - RIGHT;
        let bottom = HEIGHT - BOTTOM;
        out.push_str("<g class=\"axis\">");
        for (tick, label) in self.y.scale.ticks.iter().zip(&self.y.labels) {
            let y = self.py(*tick);
            let _ = write!(out, "<path d=\"M{LEFT} {y:.1}H{right}\"/>");
            let _ = write!(
                out,
                "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 6.0,
                y + 3.5,
                escape(label)
            );
        }
        for (i, (tick, label)) in self.x.scale.ticks.iter().zip(&self.x.labels).enumerate() {
            // A narrow screen hides every other label.
            let class = if i % 2 == 0 { "x" } else { "x odd" };
            let x = self.px(*tick);
            let _ = write!(out, "<path class=\"tick\" d=\"M{x:.1} {bottom}v4\"/>");
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 17.0,
                escape(label)
            );
        }
        let _ = write!(out, "<path class=\"base\" d=\"M{LEFT} {bottom}H{right}\"/></g>");
    }

    fn bars(&self, out: &mut String) {
        let mut path = String::new();
        for bar in self.bars.iter().filter(|bar| bar.height > 0.0) {
            let (left, right) = (self.px(bar.from), self.px(bar.to));
            let height = (bar.height * BAR_HEIGHT).max(MIN_BAR_HEIGHT);
            let width = (right - left).max(1.5);
            let _ = write!(path, "M{left:.1} {TOP}h{width:.1}v{height:.1}h-{width:.1}z");
        }
        if !path.is_empty() {
            let _ = write!(out, "<path class=\"bad-bar\" d=\"{path}\"/>");
        }
    }

    fn trace(&self, out: &mut String, trace: &Trace) {
        let mut path = String::new();
        let mut fill = String::new();
        let bottom = HEIGHT - BOTTOM;
        for part in trace.points.split(Option::is_none).filter(|part| !part.is_empty()) {
            let points: Vec<(f64, f64)> =
                part.iter().flatten().map(|(x, y)| (self.px(*x), self.py(*y))).collect();
            for (i, (x, y)) in points.iter().enumerate() {
                let _ = write!(path, "{}{x:.1} {y:.2}", if i == 0 { 'M' } else { 'L' });
            }
            // A single point is drawn as a dot: a line of length 0 with round ends.
            if points.len() == 1 {
                path.push_str("h0");
            }
            if let (Fill::Below, [(first, _), .., (last, _)]) = (trace.fill, points.as_slice()) {
                let _ = write!(fill, "M{first:.1} {bottom}");
                for (x, y) in &points {
                    let _ = write!(fill, "L{x:.1} {y:.1}");
                }
                let _ = write!(fill, "L{last:.1} {bottom}z");
            }
        }
        if !fill.is_empty() {
            let _ = write!(out, "<path class=\"fill {}\" d=\"{fill}\"/>", trace.class);
        }
        if !path.is_empty() {
            let label = escape(&trace.label);
            let _ = write!(out, "<path class=\"line {}\" data-n=\"{label}\" d=\"{path}\"/>", trace.class);
        }
    }
}
