//! One comparison: every generator that can, in every round, in an order that moves on by one each time.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::Rounds;
use super::measured::Measured;
use super::options::Options;
use super::ratio::{Spread, median};
use super::target::Target;
use super::tool::{Contender, Offer};
use crate::bench::table::{Table, count, figure};
use crate::workspace::Workspace;

/// What is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bench) enum Lane {
    Http1,
    /// In cleartext, as known beforehand.
    Http2,
    Grpc,
}

/// What is offered.
pub(super) struct Contest {
    pub(super) name: &'static str,
    pub(super) lane: Lane,
    pub(super) connections: u32,
    /// Requests under way at once on each connection.
    pub(super) in_flight: u32,
    pub(super) rounds: Rounds,
    /// How long users think before each request; then it is about memory alone, and lasts three such times.
    pub(super) think_s: u64,
}

/// One generator's runs, round by round.
struct Runs {
    contender: Contender,
    rounds: Vec<Measured>,
}

impl Runs {
    fn spread(&self, of: impl Fn(&Measured) -> f64) -> Spread {
        Spread::of(self.rounds.iter().map(of).collect())
    }
}

impl Measured {
    /// Microseconds of processor time for a request, which are CPU-seconds for a million.
    fn cpu_us(&self) -> f64 {
        self.cpu_s * 1e6 / self.requests.max(1) as f64
    }
}

impl Contest {
    /// How many requests are under way at once in all.
    pub(super) fn users(&self) -> u32 {
        self.connections * self.in_flight
    }

    /// For how long each generator offers load in each round.
    fn seconds(&self, options: &Options) -> u64 {
        if self.think_s == 0 { options.seconds } else { 3 * self.think_s + self.think_s / 2 }
    }

    /// Holds all rounds and makes a table of them.
    ///
    /// # Errors
    /// When a generator does not do what it should.
    pub(super) fn hold(
        &self,
        (workspace, options): (&Workspace, &Options),
        (target, folder): (&Target, &Path),
        entrants: &[Contender],
    ) -> Result<Table> {
        let mut runs: Vec<Runs> =
            entrants.iter().map(|&contender| Runs { contender, rounds: Vec::new() }).collect();
        let authority = target.authority(self.lane);
        for round in 0..options.rounds(self.rounds) {
            for turn in 0..runs.len() {
                let place = (round as usize + turn) % runs.len();
                let is_first = round == 0;
                let seconds = self.seconds(options);
                let offer =
                    Offer { workspace, contest: self, authority: &authority, seconds, folder, is_first };
                let contender = runs[place].contender;
                let measured = contender.run(&offer).with_context(|| contender.name().to_owned())?;
                runs[place].rounds.push(measured);
            }
        }
        Ok(if self.think_s == 0 { self.table(&runs, options) } else { self.memory_table(&runs, options) })
    }

    fn table(&self, runs: &[Runs], options: &Options) -> Table {
        let ours = runs.iter().find(|one| one.contender == Contender::Plimsoll);
        let row = |one: &Runs| {
            let rate =
                median(one.rounds.iter().map(|r| r.requests as f64 / options.seconds as f64).collect());
            let cpu = one.spread(Measured::cpu_us);
            let memory = one.spread(|round| round.resident_mb);
            let ratio = ours.map(|ours| {
                let pairs = ours.rounds.iter().zip(&one.rounds);
                Spread::of(pairs.map(|(ours, theirs)| ours.cpu_us() / theirs.cpu_us()).collect())
            });
            let ratio = ratio.filter(|_| one.contender != Contender::Plimsoll);
            vec![
                one.contender.name().to_owned(),
                count(rate),
                format!("{:.2} ({:.2}–{:.2})", cpu.median, cpu.least, cpu.most),
                count(1e6 / cpu.median),
                figure(Some(memory.most), 0),
                ratio.map_or_else(|| "–".to_owned(), |ratio| ratio.with_interval()),
            ]
        };
        let (rounds, seconds) = (options.rounds(self.rounds), self.seconds(options));
        Table {
            title: String::new(),
            head: &[
                "generator",
                "requests/s",
                "CPU-s per million requests: median (min–max)",
                "requests per CPU-s",
                "resident MB",
                "Plimsoll's CPU ÷ its CPU [interval]",
            ],
            rows: runs.iter().map(row).collect(),
            notes: vec![format!("{rounds} rounds of {seconds} s each, one generator after the other")],
        }
    }

    /// What users that mostly think take.
    fn memory_table(&self, runs: &[Runs], options: &Options) -> Table {
        let users = f64::from(self.users());
        let row = |one: &Runs| {
            let memory = one.spread(|round| round.resident_mb);
            let requests = median(one.rounds.iter().map(|round| round.requests as f64).collect());
            vec![
                one.contender.name().to_owned(),
                count(users),
                count(requests),
                figure(Some(one.spread(|round| round.cpu_s).median), 2),
                figure(Some(memory.most), 1),
                figure(Some(memory.most * 1e3 / users), 1),
            ]
        };
        let (rounds, seconds) = (options.rounds(self.rounds), self.seconds(options));
        Table {
            title: String::new(),
            head: &["generator", "users", "requests", "CPU-s", "resident MB", "kB a user"],
            rows: runs.iter().map(row).collect(),
            notes: vec![format!("{rounds} rounds of {seconds} s each; users think for {} s", self.think_s)],
        }
    }
}
