//! The pairs of a metric as dots: the change that each shows, with the margin, no change, and the interval of the mean.

use std::fmt::Write;

use evidence::{EffectScale, MetricAnswer};

use crate::text::escape;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 54.0;
/// Beyond the dots, for the mean and its interval.
const RIGHT: f64 = 46.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 24.0;
/// Space beyond the outermost value.
const HEADROOM: f64 = 1.12;
/// About how many ticks the axis has.
const TICKS: f64 = 4.0;
/// Numbers of pairs that are written below the axis.
const LABELS: usize = 10;

/// The change of each pair, on the metric's scale and as it was corrected; none where a side has no value.
pub(super) fn changes(metric: &MetricAnswer) -> Vec<Option<f64>> {
    let of_machine = |pair: usize| {
        let corrected = metric.probe.as_ref();
        corrected.map_or(1.0, |probe| (probe.slope * probe.by_pair.get(pair).unwrap_or(&0.0)).exp())
    };
    let change = |(pair, [a, b]): (usize, &[Option<f64>; 2])| {
        let (a, b) = ((*a)?, (*b)?);
        match metric.scale {
            EffectScale::Points => Some(b - a),
            EffectScale::Relative => (a > 0.0).then(|| b / a / of_machine(pair) - 1.0),
        }
    };
    metric.values.iter().enumerate().map(change).collect()
}

/// The axis of changes, which contains no change.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>) -> Axis {
        let (low, high) =
            values.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let span = (high - low).max(f64::MIN_POSITIVE);
        let (low, high) = (low - span * (HEADROOM - 1.0), high + span * (HEADROOM - 1.0));
        let rough = (high - low) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|of| of * power >= rough).unwrap_or(10.0) * power;
        Axis { low, high, step }
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (first, step) = ((self.low / self.step).ceil() as i64, self.step);
        let last = (self.high / self.step).floor() as i64;
        (first..=last).map(move |tick| tick as f64 * step)
    }

    fn label(&self, tick: f64) -> String {
        let digits = (-(self.step * 100.0).log10().floor()).clamp(0.0, 6.0) as usize;
        let value = tick * 100.0;
        format!("{:+.digits$}", if value == 0.0 { 0.0 } else { value })
    }
}

/// The drawing, as an `svg` element; none without a pair.
pub(super) fn svg(metric: &MetricAnswer) -> Option<String> {
    let changes = changes(metric);
    let known: Vec<f64> = changes.iter().flatten().copied().collect();
    if known.is_empty() {
        return None;
    }
    let (low, high) = metric.interval.unwrap_or_default();
    let margins = [metric.margin, -metric.margin];
    let axis = Axis::of(known.iter().copied().chain(margins).chain([low, high]).filter(|v| v.is_finite()));
    let mut out = String::new();
    let description = format!("Change of {} in each of {} pairs", metric.name, changes.len());
    // Writing to a String cannot fail, so the results of `write!` are ignored in this file.
    let _ = write!(
        out,
        "<svg class=\"plot dots\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&description)
    );
    let (top, bottom) = (axis.y(metric.margin), axis.y(-metric.margin));
    let inner = WIDTH - LEFT - RIGHT;
    let _ = write!(
        out,
        "<rect class=\"band odd\" x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
        WIDTH - LEFT,
        bottom - top
    );
    grid(&mut out, &axis);
    let x = |index: usize| LEFT + inner * (index as f64 + 0.5) / changes.len() as f64;
    let every = changes.len().div_ceil(LABELS);
    for (index, change) in changes.iter().enumerate() {
        if index % every == 0 {
            let (x, y) = (x(index), HEIGHT - 8.0);
            let _ = write!(out, "<text class=\"x\" x=\"{x:.1}\" y=\"{y}\">{}</text>", index + 1);
        }
        if let Some(change) = change {
            let (x, y) = (x(index), axis.y(*change));
            let number = index + 1;
            let _ = write!(
                out,
                "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>pair {number}: {:+.2} %</title></circle>",
                change * 100.0
            );
        }
    }
    mean(&mut out, metric, &axis);
    out.push_str("</svg>");
    Some(out)
}

fn grid(out: &mut String, axis: &Axis) {
    out.push_str("<g class=\"axis\">");
    for tick in axis.ticks() {
        let y = axis.y(tick);
        let class = if tick == 0.0 { " class=\"base\"" } else { "" };
        let _ = write!(out, "<path{class} d=\"M{LEFT} {y:.1}H{WIDTH}\"/>");
        let (x, y) = (LEFT - 6.0, y + 3.5);
        let _ = write!(out, "<text class=\"y\" x=\"{x}\" y=\"{y:.1}\">{}</text>", axis.label(tick));
    }
    out.push_str("</g>");
}

/// The mean effect with its interval, beside the dots.
fn mean(out: &mut String, metric: &MetricAnswer, axis: &Axis) {
    let (Some(effect), Some((low, high))) = (metric.effect, metric.interval) else { return };
    let x = WIDTH - RIGHT / 2.0;
    let (low, high, effect) = (axis.y(low), axis.y(high), axis.y(effect));
    let _ = write!(
        out,
        "<path class=\"line mean\" d=\"M{x} {low:.1}V{high:.1}M{:.1} {low:.1}h10M{:.1} {high:.1}h10\"/><circle class=\"dot \
         mean\" cx=\"{x}\" cy=\"{effect:.1}\" r=\"5\"/><text class=\"x\" x=\"{x}\" y=\"{}\">mean</text>",
        x - 5.0,
        x - 5.0,
        HEIGHT - 8.0
    );
}
