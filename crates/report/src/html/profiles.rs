//! Profiles in the HTML report: what each covers, its flame graph, its functions.

use crate::profiles::window::facts;
use crate::profiles::{TOO_FEW, amount, flame, is_too_few, percent};
use crate::summary::{Profiled, Summary};

/// A profile, ready for the template.
pub(super) struct ProfileView {
    pub(super) title: String,
    pub(super) facts: String,
    pub(super) remark: String,
    /// Drawn here, hence markup; empty when there is nothing to draw.
    pub(super) flame: String,
    /// Function, flat, its share, cumulative, its share.
    pub(super) rows: Vec<[String; 5]>,
}

pub(super) fn views(summary: &Summary) -> Vec<ProfileView> {
    summary.profiles.iter().map(view).collect()
}

fn view(profiled: &Profiled) -> ProfileView {
    let top = profiled.top.as_ref();
    let rows = top.map(|top| {
        let value = |value: i64| amount(value as f64, &top.sample_type);
        let share = |value: i64| percent(value as f64, top.total as f64);
        let row = |row: &::profile::Row| {
            let name = match is_too_few(top.kind, row) {
                true => format!("{} [{TOO_FEW}]", row.name),
                false => row.name.clone(),
            };
            [name, value(row.flat), share(row.flat), value(row.cumulative), share(row.cumulative)]
        };
        top.rows.iter().map(row).collect()
    });
    ProfileView {
        title: profiled.title(),
        facts: facts(profiled),
        remark: profiled.remark.clone().unwrap_or_default(),
        flame: profiled.tree.as_ref().filter(|tree| tree.root().value > 0).map(flame).unwrap_or_default(),
        rows: rows.unwrap_or_default(),
    }
}
