//! What a run against a service leaves: ticks and samples, second by second.

use std::time::Duration;

use evidence::tick::LoopState;
use evidence::{
    Ending, Instant, Key, KeyId, Manifest, Metric, Observed, Outcome, RunEnd, Sample, SeriesKey, Sink,
    SinkError, Tick,
};
use workload::Workload;
use workload::schedule::Schedule;

use super::{Cause, SealedCase, Shape, StationKind};
use crate::random::Random;

const SECOND_NS: u64 = 1_000_000_000;
/// The steps of the load, as shares of the highest: of the one at which it breaks.
const STEPS: [f64; 8] = [0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.92, 1.04];
/// How long a ramp takes.
const RAMP_S: u32 = 160;
/// What a process uses without load.
const IDLE_CPU: f64 = 0.01;
/// The name of the target.
const TARGET: &str = "svc";

/// The plan of such a run.
pub(super) fn plan(shape: Shape, highest: f64, seed: u64) -> String {
    let rate = |share: &f64| (share * highest).round().max(1.0);
    let first = rate(&STEPS[0]);
    let stages = match shape {
        Shape::Steps(length) => STEPS
            .iter()
            .map(|share| {
                let to = rate(share);
                format!("{{ to = \"{to}/s\", over = \"0s\" }}, {{ to = \"{to}/s\", over = \"{length}s\" }}, ")
            })
            .collect(),
        Shape::Ramp => {
            format!("{{ to = \"{}/s\", over = \"{RAMP_S}s\" }}", rate(&STEPS[STEPS.len() - 1]))
        }
    };
    format!(
        "version = 1\nseed = {}\n[targets.{TARGET}]\nurl = \"http://127.0.0.1:1\"\n[[scenarios]]\nname = \"load\"\nexecutor = \
         \"ramping-arrival-rate\"\nstart_rate = \"{first}/s\"\nmax_vus = 100000\nstages = [{stages}]\n[[scenarios.steps]]\nname = \
         \"get\"\nget = \"${{{TARGET}.url}}/\"\n",
        seed >> 12
    )
}

impl SealedCase {
    /// The manifest of its run.
    pub fn manifest(&self) -> Manifest {
        let mut manifest = crate::recording::manifest("sealed", self.seed);
        manifest.environment.insert("cores".to_owned(), "16".to_owned());
        manifest.workload = serde_json::to_value(self.workload()).expect("a workload is JSON");
        manifest
    }

    /// The run, handed to `sink` as the recorder does.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
    pub fn record(&self, sink: &mut dyn Sink) -> Result<(), SinkError> {
        let workload = self.workload();
        let seconds = workload.phases.last().map_or(0, |phase| phase.end.as_secs() as u32);
        let mut random = Random::new(self.seed).fork(1);
        let mut ticks = Ticks::new(&workload);
        let schedule = Schedule::new(&workload.scenarios[0].executor).expect("its arrivals have a schedule");
        for second in 0..seconds {
            let [begin, end] = [second, second + 1].map(|second| Duration::from_secs(second.into()));
            let offered = schedule.arrivals_between(begin, end);
            self.second(&mut ticks, second, offered, &mut random);
            let samples = self.samples(second, offered as f64, &mut random);
            sink.tick(&ticks.tick)?;
            sink.observed(&Observed { samples, ..Observed::default() })?;
            ticks.tick.clear();
        }
        sink.flush()?;
        sink.end(&RunEnd::new(Ending::Completed, seconds))
    }

    /// Every request of a second, which begins and ends in it: the loads are below what the service carries.
    fn second(&self, ticks: &mut Ticks<'_>, second: u32, offered: u64, random: &mut Random) {
        ticks.begin(second);
        let load = offered as f64;
        let alone: f64 = self.service.response_s(0.0);
        let wait = self.service.response_s(load) - alone;
        let drift = 1.0 + self.noise * random.normal();
        let allowed = match self.cause {
            Cause::RateLimit => (self.breaks_per_s * 0.9) as u64,
            _ => u64::MAX,
        };
        for number in 0..offered {
            let (outcome, took_s) = match number < allowed {
                true => {
                    let own = alone * (0.8 + 0.4 * random.uniform());
                    (Outcome::Ok, ((own + random.exponential(wait.max(1e-9))) * drift).max(1e-5))
                }
                false => (Outcome::Http429, 0.001),
            };
            ticks.request(outcome, took_s);
        }
        ticks.finish(load * (alone + wait));
    }

    fn samples(&self, second: u32, load: f64, random: &mut Random) -> Vec<(SeriesKey, Sample)> {
        let at = Instant::at(Duration::from_secs(u64::from(second) + 1));
        let mut samples = Vec::new();
        let times = self.service.times(load);
        let noise = self.noise;
        for (at_queue, kind) in self.kinds.iter().enumerate() {
            let queue = &self.service.queues[at_queue];
            if !queue.is_use_observed {
                continue;
            }
            let (held_s, wait_s) = times[at_queue];
            let used = (load * held_s).min(queue.servers);
            let waited = queue.is_wait_observed.then_some(load * wait_s);
            let mut noisy = |value: f64| value * (1.0 + noise * random.normal()).max(0.0);
            let values = match kind {
                StationKind::Processors { waits_in_kernel } => {
                    let delay = if *waits_in_kernel { load * wait_s } else { 0.01 * used };
                    vec![
                        ("cpu".to_owned(), "", (noisy(used) + IDLE_CPU).min(queue.servers)),
                        ("cpus_allowed".to_owned(), "", queue.servers),
                        ("run_delay".to_owned(), "", noisy(delay)),
                    ]
                }
                StationKind::Pool { number, counts_time } => {
                    let pool = |suffix: &str| format!("pool{number}{suffix}");
                    let held = counts_time.then(|| (pool("_use_seconds_total"), "", noisy(used)));
                    let waited = waited.map(|waited| (pool("_wait_seconds_total"), "", noisy(waited)));
                    // A look sees a whole number, once a second.
                    let looked = (pool("_in_use"), "", seen(used, queue.servers, random));
                    let whole = [looked, (pool("_max"), "", queue.servers)];
                    whole.into_iter().chain(held).chain(waited).collect()
                }
                StationKind::Workers => vec![
                    ("tomcat_threads_busy_threads".to_owned(), "", seen(used, queue.servers, random)),
                    ("tomcat_threads_config_max_threads".to_owned(), "", queue.servers),
                ],
                StationKind::Lock => {
                    vec![("pg_waits".to_owned(), "Lock", seen(load * wait_s, f64::INFINITY, random))]
                }
                StationKind::Downstream => {
                    let name = "http_client_request_duration_seconds_sum".to_owned();
                    vec![(name, "", noisy(load * (held_s + wait_s)))]
                }
            };
            let sample = |(name, part, value): (String, &str, f64)| {
                (SeriesKey::new(&name, TARGET, "1").part(part), Sample { at, value })
            };
            samples.extend(values.into_iter().map(sample));
        }
        samples
    }
}

/// How many of `mean` are seen at an instant: a number by Poisson's distribution, at most `most`.
fn seen(mean: f64, most: f64, random: &mut Random) -> f64 {
    let (mut count, mut left) = (0.0, mean);
    loop {
        left -= random.exponential(1.0);
        if left < 0.0 || count >= most {
            return count;
        }
        count += 1.0;
    }
}

/// The ticks of one loop.
struct Ticks<'w> {
    workload: &'w Workload,
    tick: Tick,
    keys: Vec<Key>,
    phase: String,
}

impl Ticks<'_> {
    fn new(workload: &Workload) -> Ticks<'_> {
        Ticks { workload, tick: Tick::default(), keys: Vec::new(), phase: String::new() }
    }

    fn begin(&mut self, second: u32) {
        self.tick.second = second;
        let is_its = |phase: &&workload::Phase| u64::from(second) < phase.end.as_secs();
        let phase = self.workload.phases.iter().find(is_its).or(self.workload.phases.last());
        self.phase = phase.map(|phase| phase.name.clone()).unwrap_or_default();
    }

    fn key(&mut self, metric: Metric, outcome: Option<Outcome>) -> KeyId {
        let key = Key::of(metric).scenario("load").phase(&self.phase);
        let key = match metric {
            Metric::StartLag | Metric::IterationTime | Metric::IterationsDone => key,
            _ => key.endpoint("get"),
        };
        let key = Key { outcome, ..key };
        if let Some(at) = self.keys.iter().position(|known| *known == key) {
            return KeyId(at as u32);
        }
        let id = KeyId(self.keys.len() as u32);
        self.tick.new_keys.push((id, key.clone()));
        self.keys.push(key);
        id
    }

    fn request(&mut self, outcome: Outcome, took_s: f64) {
        let second = self.tick.second;
        for metric in [Metric::Scheduled, Metric::Started, Metric::Requests, Metric::IterationsDone] {
            let key = self.key(metric, None);
            self.tick.add(key, second, 1);
        }
        let nanos = (took_s * 1e9) as u64;
        let lag = self.key(Metric::StartLag, None);
        self.tick.record_ns(lag, 20_000);
        for metric in [Metric::ResponseTime, Metric::ServiceTime, Metric::IterationTime] {
            let key = self.key(metric, Some(outcome));
            self.tick.record_ns(key, nanos);
        }
    }

    fn finish(&mut self, in_flight_mean: f64) {
        self.tick.state = LoopState {
            in_flight_mean,
            cpu_ns: SECOND_NS / 20,
            covered_ns: SECOND_NS,
            ..LoopState::default()
        };
    }
}
