//! What the generator can do on this machine: the engine offers load to a server in this process whose behaviour is known.

mod readiness;
mod stage;
mod target;

use std::time::Duration;

use conduct::failure::{CommandResult, Failure};

pub use stage::{Load, REACHED_WITHIN, Stage, offer};

/// What a generator is asked to reach.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// Arrivals a second.
    pub rate: u32,
    /// Loops that offer them.
    pub loops: u16,
    /// How late 99 of 100 may start.
    pub lag: Duration,
}

/// Whether the generator offers this for a second, in time and completely, to a server that answers at once.
pub fn reaches(asked: Reach) -> CommandResult<bool> {
    let Reach { rate, loops, lag } = asked;
    let stage = offer(Load { rate, delay: Duration::ZERO, seconds: 1, loops });
    Ok(stage.map_err(Failure::own)?.is_reached_within(lag))
}
