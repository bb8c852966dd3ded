//! Loads that a game causes: the usual mix, a burst of new players, ten thousand events a second, a thousand connections,
//! five hundred goals for every player, and a load on a process that is not warm.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::MeasurementResult;
use super::capacity::require_last_values;
use super::fixture::{BenchContext, Load, Setup};
use crate::bench::row::Row;
use crate::bench::run_report::{EndpointRow, RunReport};

/// 300 requests and 500 events a second over ten thousand players.
pub(super) fn mix(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let fixture = context.fixture_with_players(&Setup::default())?;
    let report = fixture.offer(&context.load("mix"))?;
    fixture.end()?;
    let mut found = MeasurementResult::row(Row::of_run("mix", &report, "challenge"));
    let of_endpoint = |row| Row::of_endpoint(format!("mix: {}", named(&row)), row);
    found.rows.extend(report.endpoints().map(of_endpoint));
    found.add_claims("mix", &report);
    Ok(found)
}

fn named(row: &EndpointRow<'_>) -> String {
    format!("{} ({})", row.name(), row.scenario())
}

/// 600 new players a second, for a minute unless the options set less.
pub(super) fn burst(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let fixture = context.fixture(&Setup::default())?;
    let report = fixture.offer(&Load::of("burst").for_time(context.options.time_scale().min(1.0)))?;
    fixture.end()?;
    let mut found = MeasurementResult::row(Row::of_run("600 new players a second", &report, "challenge"));
    found.add_claims("burst", &report);
    Ok(found)
}

/// 10,000 events a second on one processor, the generator on another, where there are two.
pub(super) fn ten_thousand_events(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let is_apart = processors > 1 && Command::new("taskset").arg("--version").output().is_ok();
    let one = |processor| is_apart.then_some(processor);
    let setup = Setup { processors: one("0"), ..Setup::default() };
    let fixture = context.fixture_with_players(&setup)?;
    let report = fixture.offer(&Load { processors: one("1"), ..context.load("events-10k") })?;
    let mut found = MeasurementResult::row(
        Row::of_run("10,000 events a second", &report, "events").with_required(Some(10_000.0)),
    );
    found.notes.extend(require_last_values(&fixture, "events-10k", &report)?);
    fixture.end()?;
    found.add_claims("events-10k", &report);
    if is_apart {
        let whose =
            if report.database_cpu_s.is_some() { "the generator and the database" } else { "the generator" };
        let shared = if report.database_cpu_s.is_some() { "; the database may use both" } else { "" };
        found
            .notes
            .push(format!("`events-10k`: processor 0 was the service's, processor 1 {whose}'s{shared}"));
    } else {
        found.notes.push("`events-10k`: the processors were shared by all".to_owned());
    }
    Ok(found)
}

/// A thousand connections of each kind, kept open.
pub(super) fn connections(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let fixture = context.fixture_with_players(&Setup::default())?;
    let report = fixture.offer(&context.load("connections"))?;
    fixture.end()?;
    let mut found =
        MeasurementResult::row(Row::of_run("2 × 1,000 connections kept open", &report, "challenge"));
    let row_of = |row: EndpointRow<'_>| row.name() != "health";
    let rows = report.endpoints().filter(|row| row_of(*row));
    found.rows.extend(rows.map(|row| Row::of_endpoint(format!("connections: {}", row.name()), row)));
    found.add_claims("connections", &report);
    Ok(found)
}

/// Every goal for every player.
pub(super) fn all_default(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let file = context.folder.join("all-default.json");
    let mut generate = Command::new(context.workspace.binary("challenge"));
    generate.args(["config", "generate", "--challenges", "10", "--goals", "50", "--default", "500"]);
    let output = generate.output().context("cannot start challenge config generate")?;
    ensure!(output.status.success(), "challenge config generate ended with {}", output.status);
    std::fs::write(&file, output.stdout).with_context(|| format!("cannot write {}", file.display()))?;
    let environment = vec![("CHALLENGE_CONFIG_PATH", file.display().to_string())];
    let fixture = context.fixture(&Setup { environment, ..Setup::default() })?;
    let report = fixture.offer(&context.load("all-default"))?;
    fixture.end()?;
    let mut found =
        MeasurementResult::row(Row::of_run("all 500 goals for every player", &report, "challenge"));
    let rows = report.endpoints().filter(|row| row.ended() > 0);
    found.rows.extend(rows.map(|row| Row::of_endpoint(format!("all 500: {}", row.name()), row)));
    found.add_claims("all-default", &report);
    Ok(found)
}

/// The same load on a process that has just printed its ready line, and again when it is warm.
pub(super) fn cold(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let fixture = context.fixture_with_players(&Setup::default())?.restart()?;
    let mut found = MeasurementResult::default();
    for name in ["cold", "warm"] {
        let report = fixture.offer(&context.load("cold"))?;
        found.rows.extend(lines(name, &report));
        if name == "cold" {
            found.add_claims("cold", &report);
        }
    }
    fixture.end()?;
    Ok(found)
}

fn lines(name: &str, report: &RunReport) -> Vec<Row> {
    let whole = Row::of_run(format!("{name} start"), report, "challenge");
    let of_endpoint = |row: EndpointRow<'_>| Row::of_endpoint(format!("{name}: {}", row.name()), row);
    std::iter::once(whole).chain(report.endpoints().map(of_endpoint)).collect()
}
