//! What one refusal costs: a service with one place, so that nearly everybody is refused.
//!
//! For requests somebody holds the place, and all CPU time is that of refusing. An event cannot be held, so one after
//! the other is written; as many are at any rate that is too high, so what a higher rate costs more is refusing alone.

use std::io::Write as _;
use std::net::TcpStream;

use anyhow::{Context as _, Result};

use super::Kind;
use crate::bench::challenge::fixture::{BenchContext, Fixture, Load, Setup};
use crate::bench::seen::Seen;

/// Loads of the staircase's plan, in thousands a second: enough for the cost to fixture out.
const LOADS: [f64; 2] = [4.0, 12.0];
/// Shorter than the service waits for a body.
const TIME_SCALE: f64 = 1.5;

/// CPU-seconds of one refusal; nothing where the figures do not tell.
///
/// # Errors
/// When the service cannot be started or asked.
pub(super) fn cpu_s(context: &BenchContext<'_>, kind: &Kind) -> Result<Option<f64>> {
    let environment = vec![(kind.places, "1".to_owned())];
    let fixture = context.fixture(&Setup { environment, ..Setup::default() })?;
    let found = if kind.target == "challenge" { held(&fixture, kind) } else { compared(&fixture, kind) };
    fixture.end()?;
    let found = found?;
    println!("  one refusal: {} µs", found.map_or(f64::NAN, |cpu_s| cpu_s * 1e6));
    Ok(found)
}

fn held(fixture: &Fixture<'_>, kind: &Kind) -> Result<Option<f64>> {
    let _holder = hold(fixture.service.address("http")?)?;
    let [load, _] = LOADS;
    let refusals = Refusals::seen((&fixture.offer(&of(kind, load))?, kind));
    Ok(refusals.map(|refusals| refusals.cores / refusals.per_s))
}

fn compared(fixture: &Fixture<'_>, kind: &Kind) -> Result<Option<f64>> {
    let [few, many] = LOADS;
    let few = Refusals::seen((&fixture.offer(&of(kind, few))?, kind));
    let many = Refusals::seen((&fixture.offer(&of(kind, many))?, kind));
    Ok(few.zip(many).and_then(|(few, many)| many.beyond(&few)))
}

fn of(kind: &Kind, load: f64) -> Load {
    Load::of(kind.staircase).for_time(TIME_SCALE).at(load)
}

/// Refusals a second, and the cores that were busy meanwhile.
#[derive(Debug, PartialEq)]
struct Refusals {
    per_s: f64,
    cores: f64,
}

impl Refusals {
    fn seen((seen, kind): (&Seen, &Kind)) -> Option<Self> {
        let ended: u64 = seen.endpoints().map(|row| row.ended()).sum();
        let refused: u64 = seen.endpoints().map(|row| row.outcome(kind.refused)).sum();
        let cores = seen.cores(kind.target).filter(|_| refused > 0)?;
        Some(Self { per_s: seen.completed_per_s() * refused as f64 / ended as f64, cores })
    }

    /// CPU-seconds of each refusal that this has more.
    fn beyond(&self, fewer: &Self) -> Option<f64> {
        let [cores, per_s] = [self.cores - fewer.cores, self.per_s - fewer.per_s];
        (cores > 0.0 && per_s > 0.0).then(|| cores / per_s)
    }
}

/// Takes the one place and keeps it: a request whose body is not there yet.
fn hold(address: &str) -> Result<TcpStream> {
    let mut holder = TcpStream::connect(address).context("cannot reach the service")?;
    let head = format!(
        "PUT /challenge/v1/challenges/challenge-001/goals/goal-001-01/active HTTP/1.1\r\nHost: {address}\r\n\
         x-mock-user-id: holder\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n"
    );
    holder.write_all(head.as_bytes()).context("cannot ask")?;
    Ok(holder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_more_refusals_cost_is_their_own() {
        let few = Refusals { per_s: 2_000.0, cores: 0.3 };
        let many = Refusals { per_s: 12_000.0, cores: 0.5 };
        let cpu_s = many.beyond(&few).expect("more cost more");
        assert!((cpu_s - 20e-6).abs() < 1e-12, "{cpu_s}");
        assert_eq!(few.beyond(&many), None);
    }
}
