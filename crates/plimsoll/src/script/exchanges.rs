//! `plimsoll run SCRIPT --once`: every exchange is shown as it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use conduct::{once, screen, standard_output};
use evidence::sink::{Sink, SinkError};
use evidence::{Exemplar, Name, Observed, Outcome, RunEnd, TerminalText, Tick};
use report::number::counted;

/// How many exchanges were shown, and how many of them failed.
#[derive(Debug, Default)]
pub(super) struct ShownExchanges {
    all: AtomicU64,
    failed: AtomicU64,
}

impl ShownExchanges {
    /// Shows those of a run's ticks, and counts them here.
    pub(super) fn reader(self: &Arc<Self>) -> Box<dyn Sink + Send> {
        Box::new(ExchangePrinter(self.clone()))
    }

    /// Show these, and count them; with this function in place of the scenario, if one is named.
    pub(super) fn show<'e>(&self, exchanges: impl IntoIterator<Item = &'e Exemplar>, function: Option<&str>) {
        for exchange in exchanges {
            let scenario = function.map_or_else(|| exchange.scenario.clone(), Name::from);
            let exchange = &Exemplar { scenario, ..exchange.clone() };
            self.all.fetch_add(1, Ordering::Relaxed);
            let is_failure = exchange.outcome != Outcome::Ok;
            self.failed.fetch_add(u64::from(is_failure), Ordering::Relaxed);
            let mut text = TerminalText::default();
            text.append(&once::show(exchange)).line("");
            // Where this fails, so does the summary that follows, which says so.
            let _ = standard_output::print(&text);
        }
    }

    /// What there was, in one line.
    pub(super) fn note(&self) {
        let [all, failed] = [&self.all, &self.failed].map(|count| count.load(Ordering::Relaxed));
        screen::note(format_args!("--once: {}, {failed} failed", counted(all, "exchange")));
    }
}

/// The exchanges of ticks.
pub(super) fn exchanges_of(ticks: &[Tick]) -> impl Iterator<Item = &Exemplar> {
    ticks.iter().flat_map(|tick| &tick.exemplars)
}

struct ExchangePrinter(Arc<ShownExchanges>);

impl Sink for ExchangePrinter {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.0.show(&tick.exemplars, None);
        Ok(())
    }

    fn observed(&mut self, _: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    fn end(&mut self, _: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
