//! How much one CPU-second of the service does of each operation: as fast as 64 callers get answers, then on
//! schedule, each on a fresh database.

use anyhow::{Result, ensure};

use super::Found;
use super::fixture::{BenchContext, Fixture, Load, PLAYERS, PREPARATION, Setup};
use super::player::Player;
use crate::bench::row::Row;
use crate::bench::seen::Seen;

/// What the events of the plans move: the one default goal that watches `damage_dealt`.
const MOVED_GOAL: &str = "goal-004-01";

/// What is measured of one operation.
struct Operation {
    /// The plan that offers it as fast as it is answered, and the one with a schedule.
    plans: [&'static str; 2],
    /// The plans' name for the service.
    target: &'static str,
    /// How many of them a CPU-second of the service is asked to do.
    asked: Option<f64>,
    begin: Begin,
}

/// What an operation begins from.
#[derive(Clone, Copy)]
enum Begin {
    /// An empty database.
    Empty,
    /// The players of `prepare.toml`.
    Players,
}

/// Lists of all goals.
pub(super) fn list(context: &BenchContext<'_>) -> Result<Found> {
    let plans = ["list-flat-out", "list"];
    measure(context, &Operation { plans, target: "challenge", asked: Some(7_300.0), begin: Begin::Players })
}

/// First starts.
pub(super) fn initialize_new(context: &BenchContext<'_>) -> Result<Found> {
    let plans = ["initialize-new-flat-out", "initialize-new"];
    measure(context, &Operation { plans, target: "challenge", asked: Some(10_000.0), begin: Begin::Empty })
}

/// Later starts.
pub(super) fn initialize_returning(context: &BenchContext<'_>) -> Result<Found> {
    let plans = ["initialize-returning-flat-out", "initialize-returning"];
    measure(context, &Operation { plans, target: "challenge", asked: Some(22_000.0), begin: Begin::Players })
}

/// Goals that players choose.
pub(super) fn set_active(context: &BenchContext<'_>) -> Result<Found> {
    let plans = ["set-active-flat-out", "set-active"];
    measure(context, &Operation { plans, target: "challenge", asked: None, begin: Begin::Players })
}

/// Events, each of which changes one row: the rows are read afterwards.
pub(super) fn events(context: &BenchContext<'_>) -> Result<Found> {
    let plans = ["events-flat-out", "events"];
    measure(context, &Operation { plans, target: "events", asked: Some(15_000.0), begin: Begin::Players })
}

/// Claims: each player has one goal to claim, so there is a schedule only, and it is not longer than planned.
pub(super) fn claim(context: &BenchContext<'_>) -> Result<Found> {
    let fixture = context.fixture_with_players(&Setup::default())?;
    fixture.offer_to_all(&Load::of("achieve").for_time(PREPARATION).at(1.0 / PREPARATION))?;
    let seen = fixture.offer(&Load::of("claim").for_time(context.options.time_scale().min(1.0)))?;
    fixture.end()?;
    let mut found = Found::row(Row::of_run("claim", (&seen, "challenge")));
    found.claim(("claim", &seen));
    Ok(found)
}

fn measure(context: &BenchContext<'_>, operation: &Operation) -> Result<Found> {
    let mut found = Found::default();
    for plan in operation.plans {
        let setup = Setup::default();
        let fixture = match operation.begin {
            Begin::Empty => context.fixture(&setup)?,
            Begin::Players => context.fixture_with_players(&setup)?,
        };
        let seen = fixture.offer(&context.load(plan))?;
        if operation.target == "events" {
            found.notes.extend(require_last_values(&fixture, (plan, &seen))?);
        }
        fixture.end()?;
        let row = Row::of_run(plan.replace('-', " "), (&seen, operation.target));
        found.rows.push(row.asked(operation.asked));
        found.claim((plan, &seen));
    }
    Ok(found)
}

/// Reads every player's goal and compares it with the last event that was sent for it. Players take turns and
/// values rise by one with every event, so a value that is right means that all events before it are not in its way
/// and the last was written; and no two events of a player were under way at once, so each changed the row.
///
/// # Errors
/// When a row is not what the events make it.
pub(super) fn require_last_values(
    fixture: &Fixture<'_>,
    (plan, seen): (&str, &Seen),
) -> Result<Option<String>> {
    if seen.errors() > 0 {
        let note = format!(
            "`{plan}`: not every event was acknowledged ({}), so the rows were not compared",
            seen.outcomes()
        );
        return Ok(Some(note));
    }
    let mut player = Player::connect(fixture.service.address("http")?)?;
    for number in 0..PLAYERS {
        let expected = last_value(number, seen.ok());
        let found = player.progress((&format!("player-{}", number + 1), MOVED_GOAL))?;
        ensure!(
            found == expected,
            "{plan}: player-{} has {found}, the last event said {expected}",
            number + 1
        );
    }
    Ok(Some(format!(
        "`{plan}`: {} events were acknowledged, and the rows of all {PLAYERS} players hold the last value sent",
        seen.ok()
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
    fn players_take_turns() {
        assert_eq!((last_value(0, 0), last_value(3, 3), last_value(3, 4)), (0, 0, 3));
        assert_eq!((last_value(0, PLAYERS), last_value(0, PLAYERS + 1)), (0, PLAYERS));
        assert_eq!(last_value(9_999, 3 * PLAYERS), 3 * PLAYERS - 1);
        assert_eq!(last_value(5, 2 * PLAYERS + 6), 2 * PLAYERS + 5);
        assert_eq!(last_value(5, 2 * PLAYERS + 5), PLAYERS + 5);
    }
}
