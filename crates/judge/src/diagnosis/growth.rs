//! By how much the response time grows up to where the objectives break, and what else grows with it.

use super::{BreakRange, LoadWindow};

/// Near this share of the break begins the growth that waits are compared with.
const GROWTH_BEGINS: f64 = 0.6;
/// Windows whose loads differ by at most this share are near one load.
const NEAR: f64 = 0.05;

/// The windows between which the response time grows: near [`GROWTH_BEGINS`] of the break, and at the break.
pub(super) struct Growth<'a> {
    begin: Vec<&'a LoadWindow>,
    at_break: Vec<&'a LoadWindow>,
}

impl<'a> Growth<'a> {
    pub(super) fn of(windows: &'a [LoadWindow], range: BreakRange) -> Growth<'a> {
        let near = |load: f64| -> Vec<&'a LoadWindow> {
            let distance = |window: &LoadWindow| (window.completions_per_s - load).abs();
            let nearest = windows.iter().map(distance).fold(f64::INFINITY, f64::min);
            windows.iter().filter(|window| distance(window) <= nearest + NEAR * load).collect()
        };
        Growth { begin: near(GROWTH_BEGINS * range.breaks_per_s), at_break: near(range.breaks_per_s) }
    }

    fn mean(windows: &[&LoadWindow], of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = windows.iter().filter_map(|window| of(window)).collect();
        stats::mean(&values)
    }

    /// The mean at the break.
    pub(super) fn at_break(&self, of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        Growth::mean(&self.at_break, of)
    }

    /// Mean response time where the growth begins, and at the break.
    pub(super) fn response_s(&self) -> Option<[f64; 2]> {
        let of = |window: &LoadWindow| window.response_s;
        Some([Growth::mean(&self.begin, &of)?, self.at_break(&of)?])
    }

    /// By which factor it grows.
    pub(super) fn factor(&self, of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        let begin = Growth::mean(&self.begin, of).filter(|begin| *begin > 0.0)?;
        Some(self.at_break(of)? / begin)
    }

    /// By which share of the growth of the response time it grows; none where the response time does not grow.
    pub(super) fn share(&self, of: &dyn Fn(&LoadWindow) -> Option<f64>) -> Option<f64> {
        let grows = |of: &dyn Fn(&LoadWindow) -> Option<f64>| {
            Some(self.at_break(of)? - Growth::mean(&self.begin, of)?)
        };
        let whole = grows(&|window| window.response_s).filter(|grown| *grown > 0.0)?;
        Some(grows(of)? / whole)
    }
}
