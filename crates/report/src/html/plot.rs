//! One plot as SVG: axes, shaded phases, lines, bars for failures. It knows nothing of runs.
//!
//! Colours come from the page's style sheet by class, so that one drawing serves light, dark and print.

use std::fmt::Write;

use super::ticks::Scale;
use crate::terminal::line::{fit, visible};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 26.0;
/// How tall a bar is that stands for "all of them".
const BAR_HEIGHT: f64 = 60.0;
/// Even a single failure can be seen.
const LEAST_BAR: f64 = 4.0;
/// About how wide a character of a phase's name is.
const CHARACTER: f64 = 6.2;

/// How the script that shows values under the pointer writes them.
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

/// An axis: its scale, its unit and how its ticks are written.
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
    /// Class that gives its colour and dashes.
    pub(super) class: String,
    /// Gaps are `None`: the line breaks there.
    pub(super) points: Vec<Option<(f64, f64)>>,
    /// Whether the space below it is filled.
    pub(super) fill: Fill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    None,
    Below,
}

/// A shaded stretch of the x axis.
#[derive(Debug, Clone)]
pub(super) struct Band {
    pub(super) label: String,
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A plot.
#[derive(Debug)]
pub(super) struct Plot {
    /// What it shows, for those who cannot see it.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) bands: Vec<Band>,
    pub(super) traces: Vec<Trace>,
    /// Bars hanging from the top: (from, to, height from 0 to 1).
    pub(super) bars: Vec<(f64, f64, f64)>,
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
        self.bands(&mut out);
        self.axes(&mut out);
        self.bars(&mut out);
        for trace in &self.traces {
            self.trace(&mut out, trace);
        }
        out.push_str("</svg>");
        out
    }

    fn px(&self, x: f64) -> f64 {
        LEFT + self.x.scale.place(x) * (WIDTH - LEFT - RIGHT)
    }

    fn py(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.scale.place(y) * (HEIGHT - TOP - BOTTOM)
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
            let room = (width / CHARACTER) as usize;
            if room >= 3 {
                let label = escape(&fit(&band.label, room));
                let middle = from + width / 2.0;
                let _ =
                    write!(out, "<text class=\"phase\" x=\"{middle:.1}\" y=\"{}\">{label}</text>", TOP - 7.0);
            }
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
            // On a narrow screen every other one is hidden.
            let class = if i % 2 == 0 { "x" } else { "x odd" };
            let x = self.px(*tick);
            let _ = write!(out, "<path d=\"M{x:.1} {bottom}v4\"/>");
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
        for (from, to, height) in self.bars.iter().filter(|(_, _, height)| *height > 0.0) {
            let (left, right) = (self.px(*from), self.px(*to));
            let height = (height * BAR_HEIGHT).max(LEAST_BAR);
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
        for run in trace.points.split(Option::is_none).filter(|run| !run.is_empty()) {
            let points: Vec<(f64, f64)> =
                run.iter().flatten().map(|(x, y)| (self.px(*x), self.py(*y))).collect();
            for (i, (x, y)) in points.iter().enumerate() {
                let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
            }
            // A lone point shows as a dot: a line of no length with round ends.
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

/// Text that is safe in markup, inside and outside of quotes, and shows control characters.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
