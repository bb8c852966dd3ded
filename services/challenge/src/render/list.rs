//! The challenge list: one text prepared for a user without rows, whose gaps are filled with the user's own fields.

use std::ops::Range;

use bytes::Bytes;
use kit::clock::UtcMs;

use super::body::Chunks;
use super::{goal, quoted};
use crate::catalog::{Catalog, GoalIndex};
use crate::rules::UserGoals;
use crate::view::{GoalFilter, GoalView};

/// The prepared list.
pub struct ListTemplate {
    /// The whole list as a user without rows sees it.
    text: Bytes,
    /// The offsets of each goal in it, in document order.
    goals: Vec<GoalOffsets>,
    /// The range of each challenge's opening, up to and including `"goals":[`.
    openings: Vec<Range<usize>>,
}

struct GoalOffsets {
    start: usize,
    /// The gap: the user's own fields and the closing brace.
    user_fields: Range<usize>,
}

const OPENING: &str = r#"{"challenges":["#;
const CLOSING: &str = "]}";

impl ListTemplate {
    /// Prepares the list of a catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let no_goals = UserGoals::default();
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
            for index in challenge.goals.clone().map(GoalIndex) {
                separate(&mut text);
                let start = text.len();
                text += &goal::shared_fields(catalog.goal(index));
                let gap_start = text.len();
                goal::user_fields(&mut text, &GoalView::new(catalog, &no_goals, index, UtcMs(0)));
                goals.push(GoalOffsets { start, user_fields: gap_start..text.len() });
            }
            text += CLOSING;
        }
        text += CLOSING;
        Self { text: text.into(), goals, openings }
    }

    #[must_use]
    pub fn render(&self, catalog: &Catalog, user: &UserGoals, filter: GoalFilter, now: UtcMs) -> Chunks {
        match filter {
            GoalFilter::All => self.all(catalog, user, now),
            GoalFilter::Active => Chunks::new(vec![self.active(catalog, user, now).into()]),
        }
    }

    fn all(&self, catalog: &Catalog, user: &UserGoals, now: UtcMs) -> Chunks {
        let mut own = String::new();
        let parts: Vec<(Range<usize>, Range<usize>)> = differing(catalog, user)
            .into_iter()
            .map(|index| {
                let start = own.len();
                goal::user_fields(&mut own, &GoalView::new(catalog, user, index, now));
                (self.goals[index.0 as usize].user_fields.clone(), start..own.len())
            })
            .collect();
        let own = Bytes::from(own);
        let mut slices = Vec::with_capacity(2 * parts.len() + 1);
        let mut copied = 0;
        for (gap, filling) in parts {
            slices.push(self.text.slice(copied..gap.start));
            slices.push(own.slice(filling));
            copied = gap.end;
        }
        slices.push(self.text.slice(copied..));
        Chunks::new(slices)
    }

    fn active(&self, catalog: &Catalog, user: &UserGoals, now: UtcMs) -> String {
        let text = std::str::from_utf8(&self.text).unwrap_or_default();
        let mut out = OPENING.to_owned();
        for (challenge, opening) in catalog.challenges.iter().zip(&self.openings) {
            separate(&mut out);
            out += &text[opening.clone()];
            for index in challenge.goals.clone().map(GoalIndex) {
                if GoalFilter::Active.includes(user, index) {
                    let offsets = &self.goals[index.0 as usize];
                    separate(&mut out);
                    out += &text[offsets.start..offsets.user_fields.start];
                    goal::user_fields(&mut out, &GoalView::new(catalog, user, index, now));
                }
            }
            out += CLOSING;
        }
        out += CLOSING;
        out
    }
}

/// Goals whose fields may differ from those of a user without rows, in document order: goals with a row, goals that a
/// completed one may have unlocked, and goals with periods, whose end depends on the time.
fn differing(catalog: &Catalog, user: &UserGoals) -> Vec<GoalIndex> {
    let mut goals = Vec::with_capacity(user.rows().len());
    for row in user.rows() {
        goals.push(row.goal);
        if row.completed_at.is_some() {
            goals.extend(catalog.dependants(row.goal));
        }
    }
    goals.extend(catalog.rotating());
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
