//! One rate, offered for a while to a target of known behaviour, and how the engine did.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use engine::{Clock, Program, RunOptions};
use evidence::tick_channel::{Received, TickReceiver, tick_channel};
use evidence::{Histogram, Key, KeyId, Metric, Outcome, Tick};
use plans::{Overrides, load as load_plan};
use workload::{FilesInMemory, LoadedPlan};

use super::target::Target;

/// Between the last preparation and the first arrival.
const LEAD: Duration = Duration::from_millis(50);
/// How often ticks are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A rate counts as reached when 99 of 100 arrivals start within this of their instant, and none is dropped.
pub const REACHED_WITHIN: Duration = Duration::from_millis(1);

/// Each takes two descriptors of this process, one on either side, of the thousand that every system allows. A rate
/// that needs more at once counts as not reached.
const MOST_USERS: u32 = 400;

/// What a stage offers.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Arrivals a second.
    pub rate: u32,
    /// How long the target delays each response.
    pub delay: Duration,
    /// For how long.
    pub seconds: u64,
    /// Loops that offer it.
    pub loops: u16,
}

#[derive(Debug, Clone, Default)]
pub struct Stage {
    /// Arrivals a second.
    pub rate: u32,
    /// Arrivals that were planned.
    pub scheduled: u64,
    pub started: u64,
    /// Those that were answered well.
    pub succeeded: u64,
    /// From due instant to start.
    pub lag: Histogram,
    /// From the first byte sent to the last received, as the engine measured it.
    pub service: Histogram,
    /// From request read to answer written, as the target noted it.
    pub held: Histogram,
    /// CPU time of the loop, and the time in which it was used.
    pub cpu: Duration,
    /// The time that it was measured in.
    pub covered: Duration,
}

impl Stage {
    /// Whether the rate was offered as asked, punctually, and answered.
    pub fn is_reached(&self) -> bool {
        self.is_reached_within(REACHED_WITHIN)
    }

    /// The same, where 99 of 100 arrivals may start so much after their instant.
    pub fn is_reached_within(&self, lag: Duration) -> bool {
        let within = self.lag.quantile(0.99).finite_us().is_some_and(|us| us <= lag.as_micros() as f64);
        self.scheduled > 0 && self.started == self.scheduled && self.succeeded == self.started && within
    }

    fn take(&mut self, tick: &Tick, keys: &mut Vec<Key>) {
        keys.extend(tick.new_keys.iter().map(|(_, key)| key.clone()));
        let key = |id: KeyId| &keys[id.0 as usize];
        for (id, histogram) in tick.histograms() {
            match (key(id).metric, key(id).outcome) {
                (Metric::StartLag, _) => self.lag.merge(histogram),
                (Metric::ServiceTime, Some(Outcome::Ok)) => self.service.merge(histogram),
                _ => {}
            }
        }
        for count in tick.counts() {
            match key(count.key).metric {
                Metric::Scheduled => self.scheduled += count.value,
                Metric::Started => self.started += count.value,
                _ => {}
            }
        }
        self.cpu += Duration::from_nanos(tick.state.cpu_ns);
        self.covered += Duration::from_nanos(tick.state.covered_ns);
        self.succeeded = self.service.count();
    }
}

/// Offer the load to a new target.
///
/// # Errors
/// When the machine gives no socket or thread, or the engine cannot measure.
pub fn offer(load: Load) -> Result<Stage> {
    let target = Target::start(load.delay).context("the target of the self-test cannot be started")?;
    let program = Program::compile(plan(load, &target)?)?;
    let clock = Clock::starting_in(LEAD);
    let options = RunOptions::new(Arc::new(program), clock);
    let (outlets, inlets): (Vec<_>, Vec<_>) = (0..load.loops).map(|_| tick_channel()).unzip();
    let mut stage = std::thread::scope(|scope| {
        let engine = scope.spawn(|| engine::run(&options, outlets));
        let stage = record(&inlets, load.rate);
        engine.join().map_err(|_| anyhow!("the engine panicked"))??;
        Ok::<_, anyhow::Error>(stage)
    })?;
    stage.held = target.stop().context("the target of the self-test failed")?;
    Ok(stage)
}

fn record(inlets: &[TickReceiver], rate: u32) -> Stage {
    let mut stage = Stage { rate, ..Stage::default() };
    let mut open: Vec<(&TickReceiver, Vec<Key>)> = inlets.iter().map(|inlet| (inlet, Vec::new())).collect();
    while !open.is_empty() {
        let mut is_idle = true;
        open.retain_mut(|(inlet, keys)| match inlet.take() {
            Received::Tick(tick) => {
                stage.take(&tick, keys);
                inlet.give_back(tick);
                is_idle = false;
                true
            }
            Received::Empty => true,
            Received::Closed => false,
        });
        if is_idle && !open.is_empty() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    stage
}

fn plan(load: Load, target: &Target) -> Result<LoadedPlan> {
    let text = format!(
        "version = 1\n[targets.own]\nurl = \"http://{}\"\n[[scenarios]]\nname = \"probe\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"{}/s\"\nduration = \"{}s\"\ngraceful_stop = \"2s\"\nmax_vus = {MOST_USERS}\n\
         [[scenarios.steps]]\nname = \"ask\"\nget = \"${{own.url}}/\"\n",
        target.addr(),
        load.rate,
        load.seconds
    );
    Ok(load_plan(
        Path::new("selftest.toml"),
        &FilesInMemory::one("selftest.toml", text),
        &|_| None,
        &Overrides::default(),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_rate_is_offered_completely_and_measured_on_both_sides() {
        let stage = offer(Load { rate: 50, delay: Duration::from_millis(3), seconds: 1, loops: 1 }).unwrap();
        assert_eq!((stage.scheduled, stage.started, stage.succeeded), (50, 50, 50));
        assert_eq!((stage.lag.count(), stage.held.count()), (50, 50));
        let (measured, held) = (stage.service.min_us().unwrap(), stage.held.min_us().unwrap());
        assert!(held >= 3_000 && measured >= held, "{measured} {held}");
        assert!(stage.cpu > Duration::ZERO && stage.covered >= Duration::from_millis(900));
    }

    #[test]
    fn a_rate_is_reached_only_if_every_arrival_started_in_time_and_was_answered() {
        let mut stage = Stage { scheduled: 200, started: 200, succeeded: 200, ..Stage::default() };
        (0..200).for_each(|_| stage.lag.record_us(900, 1));
        assert!(stage.is_reached());
        assert!(!Stage { started: 199, ..stage.clone() }.is_reached());
        assert!(!Stage { succeeded: 199, ..stage.clone() }.is_reached());
        stage.lag.record_us(5_000, 3);
        assert!(!stage.is_reached());
        assert!(!Stage::default().is_reached());
    }
}
