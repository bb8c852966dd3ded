//! Runs the test programs: side by side while time does not matter to them, then one by one where it does.
//!
//! Most tests wait for processes, so a processor serves several programs at once, and compiles in what they leave. Tests
//! about time would measure their neighbours: `division` lists them, and they run alone.

mod division;
mod job;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use xtask::workspace::Workspace;

use self::job::{Ended, Job};
use super::beside::Beside;
use super::programs::TestProgram;
use crate::steps::Tally;

/// Runs all tests and returns how many passed; `compilation` runs beside those that run side by side.
///
/// # Errors
/// When a test fails that is about time, or that fails again when it runs alone, and when `compilation` fails.
pub(super) fn run(
    workspace: &Workspace,
    programs: &[TestProgram],
    compilation: impl FnOnce() -> Result<()> + Send,
) -> Result<Tally> {
    let (side_by_side, alone) = division::jobs(programs)?;
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let ended = thread::scope(|scope| {
        let compilation = Beside::begin(scope, compilation);
        let ended = run_beside_each_other(workspace, side_by_side, 2 * processors)?;
        compilation.end()?;
        Ok::<_, anyhow::Error>(ended)
    })?;
    for ended in ended {
        tally += ended.tally;
        ensure!(ended.is_explained(), "{} ended without a result: {}", ended.job.name(), ended.status);
        failed.extend(ended.job.again(&ended.failed_tests));
    }
    for job in failed {
        println!(
            "failed beside others, so it runs again alone, and belongs among the timed tests if it passes:"
        );
        let ended = job.run(workspace)?;
        tally.failed -= ended.tally.passed;
        tally.passed += ended.tally.passed;
    }
    for job in alone {
        let ended = job.run(workspace)?;
        ensure!(ended.is_explained(), "{} ended without a result: {}", ended.job.name(), ended.status);
        tally += ended.tally;
    }
    ensure!(tally.failed == 0, "{tally}");
    Ok(tally)
}

/// Runs the jobs in their order, `threads` threads of tests at once.
fn run_beside_each_other<'a>(
    workspace: &Workspace,
    jobs: Vec<Job<'a>>,
    places: usize,
) -> Result<Vec<Ended<'a>>> {
    let waiting = Mutex::new(VecDeque::from(jobs));
    let next = || waiting.lock().ok()?.pop_front();
    thread::scope(|scope| {
        let runners: Vec<_> = (0..places)
            .map(|_| {
                scope.spawn(|| {
                    let mut ended = Vec::new();
                    while let Some(job) = next() {
                        ended.push(job.run(workspace)?);
                    }
                    Ok::<_, anyhow::Error>(ended)
                })
            })
            .collect();
        let mut all = Vec::new();
        for runner in runners {
            all.extend(runner.join().ok().context("a runner of tests panicked")??);
        }
        Ok(all)
    })
}
