//! The cost of one refusal: a service that works on one request at a time, so that nearly all are refused.
//!
//! For the HTTP API one unfinished request occupies the service, and all CPU time is that of refusals. An event cannot
//! be kept unfinished, so events are written one after the other; their rate is the same under every overload, so the
//! additional cost of a higher rate is that of refusals.

use std::io::Write as _;
use std::net::TcpStream;

use anyhow::{Context as _, Result};

use super::OverloadCase;
use crate::bench::challenge::fixture::{BenchContext, Fixture, Load, Setup};
use crate::bench::run_report::RunReport;

/// Loads of the staircase's plan, in thousands a second: enough for the cost to show.
const LOADS: [f64; 2] = [4.0, 12.0];
/// Shorter than the service waits for a body.
const TIME_SCALE: f64 = 1.5;

/// CPU-seconds of one refusal; nothing where it cannot be computed.
///
/// # Errors
/// When the service cannot be started or a run fails.
pub(super) fn cpu_s(context: &BenchContext<'_>, case: &OverloadCase) -> Result<Option<f64>> {
    let environment = vec![(case.capacity_setting, "1".to_owned())];
    let fixture = context.fixture(&Setup { environment, ..Setup::default() })?;
    let found = if case.target == "challenge" {
        of_occupied_service(&fixture, case)
    } else {
        of_two_rates(&fixture, case)
    };
    fixture.end()?;
    let found = found?;
    println!("  one refusal: {} µs", found.map_or(f64::NAN, |cpu_s| cpu_s * 1e6));
    Ok(found)
}

fn of_occupied_service(fixture: &Fixture<'_>, case: &OverloadCase) -> Result<Option<f64>> {
    let _unfinished = occupy(fixture.service.address("http")?)?;
    let [load, _] = LOADS;
    let refusals = Refusals::read(&fixture.offer(&load_of(case, load))?, case);
    Ok(refusals.map(|refusals| refusals.cores / refusals.per_s))
}

fn of_two_rates(fixture: &Fixture<'_>, case: &OverloadCase) -> Result<Option<f64>> {
    let [few, many] = LOADS;
    let few = Refusals::read(&fixture.offer(&load_of(case, few))?, case);
    let many = Refusals::read(&fixture.offer(&load_of(case, many))?, case);
    Ok(few.zip(many).and_then(|(few, many)| many.beyond(&few)))
}

fn load_of(case: &OverloadCase, load: f64) -> Load {
    Load::of(case.staircase).for_time(TIME_SCALE).at(load)
}

/// Refusals a second, and the cores that were busy meanwhile.
#[derive(Debug, PartialEq)]
struct Refusals {
    per_s: f64,
    cores: f64,
}

impl Refusals {
    fn read(report: &RunReport, case: &OverloadCase) -> Option<Self> {
        let ended: u64 = report.endpoints().map(|row| row.ended()).sum();
        let refused: u64 = report.endpoints().map(|row| row.outcome(case.refused)).sum();
        let cores = report.cores(case.target).filter(|_| refused > 0)?;
        Some(Self { per_s: report.throughput_per_s() * refused as f64 / ended as f64, cores })
    }

    /// CPU-seconds of each refusal beyond those of `fewer`.
    fn beyond(&self, fewer: &Self) -> Option<f64> {
        let [cores, per_s] = [self.cores - fewer.cores, self.per_s - fewer.per_s];
        (cores > 0.0 && per_s > 0.0).then(|| cores / per_s)
    }
}

/// Occupies the service: a request whose body is never sent.
fn occupy(address: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).context("cannot reach the service")?;
    let head = format!(
        "PUT /challenge/v1/challenges/challenge-001/goals/goal-001-01/active HTTP/1.1\r\nHost: {address}\r\n\
         x-mock-user-id: holder\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).context("cannot send the request")?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_that_of_the_additional_refusals() {
        let few = Refusals { per_s: 2_000.0, cores: 0.3 };
        let many = Refusals { per_s: 12_000.0, cores: 0.5 };
        let cpu_s = many.beyond(&few).expect("more cost more");
        assert!((cpu_s - 20e-6).abs() < 1e-12, "{cpu_s}");
        assert_eq!(few.beyond(&many), None);
    }
}
