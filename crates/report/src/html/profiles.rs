//! Profiles in the HTML report: the window, the flame graph and the functions of each.

use crate::number;
use crate::profiles::captured::facts;
use crate::profiles::{TOO_FEW, amount, flame, has_too_few_samples};
use crate::summary::{CapturedProfile, Summary};

/// A profile for the template.
pub(super) struct ProfileView {
    pub(super) title: String,
    pub(super) facts: String,
    pub(super) remark: String,
    /// The flame graph as markup; empty when there is nothing to draw.
    pub(super) flame: String,
    /// Function, flat, its share, cumulative, its share.
    pub(super) rows: Vec<[String; 5]>,
}

impl ProfileView {
    pub(super) fn has_flame(&self) -> bool {
        !self.flame.is_empty()
    }
}

pub(super) fn views(summary: &Summary) -> Vec<ProfileView> {
    summary.profiles.iter().map(view).collect()
}

fn view(profile: &CapturedProfile) -> ProfileView {
    let top = profile.top.as_ref();
    let rows = top.map(|top| {
        let value = |value: i64| amount(value as f64, &top.sample_type);
        let share = |value: i64| number::percent(value as f64, top.total as f64);
        let row = |row: &::profile::Row| {
            let name = match has_too_few_samples(top.kind, row) {
                true => format!("{} [{TOO_FEW}]", row.name),
                false => row.name.clone(),
            };
            [name, value(row.flat), share(row.flat), value(row.cumulative), share(row.cumulative)]
        };
        top.rows.iter().map(row).collect()
    });
    ProfileView {
        title: profile.title(),
        facts: facts(profile),
        remark: profile.remark.clone().unwrap_or_default(),
        flame: profile.tree.as_ref().filter(|tree| tree.root().value > 0).map(flame).unwrap_or_default(),
        rows: rows.unwrap_or_default(),
    }
}
