//! The capacities of resources beside the range in which objectives break: a row for each resource, its interval as a line.

use std::fmt::Write as _;

use evidence::diagnosis::{CapacityInterval, Diagnosis, LedgerLine, LedgerStanding};

use super::Chart;
use super::ticks::Scale;
use crate::number;
use crate::text::{escape, fit};

const WIDTH: f64 = 520.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 12.0;
/// Above the rows: the words for the range in which it breaks.
const TOP: f64 = 22.0;
const ROW: f64 = 44.0;
/// From the top of a row to the base line of its text, and to its line.
const TEXT: f64 = 18.0;
const LINE: f64 = 31.0;
/// Below the rows: the labels of the axis.
const BOTTOM: f64 = 26.0;
/// Half of the line at the end of an interval.
const END: f64 = 4.0;
/// The least length of a line that goes on beyond the edge.
const ARROW: f64 = 14.0;
/// The width of a character of the largest text, that of narrow screens.
const CHARACTER_WIDTH: f64 = 9.6;
/// Capacities outside of so many times the range in which it breaks are cut at the edge.
const SHOWN: (f64, f64) = (0.2, 20.0);

/// None without a break or a capacity.
pub(crate) fn capacities(diagnosis: &Diagnosis) -> Option<Chart> {
    let range = diagnosis.range_per_s?;
    let rows: Vec<(&LedgerLine, CapacityInterval)> =
        diagnosis.ledger.iter().filter_map(|line| Some((line, line.capacity_per_s?))).collect();
    let drawing = Drawing { range, scale: scale(range, &rows) };
    (!rows.is_empty()).then(|| Chart {
        title: "Where each resource is used up".to_owned(),
        unit: "95 % intervals".to_owned(),
        x_name: "completions a second",
        note: "The shaded loads are those between which the objectives break.".to_owned(),
        legend: Vec::new(),
        svg: drawing.svg(&rows),
    })
}

fn scale([holds, breaks]: [f64; 2], rows: &[(&LedgerLine, CapacityInterval)]) -> Scale {
    let ends = rows.iter().flat_map(|(_, limits)| [Some(limits.low), limits.high]).flatten();
    let shown = ends.map(|end| end.clamp(SHOWN.0 * holds, SHOWN.1 * breaks));
    Scale::log(shown.chain([holds, breaks]))
}

struct Drawing {
    /// Loads that hold and break.
    range: [f64; 2],
    scale: Scale,
}

impl Drawing {
    fn svg(&self, rows: &[(&LedgerLine, CapacityInterval)]) -> String {
        let bottom = TOP + ROW * rows.len() as f64;
        let names: Vec<String> = rows.iter().map(|(line, limits)| described(line, *limits)).collect();
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<svg class=\"plot capacities\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            bottom + BOTTOM,
            escape(&format!("Load at which each resource is used up: {}", names.join("; ")))
        );
        self.axis(&mut out, bottom);
        self.broken(&mut out, bottom);
        for (at, ((line, limits), name)) in rows.iter().zip(&names).enumerate() {
            let top = TOP + ROW * at as f64;
            let columns = ((WIDTH - LEFT - RIGHT) / CHARACTER_WIDTH) as usize;
            let (x, y) = (LEFT + 2.0, top + TEXT);
            let _ =
                write!(out, "<text class=\"row\" x=\"{x}\" y=\"{y}\">{}</text>", escape(&fit(name, columns)));
            self.interval(&mut out, top + LINE, line, *limits);
        }
        out.push_str("</svg>");
        out
    }

    fn px(&self, load: f64) -> f64 {
        LEFT + self.scale.position(load) * (WIDTH - LEFT - RIGHT)
    }

    /// The loads between which the objectives break, and what they are.
    fn broken(&self, out: &mut String, bottom: f64) {
        let [holds, breaks] = self.range.map(|load| self.px(load));
        let width = (breaks - holds).max(1.5);
        let height = bottom - TOP;
        let _ = write!(
            out,
            "<rect class=\"broken\" x=\"{holds:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height}\"/>"
        );
        let [low, high] = self.range.map(number::rate);
        let middle = (holds + breaks) / 2.0;
        let (class, x) = match middle / WIDTH {
            share if share < 0.3 => ("start", holds),
            share if share > 0.7 => ("end", breaks),
            _ => ("middle", middle),
        };
        let _ = write!(
            out,
            "<text class=\"broken {class}\" x=\"{x:.1}\" y=\"{}\">holds at {low}, breaks at {high}</text>",
            TOP - 7.0
        );
    }

    fn interval(&self, out: &mut String, y: f64, line: &LedgerLine, limits: CapacityInterval) {
        let (low, high) = (self.px(limits.low), limits.high.map(|high| self.px(high)));
        let class = if line.standing == LedgerStanding::Limits { "capacity limit" } else { "capacity" };
        let is_beyond = limits.high.is_none_or(|high| high > self.scale.high);
        let right = high.unwrap_or(WIDTH - RIGHT);
        // One that begins beyond the edge is seen too.
        let low = if is_beyond { low.min(right - ARROW) } else { low };
        let [above, below] = [y - END, y + END];
        let mut path = format!("M{low:.1} {y}H{right:.1}M{low:.1} {above}V{below}");
        let _ = match is_beyond {
            // An arrow: it goes on.
            true => write!(path, "M{:.1} {above}L{right:.1} {y}L{:.1} {below}", right - END, right - END),
            false => write!(path, "M{right:.1} {above}V{below}"),
        };
        let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    fn axis(&self, out: &mut String, bottom: f64) {
        let right = WIDTH - RIGHT;
        out.push_str("<g class=\"axis\">");
        for (at, tick) in self.scale.ticks.iter().enumerate() {
            let x = self.px(*tick);
            // A narrow screen hides every other label.
            let class = if at % 2 == 0 { "x" } else { "x odd" };
            let _ = write!(
                out,
                "<path d=\"M{x:.1} {TOP}V{bottom}\"/><text class=\"{class}\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 17.0,
                escape(&number::significant(*tick, 3))
            );
        }
        let _ = write!(out, "<path class=\"base\" d=\"M{LEFT} {bottom}H{right}\"/></g>");
    }
}

fn described(line: &LedgerLine, limits: CapacityInterval) -> String {
    let low = number::rate(limits.low);
    match limits.high {
        Some(high) => format!("{}: {low} to {}", line.resource, number::rate(high)),
        None => format!("{}: {low} or more", line.resource),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(resource: &str, standing: LedgerStanding, low: f64, high: Option<f64>) -> LedgerLine {
        LedgerLine {
            resource: resource.to_owned(),
            series: String::new(),
            limit: Some(4.0),
            used_at_break: None,
            demand_s: None,
            capacity_per_s: Some(CapacityInterval { low, high }),
            wait_growth: None,
            wait_s: None,
            standing,
        }
    }

    fn of(range_per_s: Option<[f64; 2]>) -> Option<Chart> {
        let ledger = vec![
            line("db <of> shop", LedgerStanding::Limits, 190.0, Some(200.0)),
            line("CPU of shop", LedgerStanding::Suffices, 9_000.0, None),
        ];
        capacities(&Diagnosis { range_per_s, ledger, ..Diagnosis::default() })
    }

    #[test]
    fn each_resource_is_a_row_beside_the_loads_between_which_it_breaks() {
        let svg = of(Some([180.0, 205.0])).unwrap().svg;
        assert!(svg.contains(">holds at 180.0/s, breaks at 205.0/s<"), "{svg}");
        assert!(svg.contains("db &lt;of&gt; shop: 190.0/s to 200.0/s"), "{svg}");
        assert!(svg.contains("CPU of shop: 9,000/s or more"), "{svg}");
        assert_eq!(svg.matches("class=\"capacity limit\"").count(), 1);
        let number_after = |text: &str, of: &str| -> f64 {
            let rest = &svg[svg.find(of).unwrap() + of.len()..];
            let at = &rest[rest.find(text).unwrap() + text.len()..];
            at.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap().parse().unwrap()
        };
        let holds = number_after("x=\"", "class=\"broken\"");
        let low = number_after("d=\"M", "class=\"capacity limit\"");
        assert!(low > holds && low < holds + number_after("width=\"", "class=\"broken\""), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_where_nothing_breaks() {
        assert!(of(None).is_none());
    }
}
