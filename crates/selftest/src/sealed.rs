//! How often a diagnosis names the limit of services that were drawn by seeds nobody had seen: each is recorded into a run file, and that
//! is diagnosed as any other.

use std::path::Path;

use archive::{Overwrite, Stored, Writer};
use conduct::failure::{CommandResult, Failure};
use conduct::judged::{self, StoredRun};
use evidence::diagnosis::{Diagnosis, LedgerLine, LedgerStanding};
use evidence::{Observed, RunEnd, SeriesKey, Sink, SinkError, Tick};
use simulation::{Cause, NamedCounts, SealedCase, Visibility};

/// From this share on the rule of high use calls a resource the limit.
const HIGH_USE: f64 = 0.9;
/// A wait is so much of the growth where it explains it.
const EXPLAINS: f64 = 0.4;

/// By which rule a limit is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The diagnosis.
    Ledger,
    /// The diagnosis of a file without the series of waits.
    WithoutWaits,
    /// The diagnosis, if a pool that is held for longer were a limit as any other.
    WithoutNesting,
    /// The resource with the highest use where it breaks.
    HighestUse,
    /// The same, from a use of 90 % on.
    HighUse,
}

/// Every rule.
pub const RULES: [NamedBy; 5] =
    [NamedBy::Ledger, NamedBy::WithoutWaits, NamedBy::WithoutNesting, NamedBy::HighestUse, NamedBy::HighUse];

/// What became of one case.
#[derive(Debug, Clone)]
pub struct JudgedCase {
    /// What was planted.
    pub cause: Cause,
    /// What of the limit is to be seen.
    pub visibility: Visibility,
    limit: Option<String>,
    named: Vec<(NamedBy, Option<String>)>,
}

impl JudgedCase {
    /// How each case of `cases` was named by a rule. A case without a visible limit is right where nothing is named.
    pub fn counts<'c>(cases: impl Iterator<Item = &'c JudgedCase>, by: NamedBy) -> NamedCounts {
        let mut counts = NamedCounts::default();
        for case in cases {
            let named = case.named.iter().find(|(rule, _)| *rule == by).and_then(|(_, named)| named.as_ref());
            match named {
                Some(named) if Some(named) == case.limit.as_ref() => counts.right += 1,
                Some(_) => counts.wrong += 1,
                None => counts.none += 1,
            }
        }
        counts
    }
}

/// Judge the case of a seed; its files are kept in `folder` meanwhile.
///
/// # Errors
/// [`Failure`] when a file cannot be written or read.
pub fn judge(seed: u64, folder: &Path) -> CommandResult<JudgedCase> {
    let case = SealedCase::draw(seed);
    let whole = diagnosed(&case, &folder.join(format!("{seed}.plimsoll")), Kept::All)?;
    let without = diagnosed(&case, &folder.join(format!("{seed}-without.plimsoll")), Kept::WithoutWaits)?;
    let named = RULES.map(|rule| {
        let named = match rule {
            NamedBy::Ledger => whole.limit.clone(),
            NamedBy::WithoutWaits => without.limit.clone(),
            NamedBy::WithoutNesting => without_nesting(&whole),
            NamedBy::HighestUse => highest_use(&whole, 0.0),
            NamedBy::HighUse => highest_use(&whole, HIGH_USE),
        };
        (rule, named)
    });
    Ok(JudgedCase {
        cause: case.cause,
        visibility: case.visibility(),
        limit: case.limit(),
        named: named.into(),
    })
}

/// Which series a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    All,
    WithoutWaits,
}

fn diagnosed(case: &SealedCase, path: &Path, kept: Kept) -> CommandResult<Diagnosis> {
    let writer = Writer::create(path, &case.manifest(), Overwrite::Refuse).map_err(Failure::own)?;
    case.record(&mut Filtered { writer, kept }).map_err(Failure::own)?;
    let StoredRun { run, workload, provenance } =
        StoredRun::judge(Stored::open(path).map_err(Failure::own)?)?;
    let diagnosis = judged::diagnosis(&run, &workload, provenance)?;
    drop(run);
    std::fs::remove_file(path).map_err(Failure::own)?;
    Ok(diagnosis)
}

/// A run file that leaves out what it is not to have.
struct Filtered {
    writer: Writer,
    kept: Kept,
}

impl Filtered {
    fn keeps(&self, series: &SeriesKey) -> bool {
        let is_wait = series.name.contains("_wait")
            || ["run_delay", "http_client_request_duration_seconds_sum"].contains(&&*series.name);
        self.kept == Kept::All || !is_wait
    }
}

impl Sink for Filtered {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.writer.tick(tick)
    }

    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError> {
        let samples = observed.samples.iter().filter(|(series, _)| self.keeps(series)).cloned().collect();
        self.writer.observed(&Observed { samples, ..observed.clone() })
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.writer.flush()
    }

    fn end(&mut self, end: &RunEnd) -> Result<(), SinkError> {
        self.writer.end(end)
    }
}

/// What would be named if a pool that is held for longer as the load grows were no symptom.
fn without_nesting(diagnosis: &Diagnosis) -> Option<String> {
    let is_candidate = |line: &&LedgerLine| {
        use LedgerStanding::{Candidate, HeldForLonger, Limits};
        matches!(line.standing, Candidate | HeldForLonger | Limits)
    };
    let candidates: Vec<&LedgerLine> = diagnosis.ledger.iter().filter(is_candidate).collect();
    match candidates[..] {
        [one] if one.standing == LedgerStanding::Limits || one.wait_growth >= Some(EXPLAINS) => {
            Some(one.resource.clone())
        }
        _ => None,
    }
}

/// The resource with the highest use where it breaks, or at the highest load, if that is at least `least`.
fn highest_use(diagnosis: &Diagnosis, least: f64) -> Option<String> {
    let share = |line: &LedgerLine| Some(line.used_at_break? / line.limit?);
    let shares = diagnosis.ledger.iter().filter_map(|line| Some((share(line)?, &line.resource)));
    let highest = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (highest.0 >= least).then(|| highest.1.clone())
}

#[cfg(test)]
mod tests;
