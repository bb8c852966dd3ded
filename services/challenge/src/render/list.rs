//! The challenge list: one text prepared for a user without rows, and the user's own parts put into its gaps.

use super::body::Chunks;
use super::{goal, quoted};
use crate::catalog::{Catalog, GoalIx};
use crate::rules::UserGoals;
use crate::view::{GoalView, Shown};
use bytes::Bytes;
use kit::clock::UtcMs;
use std::ops::Range;

/// The list with gaps.
pub struct ListTemplate {
    /// The whole list as a user without rows sees it.
    text: Bytes,
    /// Where each goal stands in it, in document order.
    goals: Vec<GoalPlace>,
    /// Where each challenge's opening, up to and with `"goals":[`, stands in it.
    openings: Vec<Range<usize>>,
}

struct GoalPlace {
    start: usize,
    /// The user's own fields and the closing brace: the gap.
    own: Range<usize>,
}

const OPENING: &str = r#"{"challenges":["#;
const CLOSING: &str = "]}";

impl ListTemplate {
    /// Prepares the list of a catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let nobody = UserGoals::default();
        let mut text = OPENING.to_owned();
        let mut goals = Vec::new();
        let mut openings = Vec::new();
        for challenge in &catalog.challenges {
            separate(&mut text);
            let start = text.len();
            let [id, name, description] =
                [&challenge.id, &challenge.name, &challenge.description].map(|part| quoted(part));
            text += &format!(r#"{{"challengeId":{id},"name":{name},"description":{description},"goals":["#);
            openings.push(start..text.len());
            for ix in challenge.goals.clone().map(GoalIx) {
                separate(&mut text);
                let start = text.len();
                text += &goal::common(catalog.goal(ix));
                let own_start = text.len();
                goal::own(&mut text, &GoalView::of((catalog, &nobody), ix, UtcMs(0)));
                goals.push(GoalPlace { start, own: own_start..text.len() });
            }
            text += CLOSING;
        }
        text += CLOSING;
        Self { text: text.into(), goals, openings }
    }

    /// The list for a user.
    #[must_use]
    pub fn render(&self, catalog: &Catalog, user: &UserGoals, (shown, now): (Shown, UtcMs)) -> Chunks {
        match shown {
            Shown::All => self.all((catalog, user), now),
            Shown::Active => Chunks::new(vec![self.active((catalog, user), now).into()]),
        }
    }

    fn all(&self, (catalog, user): (&Catalog, &UserGoals), now: UtcMs) -> Chunks {
        let mut own = String::new();
        let parts: Vec<(Range<usize>, Range<usize>)> = differing(catalog, user)
            .into_iter()
            .map(|ix| {
                let start = own.len();
                goal::own(&mut own, &GoalView::of((catalog, user), ix, now));
                (self.goals[ix.0 as usize].own.clone(), start..own.len())
            })
            .collect();
        let own = Bytes::from(own);
        let mut slices = Vec::with_capacity(2 * parts.len() + 1);
        let mut done = 0;
        for (gap, filling) in parts {
            slices.push(self.text.slice(done..gap.start));
            slices.push(own.slice(filling));
            done = gap.end;
        }
        slices.push(self.text.slice(done..));
        Chunks::new(slices)
    }

    fn active(&self, (catalog, user): (&Catalog, &UserGoals), now: UtcMs) -> String {
        let text = std::str::from_utf8(&self.text).unwrap_or_default();
        let mut out = OPENING.to_owned();
        for (challenge, opening) in catalog.challenges.iter().zip(&self.openings) {
            separate(&mut out);
            out += &text[opening.clone()];
            for ix in challenge.goals.clone().map(GoalIx) {
                if Shown::Active.includes(user, ix) {
                    let place = &self.goals[ix.0 as usize];
                    separate(&mut out);
                    out += &text[place.start..place.own.start];
                    goal::own(&mut out, &GoalView::of((catalog, user), ix, now));
                }
            }
            out += CLOSING;
        }
        out += CLOSING;
        out
    }
}

/// Goals that this user sees otherwise than a user without rows, in document order: those with a row, and those
/// that a completed one may have unlocked.
fn differing(catalog: &Catalog, user: &UserGoals) -> Vec<GoalIx> {
    let mut goals = Vec::with_capacity(user.rows().len());
    for row in user.rows() {
        goals.push(row.goal);
        if row.completed_at.is_some() {
            goals.extend(catalog.dependants(row.goal));
        }
    }
    goals.sort_unstable();
    goals.dedup();
    goals
}

/// A comma between two entries of a list.
fn separate(out: &mut String) {
    if !out.ends_with('[') {
        out.push(',');
    }
}
