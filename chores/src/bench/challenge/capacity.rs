//! How much one CPU-second of the service does of each operation: as fast as 64 callers get answers, then on
//! schedule, each on a fresh database.

use anyhow::{Result, ensure};

use super::MeasurementResult;
use super::fixture::{BenchContext, Fixture, Load, PLAYERS, PREPARATION, Setup};
use super::player::Player;
use crate::bench::row::Row;
use crate::bench::run_report::RunReport;

/// The goal that the events of the plans advance: the one default goal on `damage_dealt`.
const MOVED_GOAL: &str = "goal-004-01";

/// One operation to measure.
struct Operation {
    /// The plan with a closed model, and the one with a schedule.
    plans: [&'static str; 2],
    /// The plans' name for the service.
    target: &'static str,
    /// How many of them a CPU-second of the service is required to do.
    required_per_cpu_s: Option<f64>,
    begin: Begin,
}

/// The database that an operation begins with.
#[derive(Clone, Copy)]
enum Begin {
    /// An empty database.
    Empty,
    /// The players of `prepare.toml`.
    Players,
}

/// Lists of all goals.
pub(super) fn list(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let plans = ["list-flat-out", "list"];
    measure(
        context,
        &Operation { plans, target: "challenge", required_per_cpu_s: Some(7_300.0), begin: Begin::Players },
    )
}

/// First starts; also with a quarter of the callers, whose groups of writes are small.
pub(super) fn initialize_new(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let required_per_cpu_s = Some(10_000.0);
    let plans = ["initialize-new-flat-out", "initialize-new"];
    let mut found =
        measure(context, &Operation { plans, target: "challenge", required_per_cpu_s, begin: Begin::Empty })?;
    let fixture = context.fixture(&Setup::default())?;
    let report = fixture.offer(&context.load(plans[0]).at(0.25))?;
    fixture.end()?;
    let row = Row::of_run("initialize new, 16 callers", &report, "challenge");
    found.rows.insert(1, row.with_required(required_per_cpu_s));
    Ok(found)
}

/// Later starts.
pub(super) fn initialize_returning(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let plans = ["initialize-returning-flat-out", "initialize-returning"];
    measure(
        context,
        &Operation { plans, target: "challenge", required_per_cpu_s: Some(22_000.0), begin: Begin::Players },
    )
}

/// Goals that players choose.
pub(super) fn set_active(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let plans = ["set-active-flat-out", "set-active"];
    measure(
        context,
        &Operation { plans, target: "challenge", required_per_cpu_s: None, begin: Begin::Players },
    )
}

/// Events, each of which changes one row: the rows are read afterwards.
pub(super) fn events(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let plans = ["events-flat-out", "events"];
    measure(
        context,
        &Operation { plans, target: "events", required_per_cpu_s: Some(15_000.0), begin: Begin::Players },
    )
}

/// Claims: each player has one goal to claim, so there is a schedule only, and it is not longer than planned.
pub(super) fn claim(context: &BenchContext<'_>) -> Result<MeasurementResult> {
    let fixture = context.fixture_with_players(&Setup::default())?;
    fixture.offer_to_all(&Load::of("achieve").for_time(PREPARATION).at(1.0 / PREPARATION))?;
    let report = fixture.offer(&Load::of("claim").for_time(context.options.time_scale().min(1.0)))?;
    fixture.end()?;
    let mut found = MeasurementResult::row(Row::of_run("claim", &report, "challenge"));
    found.add_claims("claim", &report);
    Ok(found)
}

fn measure(context: &BenchContext<'_>, operation: &Operation) -> Result<MeasurementResult> {
    let mut found = MeasurementResult::default();
    for plan in operation.plans {
        let setup = Setup::default();
        let fixture = match operation.begin {
            Begin::Empty => context.fixture(&setup)?,
            Begin::Players => context.fixture_with_players(&setup)?,
        };
        let report = fixture.offer(&context.load(plan))?;
        if operation.target == "events" {
            found.notes.extend(require_last_values(&fixture, plan, &report)?);
        }
        fixture.end()?;
        let row = Row::of_run(plan.replace('-', " "), &report, operation.target);
        found.rows.push(row.with_required(operation.required_per_cpu_s));
        found.add_claims(plan, &report);
    }
    Ok(found)
}

/// Reads every player's goal and compares it with the last event that was sent for it. Events go to one player after
/// the other and their values rise by one, so a correct value shows that the last event was written and no earlier one
/// after it; and no two events of a player were in flight at once, so each changed the row.
///
/// # Errors
/// When a row differs from the last event.
pub(super) fn require_last_values(
    fixture: &Fixture<'_>,
    plan: &str,
    report: &RunReport,
) -> Result<Option<String>> {
    if report.errors() > 0 {
        let note = format!(
            "`{plan}`: not every event was acknowledged ({}), so the rows were not compared",
            report.outcomes()
        );
        return Ok(Some(note));
    }
    let mut player = Player::connect(fixture.service.address("http")?)?;
    for number in 0..PLAYERS {
        let expected = last_value(number, report.ok());
        let found = player.progress(&format!("player-{}", number + 1), MOVED_GOAL)?;
        ensure!(
            found == expected,
            "{plan}: player-{} has {found}, the last event set {expected}",
            number + 1
        );
    }
    Ok(Some(format!(
        "`{plan}`: {} events were acknowledged, and the rows of all {PLAYERS} players have the last value sent",
        report.ok()
    )))
}

/// The last of the values `0..events` that went to a player, counted from 0; 0 when none did.
fn last_value(player: u64, events: u64) -> u64 {
    match events.checked_sub(player + 1) {
        Some(further) => player + further / PLAYERS * PLAYERS,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_go_to_one_player_after_the_other() {
        assert_eq!((last_value(0, 0), last_value(3, 3), last_value(3, 4)), (0, 0, 3));
        assert_eq!((last_value(0, PLAYERS), last_value(0, PLAYERS + 1)), (0, PLAYERS));
        assert_eq!(last_value(9_999, 3 * PLAYERS), 3 * PLAYERS - 1);
        assert_eq!(last_value(5, 2 * PLAYERS + 6), 2 * PLAYERS + 5);
        assert_eq!(last_value(5, 2 * PLAYERS + 5), PLAYERS + 5);
    }
}
