//! What the generator can do on this machine.
//!
//! The engine offers load at rising rates to a server in this process whose behaviour is known. What it did is compared
//! with what was asked; the server is not what is tested.

use std::time::Duration;

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::screen;
use evidence::{Histogram, TerminalText};
use experiments::generator::{Load, REACHED_WITHIN, Stage, offer};
use figures::number;
use serde_json::json;

/// Rates that are always tried, in arrivals a second.
const RATES: [u32; 3] = [1_000, 5_000, 20_000];
/// More than one loop reaches on any machine today.
const HIGHEST_RATE: u32 = 640_000;
/// How often the interval between a rate that was reached and one that was not is halved.
const HALVINGS: u32 = 4;
/// How long the target delays each response where the measurement error is determined.
const KNOWN_DELAY: Duration = Duration::from_millis(5);
const KNOWN_DELAY_RATE: u32 = 500;
/// Start lag up to here is not a concern: half the fastest response over a real network.
const PROMPT: Duration = Duration::from_micros(100);

/// Everything that was found.
pub struct GeneratorTest {
    /// Ascending by rate.
    stages: Vec<Stage>,
    /// With responses that are delayed by `delay`.
    known: Stage,
    delay: Duration,
    seconds: u64,
}

impl GeneratorTest {
    /// Offer each rate for so many seconds.
    ///
    /// # Errors
    /// When the machine gives no socket or thread, or the target answers nothing.
    pub fn run(seconds: u64) -> CommandResult<GeneratorTest> {
        let offered = |rate, delay| {
            screen::note(format_args!("offering {rate} arrivals/s for {seconds} s"));
            offer(Load { rate, delay, seconds, loops: 1 }).map_err(Failure::own)
        };
        let mut stages = Vec::new();
        for rate in RATES {
            stages.push(offered(rate, Duration::ZERO)?);
        }
        climb(&mut stages, &|rate| offered(rate, Duration::ZERO))?;
        stages.sort_by_key(|stage| stage.rate);
        let known = offered(KNOWN_DELAY_RATE, KNOWN_DELAY)?;
        if known.service.is_empty() {
            return Err(Failure::own(anyhow!(
                "the target of the self-test answered nothing: check that loopback works"
            )));
        }
        Ok(GeneratorTest { stages, known, delay: KNOWN_DELAY, seconds })
    }

    /// The highest rate below which every rate was reached.
    fn trusted(&self) -> Option<&Stage> {
        self.stages.iter().take_while(|stage| stage.is_reached()).last()
    }

    /// By how much a measured quantile exceeds the target's own log, in microseconds.
    fn error_us(&self, quantile: f64) -> f64 {
        let of = |histogram: &Histogram| histogram.quantile(quantile).finite_us().unwrap_or(f64::NAN);
        of(&self.known.service) - of(&self.known.held)
    }

    /// In words and a table.
    pub fn text(&self) -> TerminalText {
        let mut text = TerminalText::default();
        text.line(format_args!(
            "Arrivals at an HTTP server of this process, over loopback, each rate for {} s, one loop",
            self.seconds
        ));
        text.line("").line("arrivals/s reached  lag p50      p99    p99.9      max  CPU/arrival  loop cores");
        for stage in &self.stages {
            text.line(row(stage));
        }
        let held = micros(self.delay.as_secs_f64() * 1e6);
        let (p50, p99) = (micros(self.error_us(0.5)), micros(self.error_us(0.99)));
        text.line("").line(format_args!(
            "Responses delayed by {held}: measured longer than the target's log by {p50} at p50, {p99} at p99"
        ));
        text.line("").line("What it can be trusted with");
        for line in self.trust() {
            text.line(format_args!("  {line}"));
        }
        text
    }

    fn trust(&self) -> Vec<String> {
        let Some(best) = self.trusted() else {
            return vec![format!(
                "no rate: not even {} arrivals/s start within {} of their due instants; give the generator a \
                     processor of its own and run this again",
                self.stages.first().map_or(0, |stage| stage.rate),
                micros(REACHED_WITHIN.as_micros() as f64)
            )];
        };
        let mut lines = vec![format!(
            "rate      up to {} arrivals/s a loop: all started, 99 of 100 within {} of their due instants",
            number::count(best.rate.into()),
            micros(REACHED_WITHIN.as_micros() as f64)
        )];
        if let Some(first) = self.stages.first() {
            let p99 = quantile(&first.lag, 0.99);
            lines.push(format!(
                "timing    at {} arrivals/s 99 of 100 start within {}",
                number::count(first.rate.into()),
                micros(p99)
            ));
            let is_prompt = p99 <= PROMPT.as_micros() as f64;
            lines.push(format!(
                "sleeping  {}",
                if is_prompt {
                    "the machine wakes the loop in time"
                } else {
                    "the machine wakes the loop late; every run reports by how much as start lag"
                }
            ));
        }
        lines.push(format!(
            "times     differences above {} are not the generator's",
            micros(self.error_us(0.99).max(1.0))
        ));
        lines
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let stage = |stage: &Stage| {
            json!({
                "rate": stage.rate,
                "scheduled": stage.scheduled,
                "started": stage.started,
                "succeeded": stage.succeeded,
                "kept": stage.is_reached(),
                "start_lag_us": quantiles(&stage.lag),
                "service_time_us": quantiles(&stage.service),
                "held_us": quantiles(&stage.held),
                "loop_cpu_s": stage.cpu.as_secs_f64(),
                "covered_s": stage.covered.as_secs_f64(),
            })
        };
        let value = json!({
            "seconds": self.seconds,
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
            "known_delay": stage(&self.known),
            "known_delay_us": self.delay.as_micros() as u64,
            "error_us": { "p50": self.error_us(0.5), "p99": self.error_us(0.99) },
            "trusted_rate": self.trusted().map(|stage| stage.rate),
        });
        format!("{value:#}\n")
    }
}

fn row(stage: &Stage) -> String {
    let lag = |q| micros(quantile(&stage.lag, q));
    let max = stage.lag.max_us().map_or(f64::NAN, |us| us as f64);
    let cpu = stage.cpu.as_secs_f64();
    format!(
        "{:>10}  {:>6}  {:>7}  {:>7}  {:>7}  {:>7}  {:>11}  {:>10.2}",
        number::count(stage.rate.into()),
        if stage.is_reached() { "yes" } else { "no" },
        lag(0.5),
        lag(0.99),
        lag(0.999),
        micros(max),
        micros(cpu * 1e6 / stage.started.max(1) as f64),
        cpu / stage.covered.as_secs_f64().max(f64::MIN_POSITIVE)
    )
}

fn quantiles(histogram: &Histogram) -> serde_json::Value {
    let of = |q| histogram.quantile(q).finite_us();
    json!({ "p50": of(0.5), "p99": of(0.99), "p99.9": of(0.999), "max": histogram.max_us() })
}

fn quantile(histogram: &Histogram, q: f64) -> f64 {
    histogram.quantile(q).finite_us().unwrap_or(f64::NAN)
}

/// Microseconds in a unit that suits them.
fn micros(us: f64) -> String {
    if us.is_nan() { number::NOT_MEASURED.to_owned() } else { number::brief::ms(us / 1e3) }
}

/// Find the highest rate that is reached: double until one is not, then bisect.
fn climb(stages: &mut Vec<Stage>, offer: &dyn Fn(u32) -> CommandResult<Stage>) -> CommandResult<()> {
    let mut reached =
        stages.iter().filter(|stage| stage.is_reached()).map(|stage| stage.rate).max().unwrap_or(0);
    let mut missed = stages.iter().map(|stage| stage.rate).filter(|rate| *rate > reached).min();
    while missed.is_none() && reached < HIGHEST_RATE {
        let stage = offer(reached.saturating_mul(2).max(RATES[0]))?;
        if stage.is_reached() {
            reached = stage.rate;
        } else {
            missed = Some(stage.rate);
        }
        stages.push(stage);
    }
    for _halving in 0..HALVINGS {
        let Some(above) = missed else { break };
        let stage = offer(reached.midpoint(above))?;
        if stage.is_reached() {
            reached = stage.rate;
        } else {
            missed = Some(stage.rate);
        }
        stages.push(stage);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(rate: u32, lag_us: u64) -> Stage {
        let mut lag = Histogram::new();
        lag.record_us(lag_us, u64::from(rate));
        let count = u64::from(rate);
        let (cpu, covered) = (Duration::from_millis(50), Duration::from_secs(1));
        Stage {
            rate,
            scheduled: count,
            started: count,
            succeeded: count,
            lag,
            cpu,
            covered,
            ..Stage::default()
        }
    }

    fn tested(stages: Vec<Stage>) -> GeneratorTest {
        let mut known = stage(500, 10);
        known.service.record_us(5_060, 500);
        known.held.record_us(5_020, 500);
        GeneratorTest { stages, known, delay: Duration::from_millis(5), seconds: 1 }
    }

    #[test]
    fn a_punctual_machine_gets_its_highest_trusted_rate() {
        let found = tested(vec![stage(1_000, 40), stage(20_000, 700), stage(40_000, 3_000)]);
        insta::assert_snapshot!(found.text(), @r"
        Arrivals at an HTTP server of this process, over loopback, each rate for 1 s, one loop

        arrivals/s reached  lag p50      p99    p99.9      max  CPU/arrival  loop cores
             1,000     yes    40 µs    40 µs    40 µs    40 µs        50 µs        0.05
            20,000     yes   700 µs   700 µs   700 µs   700 µs         2 µs        0.05
            40,000      no     3 ms     3 ms     3 ms     3 ms         1 µs        0.05

        Responses delayed by 5 ms: measured longer than the target's log by 40 µs at p50, 40 µs at p99

        What it can be trusted with
          rate      up to 20,000 arrivals/s a loop: all started, 99 of 100 within 1 ms of their due instants
          timing    at 1,000 arrivals/s 99 of 100 start within 40 µs
          sleeping  the machine wakes the loop in time
          times     differences above 40 µs are not the generator's
        ");
    }

    #[test]
    fn a_rate_above_one_that_was_not_reached_is_not_trusted() {
        let found = tested(vec![stage(1_000, 40), stage(5_000, 3_000), stage(20_000, 40)]);
        assert_eq!(found.trusted().map(|stage| stage.rate), Some(1_000));
        let none = tested(vec![stage(1_000, 40_000)]);
        assert!(none.text().contains("no rate: not even 1000 arrivals/s"), "{}", none.text());
        assert!(none.json().contains("\"trusted_rate\": null"), "{}", none.json());
    }
}
