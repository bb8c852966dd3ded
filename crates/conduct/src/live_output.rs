//! Series of a run, sent to other systems while it goes on. The recorder's thread adds ticks up and hands a batch over once
//! a second; another thread sends it. If that is too slow, batches are dropped and counted: values only grow, so the next one
//! that is delivered has everything.

mod post;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::anyhow;
use engine::Clock;
use evidence::sink::{Sink, SinkError};
use evidence::{Observed, RunEnd, Tick};
use export::Protocol;
use export::live::{Batch, Totals};

use crate::failure::{CommandResult, Failure};
use crate::run_request::OutTarget;
use crate::screen::note;
use crate::tick_readers::MakeReaders;
use post::Poster;

/// How many seconds may wait to be sent.
const QUEUE: usize = 30;
/// How often the last state is sent until it is delivered.
const LAST_ATTEMPTS: usize = 3;
/// Headers of every request, such as `authorization=Bearer …`; OpenTelemetry's variable is read as well. They are for one receiver: with
/// a number behind the name, for that one of several.
const HEADERS_VARIABLE: &str = "PLIMSOLL_OUT_HEADERS";
const OTLP_HEADERS_VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Sends the series of a run to one place.
struct LiveOutput {
    totals: Totals,
    clock: Clock,
    sent_s: u32,
    queue: Option<SyncSender<Batch>>,
    /// Batches for which the queue had no space.
    dropped: u64,
    /// Comes to its end when the queue is gone: what became of the batches.
    sending: Option<JoinHandle<Delivery>>,
    name: &'static str,
}

/// What became of the batches that were to be sent.
#[derive(Default)]
struct Delivery {
    delivered: u64,
    failed: u64,
    first_failure: Option<String>,
    /// Whether the last state was delivered.
    is_complete: bool,
}

/// The readers that there are already, and those that send series to these places.
pub(crate) fn with_readers(
    others: Option<MakeReaders>,
    outs: &[OutTarget],
    run: &str,
) -> CommandResult<Option<MakeReaders>> {
    if outs.is_empty() {
        return Ok(others);
    }
    let (destinations, run) = (destinations(outs)?, run.to_owned());
    Ok(Some(Box::new(move |handles| {
        let mut readers = others.map(|make| make(handles)).unwrap_or_default();
        for destination in destinations {
            match LiveOutput::start(destination, &run, handles.clock) {
                Ok(output) => readers.push(Box::new(output)),
                Err(error) => note(format_args!("--out: nothing is sent: {error}")),
            }
        }
        readers
    })))
}

/// A place whose address and headers are usable.
struct Destination {
    protocol: Protocol,
    poster: Poster,
}

/// The places of the command line, checked before anything is sent.
fn destinations(asked: &[OutTarget]) -> CommandResult<Vec<Destination>> {
    let named = |(target, number): (&OutTarget, usize)| {
        let own = headers_of(&format!("{HEADERS_VARIABLE}_{number}"))?;
        let shared = shared_headers(target, asked)?;
        Ok(Destination::new(target, shared.into_iter().chain(own)))
    };
    asked.iter().zip(1..).map(named).collect()
}

/// The headers of the variables that name no receiver, for this one of them.
fn shared_headers(target: &OutTarget, all: &[OutTarget]) -> CommandResult<Vec<(String, String)>> {
    let mut shared = Vec::new();
    for variable in [OTLP_HEADERS_VARIABLE, HEADERS_VARIABLE] {
        let is_read_by =
            |target: &&OutTarget| variable == HEADERS_VARIABLE || target.protocol == Protocol::Otlp;
        let headers = headers_of(variable)?;
        if headers.is_empty() || !is_read_by(&target) {
            continue;
        }
        if all.iter().filter(is_read_by).any(|other| origin(&other.url) != origin(&target.url)) {
            return Err(Failure::usage(anyhow!(
                "{variable} would be sent to receivers of different origins: set {HEADERS_VARIABLE}_1 for the first --out, \
                 {HEADERS_VARIABLE}_2 for the second, instead"
            )));
        }
        shared.extend(headers);
    }
    Ok(shared)
}

/// Scheme and server of a URL.
fn origin(url: &str) -> String {
    let server = url.find("://").map_or(0, |at| at + 3);
    let end = url[server..].find(['/', '?', '#']).map_or(url.len(), |at| server + at);
    url[..end].to_ascii_lowercase()
}

impl Destination {
    fn new(target: &OutTarget, given: impl Iterator<Item = (String, String)>) -> Destination {
        let fixed = target.protocol.headers().iter();
        let fixed = fixed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let poster = Poster::new(target.url.clone(), fixed.chain(given).collect());
        Destination { protocol: target.protocol, poster }
    }
}

/// `name=value,name=value`, as OpenTelemetry's variable has it.
fn headers_of(variable: &str) -> CommandResult<Vec<(String, String)>> {
    let text = std::env::var(variable).unwrap_or_default();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let split =
            pair.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        // The text is a secret: it is not quoted.
        split.ok_or_else(|| Failure::usage(anyhow!("{variable}: expected name=value, separated by commas")))
    };
    pairs.map(pair).collect()
}

impl LiveOutput {
    /// Begin to send the series of the run of this name.
    fn start(destination: Destination, run: &str, clock: Clock) -> std::io::Result<LiveOutput> {
        let (queue, batches) = sync_channel(QUEUE);
        let name = destination.protocol.name();
        let thread = std::thread::Builder::new().name("live-output".to_owned());
        let sending = thread.spawn(move || send_all(&destination, &batches))?;
        let start_unix_ms = i64::try_from(clock.epoch_unix_ns() / 1_000_000).unwrap_or_default();
        let totals = Totals::new(run, start_unix_ms);
        let (queue, sending) = (Some(queue), Some(sending));
        Ok(LiveOutput { totals, clock, sent_s: 0, queue, dropped: 0, sending, name })
    }

    fn batch(&mut self) -> Batch {
        self.totals.batch(self.clock.now().as_nanos() / 1_000_000)
    }

    fn report(&self, delivery: &Delivery) {
        let Delivery { delivered, failed, first_failure, is_complete } = delivery;
        if *is_complete && self.dropped + failed == 0 {
            return;
        }
        let lost = self.dropped + failed;
        let of = delivered + lost;
        let why = match first_failure {
            Some(why) => format!(": {why}"),
            None => ": they came faster than they could be sent".to_owned(),
        };
        let last = if *is_complete { "the last state was" } else { "the last state was not either" };
        note(format_args!(
            "{}: {lost} of {of} seconds were not delivered{why}; {last}; the run file has everything",
            self.name
        ));
    }
}

/// Send batches until there are no more; the last one again until it is delivered.
fn send_all(destination: &Destination, batches: &Receiver<Batch>) -> Delivery {
    let mut delivery = Delivery::default();
    let mut last = None;
    while let Ok(batch) = batches.recv() {
        match destination.send(&batch) {
            Ok(()) => {
                delivery.delivered += 1;
                delivery.is_complete = true;
            }
            Err(why) => {
                delivery.failed += 1;
                delivery.is_complete = false;
                if delivery.first_failure.is_none() {
                    note(format_args!("{}: {why}", destination.protocol.name()));
                    delivery.first_failure = Some(why);
                }
            }
        }
        last = Some(batch);
    }
    if let Some(last) = last.filter(|_| !delivery.is_complete) {
        delivery.is_complete = (0..LAST_ATTEMPTS).any(|_| destination.send(&last).is_ok());
    }
    delivery
}

impl Destination {
    fn send(&self, batch: &Batch) -> Result<(), String> {
        let body = self.protocol.body(batch).map_err(|error| error.to_string())?;
        self.poster.send(&body)
    }
}

impl Sink for LiveOutput {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.totals.take(tick);
        Ok(())
    }

    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError> {
        self.totals.take_observed(observed);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        let seconds = self.totals.seconds();
        if seconds > self.sent_s && self.queue.is_some() {
            self.sent_s = seconds;
            let batch = self.batch();
            if self.queue.as_ref().is_some_and(|queue| queue.try_send(batch).is_err()) {
                self.dropped += 1;
            }
        }
        Ok(())
    }

    /// The load is over: what waits is sent, and the last state after it.
    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        if let Some(queue) = self.queue.take() {
            // That its receiver is gone is reported below.
            let _ = queue.send(self.batch());
        }
        if let Some(Ok(delivery)) = self.sending.take().map(JoinHandle::join) {
            self.report(&delivery);
        }
        Ok(())
    }
}
