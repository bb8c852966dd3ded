//! Cases are drawn from a seed: each round has every planted cause once, in an order of its own.

use sha2::{Digest as _, Sha256};

use super::planted::Planted;

/// How the load is offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    /// A run of steps, in shares of what the service completes at most; the seconds of a step.
    Steps(&'static [f64], u64),
    /// Levels that `plimsoll diagnose` arranges.
    Arranged,
}

const SHAPES: [Shape; 4] = [
    Shape::Steps(&[0.3, 0.5, 0.65, 0.8, 0.95, 1.15, 1.5], 5),
    Shape::Steps(&[0.3, 0.42, 0.54, 0.66, 0.76, 0.86, 0.98, 1.2, 1.6], 4),
    Shape::Steps(&[0.25, 0.45, 0.6, 0.7, 0.8, 0.9, 1.1, 1.5], 5),
    Shape::Arranged,
];

/// One case.
pub(super) struct Case<'a> {
    pub(super) number: usize,
    pub(super) planted: &'a Planted,
    pub(super) severity: u64,
    pub(super) shape: Shape,
}

/// The case of this number.
pub(super) fn case<'a>(planted: &'a [Planted], seed: &str, number: usize) -> Case<'a> {
    let round = number / planted.len();
    let mut order: Vec<&Planted> = planted.iter().collect();
    order.sort_by_cached_key(|one| digest(&format!("{seed}/{round}/{}/{}", one.service, one.cause)));
    let planted = order[number % order.len()];
    let pick = |what: &str, count: usize| {
        let drawn = digest(&format!("{seed}/{number}/{what}"))[0];
        usize::from(drawn) % count
    };
    let severity = planted.severities[pick("severity", planted.severities.len())];
    Case { number, planted, severity, shape: SHAPES[pick("shape", SHAPES.len())] }
}

/// The SHA-256 digest of a text.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Shape {
    /// As results name it.
    pub(super) fn name(self) -> String {
        match self {
            Shape::Steps(steps, _) => format!("{} steps", steps.len()),
            Shape::Arranged => "arranged".to_owned(),
        }
    }
}
