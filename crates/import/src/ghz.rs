//! ghz: its JSON, with every call, and the summary that it prints.

pub(crate) mod json;
pub(crate) mod text;

use crate::event::Event;
use crate::figure::{Quantity, StatedFigure};

/// A figure over all calls, in the unit of its quantity.
fn figure(name: &str, quantity: Quantity, value: Option<f64>) -> Event<'static> {
    StatedFigure { of: "all calls", name, quantity, value }.event()
}
