//! The ticks of axes: at 1, 2 and 5 times powers of ten; on run time at round times.

/// The range of an axis and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) is_log: bool,
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// The position of `value`, from 0 at the low end to 1 at the high end; clamped to the axis.
    pub(super) fn position(&self, value: f64) -> f64 {
        let position = if self.is_log {
            (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// From zero to a round number at or above `high`, about `ticks` ticks.
    pub(super) fn from_zero(high: f64, ticks: usize) -> Scale {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        let step = round_up(high / ticks.max(1) as f64);
        let steps = (high / step - 1e-9).ceil().max(1.0) as usize;
        let ticks: Vec<f64> = (0..=steps).map(|i| i as f64 * step).collect();
        Scale { low: 0.0, high: steps as f64 * step, is_log: false, ticks }
    }

    /// Logarithmic, around the positive `values`; from 1 to 10 when there are none.
    pub(super) fn log(values: impl Iterator<Item = f64>) -> Scale {
        let within =
            values.filter(|v| v.is_finite() && *v > 0.0).fold(None, |range: Option<(f64, f64)>, v| {
                Some(range.map_or((v, v), |(l, h)| (l.min(v), h.max(v))))
            });
        let (low, high) = within.unwrap_or((1.0, 10.0));
        let (low, mut high) = (round_down(low), round_up(high));
        if high <= low {
            high = low * 10.0;
        }
        let decades = (high / low).log10();
        let steps: &[f64] = if decades <= 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|power| steps.iter().map(move |s| s * 10f64.powi(power)));
        let ticks = all.filter(|t| *t >= low * 0.999_999 && *t <= high * 1.000_001).collect();
        Scale { low, high, is_log: true, ticks }
    }

    /// Run time from 0 to `seconds`, ticks at round times.
    pub(super) fn run_time(seconds: u32) -> Scale {
        const STEPS: [u32; 16] =
            [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200];
        const MOST: u32 = 7;
        let seconds = seconds.max(1);
        let fits = STEPS.into_iter().find(|step| seconds / step <= MOST);
        let step = fits.unwrap_or_else(|| seconds.div_ceil(MOST));
        let ticks = (0..=seconds / step).map(|i| f64::from(i * step)).collect();
        Scale { low: 0.0, high: f64::from(seconds), is_log: false, ticks }
    }
}

/// The lowest of 1, 2, 5 times a power of ten that is at least `value`, which is positive.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= value * 0.999_999);
    factor.unwrap_or(10.0) * power
}

/// The highest of 1, 2, 5 times a power of ten that is at most `value`, which is positive.
fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| f * power <= value * 1.000_001);
    factor.unwrap_or(1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_every_value() {
        assert_eq!(Scale::from_zero(812.0, 4).ticks, [0.0, 500.0, 1_000.0]);
        assert_eq!(Scale::from_zero(0.74, 4).high, 0.8);
        assert_eq!(Scale::from_zero(0.0, 4).high, 1.0);
        let log = Scale::log([0.9, 700.0].into_iter());
        assert_eq!((log.low, log.high, log.ticks), (0.5, 1_000.0, vec![1.0, 10.0, 100.0, 1_000.0]));
        assert_eq!(Scale::run_time(105).ticks, [0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0, 105.0]);
        assert_eq!(Scale::run_time(86_400).ticks.len(), 7);
    }

    #[test]
    fn positions_stay_on_the_axis_for_any_value() {
        let scale = Scale::log(std::iter::empty());
        for value in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            assert!((0.0..=1.0).contains(&scale.position(value)));
        }
    }
}
